"""What runs, and the models that they have adapted, are called on the screen: their ids say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from core.base.errors import InputError
from core.runs.store import Run
from core.ttm.seeds import SeedGroup, seed_of
from ui.visitor import VisitorStore

COLA = "adapt"  # the kind of a run of the Retrieval page
SHIPS = "the example that ships"  # with Crossmatch: nobody here has started it


def kind_of_run(run: Run) -> str:
    """What a run is, in a few words."""
    if run.kind == COLA:
        return f"Cola, {run.config[COLA].get('strategy', '')}"
    if run.kind in ("evaluate", "measure"):
        return "Evaluation" if run.kind == "evaluate" else "Measurement"
    if run.kind == "ledger":
        return "Controls of TTM" + f", {SHIPS}" * run.is_example
    words = ["SimpleMatch" if "simplematch" in run.config else "TTM"]
    if run.config.get("ttm", {}).get("variant") == "global":
        words.append("global")
    if run.config.get("oracle"):
        words.append("oracle (uses the truth)")
    if run.config.get("adapt_on"):
        words.append(f"transfer check {100 * run.config['adapt_on']:.0f} %")
    if run.config.get("embeddings"):
        words.append("embeddings")
    if run.is_example:
        words.append(SHIPS)
    return ", ".join(words)


def run_of(model: str | None) -> Run | None:
    """The run that has adapted a model, by the model's name; None of any other model."""
    run_id = (model or "").partition("run/")[2].partition("?")[0]
    with suppress(InputError):
        return VisitorStore().get(run_id) if run_id else None
    return None


def run_names(models: Iterable[str]) -> dict[str, str]:
    """What models that runs have adapted are called: by the run's own name, or `TTM · swap · seed 1`; of several that
    would be called alike with the model that they began with, then with the minute, then with the id. No entry for any
    other model."""
    found = {name: run for name in models if (run := run_of(name)) is not None}
    said = {name: _written(name, run) for name, run in found.items()}
    for more in (lambda run: str(run.config.get("model", "")), began, lambda run: run.id):
        counts = Counter(said.values())
        said = {
            name: f"{text} · {more(found[name])}" if counts[text] > 1 else text for name, text in said.items()
        }
    return said


def began(run: Run) -> str:
    """When a run began, to the minute."""
    return f"{datetime.fromtimestamp(run.created):%d %b %H:%M}"


def _written(model: str, run: Run) -> str:
    score, _, options = model.partition(f"run/{run.id}")
    name = SeedGroup(run.id, [run]).given_name
    if not name:
        of = str(run.config.get("benchmark") or "").removeprefix("scenes/")
        name = " · ".join(filter(None, (kind_of_run(run), of, f"seed {seed_of(run)}")))
    return f"{score}{name}{options}"
