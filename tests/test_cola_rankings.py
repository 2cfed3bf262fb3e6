"""The shipped weights of Cola's strategies: they give the rankings that ship, and are found by their names."""

import json
import re

import numpy as np
import pytest

from benchmarks.results import cola_rankings
from benchmarks.results.cola_rankings import first_pictures, precisions
from core.base import files, paths
from core.base.errors import InputError
from core.cola.run import StrategyRun
from core.cola.tasks import BUILTIN
from core.datasets import load_retrieval
from core.runs.store import RunStore
from core.scorers.cola_config import PROTOCOL_BASE, STRATEGIES
from core.scorers.hub import _trained_strategies, builtin_models
from core.scorers.vocabulary import vocabulary_note
from core.scoring.load import load_scorer, scorer_names
from core.scoring.retrieval import first_images, score_retrieval
from core.scoring.weights import weights_state

RECORD = json.loads((paths.assets() / "results" / "cola_rankings.json").read_text())
QUERIES = 60  # every so many-th of 240 is scored: MM-Pred needs a second for each


@pytest.mark.parametrize("strategy", ["before", *STRATEGIES])
def test_the_shipped_weights_give_the_rankings_and_precisions_that_ship(strategy):
    name = PROTOCOL_BASE if strategy == "before" else f"builtin/cola/{strategy}"
    pictures = first_images(load_retrieval(BUILTIN), RECORD["images"], QUERIES)
    scores = score_retrieval(load_scorer(name, "cpu"), pictures)
    assert first_pictures(pictures, scores) == RECORD["first"][strategy][::QUERIES]
    kept = np.array(RECORD["precision"][strategy][::QUERIES], dtype=float)
    found = np.array(precisions(pictures, scores), dtype=float)
    np.testing.assert_allclose(found, kept, atol=0.05 + 1e-9)  # stored with one decimal


def test_each_strategy_ships_as_its_run_wrote_it_and_names_no_machine():
    assert [*_trained_strategies()] == sorted(f"builtin/cola/{name}" for name in STRATEGIES)
    for name, folder in _trained_strategies().items():
        manifest = files.verify_manifest(folder)
        adapt = manifest["config"]["adapt"]
        assert name == f"builtin/cola/{adapt['strategy']}" and manifest["base"] == PROTOCOL_BASE
        assert (adapt["epochs"], adapt["seed"]) == (RECORD["epochs"], RECORD["seed"])
        for path in folder.iterdir():
            if path.suffix != ".safetensors":
                assert not re.search(r"(?<![\w.])(~|[A-Z]:\\|/)\w+/", path.read_text()), path


def test_trained_strategies_stand_in_no_list_of_built_in_models():
    assert not [name for name in (*builtin_models(), *scorer_names()) if "cola" in name]
    assert weights_state("builtin/cola/mm-pred") == "built in"
    with pytest.raises(InputError, match="did you mean 'builtin/cola/mm-pred'"):
        load_scorer("builtin/cola/mm-prod")


def test_a_strategy_knows_the_words_of_its_base():
    for source in ("builtin/cola/linear", str(_trained_strategies()["builtin/cola/linear"])):
        note = vocabulary_note("it", source, "", ["a red dragon"], even_if_known=False)
        assert note == vocabulary_note("it", PROTOCOL_BASE, "", ["a red dragon"]) and "dragon" in note


def test_the_weights_of_a_run_are_shipped_whole_in_place_of_older_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(cola_rankings, "MODELS", tmp_path)
    (tmp_path / "linear").mkdir()
    (tmp_path / "linear" / "old.json").write_text("{}")
    store = RunStore()
    run = store.create("adapt", "linear", StrategyRun.of(options={"strategy": "linear"}).written())
    folder = store.folder(run.id) / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "crossmatch-adapted"}')
    files.write_manifest(folder, base=PROTOCOL_BASE)
    store.conclude(run.id, store.queue_up(run.id), "finished")
    cola_rankings.ship_weights(store, run.id, "linear")
    assert {path.name for path in (tmp_path / "linear").iterdir()} == {"config.json", "manifest.json"}
    assert files.verify_manifest(tmp_path / "linear")["base"] == PROTOCOL_BASE
    (folder / "config.json").write_text("{}")
    with pytest.raises(InputError):
        cola_rankings.ship_weights(store, run.id, "linear")
