"""What runs, and the models that they have adapted, are called on the screen: their ids say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from core.base.errors import InputError
from core.exchange.run_table import _seeds_said
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


_LETTERS, _OF_SET = 36, 14  # of a run's name where nobody gave it one; at least so many of its set's


def given_name(sweep: SeedGroup) -> str:
    """The name that somebody gave a run; "" of one of a file that is called by it, as all of that file are."""
    name, is_of_file = sweep.given_name, bool(sweep.runs[0].config.get("embeddings"))
    return "" if is_of_file and " · embeddings" in name else name


def called(sweep: SeedGroup) -> str:
    """What a run is called whatever stands beside it: the name that somebody gave it, else set, method and seed:
    `left-right · TTM · seed 0`."""
    if name := given_name(sweep):
        return name
    first, seeds = sweep.runs[0], _seeds_said([seed_of(run) for run in sweep.runs])
    words = kind_of_run(first).removesuffix(f", {SHIPS}").replace(" (uses the truth)", "").split(", ")
    method = ", ".join(word for word in words if word != "embeddings")  # its set, a file, says it
    ends = [method, f"seed{'s' * (len(sweep.runs) > 1)} {seeds}"]
    of = str(first.config.get("benchmark") or "").removeprefix("scenes/")
    room = max(_LETTERS - len(" · ".join(["", *ends])), _OF_SET)
    return " · ".join(filter(None, [cut_within(of, room), *ends]))


def cut_within(name: str, most: int) -> str:
    """A name without its middle where it is too long: files of one kind begin alike, and differ at their ends."""
    if len(name) <= most:
        return name
    head = most // 2
    return f"{name[:head]}…{name[head + 1 - most :]}"


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
