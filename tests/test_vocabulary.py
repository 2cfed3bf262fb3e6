"""What a built-in model's page says of words that it does not know: by hand, and against its own tokenizer."""

import re

from core.datasets import load
from core.pretrain._recipes import RECIPES
from core.scenes.captions import SYNONYMS
from core.scorers import vocabulary
from core.scorers.hub import builtin_models
from core.scorers.vocabulary import _never_read_note, vocabulary_note
from core.scoring.load import model_folder

CLIP = model_folder("builtin/clip")


def note(*captions, source="builtin/clip", benchmark="winoground"):
    return vocabulary_note("CLIP", source, benchmark, captions)


def test_the_share_of_unknown_words_by_hand():
    # of 7 + 4 words giraffe (twice) and zebra are unknown: 3 / 11 = 27 %
    said = note("a red cube left of a giraffe", "A giraffe, a Zebra")
    assert "does not know 27 % of the words in these captions: giraffe, zebra. It reads all" in said
    many = note("giraffe zebra dragon lion tiger panda koala wolf fox bear", "a red cube")
    assert "of the words in these captions, such as giraffe, " in many


def test_a_short_text_has_its_unknown_words_named_and_no_share():
    assert note("a green dragon").endswith(
        "does not know the word “dragon” in these captions. It reads it as an unknown word."
    )
    assert "the words “giraffe” and “zebra” in" in note("a giraffe, a zebra")


def test_one_unknown_word_is_named_in_a_long_text_too():
    """It was 8 % of the words, all of them read as one unknown word."""
    said = note("a red cube to the left of an elephant", "an elephant to the left of a red cube")
    assert said.endswith(
        "does not know the word “elephant” in these captions. It reads it as an unknown word."
    )


def test_a_word_is_unknown_where_the_tokenizer_has_no_token_for_it():
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(CLIP / "tokenizer.json"))
    text = "The small red ball isn't behind 3 umbrellas; a cube is in front of it."
    read = tokenizer.encode(text, add_special_tokens=False)
    places = zip(read.tokens, read.offsets, strict=True)
    words = [token for token, (start, end) in places if text[start:end].isalnum()]
    share = int(re.search(r"(\d+) %", note(text))[1])
    assert share == round(100 * words.count("<unk>") / len(words)) > 0


def test_every_word_of_the_built_in_sets_is_known_and_a_set_that_is_not_built_in_is_foreign_all_the_same():
    captions = [caption for group in load("scenes/left-right", "test") for caption in group.captions]
    for name in builtin_models():
        assert "knows every word" in note(*captions, source=name, benchmark="mine/x")
        assert note("a giraffe", source=name, benchmark="scenes/left-right") is None


def test_a_model_that_splits_words_into_parts_is_silent(tmp_path):
    assert note("a giraffe", source=str(tmp_path)) is None
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {"gi": 0}}}')
    assert note("a giraffe", source=f"itc:{tmp_path}") is None
    assert note("a giraffe", source="openai/clip-vit-base-patch32") is None


def test_words_of_size_and_material_are_named_that_a_model_never_read():
    """Retrieval says so of builtin/clip, and Groups showed such captions with it without a word."""
    captions = load("scenes/attribute-swap", "test").select([240])[0].captions
    assert all("rubber" in caption for caption in captions)
    assert _never_read_note("builtin/clip", captions) == "builtin/clip never read “rubber” in training"
    assert not _never_read_note("builtin/blip-itm", captions)
    assert not _never_read_note("builtin/clip", ["a red cube", "a blue ball"])


def test_models_that_never_read_them_are_those_whose_recipe_says_so():
    """Expected: the recipes themselves, and the words of the built-in world."""
    without = {f"builtin/{name}" for name, recipe in RECIPES.items() if recipe.data.detail == 0}
    assert set(vocabulary._WITHOUT_DETAILS) == without
    said = [word for kind in ("large", "small", "metal", "rubber") for word in SYNONYMS[kind]]
    assert sorted(vocabulary._DETAILS) == sorted(said)
