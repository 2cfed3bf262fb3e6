"""A run of a strategy as a JSON-safe description, and its execution: trains, and measures before and after.

What is right on validation and test queries is read here, to measure, and never passed on to training. Free of torch at
import, as `core/ttm/run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from core.base.errors import InputError, unknown_name
from core.cola.tasks import BENCHMARKS, BUILTIN, load_task
from core.metrics import groups as metrics
from core.metrics.groups import IMAGE_SCORE, TEXT_SCORE
from core.metrics.retrieval import COLA_MAP, RetrievalEvaluation
from core.runs.models import adapted_model
from core.runs.store import RunStore
from core.scorers.cola_config import KIND, STRATEGIES, AdaptConfig
from core.scoring.load import load_base
from core.scoring.retrieval import score_retrieval
from core.scoring.scores import score_groups
from core.ttm.defaults import absolute_name, check_device

if TYPE_CHECKING:
    import numpy as np

    from core.cola.tasks import AdaptationTask
    from core.cola.training import TrainingState
    from core.datasets.sets import Retrieval
    from core.scorers.cola_adapted import AdaptedModel


class FinishedEpoch(NamedTuple):
    """One finished epoch: its JSON-safe record, arrays for the run's folder, model and state."""

    record: dict[str, Any]
    arrays: dict[str, np.ndarray]
    model: AdaptedModel
    state: TrainingState


def adapt_job(
    benchmark: str = "scenes/retrieval",
    model: str = "builtin/clip",
    *,
    images: int | None = None,
    folder: Path | str | None = None,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The description that `execute` takes, checked as far as that needs no model.

    images : measure on the first so many test images (None: 500 of the built-in ones, all of any other set). folder :
    where the benchmark's files lie, if not in the usual place. options : settings of `AdaptConfig`; None leaves one
    as it is.
    """
    if benchmark not in BENCHMARKS:
        raise unknown_name("benchmark to adapt to", benchmark, BENCHMARKS)
    if folder is not None and benchmark == BUILTIN:
        raise InputError(f"{BUILTIN} is built in and has no files; leave the folder out.")
    if images is not None and images < 2:
        raise InputError(f"{images} test images cannot be ranked; ask for 2 or more.")
    config = AdaptConfig().updated(options or {})
    if (options or {}).get("fusion") is not None and not STRATEGIES[config.strategy].joint:
        raise InputError(
            f"{STRATEGIES[config.strategy].label} lets image and query meet in no fusion; leave it out, or choose "
            "MM-Pred or MM-Adapter."
        )
    place = str(Path(folder).resolve()) if folder else None
    source: dict[str, Any] = {"benchmark": benchmark, "split": "test", "model": absolute_name(model)}
    source |= {"images": images, "folder": place}
    return {**source, "device": check_device(device), KIND: config.to_dict()}


def settings_of(config: Mapping[str, Any]) -> AdaptConfig:
    """The settings in a description."""
    return AdaptConfig(**config[KIND])


def execute(
    config: Mapping[str, Any],
    checkpoint: Path | None = None,
    state: TrainingState | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[float, str], None] | None = None,
    final: bool = True,
    before: bool = True,
) -> Iterator[FinishedEpoch]:
    """Train what a description names; one item per epoch, from 0, the state before, on.

    checkpoint : a model folder to go on from, with its `state`. final : measure on the test set before and after;
    without it the curve on validation queries is all there is. before : False leaves the base unmeasured.
    """
    from core.cola.training import train  # torch
    from core.scorers.cola_adapted import AdaptedModel, load  # torch

    settings, device = settings_of(config), config.get("device") or "auto"
    tell = progress or (lambda share, text: None)
    tell(0.0, "collecting scenes and queries")
    task = load_task(dict(config), settings)
    if checkpoint is None:
        source = base_source(config["model"])
        model = AdaptedModel.of(load_base(source, device), settings, source)
    else:
        model = load("checkpoint", str(checkpoint), device, load_base=load_base)
    for report, now in train(model, task.material, settings, state=state, stop=stop, progress=progress):
        record: dict[str, Any] = {
            "iteration": report.epoch,
            "loss": float(report.losses.mean()) if len(report.losses) else None,
            "lr": report.lr,
            "seconds": report.seconds,
            **dict.fromkeys(("threshold", "coverage", "precision")),
            "note": "",
            "metrics": {},
            "parameters": model.parameters,
            "validation": _validation(model, task),
        }
        if record["validation"]:
            record["metrics"] = {COLA_MAP: record["validation"][COLA_MAP]["all"]}
        arrays = {"losses": report.losses}
        if final and report.epoch in ((0, settings.epochs) if before else (settings.epochs,)):
            tell(report.epoch / settings.epochs, "measuring on test queries")
            scorer = load_base(model.base_name, device) if report.epoch == 0 else model
            started = perf_counter()
            record["test"], found = measure(scorer, task)
            record["measured_in"] = perf_counter() - started
            arrays |= found
        yield FinishedEpoch(record, arrays, model, now)


def base_source(name: str) -> str:
    """What loads a base: the name itself, or for `run/ID` (`itc:run/ID`) the folder of that run's model."""
    prefix, found, run_id = name.rpartition("run/")
    if not found or (prefix and not prefix.endswith(":")):
        return name

    return f"{prefix}{adapted_model(RunStore(), run_id)}"


def _validation(model: AdaptedModel, task: AdaptationTask) -> dict[str, Any]:
    """Cola mAP on the small validation set; {} where a task has none."""
    if task.validation is None:
        return {}

    found = evaluation(task.validation, score_retrieval(model, task.validation))
    return {COLA_MAP: {n: p.record() for n, p in found.metrics()[COLA_MAP].items()}}


def evaluation(found: Retrieval, scores: np.ndarray) -> Any:
    """The retrieval evaluation of scores (q, n) over a set."""
    return RetrievalEvaluation(
        scores, found.relevant, found.any_word, found.all_words, found.unseen, found.attributes
    )


def measure(scorer: Any, task: AdaptationTask) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Everything a task measures of a scorer: JSON-safe metrics, and arrays for later comparisons."""
    scores = score_retrieval(scorer, task.test)
    record: dict[str, Any] = {
        "images": len(task.test.images),
        "queries": len(task.test.queries),
        "retrieval": evaluation(task.test, scores).record(),
    }
    arrays: dict[str, np.ndarray] = {"retrieval_scores": scores}
    for name, groups, metric in (
        ("multi_object", task.multi_object, IMAGE_SCORE),
        ("crepe", task.crepe, TEXT_SCORE),
    ):
        if groups is None or groups.truth is None:
            continue
        outcome = metrics.outcomes(score_groups(scorer, groups), groups.truth, [metric])[metric]
        m, k = groups.shape
        found = metrics.estimate(outcome.value, 100 * metrics.chance(metric, m, k), int(outcome.tied.sum()))
        rounded = {key: round(getattr(found, key), 4) for key in ("value", "low", "high", "chance")}
        record[name] = {**rounded, "ties": found.ties, "groups": len(groups)}
        arrays[name] = outcome.value
    return record, arrays
