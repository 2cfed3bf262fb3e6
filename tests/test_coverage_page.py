"""The benchmark of intervals: every part of it runs, and what it draws is kept and read back."""

import pytest

from benchmarks.results import coverage

pytestmark = pytest.mark.slow

PARTS = ("clustered", "few_clusters", "models", "uneven", "shares", "paired", "seeds", "percentile")
CHECKS = ("blind", "scenarios", "shared", "differences", "powers", "needed")


@pytest.mark.parametrize("part", [*PARTS, *CHECKS])
def test_a_part_is_drawn_once_and_read_back_equal(part, tmp_path, monkeypatch):
    monkeypatch.setattr(coverage, "KEPT", tmp_path)
    detectable = coverage.statistics._detectable
    drawn = coverage._drawn(part, 4, 0)
    assert coverage.statistics._detectable is detectable
    monkeypatch.setattr(coverage, part, None)
    monkeypatch.setattr(coverage, "_digest", lambda name: next(tmp_path.iterdir()).stem.rpartition("-")[2])
    assert drawn and coverage._drawn(part, 4, 0) == drawn
    assert all(0 <= each[-1 if part in CHECKS else 3] <= 100 for each in drawn)
