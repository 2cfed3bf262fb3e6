"""Options of a score after its name: what is asked, the end token, null images; each with a key of its own."""

import json
import shutil

import numpy as np
import pytest
import torch
from conftest import draw
from typer.testing import CliRunner

from core.base.errors import InputError
from core.cli import app
from core.cli._score_options import with_options
from core.scoring.load import load_scorer, scorer_key, scorer_kind

IMAGES = [draw(("red", "cube"), ("blue", "ball")), draw(("green", "cone"), ("yellow", "ball"))]
CAPTIONS = ["a red cube", "the ball left of the cone"]
PAIRS = np.array([(i, j) for i in range(2) for j in range(2)])


def scores(name: str) -> np.ndarray:
    return load_scorer(name, "cpu").score(IMAGES, CAPTIONS, PAIRS)


def test_a_caption_may_answer_a_question_of_ones_own(make):
    plain, name = f"vgpt:{make('llava')}", f"vgpt:{make('llava')}?prompt=show+the+figure+please"
    asked = load_scorer(name, "cpu")
    assert asked.name == name and asked.prompt(asked.asked_for).endswith("show the figure please ASSISTANT:")
    text = f"{asked.prompt('show the figure please')} {CAPTIONS[1]}"
    inputs = asked.processor(images=IMAGES[0].open(), text=[text], return_tensors="pt")
    with torch.no_grad():
        logs = asked.module(**inputs).logits[0].log_softmax(-1)
    own = len(asked._tokenize(CAPTIONS[1:])[0])
    expected = logs[-own - 1 : -1].gather(-1, inputs["input_ids"][0, -own:, None]).mean()
    assert scores(name)[1] == pytest.approx(float(expected), abs=1e-5)
    assert np.abs(scores(name) - scores(plain)).min() > 1e-5


@pytest.mark.parametrize(("model", "written"), [("llava", False), ("blip-caption", True)])
def test_the_end_token_counts_where_the_tokenizer_writes_one_or_as_the_option_says(make, model, written):
    plain, image, caption = f"vgpt:{make(model)}", IMAGES[0], CAPTIONS[0]
    counts = {
        name: len(load_scorer(name, "cpu").token_log_probs(image, caption).tokens)
        for name in (plain, f"{plain}?end=yes", f"{plain}?end=no")
    }
    assert list(counts.values()) == [3 + written, 4, 3]
    tokens = load_scorer(f"{plain}?end=yes", "cpu").token_log_probs(image, caption)
    assert tokens.tokens[-1] == "</s>"
    same = scores(f"{plain}?end={'yes' if written else 'no'}")
    np.testing.assert_allclose(same, scores(plain), atol=1e-6)


def test_another_question_may_be_asked(make):
    name = f"vqa:{make('llava')}?question=is+this+{{caption}}+or+no%3F"
    asked = load_scorer(name, "cpu")
    assert asked.question("a cube") == "is this a cube or no?"
    inputs = asked.processor(
        images=IMAGES[0].open(), text=[asked.prompt("is this a red cube or no?")], return_tensors="pt"
    )
    with torch.no_grad():
        expected = asked.module(**inputs).logits[0, -1].softmax(-1)[asked.yes]
    assert scores(name)[0] == pytest.approx(float(expected), rel=1e-4)


def test_null_images_are_chosen_by_mean_deviation_and_count(make):
    folder = make("blip-caption")
    blind = load_scorer(f"blind:{folder}?mean=0&std=0.5&count=2", "cpu")
    assert [(image.mean, image.std) for image in blind.captioner.nulls(blind.count)] == [(0.0, 0.5)] * 2
    assert (scores(blind.name) != scores(f"blind:{folder}")).all()
    assert scores(f"blind:{folder}?count=3").tolist() == scores(f"blind:{folder}").tolist()


