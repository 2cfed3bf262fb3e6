"""All images with all captions from a file: by blocks of rows, within limits, and the same numbers as the matrix."""

import io
import threading

import numpy as np
import pytest
from driving import fine, text
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from test_limits import MB, npz, peak_of, visitor  # noqa: F401
from test_ranks import assert_counted

from core.base.errors import InputError
from core.base.limits import LOCAL
from core.datasets.embeddings import read_embeddings
from core.matching import global_match
from core.matching.global_match import AllPairs
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.recall import rank_both_ways
from core.teaching.single_group import evaluate_file

WIDE = (metrics.GLOBAL_MATCH, metrics.IMAGE_TO_TEXT, metrics.TEXT_TO_IMAGE)


def ones(rows: int, dimensions: int = 1) -> bytes:
    same = np.ones((rows, dimensions), dtype=np.int8)
    return npz(img=same, cap=same)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(0, 7),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.sampled_from([np.float32, np.float64, np.int64]),
)
def test_ranks_by_blocks_are_those_of_the_matrix_with_captions_of_no_image_among_them(
    images, more, seed, coarse, kind
):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-2, 3, (images, images + more)).astype(kind)
    if not coarse and kind is not np.int64:
        scores = rng.normal(size=scores.shape).astype(kind)
    own = rng.permutation(images + more)[:images]
    before, global_match._BLOCK_SCORES = global_match._BLOCK_SCORES, int(rng.integers(1, 40))
    try:
        found = rank_both_ways(AllPairs.of(scores), (own, np.arange(images)))
    finally:
        global_match._BLOCK_SCORES = before
    relevant = np.zeros((images + more, images), dtype=bool)
    relevant[own, np.arange(images)] = True
    assert_counted(found, scores, relevant)


@pytest.mark.parametrize(("m", "k"), [(2, 2), (1, 4), (2, 3)])
@pytest.mark.parametrize("levels", [None, 3])
def test_the_metrics_by_blocks_are_those_of_the_matrix(monkeypatch, m, k, levels):
    rng, n = np.random.default_rng(0), 12
    whole = rng.normal(size=(n * m, n * k)).astype(np.float32)
    if levels is not None:
        whole = rng.integers(0, levels, whole.shape).astype(np.float32)
    groups = whole.reshape(n, m, n, k)[np.arange(n), :, np.arange(n)]
    dense = Evaluation.of(groups, None, global_scores=whole).metrics
    monkeypatch.setattr(global_match, "_DENSE", 0)
    monkeypatch.setattr(global_match, "_BLOCK_SCORES", 5 * n * k)
    blocks = Evaluation.of(groups, None, global_scores=AllPairs.of(whole)).metrics
    for name in WIDE if levels is None else WIDE[1:]:  # of several best assignments either may be found
        assert blocks[name] == dense[name]


def test_scores_of_embeddings_are_the_same_in_every_block_and_equal_rows_tie():
    rng = np.random.default_rng(0)
    images, captions = rng.normal(size=(40, 97)), rng.normal(size=(40, 97))
    captions[7] = captions[31] = captions[12]
    file = read_embeddings("e.npz", "2x2", npz(img=images, cap=captions))
    whole = file.global_scores()
    unit = [a / np.linalg.norm(a, axis=1, keepdims=True) for a in (images, captions)]
    np.testing.assert_allclose(whole, unit[0] @ unit[1].T, atol=1e-6)
    np.testing.assert_array_equal(whole[:, 7], whole[:, 12])
    np.testing.assert_array_equal(whole[:, 31], whole[:, 12])
    pairs = file.all_pairs()
    for size in (1, 3, 40):
        parts = [pairs.rows(slice(i, min(40, i + size))) for i in range(0, 40, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_the_assignment_by_blocks_has_the_highest_total_of_the_rounded_cosines(monkeypatch):
    rng = np.random.default_rng(1)
    images = rng.normal(size=(30, 5))
    pairs = read_embeddings(
        "e.npz", "2x2", npz(img=images, cap=images + rng.normal(size=(30, 5)))
    ).all_pairs()
    monkeypatch.setattr(global_match, "_DENSE", 0)
    found, scores = global_match.match_global(pairs), pairs.whole().astype(np.float64)
    rows, best = linear_sum_assignment(scores, maximize=True)
    assert scores[rows, found].sum() == pytest.approx(scores[rows, best].sum(), abs=1e-12)


# --- what a small file costs


def test_478_bytes_cost_little_memory_and_say_what_is_left_out(visitor):  # noqa: F811
    content, found = ones(20_000), []
    assert len(content) < 1000
    assert peak_of(lambda: found.append(evaluate_file("e.npz", content)[0].metrics)) < 200 * MB
    assert found[0]["group_match"].ties == 10_000 and not set(WIDE) & set(found[0])
    left = evaluate_file("e.npz", content)[0].left_out
    assert set(left) == set(WIDE) and all("400,000,000 pairs" in why for why in left.values())
    assert evaluate_file("e.npz", content)[0].record()["left_out"] == left


@pytest.mark.slow
def test_the_memory_does_not_grow_with_the_square():
    """On one's own machine the same file is measured: 4 times the rows, 16 times the pairs, not 4 times the memory."""
    found = {}

    def peak(rows):
        return peak_of(lambda: found.update({rows: evaluate_file("e.npz", ones(rows, 2))[0].metrics}))

    peak(100)  # what is imported and allocated once
    assert peak(8000) < max(
        100 * MB, 3 * peak(2000)
    )  # the matrix alone would take 256 MB, and its assignment 512
    assert found[8000][metrics.IMAGE_TO_TEXT].ties == 4000 and metrics.GLOBAL_MATCH in found[8000]


def test_an_assignment_that_is_too_much_work_is_left_out_and_recall_is_not(visitor):  # noqa: F811
    found = evaluate_file("e.npz", ones(1000))[0]
    assert set(found.left_out) == {metrics.GLOBAL_MATCH}
    assert "1,000,000,000 steps of assignment" in found.left_out[metrics.GLOBAL_MATCH]
    assert metrics.IMAGE_TO_TEXT in found.metrics
    few = evaluate_file("e.npz", ones(700))[0]
    assert not few.left_out and set(WIDE) <= set(few.metrics)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda: ones(50_000, 200), "numbers in one array"),
        (
            lambda: npz(img=np.ones((1000, 1), "i1"), cap=np.ones((1_000_000, 1), "i1")),
            "cannot form groups of 2 images",
        ),
        (lambda: ones(250_000), "groups"),
    ],
)
def test_embeddings_that_are_too_large_are_refused_before_they_are_converted(visitor, content, said):  # noqa: F811
    data = content()

    def read():
        with pytest.raises(InputError, match=said):
            read_embeddings("e.npz", "2x2", data)

    assert peak_of(read) < 100 * MB


