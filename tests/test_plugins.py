"""A scorer of ten lines from an installed package: found by entry point, checked, cached, never from an upload."""

import sys

import numpy as np
import pytest
from packages import WORD_COUNT, install

from core.base.errors import InputError
from core.metrics.evaluation import Evaluation
from core.scorers import plugins
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key
from core.scoring.scores import score_groups

FAULTY = """
class Wrong(WordCount):
    def score(self, images, captions, pairs):
        return np.zeros((len(pairs), 2))

class Words(WordCount):
    def score(self, images, captions, pairs):
        return ["a"] * len(pairs)

class Broken(WordCount):
    def score(self, images, captions, pairs):
        return 1 / 0

class Nan(WordCount):
    def score(self, images, captions, pairs):
        return np.full(len(pairs), np.nan)

class NoKey:
    def score(self, images, captions, pairs):
        return np.zeros(len(pairs))

def fails():
    raise RuntimeError("no licence file")
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    names = ("WordCount", "Wrong", "Words", "Broken", "Nan", "NoKey", "fails")
    scorers = {name.lower(): f"ten_lines_of_scorer:{name}" for name in names}
    site = install(tmp_path / "site", WORD_COUNT + FAULTY, {**scorers, "missing": "not_there:X"})
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(
        sys.modules, "ten_lines_of_scorer", raising=False
    )  # another test's package of that name
    yield site
    sys.modules.pop("ten_lines_of_scorer", None)


def test_a_packages_scorer_is_listed_without_being_imported_and_scores_groups(package, toy_groups):
    assert "wordcount" in plugins.plugins()
    assert "ten_lines_of_scorer" not in sys.modules
    scorer = load_scorer("python:wordcount")
    scores = score_groups(scorer, toy_groups, ScoreCache())
    image, caption = toy_groups[0].images[1], toy_groups[0].captions[0]
    by_hand = np.asarray(image.open().resize((8, 8))).mean() + len(caption)
    assert scores[0, 1, 0] == pytest.approx(by_hand, rel=1e-6)
    assert Evaluation.of(scores, toy_groups.truth, toy_groups.ids).metrics["group_match"].chance == 50
    assert scorer.name == "python:wordcount"


def test_its_cached_scores_go_by_its_key_and_its_packages_version(package, toy_groups):
    first = load_scorer("python:wordcount").key
    info = package / "ten_lines-1.2.dist-info/METADATA"
    info.write_text(info.read_text().replace("Version: 1.2", "Version: 1.3"))
    assert plugins.load("python:wordcount", "wordcount", "cpu").key != first
    assert scorer_key("python:wordcount") is None  # nobody knows it without loading the package


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "wrong",
            r"gave float64 of shape \(\d+, 2\) for \d+ pairs; its `score` must return one number per pair",
        ),
        ("words", "must return one number per pair"),
        ("broken", r"failed \(ZeroDivisionError: division by zero\)"),
        ("nan", "not finite|finite"),
    ],
)
def test_answers_that_are_no_scores_are_sentences(package, toy_groups, name, message):
    with pytest.raises(InputError, match=message):
        score_groups(load_scorer(f"python:{name}"), toy_groups)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wordcuont", "Unknown scorer 'wordcuont'; did you mean 'wordcount'"),
        ("nokey", "needs a method `score"),
        ("fails", r"cannot be loaded \(RuntimeError: no licence file\)"),
        ("missing", r"cannot be loaded \(ModuleNotFoundError"),
        ("/tmp/evil.py", "Unknown scorer"),
        ("os:system", "Unknown scorer"),
    ],
)
def test_what_cannot_be_loaded_is_a_sentence(package, name, message):
    with pytest.raises(InputError, match=message):
        load_scorer(f"python:{name}")


def test_the_documented_ten_lines_are_a_scorer(toy_groups):
    """The example in the module's own text, run as it stands there."""
    lines = plugins.__doc__.split("that makes one) with two things:")[1].split("It sees images")[0]
    space: dict = {}
    code = "\n".join(line[4:] for line in lines.splitlines())
    exec(compile(code, "example", "exec"), space)
    scorer = plugins._PluginScorer("x", space["WordCount"](), "x")
    assert score_groups(scorer, toy_groups).shape == (6, 2, 2)