def test_options_are_part_of_the_key_which_is_known_without_loading(make):
    caption, blip = make("llava"), make("blip-caption")
    names = [
        f"vgpt:{caption}",
        f"vgpt:{caption}?end=yes",
        f"vgpt:{caption}?prompt=show",
        f"bfloat16:vgpt:{caption}?prompt=show",
        f"vqa:{caption}",
        f"vqa:{caption}?question=is+it+{{caption}}%3F",
        f"blind:{blip}",
        f"blind:{blip}?count=2",
        f"blind:{blip}?std=0.5&end=no",
    ]
    keys = [load_scorer(name, "cpu").key for name in names]
    assert len(set(keys)) == len(names) and keys == [scorer_key(name) for name in names]
    assert scorer_kind(names[5]) == "vqa" and scorer_kind(names[8]) == "blind"
    assert load_scorer(f"blind:{blip}?count=3", "cpu").key == load_scorer(f"blind:{blip}", "cpu").key


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vgpt:{}?promt=x", "an option that no score has"),
        ("vgpt:{}?", "an option that no score has"),
        ("vgpt:{}?question=is+{{caption}}", "has no question="),
        ("vqa:{}?end=yes", "has no end="),
        ("vgpt:{}?end=maybe", "end=yes or end=no"),
        ("vqa:{}?question=is+it", r"needs \{caption\}"),
        ("blind:{}?count=many", "take numbers"),
        ("blind:{}?std=0", "a std above 0"),
        ("vgpt:{}?batch=", "leaves batch= empty"),
        ("vgpt:{}?device=+&prompt=x", "leaves device= empty"),
        ("blind:{}?count=", "leaves count= empty"),
        ("vgpt:{}?prompt=a&end=yes&prompt=b", "has prompt= twice"),
        ("itc:builtin/clip?batch=2", r"itc:builtin/clip\?batch=2 has no batch= to choose"),
    ],
)
def test_an_option_without_effect_is_one_sentence(make, name, words):
    with pytest.raises(InputError, match=words) as caught:
        load_scorer(name.format(make("llava")), "cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["vgpt", "blind", "mass"])
def test_an_end_token_that_the_model_does_not_have_cannot_count(make, tmp_path, kind):
    place = shutil.copytree(make("llava"), tmp_path / "endless")
    for file in ("tokenizer_config.json", "special_tokens_map.json"):
        if (place / file).exists():
            known = json.loads((place / file).read_text())
            (place / file).write_text(json.dumps({k: v for k, v in known.items() if k != "eos_token"}))
    with pytest.raises(InputError, match="no end token that could count; leave end=yes out"):
        load_scorer(f"{kind}:{place}?end=yes", "cpu")
    assert scores(f"{kind}:{place}?end=no").tolist() == scores(f"{kind}:{place}").tolist()


def test_device_and_batch_change_the_key_and_no_score(make):
    plain = f"vgpt:{make('blip-caption')}"
    small = load_scorer(f"{plain}?batch=1&device=cpu", "cpu")
    assert small.caption_batch == small.image_batch == 1 and load_scorer(plain, "cpu").caption_batch > 1
    assert small.key == scorer_key(small.name) != scorer_key(plain)
    np.testing.assert_allclose(scores(small.name), scores(plain), atol=1e-6)
    with pytest.raises(InputError, match="no number of inputs"):
        load_scorer(f"{plain}?batch=none", "cpu")
    with pytest.raises(InputError, match="no device 'cuda:99'"):
        load_scorer(f"{plain}?device=cuda:99", "cpu")


def test_options_of_the_command_line_are_those_of_the_name(make, monkeypatch, toy_groups, tmp_path):
    monkeypatch.setattr("core.datasets.load", lambda *args, **more: toy_groups)
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    blip = make("blip-caption")

    def measured(*words):
        found = CliRunner().invoke(app, ["evaluate", "toy", "--json", "--model", *words])
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)["metrics"]

    asked = measured(blip, "--prompt", "a red & blue", "--no-end-token")
    assert asked == measured(f"{blip}?prompt=a+red+%26+blue&end=no")
    nulls = ("--null-mean", "0", "--null-std", "0.5", "--null-count", "2")
    assert measured(f"blind:{blip}", *nulls) == measured(f"blind:{blip}?mean=0&std=0.5&count=2")
    assert with_options("builtin/blip-vqa", question="is it {caption}?").endswith(
        "?question=is+it+{caption}%3F"
    )
    assert with_options("builtin/clip") == "builtin/clip"
    with pytest.raises(
        InputError, match="--null-mean has no effect on builtin/blip-caption, which gives Visual"
    ):
        with_options("builtin/blip-caption", null_mean=0.0)


def test_blind_and_recall_take_the_same_options(make, monkeypatch, toy_groups, tmp_path):
    monkeypatch.setattr("core.datasets.load", lambda *args, **more: toy_groups)
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    asked = {}
    monkeypatch.setattr(
        "core.cli._recall.retrieval_record", lambda name, split, model, *more: asked.update(model=model) or {}
    )

    def record(*words):
        found = CliRunner().invoke(app, [*words, "--json"])
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)

    name = f"blind:{make('blip-caption')}"
    plain, two = (
        record("blind", "toy", "--model", name),
        record("blind", "toy", "--model", f"{name}?count=2&std=3"),
    )
    assert (
        record("blind", "toy", "--model", name, "--null-count", "2", "--null-std", "3")["metrics"]
        == two["metrics"]
    )
    assert plain["model"] == name != two["model"]
    record("recall", "coco", "--model", f"vqa:{make('llava')}", "--question", "is it {caption}?")
    assert asked["model"] == f"vqa:{make('llava')}?question=is+it+{{caption}}%3F"


def test_visitors_choose_no_options(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError, match="one from the list"):
        load_scorer("blind:builtin/blip-caption?count=10000", "cpu")


@pytest.mark.parametrize("begin", ["<think>", "<think>\n", "[THINK]"])
def test_a_template_that_opens_thoughts_is_closed(make, monkeypatch, capfd, begin):
    scorer = load_scorer(f"vqa:{make('llava')}", "cpu")
    template = scorer.processor.chat_template
    monkeypatch.setattr(scorer.processor, "chat_template", template + begin)
    assert scorer.prompt("Is it?").endswith(("</think>\n\n", "[/THINK]\n\n"))
    monkeypatch.setattr(
        scorer.processor,
        "chat_template",
        template + "{% if enable_thinking | default(true) %}<think>{% endif %}",
    )
    assert scorer.prompt("Is it?").endswith("ASSISTANT:")
    assert "processor_kwargs" not in capfd.readouterr().err