def test_a_matrix_or_an_assignment_that_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("core.base.limits.memory_left", lambda: 1 << 20)
    pairs = AllPairs(lambda part: np.zeros((part.stop - part.start, 10**6)), 10**6, 10**6)
    with pytest.raises(InputError, match=r"needs about 4000\.0 GB of memory"):
        pairs.whole()
    monkeypatch.setattr(global_match, "_DENSE", 0)
    order = np.random.default_rng(0).normal(
        size=2000
    )  # every image wants the same captions: all become candidates
    with pytest.raises(InputError, match="The assignment of all images needs about"):
        global_match.match_global(
            AllPairs(lambda part: np.tile(order, (part.stop - part.start, 1)), 1900, 2000)
        )
    assert LOCAL.pairs > 10**9


# --- pages


@pytest.mark.parametrize(
    ("page", "query"),
    [("pages/2_Matching.py", {}), ("pages/8_Your_Data.py", {"way": "Scores or embeddings"})],
)
def test_both_pages_measure_the_small_file_and_say_what_is_left_out(open_page, monkeypatch, page, query):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = open_page(page, **query)
    test = fine(test.get("file_uploader")[0].upload("e.npz", ones(20_000)).run())
    shown = text(test).replace("\\", "")
    assert "400,000,000 pairs" in shown and "run Crossmatch on your own machine" in shown
    assert next(m.value for m in test.metric if m.label == "GroupMatch") == "0.0 %"
    bad = open_page(page, **query)
    bad = bad.get("file_uploader")[0].upload("z.npz", npz(scores=np.zeros((1, 2000, 2000), np.int8))).run()
    assert not bad.exception and "in one group" in bad.error[0].value


def test_a_file_is_measured_once_and_not_again_at_every_touch(open_page, monkeypatch):
    import ui.uploads

    counted, once = [], ui.uploads.evaluate_file
    monkeypatch.setattr(ui.uploads, "evaluate_file", lambda *a: (counted.append(a[0]), once(*a))[1])
    test = open_page("pages/8_Your_Data.py", way="Scores or embeddings")
    test = fine(test.get("file_uploader")[0].upload("e.npz", ones(40)).run())
    fine(fine(test.run()).run())
    assert counted == ["e.npz"]
    test.selectbox(key="shape").set_value("1x2").run()  # another shape is another question
    assert counted == ["e.npz"] * 2 and "cannot form groups of 1 image and" in test.error[0].value


BEGAN, ENDED = threading.Event(), threading.Event()


def never_ending() -> None:
    import numpy as np
    import test_all_pairs

    import ui
    from core.matching.groups import match

    test_all_pairs.BEGAN.set()
    try:
        with ui.show_errors():
            while True:
                match(np.zeros((10, 2, 2)))
    finally:
        test_all_pairs.ENDED.set()


def test_work_whose_visitor_has_gone_ends():
    """AppTest stops a script that takes too long as the server stops the script of a browser that has left."""
    from streamlit.testing.v1 import AppTest

    BEGAN.clear()
    ENDED.clear()
    for timeout in (1, 10, 100):  # a busy machine may not have begun by then
        with pytest.raises(RuntimeError, match="timed out"):
            AppTest.from_function(never_ending).run(timeout=timeout)
        if BEGAN.is_set():
            break
    assert ENDED.wait(300)


def test_a_turn_is_handed_on_when_the_one_whose_turn_it_is_goes():
    from core.base.interrupt import between_blocks, interruptible
    from ui.compute_queue import MODELS

    def gone():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), interruptible(gone), MODELS.one():
        between_blocks()
    between_blocks()  # nobody asks any more
    with MODELS.one():
        pass


def test_what_is_read_is_a_file_like_any_other():
    data = io.BytesIO()
    np.savez(data, scores=np.eye(2)[None])
    assert evaluate_file("s.npz", data.getvalue())[0].metrics["group_match"].value == 100
    assert evaluate_file("S.NPZ", ones(4))[0].shape == (2, 2)
