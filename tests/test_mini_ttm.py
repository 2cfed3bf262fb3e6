"""examples/mini_ttm.py, the file that people read first: short, on its own, and the same algorithm as `core`."""

import ast
import importlib.util
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import relation_group, swap_group

from core.groups import GroupSet
from core.metrics import groups as metrics
from core.scoring.load import load_scorer
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm

FILE = Path(__file__).parents[1] / "examples" / "mini_ttm.py"


@pytest.fixture(scope="module")
def mini():
    spec = importlib.util.spec_from_file_location("mini_ttm", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_short_and_needs_nothing_of_core_but_the_built_in_pictures():
    text = FILE.read_text()
    assert len(text.splitlines()) <= 150
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in imported if node.module.startswith("core")] == ["core.datasets"]


@pytest.mark.parametrize("family", ["clip", "siglip"])
@pytest.mark.parametrize("shape", ["2x2", "1x4"])
def test_it_selects_and_learns_the_same_as_core(mini, make, family, shape):
    make_group = swap_group if shape == "2x2" else relation_group
    truths = (
        [(1, 0) if i % 3 else (0, 1) for i in range(12)] if shape == "2x2" else [i % 4 for i in range(12)]
    )
    groups = GroupSet("toy", tuple(make_group(i, truth) for i, truth in enumerate(truths)))
    config = TTMConfig(iterations=3, epochs=2, lr=1e-3, coverage_first=0.5, tau_last=0.0, batch=4, seed=1)
    expected = list(run_ttm(load_scorer(str(make(family)), "cpu"), groups, config))

    from transformers import AutoModel, AutoProcessor

    model = AutoModel.from_pretrained(make(family), dtype=torch.float32)
    images = [[image.open() for image in group.images] for group in groups.groups]
    inputs = mini.prepare(
        AutoProcessor.from_pretrained(make(family)), images, [g.captions for g in groups.groups]
    )
    how = Namespace(iterations=3, epochs=2, lr=1e-3, coverage=0.5, batch=4, seed=1)
    found = list(mini.test_time_matching(model, *inputs, how))

    assert [step.iteration for step in found] == [0, 1, 2, 3]
    for own, step in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own.selected, step.selected)
        np.testing.assert_array_equal(own.matching, step.matching)
        np.testing.assert_allclose(own.scores, step.scores, rtol=1e-3, atol=1e-3)
    for own, step in zip(found[1:], expected[1:], strict=True):
        assert own.threshold == pytest.approx(step.threshold, abs=1e-3)
        np.testing.assert_allclose(own.losses, step.report.losses, rtol=1e-4, atol=1e-5)
    assert np.abs(found[0].scores - found[-1].scores).max() > 0.1  # it did learn


def test_its_accuracies_are_those_of_the_metrics(mini):
    rng = np.random.default_rng(0)
    for m, k in ((2, 2), (1, 4), (2, 4), (3, 3)):
        scores = rng.integers(0, 4, (200, m, k)).astype(np.float32)  # with many ties
        truth = np.array([rng.permutation(k)[:m] for _ in range(200)])
        outcomes = metrics.outcomes(scores, truth)
        expected = [100 * outcomes[name].value.mean() for name in ("group_score", "group_match")]
        assert mini.accuracies(scores, truth) == pytest.approx(expected)
