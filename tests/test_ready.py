"""Shipped scores: they are what the models compute, are found by content alone, and spare the first start a model."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import bound_assets  # noqa: F401
import numpy as np
import pytest

from benchmarks.results.shipped_scores import is_current, write_scores
from core.base import paths
from core.datasets import SHIFTS, load, load_retrieval
from core.debiasing.priors import estimate_prior
from core.groups import GroupSet
from core.scenes.sets import FLAT, SETS
from core.scoring import _shipped as ready
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key, scorer_names
from core.scoring.pairs import Pairs
from core.scoring.retrieval import RetrievalSubset, first_images, score_retrieval
from core.scoring.scores import score_groups

ROOT = Path(__file__).resolve().parent.parent
RENEW = "renew assets/scores with `python -m benchmarks.results.shipped_scores`"


def keys_of(groups: GroupSet) -> list[tuple[str, str]]:
    return [(image.key, caption) for g in groups for image in g.images for caption in g.captions]


class Unloaded:
    """Knows a model's key, and fails when somebody asks it for a score."""

    def __init__(self, name: str) -> None:
        self.name, self.key = name, scorer_key(name)

    def score(self, images, captions, pairs):
        raise AssertionError(f"{len(pairs)} scores of {self.name} are not shipped; {RENEW}")


@pytest.fixture(scope="module")
def every_set() -> dict[str, GroupSet]:
    return {name: load(name) for name in (*SETS, *FLAT)}


@pytest.mark.parametrize("scorer", scorer_names())
def test_every_score_of_every_built_in_set_ships(scorer, every_set):
    for groups in every_set.values():
        found = score_groups(Unloaded(scorer), groups, ScoreCache())
        assert found.shape == (len(groups), *groups.shape)


TOWERS = ("builtin/clip", "builtin/siglip")
SHIFTED = ("attribute-swap", "left-right", "front-behind", "relations-1x4", "size-swap", "material-swap")


