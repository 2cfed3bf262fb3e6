"""The shipped models behave as their large cousins do, on test groups, stated with 95 % intervals (issue 3)."""

from __future__ import annotations

import logging
import re
from functools import cache

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from core.base import paths  # noqa: E402
from core.datasets import load  # noqa: E402
from core.debiasing.curves import alpha_curve  # noqa: E402
from core.groups import GroupSet  # noqa: E402
from core.metrics import groups as metrics  # noqa: E402
from core.metrics.statistics import Estimate  # noqa: E402
from core.scorers import _pretrained  # noqa: E402
from core.scoring.cache import ScoreCache  # noqa: E402
from core.scoring.load import builtin_models, load_scorer  # noqa: E402
from core.scoring.scores import score_groups  # noqa: E402

SHIPPED = sorted(name.removeprefix("builtin/") for name in builtin_models())
SWAPS = ("scenes/attribute-swap", "scenes/left-right", "scenes/front-behind")
PLAUSIBLE = ("scenes/replace", "scenes/swap", "scenes/add")
CAPTIONER, MATCHER, VQA = "builtin/blip-caption", "builtin/blip-itm", "builtin/blip-vqa"


@cache
def groups(name: str) -> GroupSet:
    return load(name, "test")


@cache
def scores(model: str, name: str) -> np.ndarray:
    """All 300 test groups, once for the whole file; from `assets/scores` where they hold these very weights' scores."""
    return score_groups(load_scorer(model), groups(name), ScoreCache())


@cache
def measured(model: str, name: str) -> dict[str, Estimate]:
    return metrics.evaluate(scores(model, name), groups(name).truth, ("group_score", "group_match"))


def score(model: str, name: str) -> Estimate:
    return measured(model, name)["group_score"]


def match(model: str, name: str) -> Estimate:
    return measured(model, name)["group_match"]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_three_lines_of_a_card_load_its_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = paths.assets() / "models" / name
    monkeypatch.chdir(paths.assets().parent)
    card = (folder / "README.md").read_text()
    (lines,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert len(lines.strip().splitlines()) == 3
    found = {"image": Image.new("RGB", (64, 64), (90, 120, 200))}
    exec(compile(lines, str(folder / "README.md"), "exec"), found)
    model = found["model"]
    assert type(model).__module__.startswith("transformers.")
    if "inputs" in found:  # the others' third line calls the model itself
        assert not (found["inputs"]["input_ids"] == found["processor"].tokenizer.unk_token_id).any()
        asked = hasattr(model, "text_decoder") and hasattr(model, "text_encoder")
        found["logits"] = (model.generate if asked else model)(**found["inputs"])
        found["logits"] = found["logits"] if asked else found["logits"][0]
    assert torch.isfinite(found["logits"].float()).all()


# Contrastive models


@pytest.mark.parametrize("name", SWAPS)
@pytest.mark.parametrize("model", ["builtin/clip", "builtin/siglip"])
def test_contrastive_models_match_swaps_above_chance_and_far_above_their_group_score(
    model: str, name: str
) -> None:
    assert match(model, name).low > 50 + 5
    assert score(model, name).high < match(model, name).low


@pytest.mark.parametrize("model", ["builtin/clip", "builtin/siglip"])
def test_contrastive_group_score_on_left_and_right_is_below_chance(model: str) -> None:
    assert score(model, "scenes/left-right").high < 100 / 6


# The blind language model


def test_the_blind_model_solves_ungrammatical_negatives() -> None:
    assert score("builtin/blind-lm", "scenes/word-order").low > 90  # chance 20


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_the_blind_model_cannot_tell_plausible_negatives(name: str) -> None:
    found = score("builtin/blind-lm", name)
    assert found.low < 50 < found.high  # chance


# The captioner


@pytest.mark.parametrize("model", ["itc:" + MATCHER, "builtin/clip", "builtin/siglip"])
@pytest.mark.parametrize("name", ["scenes/left-right", "scenes/front-behind"])
def test_the_captioners_score_beats_contrastive_scores_on_relation_swaps(model: str, name: str) -> None:
    assert score(CAPTIONER, name).low > score(model, name).high


def test_the_captioner_solves_ungrammatical_negatives_with_its_prior_alone() -> None:
    """Scenario 1 of [VGPT]: wrong captions are improbable, so the language prior helps and alpha = 0 is best."""
    name = "scenes/word-order"
    truth, prior = groups(name).truth, blind_prior(name)
    assert score(CAPTIONER, name).low > 90
    alone = metrics.evaluate(prior[:, None, :], truth, ("group_score",))["group_score"]
    assert alone.low > 90
    curve = alpha_curve(scores(CAPTIONER, name), prior, truth, "text_score")
    assert curve.value(0.0) >= curve.values.max() - 1


def blind_prior(name: str) -> np.ndarray:
    """log P_train(t) from null images, (n, k)."""
    captions = [caption for group in groups(name) for caption in group.captions]
    scorer = load_scorer(CAPTIONER)
    return scorer.prior(captions, count=3).reshape(len(groups(name)), -1)


# The matching head


@pytest.mark.parametrize("name", SWAPS)
def test_the_matching_head_matches_swaps_above_chance(name: str) -> None:
    assert match("itm:" + MATCHER, name).low > 50


@pytest.mark.parametrize("name", SWAPS)
def test_the_matching_heads_group_score_is_above_chance(name: str) -> None:
    assert score("itm:" + MATCHER, name).low > 100 / 6


def test_the_matching_head_beats_the_cosine_of_its_own_towers_on_attribute_swaps() -> None:
    assert score("itm:" + MATCHER, SWAPS[0]).low > score("itc:" + MATCHER, SWAPS[0]).high


# Question answering


@pytest.mark.parametrize("name", SWAPS)
def test_the_answers_to_yes_or_no_tell_swaps_far_above_chance(name: str) -> None:
    assert score(VQA, name).low > 100 / 6 + 10
    assert match(VQA, name).low > 50 + 10


@pytest.mark.parametrize("name", SWAPS)
def test_most_true_captions_get_a_yes_and_most_swapped_ones_a_no(name: str) -> None:
    said = scores(VQA, name) > 0.5
    right = np.take_along_axis(said, groups(name).truth[:, :, None], axis=2).mean()
    wrong = (said.sum() - right * said.shape[0] * said.shape[1]) / (said.shape[0] * said.shape[1])
    assert right > 0.6
    assert wrong < 0.4


@pytest.mark.parametrize(
    ("name", "highest", "token", "said"),
    [
        ("bos", 31999, 49406, False),
        ("eos", 31999, 49407, False),
        ("bos", 61, 49406, True),
        ("pad", 31999, -1, True),
    ],
)
def test_what_transformers_says_of_its_own_siglip_defaults_is_dropped_and_nothing_else(
    name, highest, token, said
):
    message = f"Model config: {name}_token_id must be within the vocabulary (between 0 and {highest})"
    record = logging.makeLogRecord({"msg": f"{message}, got {token}. This may result in trouble."})
    assert _pretrained._about_this_model(record) is said
