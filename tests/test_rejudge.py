"""A second opinion on results that other tools wrote: `samples/rejudge`, each made by the tool itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError
from core.datasets.score_files import read_scores, write_scores

SAMPLES = Path(__file__).parent / "samples" / "rejudge"
MTEB = SAMPLES / "mteb"
PAIRS = MTEB / "random-clip-0" / "TinyWinoground_predictions.json"

# --- scores


def test_predictions_of_mteb_are_scores_of_groups_whose_images_own_the_captions_in_order():
    found, written = read_scores(PAIRS), json.loads(PAIRS.read_text())
    np.testing.assert_array_equal(found.scores, written["default"]["test"])
    np.testing.assert_array_equal(found.truth, [[0, 1]] * 12)
    assert found.ids == [str(i) for i in range(12)] and found.tags is None


def test_subsets_and_splits_of_mteb_become_tags(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"mteb_model_meta": {}, "a": {"test": [[[1, 2]]]}, "b": {"dev": [[[3, 4]]]}}))
    found = read_scores(path)
    assert found.ids == ["a/test/0", "b/dev/0"] and found.tags.to_dict("list") == {
        "subset": ["a", "b"],
        "split": ["test", "dev"],
    }


@pytest.mark.parametrize(
    "value, says",
    [
        ({"mteb_model_meta": {}}, "holds no predictions"),
        ({"mteb_model_meta": {}, "default": {"test": {"q1": {"d1": 0.5}}}}, "are no scores of groups"),
        ({"mteb_model_meta": {}, "default": {"test": [[[1, 2]], [[1, 2, 3]]]}}, "are no scores of groups"),
        ({"mteb_model_meta": {}, "a": {"t": [[[1, 2]]]}, "b": {"t": [[[1, 2, 3]]]}}, "groups of 1x2 and 1x3"),
        ({"mteb_model_meta": {}, "a": {"t": [[[1, None]]]}}, "not a finite number"),
        ({"task_name": "x"}, "neither predictions of MTEB"),
        ([1, 2], "is not a JSON object"),
    ],
)
def test_other_json_is_refused_in_one_sentence(tmp_path, value, says):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=says) as told:
        read_scores(path)
    assert str(told.value).count("\n") == 0


def test_scores_are_not_written_as_predictions_of_mteb(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.csv, \.parquet, \.npz, \.jsonl\."):
        write_scores(tmp_path / "x.json", np.zeros((1, 2, 2)))
