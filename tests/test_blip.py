"""BLIP's two scores as models that can be adapted: scores, losses by hand, copies, saving, test-time matching."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
import torch
from tiny_models import everything
from torch.nn import functional as F

from core.groups import GroupSet
from core.runs.description import Remains
from core.runs.resume import _write_checkpoint
from core.scorers import _matching_head
from core.scorers._matching_head import BlipMatcher
from core.scorers.base import Trainable, TwoTower
from core.scoring.load import load_scorer
from core.ttm._checkpoint import load_state
from core.ttm._train import fit
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm
from core.ttm.run import TTMRun

KINDS = ["itc", "itm"]
SETTINGS = TTMConfig(iterations=2, epochs=2, lr=1e-3, batch=3, coverage_first=0.5)


@pytest.fixture(scope="module")
def folder(make):
    return make("blip-itm")


@pytest.fixture
def parts(toy_groups):
    return toy_groups.unique_images()[0], toy_groups.unique_captions()[0]


def load(folder, kind):
    return load_scorer(f"{kind}:{folder}", "cpu")


def weights(model):
    return b"".join(t.detach().numpy().tobytes() for t in model.module.state_dict().values())


def test_the_towers_can_be_had_in_parts_and_the_matching_head_cannot(folder):
    towers, head = load(folder, "itc"), load(folder, "itm")
    assert isinstance(towers, TwoTower)
    assert isinstance(head, Trainable) and not isinstance(head, TwoTower)


def pair_loss(folder, parts):
    """ITC of two pairs by hand: cosines from the scorer, the released temperature of 0.07."""
    cosines = torch.from_numpy(load(folder, "itc").score(*parts, everything(parts[0][:2], parts[1][:2])))
    # `everything` of two and two counts captions 0 and 1 of images 0 and 1.
    logits = cosines.reshape(2, 2) * exp(2.6592)
    return (F.cross_entropy(logits, torch.arange(2)) + F.cross_entropy(logits.T, torch.arange(2))) / 2


def test_the_contrastive_loss_is_a_softmax_over_the_batch_at_the_initial_temperature(folder, parts):
    model, both = load(folder, "itc"), torch.arange(2)
    with torch.no_grad():
        found = model.loss(model.prepare(*parts), both, both)
    assert float(found) == pytest.approx(float(pair_loss(folder, parts)), abs=1e-5)


def test_the_matching_loss_sets_true_pairs_against_the_false_ones_of_the_batch(folder, parts):
    """With two pairs each image has one false caption and each caption one false image: nothing to draw."""
    model, both = load(folder, "itm"), torch.arange(2)
    logits = model.score(*parts, everything(parts[0][:2], parts[1][:2])).reshape(2, 2)
    true, false = np.diag(logits), np.array([logits[0, 1], logits[1, 0]])
    # -log sigmoid(x) of the true ones, -log(1 - sigmoid(x)) of the false ones, each of these there twice
    matching = (np.log1p(np.exp(-true)).sum() + 2 * np.log1p(np.exp(false)).sum()) / 6
    with torch.no_grad():
        found = model.loss(model.prepare(*parts), both, both)
    assert float(found) == pytest.approx(matching + float(pair_loss(folder, parts)), abs=1e-5)


def test_a_public_server_computes_the_same_loss_a_few_pairs_at_a_time(folder, parts, monkeypatch):
    models, both = [load(folder, "itm").copy() for _ in range(2)], torch.arange(2)

    def learned(model):
        loss = model.loss(model.prepare(*parts), both, both)
        loss.backward()
        return loss.item(), torch.cat(
            [p.grad.ravel() for p in model.module.parameters() if p.grad is not None]
        )

    loss, gradient = learned(models[0])
    sizes, read = [], BlipMatcher._paired_scores
    monkeypatch.setattr(
        BlipMatcher, "_paired_scores", lambda self, *parts: sizes.append(len(parts[0])) or read(self, *parts)
    )
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(_matching_head, "_PUBLIC_PAIRS", 4)
    again, found = learned(models[1])
    assert sizes == [4, 2, 2, 4]  # six pairs, and once more from the end for the gradient
    assert again == pytest.approx(loss, abs=1e-6)
    assert torch.allclose(found, gradient, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_training_lowers_the_loss_of_a_copy_and_leaves_the_model_alone(folder, kind, parts):
    model = load(folder, kind)
    before, key, twin = weights(model), model.key, model.copy()
    data, rows = twin.prepare(*parts), np.arange(6)[:, None]
    report = fit(twin, data, rows, rows, SETTINGS.updated({"epochs": 12}), batch=6)
    assert report.losses[-3:].mean() < report.losses[:3].mean()
    assert weights(model) == before and model.key == key and twin.key != key


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_captions_reaches_no_weight(folder, kind, toy_groups):
    flipped = GroupSet(
        "flipped",
        tuple(
            replace(g, captions=g.captions[::-1], truth=tuple(1 - t for t in g.truth))
            for g in toy_groups.groups
        ),
    )
    ends = [weights(list(run_ttm(load(folder, kind), g, SETTINGS))[-1].model) for g in (toy_groups, flipped)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(kind, tmp_path):
    options = {"iterations": 2, "epochs": 1, "batch": 4, "seed": 3}
    job = TTMRun.of("scenes/left-right", f"{kind}:builtin/blip-itm", groups=8, device="cpu", options=options)
    assert job.preset == "builtin"
    whole = []
    for done in job.execute():
        whole.append(done.record["metrics"])
        scores = done.arrays["scores"]
        if done.record["iteration"] == 1:
            _write_checkpoint(tmp_path, done)
    (checkpoint,) = tmp_path.glob("checkpoint-*")
    (rest,) = list(job.execute(Remains(tmp_path, checkpoint)))
    assert rest.record["metrics"] == whole[2]
    assert np.array_equal(rest.arrays["scores"], scores)
    assert load_state(checkpoint).iteration == 1
