"""The speed benchmarks compare like with like: their baseline is the same algorithm, and their counts are right."""

import numpy as np
import pytest

from benchmarks.speed import gpu, memory, overhead, scoring, sized
from benchmarks.speed import ttm as ttm_speed
from core.scoring.load import load_scorer
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm

CONFIG = TTMConfig(iterations=2, epochs=2, lr=1e-3, coverage_first=0.5, batch=2)


@pytest.mark.parametrize("family", ["clip", "siglip"])
def test_the_direct_baseline_is_test_time_matching(family, toy_groups, request):
    model = load_scorer(str(request.getfixturevalue(f"tiny_{family}_folder")), "cpu")
    steps = list(run_ttm(model, toy_groups, CONFIG))
    found = ttm_speed.direct(model, toy_groups, CONFIG)
    assert found.steps == sum(len(step.report.losses) for step in steps[1:]) == 2 * 2 + 2 * 3
    # Padding and the order of sums differ, in the last digits.
    np.testing.assert_allclose(found.scores, steps[-1].scores, atol=1e-3)
    assert np.abs(steps[-1].scores - steps[0].scores).max() > 0.1


def test_our_run_spends_its_time_in_the_model_and_never_more(toy_groups, tiny_clip_folder):
    found = ttm_speed.ours(load_scorer(str(tiny_clip_folder), "cpu"), toy_groups, CONFIG)
    assert 0 < found.inside < found.seconds


def test_what_a_run_costs_besides_its_model_is_a_row_an_iteration_and_each_image_is_opened_once():
    *rows, counts = overhead.measure(iterations=1, epochs=1)
    assert [row["iteration"] for row in rows] == [0, 1]
    assert all(0 < row["outside"] <= row["seconds"] and 0 < row["share"] <= 1 for row in rows)
    # Captions are tokenised once a run; the model scores before training and after the iteration.
    assert counts == {"images": 600, "opened": 600, "_tokenize": 1, "score_prepared": 2}


def test_pairs_of_runs_give_a_ratio_with_its_interval(toy_groups, tiny_clip_folder):
    """Logarithms 0, ln 2, ln 4: mean and deviation ln 2, half width t(0.975, 2) ln 2 / sqrt 3 = 1.7219."""
    assert ttm_speed.ratio_interval([1.0, 2.0, 4.0]) == "2.00 [0.36, 11.19]"
    config = CONFIG.updated({"iterations": 1, "epochs": 1})
    row = ttm_speed.paired("tiny", load_scorer(str(tiny_clip_folder), "cpu"), toy_groups, config, 2)
    assert row["rounds"] == 2 and row["direct"]["steps"] == row["crossmatch"]["steps"]


def test_groups_on_disk_keep_their_captions_truth_and_pictures():
    from core.datasets import load

    plain = load(sized.SET, "test").select(range(3))
    with sized.on_disk(3) as groups:
        assert groups.ids == plain.ids
        np.testing.assert_array_equal(groups.truth, plain.truth)
        for one, other in zip(groups, plain, strict=True):
            assert one.captions == other.captions
            for file, image in zip(one.images, other.images, strict=True):
                np.testing.assert_array_equal(np.asarray(file.open()), np.asarray(image.open(64)))


def test_generative_scoring_encodes_an_image_once():
    found = scoring.encodings(3)
    assert (found["images"], found["encodings"], found["scores"]) == (3, 3, 12)


def test_groups_of_the_memory_benchmark_share_no_image(tmp_path):
    memory.draw(tmp_path, 8)
    groups = memory.described(4, tmp_path)
    assert len(groups.unique_images()[0]) == 8
    assert groups.shape == (2, 2)


def test_without_a_gpu_its_part_is_one_sentence(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert list(gpu.measure()) == [{"note": gpu.NONE}]


def test_the_operations_of_a_step_are_counted_and_set_against_the_peak(toy_groups, tiny_clip_folder):
    row = gpu.step_rate(load_scorer(str(tiny_clip_folder), "cpu"), toy_groups, False, 64, 1)
    assert row["what"] == f"one step of {len(toy_groups.unique_images()[0])} pairs, float32"
    assert row["share of the peak"] > 0


def test_scoring_from_files_is_compared_with_the_bare_model_on_the_same_pairs(tiny_clip_folder):
    model = load_scorer(str(tiny_clip_folder), "cpu")
    (row,) = scoring.throughput("tiny", model, 32, sized.PNG, 60, 1)
    assert row["images per second"] > 0 and row["bare model"] > 0
