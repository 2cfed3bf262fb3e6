"""Which words a built-in model does not know: by hand, and against its own tokenizer."""

from pathlib import Path

import pytest

from core.scorers.hub import builtin_models
from core.scorers.vocabulary import unknown_words, vocabulary_note
from core.scoring.load import model_folder

CLIP = model_folder("builtin/clip")


def test_the_share_of_unknown_words_by_hand():
    # a red cube left of a giraffe | A giraffe, a Zebra: of 7 + 4 words giraffe (twice) and zebra are unknown
    found = unknown_words(["a red cube left of a giraffe", "A giraffe, a Zebra"], CLIP)
    assert (found.words, found.unknown, found.most) == (11, 3, ("giraffe", "zebra"))
    assert found.share == pytest.approx(3 / 11)
    assert unknown_words([], CLIP).share == 0.0


def test_a_word_is_unknown_where_the_tokenizer_has_no_token_for_it():
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(CLIP / "tokenizer.json"))
    text = "The small red ball isn't behind 3 umbrellas; a cube is in front of it."
    read = tokenizer.encode(text, add_special_tokens=False)
    places = zip(read.tokens, read.offsets, strict=True)
    words = [token for token, (start, end) in places if text[start:end].isalnum()]
    found = unknown_words([text], CLIP)
    assert (found.words, found.unknown) == (len(words), words.count("<unk>"))
    assert found.unknown > 0


def test_the_note_names_share_and_words_and_is_silent_on_the_built_in_sets():
    note = vocabulary_note("CLIP", "builtin/clip", "winoground", ["a red giraffe"])
    assert note is not None and "33 % of the words in these captions, such as giraffe" in note
    known = vocabulary_note("CLIP", "itc:builtin/clip", "mine/x", ["a red cube"])
    assert known is not None and "knows every word" in known
    assert vocabulary_note("CLIP", "builtin/clip", "scenes/left-right", ["a giraffe"]) is None
    assert vocabulary_note("CLIP", "openai/clip-vit-base-patch32", "winoground", ["a giraffe"]) is None


def test_every_word_of_the_built_in_sets_is_known_to_every_built_in_model():
    from core.datasets import load

    captions = [caption for group in load("scenes/left-right", "test") for caption in group.captions]
    for folder in builtin_models().values():
        assert unknown_words(captions, folder).unknown == 0


def test_a_model_that_splits_words_into_parts_knows_none_as_unknown(tmp_path):
    assert unknown_words(["a giraffe"], tmp_path) is None
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {"gi": 0}}}')
    assert unknown_words(["a giraffe"], tmp_path) is None
    assert unknown_words(["a giraffe"], Path(tmp_path / "nowhere")) is None
