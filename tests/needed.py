"""What not every machine has: tests that need it are counted apart at the end, those that ran and those skipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared/data"
NEEDS = {  # marker -> what it stands for, and the fixtures by which a test asks for it
    "real_data": ("Real data (../shared/data)", ("real_data",)),
    "browser": ("Chromium", ("chromium", "drawn")),
    "mteb": ("mteb", ("mteb",)),
    "every_eval_ever": ("every_eval_ever", ("every_eval_ever",)),
    "sentence_transformers": ("sentence-transformers", ("sentence_transformers",)),
}


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Finds a file or folder of the real data; where it is not there, the test that asks for it is skipped."""

    def find(name: str) -> Path:
        if not (DATA / name).exists():
            pytest.skip(f"needs the real data in {DATA / name}")
        return DATA / name

    return find


@pytest.fixture(scope="session")
def mteb() -> None:
    """The library mteb, which is no extra: with what it needs it is larger than all of the others."""
    pytest.importorskip("mteb")


@pytest.fixture(scope="session")
def every_eval_ever() -> None:
    """The library every_eval_ever, which asks for Python 3.12; its validator runs on 3.11, too."""
    pytest.importorskip("every_eval_ever")


@pytest.fixture(scope="session")
def sentence_transformers() -> None:
    """The library sentence-transformers, of the extra `sentence`."""
    pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="session")
def winoground_embeddings(real_data) -> Path:
    """The published OpenCLIP embeddings of Winoground."""
    return real_data("winoground/clip_vit_b32_laion2b_embeddings.npz")


def pytest_collection_modifyitems(items):
    """Mark the tests by the fixtures that they use."""
    for item in items:
        for marker, (_, fixtures) in NEEDS.items():
            if set(fixtures) & set(item.fixturenames):
                item.add_marker(marker)


def pytest_terminal_summary(terminalreporter):
    """One line for each of them, before pytest's own last line."""
    stats = terminalreporter.stats
    for marker, (what, _) in NEEDS.items():
        skipped, ran = (
            sum(marker in report.keywords for kind in kinds for report in stats.get(kind, []))
            for kinds in (("skipped",), ("passed", "failed"))
        )
        if skipped or ran:
            terminalreporter.write_line(f"{what}: {ran} tests ran, {skipped} were skipped for lack of it")
