"""A tiny twin of the rehearsal with models and data of real size (`benchmarks.safety.rehearsal`)."""

import shutil

import numpy as np

from benchmarks.safety.rehearsal import into_cache, winoground
from core.datasets import load
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups


def test_a_model_in_the_cache_of_the_hub_is_found_by_its_name_offline(
    make, tmp_path, monkeypatch, toy_groups
):
    shutil.copytree(make("clip"), tmp_path / "made")
    into_cache(tmp_path / "made", "somebody/tiny-clip", tmp_path / "hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    found = score_groups(load_scorer("somebody/tiny-clip", "cpu"), toy_groups)
    np.testing.assert_array_equal(found, score_groups(load_scorer(str(make("clip")), "cpu"), toy_groups))


def test_pictures_as_users_have_them_are_read(tmp_path):
    """Progressive, CMYK, turned by EXIF, grey, palette, alpha, large: all are RGB.

    As the papers' code reads a benchmark, EXIF turns nothing; a user's own pictures are set upright at their import.
    """
    winoground(tmp_path, groups=4, large=(1200, 800))
    groups = load("winoground", folder=tmp_path, partial=True)
    images = [image.open() for group in groups for image in group.images]
    assert [image.mode for image in images] == ["RGB"] * 8
    assert all(image.width > image.height for image in images)