@pytest.mark.parametrize("scorer", TOWERS)
def test_scores_of_the_core_sets_shifted_in_middle_strength_ship(scorer):
    shifts = [name for name in SHIFTS if "-" not in name]
    for number, name in enumerate(SHIFTED):  # every set and, over the models, every shift
        groups = load(f"scenes/{name}~{shifts[(number + TOWERS.index(scorer)) % len(shifts)]}")
        assert score_groups(Unloaded(scorer), groups, ScoreCache()).shape == (300, *groups.shape)
        few = groups.select([number, 299 - number])
        shipped = score_groups(Unloaded(scorer), few, ScoreCache())
        np.testing.assert_allclose(score_groups(load_scorer(scorer, "cpu"), few), shipped, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", SETS)
def test_the_prior_from_noise_ships_too_so_that_alpha_moves_without_the_model(name):
    captioner = "builtin/blip-caption"
    found = estimate_prior(Unloaded(captioner), load(name), cache=ScoreCache())
    assert found.samples.shape[0] == 3 and np.isfinite(found.values).all()


def test_the_shipped_prior_is_what_the_captioner_computes():
    pytest.importorskip("torch")
    few = load("scenes/word-order").select([0, 299])
    model = load_scorer("builtin/blip-caption", "cpu")
    shipped = estimate_prior(Unloaded(model.name), few, cache=ScoreCache())
    np.testing.assert_allclose(shipped.samples, estimate_prior(model, few).samples, atol=1e-4, rtol=0)


def first_search() -> RetrievalSubset:
    """What the Retrieval page begins with."""
    return first_images(load_retrieval("scenes/retrieval"), 500)


def test_the_retrieval_page_s_first_scores_ship():
    found = score_retrieval(Unloaded("builtin/clip"), first_search(), ScoreCache())
    assert found.shape == (240, 500) and np.isfinite(found).all()


def test_the_shipped_retrieval_scores_are_what_the_model_computes():
    pytest.importorskip("torch")
    search = first_search()
    few = first_images(search, 20, every=40)
    model = load_scorer("builtin/clip", "cpu")
    shipped = score_retrieval(Unloaded(model.name), few, ScoreCache())
    np.testing.assert_allclose(score_retrieval(model, few), shipped, atol=1e-4, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("scorer", scorer_names())
def test_shipped_scores_are_what_the_model_computes(scorer, every_set):
    pytest.importorskip("torch")
    model = load_scorer(scorer, "cpu")
    assert model.key == scorer_key(scorer)
    for number, name in enumerate(SETS):
        groups = every_set[name].select([number, 150 + number, 299 - number])
        shipped = score_groups(Unloaded(scorer), groups, ScoreCache())
        np.testing.assert_allclose(score_groups(model, groups), shipped, atol=1e-4, rtol=0)


def test_nothing_else_lies_there_and_it_is_small():
    for shifted, scorers in ((False, tuple(scorer_names())), (True, TOWERS)):
        place = ready.folder(shifted)
        kept = {ready.score_path(scorer_key(name), shifted) for name in scorers} | {place / ready.PAIRS}
        files = set(place.iterdir())
        assert files == kept, RENEW
        assert sum(file.stat().st_size for file in files) < 6e6


# Never stale


@pytest.fixture
def model_copy(tmp_path) -> Path:
    return Path(shutil.copytree(paths.assets() / "models" / "clip", tmp_path / "clip"))


def change_weight(folder: Path) -> None:
    file = folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)


def change_tokenizer(folder: Path) -> None:
    file = folder / "tokenizer.json"
    file.write_text(file.read_text() + "\n")


@pytest.mark.parametrize("change", [change_weight, change_tokenizer])
def test_a_changed_model_is_never_answered_with_old_scores(model_copy, change):
    keys = keys_of(load("scenes/left-right").select(range(5)))
    before = scorer_key(str(model_copy))
    assert np.isfinite(ScoreCache().get(before, Pairs.of(keys))).all()  # a copy is the same model
    change(model_copy)
    assert scorer_key(str(model_copy)) != before
    assert np.isnan(ScoreCache().get(scorer_key(str(model_copy)), Pairs.of(keys))).all()


def test_another_caption_or_image_has_no_shipped_score():
    key = scorer_key("builtin/clip")
    (image, caption), *_ = keys_of(load("scenes/left-right"))
    other = keys_of(load("scenes/left-right", "validation"))[0]
    asked = [(image, caption), (image, caption + "."), (image[::-1], caption), other, (image, other[1])]
    assert np.isfinite(ready.find_scores(key, Pairs.of(asked))).tolist() == [True, False, False, False, False]


def copied_assets(tmp_path: Path, monkeypatch) -> tuple[str, list[tuple[str, str]]]:
    """A copy of the shipped scores to do harm to; the key of a scorer, and keys that it has scores of."""
    key, keys = scorer_key("builtin/clip"), keys_of(load("scenes/swap").select(range(4)))
    shutil.copytree(ready.folder(), tmp_path / "scores")
    monkeypatch.setattr("core.base.paths.assets", lambda: tmp_path)
    assert np.isfinite(ready.find_scores(key, Pairs.of(keys))).all()
    return key, keys


def test_scores_of_other_pairs_are_not_used(tmp_path, monkeypatch):
    key, keys = copied_assets(tmp_path, monkeypatch)
    pairs = ready.ShippedPairs.of(Pairs.of(keys))
    assert not is_current(key, pairs)
    pairs.write(ready.folder() / ready.PAIRS)
    assert np.isnan(ready.find_scores(key, Pairs.of(keys))).all()


@pytest.mark.parametrize("harm", ["cut", "no archive", "another scorer's"])
def test_a_damaged_file_is_as_good_as_none(tmp_path, monkeypatch, harm):
    key, keys = copied_assets(tmp_path, monkeypatch)
    path = ready.score_path(key)
    bad = {
        "cut": path.read_bytes()[:500],
        "no archive": b"version https://git-lfs.github.com/spec/v1",
        "another scorer's": ready.score_path("x").parent.joinpath(other_file(path)).read_bytes(),
    }
    path.write_bytes(bad[harm])
    with pytest.warns(UserWarning, match="cannot be read"):
        assert np.isnan(ready.find_scores(key, Pairs.of(keys))).all()


def other_file(path: Path) -> str:
    return next(p.name for p in sorted(path.parent.iterdir()) if p.name not in (path.name, ready.PAIRS))


def test_what_is_written_is_found_pair_by_pair(tmp_path, monkeypatch):
    monkeypatch.setattr("core.base.paths.assets", lambda: tmp_path)
    keys = [(f"image {i}", f"caption {j}") for i in range(7) for j in range(5) if (i + j) % 3]
    pairs = ready.ShippedPairs.of(Pairs.of(keys + keys[:4]))
    assert len(pairs.codes) == len(keys)
    ready.folder().mkdir()
    pairs.write(ready.folder() / ready.PAIRS)
    values = np.empty(len(keys), dtype=np.float32)
    values[pairs.places(Pairs.of(keys))] = np.arange(len(keys))
    write_scores("a key", "a name", pairs, values)
    assert is_current("a key", pairs) and not is_current("another key", pairs)
    order = np.random.default_rng(0).permutation(len(keys))
    assert ready.find_scores("a key", Pairs.of([keys[i] for i in order])).tolist() == order.tolist()
    assert np.isnan(
        ready.find_scores("a key", Pairs.of([("image 0", "caption 0"), ("image 9", "caption 1")]))
    ).all()
    assert (
        np.isnan(ready.find_scores("another key", Pairs.of(keys))).all()
        and len(ready.find_scores("a key", Pairs.of([]))) == 0
    )


# The first start: one process does it all, one thing after the other

FIRST = {
    "the modules of pages and commands": "import core.datasets, core.metrics.groups, core.scoring.scores, ui\n"
    "import core.runs.store, core.figures, core.cli, core.ttm.run, core.ttm.seeds, core.ttm.explain\n"
    "import core.runs.models, core.ttm.time_left, core.papers, core.debiasing.priors, core.debiasing.study\n"
    "import core.debiasing.blind, core.figures.tokens",
    "listing benchmarks": "core.datasets.names()",
    "listing models": "from core.scoring.load import builtin_models; builtin_models()",
    "scores that ship, in a report": "from core.exchange.report import evaluate_all\n"
    "(found,) = evaluate_all(['builtin/clip'], ['scenes/left-right'])\n"
    "assert len(found.evaluation.scores) == 300",
    "scores that ship, by the command line": "import contextlib, io; from core.cli import main\n"
    "sys.argv = ['crossmatch', 'evaluate', '--benchmark', 'scenes/left-right', '--json']\n"
    "with contextlib.redirect_stdout(io.StringIO()):\n"
    "    try: main()\n"
    "    except SystemExit as end: assert not end.code, end.code",
    "the home page": "from streamlit.testing.v1 import AppTest\n"
    "page = AppTest.from_file('app.py', default_timeout=600).run(); assert not page.exception, page.exception",
    "the retrieval page": "page.switch_page('pages/5_Retrieval.py').run(); assert not page.exception, page.exception",
}


def test_the_first_start_imports_no_torch():
    pytest.importorskip("streamlit")
    code = "import sys\n" + "\n".join(
        f"{does}\nassert not {{'torch', 'transformers'}} & set(sys.modules), {what!r}"
        for what, does in FIRST.items()
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
