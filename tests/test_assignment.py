"""Global assignment from blocks of rows, against the assignment of the whole matrix."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from core.base.errors import InputError
from core.matching import global_match as assignment
from core.matching.global_match import AllPairs, match_global
from core.metrics.groups import global_match

RNG = np.random.default_rng(0)
KINDS = {
    "random": lambda n, m: RNG.normal(size=(n, m)),
    "float32": lambda n, m: RNG.normal(size=(n, m)).astype(np.float32),
    "few levels": lambda n, m: RNG.integers(0, 3, (n, m)).astype(float),
    "integers": lambda n, m: RNG.integers(-9, 9, (n, m)),
    "constant": lambda n, m: np.full((n, m), 0.3),
    "the caption alone": lambda n, m: np.tile(RNG.normal(size=m), (n, 1)),
    "the image alone": lambda n, m: np.tile(RNG.normal(size=(n, 1)), (1, m)),
    "two dimensions": lambda n, m: RNG.normal(size=(n, 2)) @ RNG.normal(size=(2, m)),
    "large and below zero": lambda n, m: -1e6 * RNG.random((n, m)),
    "a large offset": lambda n, m: 1e4 + RNG.random((n, m)),
    # Every image wants the last captions most, the last images more than others: the opposite of any greedy choice.
    "products": lambda n, m: np.outer(np.arange(n) + 1.0, np.arange(m) + 1.0),
}


_START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers():
    """Each test draws the same numbers, whichever ran before it: on some a solver found no end (LOG of
    the thirty-ninth session), which a run must be able to repeat."""
    RNG.bit_generator.state = _START


@pytest.fixture
def blocks_of_all(monkeypatch):
    """No matrix is small enough to be assigned as a whole."""
    monkeypatch.setattr(assignment, "_DENSE", 0)
    return monkeypatch


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (6, 6), (30, 30), (40, 90), (120, 500)])
def test_the_total_is_that_of_the_assignment_of_the_whole_matrix(shape, kind, blocks_of_all):
    # Blocks of seven images, the last one shorter, and few candidates, so that more have to be added.
    blocks_of_all.setattr(assignment, "_BLOCK_SCORES", 7 * shape[1])
    blocks_of_all.setattr(assignment, "_CANDIDATES", 3)
    given = KINDS[kind](*shape)
    found, scores = match_global(AllPairs.of(given)), given.astype(np.float64)
    images, best = linear_sum_assignment(scores, maximize=True)
    assert len(set(found.tolist())) == shape[0]
    close = 1e-12 * shape[0] * float(np.abs(scores).max())
    assert scores[images, found].sum() == pytest.approx(scores[images, best].sum(), abs=close)


def test_where_one_matching_is_best_it_is_that_one(blocks_of_all):
    scores = RNG.normal(size=(50, 200))
    best = linear_sum_assignment(scores, maximize=True)[1]
    np.testing.assert_array_equal(match_global(AllPairs.of(scores)), best)


def test_every_score_is_asked_for_a_few_times(blocks_of_all):
    scores, asked = RNG.normal(size=(300, 900)), []
    match_global(AllPairs(lambda part: (asked.append(part), scores[part])[1], 300, 900))
    assert sum(part.start == 0 for part in asked) <= 6


def test_no_more_than_some_rows_and_the_candidates_are_held(blocks_of_all):
    blocks_of_all.setattr(assignment, "_BLOCK_SCORES", 20_000)
    images, captions = RNG.normal(size=(1000, 8)), RNG.normal(size=(4000, 8))
    tracemalloc.start()
    try:
        match_global(AllPairs(lambda part: images[part] @ captions.T, 1000, 4000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * 8 * 1000 * 4000


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (np.zeros((3, 2)), "images <= captions"),
        (np.array([[0.0, 1.0], [np.nan, 1.0]]), "Image 1 "),
        (np.array([[0.0, 1.0], [1.0, np.inf]]), "Image 1 "),
    ],
)
def test_bad_scores_are_one_sentence(scores, says, held, blocks_of_all):
    with pytest.raises(InputError, match=says):
        match_global(scores if held else AllPairs.of(scores))


def test_rows_of_another_length_are_refused():
    with pytest.raises(InputError, match="they need 4 captions"):
        match_global(AllPairs(lambda part: np.zeros((part.stop - part.start, 3)), 2, 4))


def test_the_metric_from_blocks_is_the_metric_of_the_matrix(blocks_of_all):
    scores = RNG.normal(size=(60, 60)) + 2 * np.eye(60)
    blocks = global_match(scores, np.arange(60), per_group=2, seed=3)
    blocks_of_all.setattr(assignment, "_DENSE", 10**6)
    assert blocks == global_match(scores, np.arange(60), per_group=2, seed=3)
    assert 20 < blocks.value < 100  # neither nothing nor everything is right


def test_a_constant_scorer_is_at_chance_from_blocks(blocks_of_all):
    values = [global_match(np.ones((20, 20)), np.arange(20), seed=s).value for s in range(40)]
    assert 2 < np.mean(values) < 9  # chance is 5; the standard error is 0.8


@pytest.mark.parametrize("seed", [38, 50225])
def test_scores_of_which_a_solver_in_floats_found_no_end_are_matched(seed, blocks_of_all):
    """scipy's sparse assignment went round in a circle on rounded differences, for ever."""
    blocks_of_all.setattr(assignment, "_BLOCK_SCORES", 7 * 30)
    blocks_of_all.setattr(assignment, "_CANDIDATES", 3)
    drawn = np.random.default_rng(seed)
    scores = drawn.normal(size=(30, 2)) @ drawn.normal(size=(2, 30))
    best = linear_sum_assignment(scores, maximize=True)[1]
    found, images = match_global(AllPairs.of(scores)), np.arange(30)
    assert scores[images, found].sum() == pytest.approx(scores[images, best].sum(), abs=1e-9)


@pytest.mark.parametrize(
    "far", [{(3, 3): -1e12}, {(3, 5): 1e12}, {(3, 3): -1e12, (7, 9): 1e12, (8, 8): -1e15}]
)
def test_a_far_score_does_not_blur_the_others(far, blocks_of_all):
    """As the value of a mask does: steps of a share of the range were larger than what the others differ by, and the
    total was 6.6 below the best of 123 pairs."""
    scores, images = RNG.normal(size=(200, 200)), np.arange(200)
    for pair, value in far.items():
        scores[pair] = value
    best, found = linear_sum_assignment(scores, maximize=True)[1], match_global(AllPairs.of(scores))
    assert (scores[images, best] - scores[images, found]).sum() == pytest.approx(0, abs=1e-9)


def test_differences_of_rounding_take_no_more_passes(blocks_of_all):
    """One large score beside noise of 1e-14 took 40 passes over all scores, each with long ways to its prices."""
    scores, asked = 1e-14 * RNG.normal(size=(300, 300)), []
    scores[0, 0] = 1.0
    found = match_global(AllPairs(lambda part: (asked.append(part), scores[part])[1], 300, 300))
    assert found[0] == 0 and sum(part.start == 0 for part in asked) <= 6
