"""Chat models of today on small random models: one of each mechanism here, all classes in benchmarks/MODEL_CLASSES.md.

`python -m benchmarks.results.model_classes` builds and checks every class and writes that table.
"""

import json
import re
import shutil
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from benchmarks.results import chat_models, model_classes
from core.base.errors import InputError
from core.scoring.load import load_scorer

pytestmark = pytest.mark.slow

# Model type -> what it is here for.
MECHANISMS = {
    "gemma3": "another placeholder than the image's tokens, which see each other both ways",
    "aya_vision": "a placeholder that is no token, tiles with marks between them",
    "llama4": "pixels in half precision, tokens around the image",
    "lfm2_vl": "a cache of convolutions",
    "qwen3_5": "a cache of linear attention, positions that the image moves",
    "paligemma": "a question read both ways and ended by the processor",
    "mllama": "cross-attention with a mask for each token",
}


def rows() -> dict[str, tuple[str, str, str]]:
    """Model type -> class, exact and remark, as the table has them."""
    found = re.findall(r"^\| (\S+) \| (\w+) \| (yes|no) \| (.+) \|$", model_classes.TABLE.read_text(), re.M)
    return {kind: tuple(rest) for kind, *rest in found}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("chat")
    return lambda kind: root / kind if (root / kind).is_dir() else chat_models.build(kind, root / kind)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_scores_are_those_of_a_plain_forward_pass_and_no_caption_token_sees_a_later_one(folder, kind):
    found = model_classes.check(folder(kind))
    assert found.exact, found.remark
    assert rows()[kind][1:] == ("yes", found.remark)


def test_the_table_has_every_class_of_the_installed_transformers():
    import transformers

    found = rows()
    assert {kind: row[0] for kind, row in found.items()} == model_classes.classes()
    text = model_classes.TABLE.read_text()
    assert f"transformers {transformers.__version__}:" in text, (
        "run python -m benchmarks.results.model_classes"
    )
    exact = sum(row[1] == "yes" for row in found.values())
    assert f"**{exact} are exact**" in text and exact >= 60


@pytest.mark.skipif(find_spec("num2words") is not None, reason="num2words is installed")
def test_a_model_that_needs_a_library_is_one_sentence_that_names_it(folder, tmp_path):
    from transformers import SmolVLMVideoProcessor

    place = shutil.copytree(folder("idefics3"), tmp_path / "smolvlm")
    SmolVLMVideoProcessor().save_pretrained(place)
    settings = json.loads((place / "processor_config.json").read_text())
    settings["processor_class"] = "SmolVLMProcessor"
    (place / "processor_config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"needs a library that is not installed: .*num2words"):
        load_scorer(f"vqa:{place}", "cpu")


@pytest.mark.parametrize("kind", ["florence2", "git"])
def test_a_class_that_is_no_chat_model_is_refused_in_one_sentence(folder, kind):
    with pytest.raises(InputError, match=r"encoder and a decoder|neither a chat template") as caught:
        load_scorer(f"vqa:{folder(kind)}", "cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["hunyuan_vl", "molmo2", "paligemma"])
def test_pairs_of_many_images_score_as_each_alone(folder, kind):
    """Also where a model takes no batch of images, and where it would see the padding of a shorter question."""
    images = [
        model_classes._picture((48, 40), left, right) for left, right in (("red", "blue"), ("green", "red"))
    ]
    pairs = np.array([(0, 0), (1, 0), (0, 1), (1, 1)])
    for score in ("vgpt", "vqa-log"):
        scorer = load_scorer(f"{score}:{folder(kind)}", "cpu")
        alone = [
            scorer.score([images[i]], [model_classes.CAPTIONS[j]], np.array([(0, 0)]))[0] for i, j in pairs
        ]
        assert scorer.score(images, model_classes.CAPTIONS, pairs) == pytest.approx(alone, abs=2e-5)


def plain(folder, text: str, **more):
    """Inputs by the model's own processor, and log P of the next token after each of them, (length, vocabulary)."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor = AutoProcessor.from_pretrained(folder)
    inputs = dict(processor(text=text, images=IMAGE.open(), return_tensors="pt", **more))
    labels = inputs.pop("labels", None)
    module = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return processor, inputs["input_ids"][0], labels, module(**inputs).logits[0].log_softmax(-1)


IMAGE, CAPTION = model_classes.IMAGES[0], model_classes.CAPTIONS[0]


@pytest.mark.parametrize("kind", ["paligemma", "chameleon"])
def test_an_answer_follows_what_the_processor_ends_a_prompt_with(folder, kind):
    """A new line or a mark: "Yes" begins the answer, not " Yes" after the question itself."""
    question = f'Does this figure show "{CAPTION}"? Please answer yes or no.'
    processor, _, _, found = plain(folder(kind), f"<image>{question}")
    yes = processor.tokenizer("Yes", add_special_tokens=False)["input_ids"]
    scorer = load_scorer(f"vqa-log:{folder(kind)}", "cpu")
    got = scorer.score([IMAGE], [CAPTION], np.array([(0, 0)]))[0]
    assert len(yes) == 1 and got == pytest.approx(float(found[-1, yes[0]]), abs=2e-5)


@pytest.mark.parametrize("prompt", ["caption en", None])
def test_a_caption_of_paligemma_is_the_suffix_of_its_own_training(folder, prompt):
    _, ids, labels, found = plain(folder("paligemma"), f"<image>{prompt or ''}", suffix=CAPTION)
    places = torch.nonzero(labels[0] != -100)[:-1, 0]  # without the end token
    expected = found[places - 1].gather(-1, ids[places][:, None])[:, 0].numpy()
    scorer = load_scorer(f"vgpt:{folder('paligemma')}{f'?prompt={prompt}' if prompt else ''}", "cpu")
    assert scorer.token_log_probs(IMAGE, CAPTION).log_probs == pytest.approx(expected, abs=2e-5)
