"""A run of a strategy: what describes it; trains, and measures before and after.

What is right on validation and test queries is read here, to measure, and never passed on to training. Free of torch at
import, as `core/ttm/run.py`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from core.base import files
from core.base.errors import InputError
from core.base.settings import one_of
from core.base.text import _KEPT, _pct, counted
from core.cola.tasks import BENCHMARKS, BUILTIN, SCENE_GRAPHS, AdaptationTask
from core.metrics import groups as metrics
from core.metrics import statistics
from core.metrics.groups import GROUP_MATCH, IMAGE_SCORE, TEXT_SCORE
from core.metrics.retrieval import COLA_MAP, RetrievalEvaluation
from core.runs.description import Iteration, Progress, Remains, RunDescription, Stop
from core.runs.models import adapted_model, public
from core.runs.resume import load_moments, save_moments
from core.runs.store import RunStore
from core.scorers.cola_config import GROUP_RESULTS, KIND, PAPER_SCALE, STRATEGIES, AdaptConfig
from core.scoring.load import LOCAL, load_base, model_folder
from core.scoring.retrieval import score_retrieval
from core.scoring.scores import score_groups
from core.ttm.defaults import absolute_name

if TYPE_CHECKING:
    import numpy as np

    from core.cola._training import TrainingState
    from core.scorers.cola_adapted import AdaptedModel


# Scene graphs -> pairs of image and text that one pass over the paper's training has, and which those are ([Cola] 9).
# Of CLEVR it counts images alone, each of which has about 36 single-object queries here. It trains on GQA's part of
# Visual Genome; of the whole this counts one pair an image, fewer than there are.
_PASSES = {
    "gqa": (450_000, "the paper's 450,000 training pairs"),
    "clevr/cogent": (2_520_000, "about 2,520,000 training pairs, 36 for each of the paper's 70,000 images"),
    "paco": (55_000, "the paper's 55,000 training pairs"),
    "visual-genome": (108_077, "Visual Genome's 108,077 images, were each in one training pair alone"),
}
# The share of a run that its last measurement takes, by whether image and query meet in a new network.
_MEASURED = {False: 0.1, True: 0.3}
# Settings with an option of their name, besides the strategy.
_OPTIONS = ("fusion", "adapter", "mix", "epochs", "steps", "batch", "patience", "lr", "seed")


class StrategyRun(RunDescription):
    """One of Cola's strategies on one of its benchmarks; `of` makes one from what people choose."""

    kind: ClassVar[str] = KIND

    benchmark: Annotated[str, one_of("benchmark to adapt to", BENCHMARKS)] = BUILTIN
    # Measure on the first so many test images; None: 500 of the built-in ones, all of any other set.
    images: Annotated[int, Field(ge=2)] | None = None
    folder: str | None = None  # where the benchmark's files lie, if not in the usual place
    settings: AdaptConfig = Field(default_factory=AdaptConfig)

    @classmethod
    def of(
        cls,
        benchmark: str = BUILTIN,
        model: str = "builtin/clip",
        *,
        images: int | None = None,
        folder: Path | str | None = None,
        device: str = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """The description, checked as far as that needs no model.

        options : settings of `AdaptConfig`; None leaves one as it is.
        """
        settings = AdaptConfig().updated(options or {})
        if (options or {}).get("fusion") is not None and not STRATEGIES[settings.strategy].joint:
            raise InputError(
                f"{STRATEGIES[settings.strategy].label} lets image and query meet in no fusion; leave it out, or "
                "choose MM-Pred or MM-Adapter."
            )
        if (options or {}).get("adapter") is not None and settings.strategy != "mm-adapter":
            raise InputError(
                f"{STRATEGIES[settings.strategy].label} has one form; leave the adapter out, or choose MM-Adapter."
            )
        if settings.patience is not None and settings.patience >= settings.epochs:
            raise InputError(
                f"A patience of {settings.patience} ends no training of {counted(settings.epochs, 'epoch')}; choose a "
                "smaller one, more epochs, or leave the patience out."
            )
        path = None if folder is None else str(Path(folder).resolve())
        source: dict[str, Any] = {"benchmark": benchmark, "model": absolute_name(model), "device": device}
        return cls(**source, images=images, folder=path, settings=settings)

    @model_validator(mode="after")
    def _check_folder(self) -> Self:
        if self.folder is not None and self.benchmark == BUILTIN:
            raise InputError(f"{BUILTIN} is built in and has no files; leave the folder out.")
        return self

    @model_validator(mode="after")
    def _check_patience(self) -> Self:
        if self.settings.patience is not None and self.benchmark != BUILTIN:
            raise InputError(
                f"{self.benchmark} has no validation queries to stop by; leave the patience out, or adapt to {BUILTIN}."
            )
        return self

    @property
    def title(self) -> str:
        return f"{self.settings.strategy} on {self.model}, {self.benchmark}"

    @property
    def total(self) -> int:
        return self.settings.epochs

    def is_over(self, records: Sequence[Mapping[str, Any]]) -> bool:
        history = [r["validation"][COLA_MAP]["all"]["value"] for r in records if r.get("validation")]
        return super().is_over(records) or self.settings.is_over(history)

    @property
    def shortfall(self) -> str:
        """What keeps this run from the paper's figures, in a sentence; "" where nothing does, or none are printed."""
        settings = self.settings
        pairs, which = _PASSES.get(SCENE_GRAPHS.get(self.benchmark, ""), (0, ""))
        drawn = settings.epochs * settings.steps * settings.batch
        if not pairs or not settings.steps or drawn >= pairs:
            return ""
        share = f"{100 * drawn / pairs:.2g} %"
        return (
            f"{settings.epochs} epochs of {settings.steps} steps of {settings.batch} pairs are {share} "
            f"of one pass over {which}: too few to reproduce the paper's figures; "
            f"`--preset paper` makes {PAPER_SCALE['epochs']} passes."
        )

    @property
    def command_line(self) -> str:
        """The command that starts the same run again; "" where a setting has no option there."""
        settings, defaults = self.settings, AdaptConfig()
        changed = {n for n in AdaptConfig.model_fields if getattr(settings, n) != getattr(defaults, n)}
        if not changed <= {"strategy", *_OPTIONS}:
            return ""
        options = {
            "model": self.model,
            "strategy": settings.strategy,
            "images": self.images,
            "folder": self.folder,
        }
        options |= {name: getattr(settings, name) for name in _OPTIONS if name in changed}
        options |= {"device": None if self.device == "auto" else self.device, "seed": settings.seed}
        given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
        return shlex.join(["crossmatch", self.kind, self.benchmark, *chain(*given)])

    def check_ready(self) -> None:
        AdaptationTask.check_files(self.benchmark, self.folder)
        super().check_ready()
        if self.model.rpartition(":")[2].startswith(LOCAL):
            model_folder(self.model)

    def execute(
        self,
        remains: Remains | None = None,
        stop: Stop | None = None,
        progress: Progress | None = None,
        final: bool = True,
        before: bool = True,
    ) -> Iterator[Iteration]:
        """Train, one item per epoch, from 0, the state before, on; as `RunDescription.execute`.

        final : measure on the test set before and after; without it the curve on validation queries is all there is.
        before : False leaves the base unmeasured.
        """
        from core.cola._training import train, training_that_scores  # torch
        from core.scorers.cola_adapted import AdaptedModel, load  # torch

        settings, trained = self.settings, 1 - _MEASURED[STRATEGIES[self.settings.strategy].joint] * final

        def report_progress(share: float, text: str, step: float = 0.0) -> None:
            """share : of the training. step : of what `text` names, while that is drawn or measured."""
            if progress is not None:
                whole = trained * share + ((1 - trained) * step if share >= 1 else 0)
                progress(whole, f"{text}, {100 * step:.0f} %" if step else text)

        report_progress(0.0, "collecting scenes and queries")
        task = AdaptationTask.load(self.benchmark, settings, self.images, self.folder)
        checkpoint, state = None if remains is None else remains.checkpoint, None
        records = [] if remains is None else list(remains.records)
        if checkpoint is None:
            source = _base_source(self.model)
            model = AdaptedModel.of(load_base(source, self.device), settings, source)
        else:
            state = _load_state(checkpoint)
            model = load("checkpoint", str(checkpoint / "model"), self.device, load_base=load_base)
        report_progress(0.0, "drawing pictures")  # only now: a base that is not here is said at once
        task.draw_ahead(final, lambda _, share: report_progress(0.0, "drawing pictures", share))
        for report, now in train(
            model, task.material, settings, state=state, stop=stop, progress=report_progress
        ):
            record: dict[str, Any] = {
                "iteration": report.epoch,
                "loss": float(report.losses.mean()) if len(report.losses) else None,
                "lr": report.lr,
                "seconds": report.seconds,
                **dict.fromkeys(("threshold", "coverage", "precision")),
                "note": "",
                "metrics": {},
                "parameters": model.parameters,
            }
            with training_that_scores(model):
                record["validation"] = _validation(model, task)
            if record["validation"]:
                record["metrics"] = {COLA_MAP: record["validation"][COLA_MAP]["all"]}
            records[report.epoch :] = [record]  # from a checkpoint of epoch 0 on, that one comes again
            arrays, over = {"losses": report.losses}, self.is_over(records)
            if final and (over or (before and report.epoch == 0)):
                report_measured = partial(report_progress, 1.0 if over else 0.0, "measuring on test queries")
                scorer = load_base(model.base_name, self.device) if report.epoch == 0 else model
                with training_that_scores(scorer):
                    measured, outcomes = _tested(scorer, task, report_measured)
                record |= measured
                arrays |= outcomes
            yield Iteration(record, arrays, model, partial(_save_state, state=now))
            if over:
                return

    def forecast(self) -> dict[str, float]:
        """What this run will take on this machine, measured on one block of each side, one batch and a block of pairs.

        images, queries, steps; disk : bytes of features and pixels, which other runs share; memory : bytes at the
        most; seconds : of training; measured_in : seconds of all that is measured, on validation and test queries.
        """
        from core.cola._forecast import _training_needs  # torch
        from core.scorers.cola_adapted import AdaptedModel  # torch

        task = AdaptationTask.load(self.benchmark, self.settings, self.images, self.folder)
        source = _base_source(self.model)
        model = AdaptedModel.of(load_base(source, self.device), self.settings, source)
        return _training_needs(model, task, self.settings)

    def card(self, model: Path, records: Sequence[Mapping[str, Any]]) -> str:
        """Which strategy on which base, how many weights, what it measured before and after."""
        description, settings, last = public(self.written()), self.settings, records[-1]
        rows = ["| metric | part | before | after | chance |", "| --- | --- | --- | --- | --- |"]
        before, after = (step.get("test") for step in (records[0], last))
        if before and after:
            for name, part, first, now in _pairs(before, after):
                cells = [
                    f"{_pct(e['value'], 2)} [{_pct(e['low'], 2)}, {_pct(e['high'], 2)}]" for e in (first, now)
                ]
                rows.append(f"| {name} | {part} | {cells[0]} | {cells[1]} | {_pct(now['chance'], 2)} |")
        table = "\n".join(rows)
        return f"""---
library_name: crossmatch
pipeline_tag: zero-shot-image-classification
tags: [crossmatch, cola]
---

# {description["model"]} adapted by {settings.strategy}

- base model: `{description["model"]}`; this folder holds the strategy's weights alone and names the base
- trained on the training scene graphs of `{description["benchmark"]}`, mix {settings.mix}, seed {settings.seed}
- weights trained: {last["parameters"]["trained"]}
- source: Ray et al., Cola, sections 4 and 11

Test queries, 95 % bootstrap intervals over queries:

{table}

```json
{json.dumps(description, indent=1, ensure_ascii=False)}
```
"""


def _pairs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, Any, Any]]:
    pairs = [
        (name, part, before["retrieval"][name][part], now)
        for name, parts in after["retrieval"].items()
        for part, now in parts.items()
        if part in ("all", "seen", "unseen")
    ]
    pairs += [(n, "all", before[n], after[n]) for n in GROUP_RESULTS if n in after and n in before]
    return pairs


def _save_state(folder: Path, state: TrainingState) -> None:
    """The optimizer's moments as safetensors, its settings and the losses as JSON: no pickle."""
    moments = state.optimizer
    if moments is not None:
        save_moments(folder, moments)
    groups = None if moments is None else moments["param_groups"]
    files.write_json(
        folder / "training.json", {"epoch": state.epoch, "losses": state.losses, "groups": groups}
    )


def _load_state(folder: Path) -> TrainingState:
    """What `_save_state` wrote."""
    from core.cola._training import TrainingState  # torch

    record = json.loads((folder / "training.json").read_text())
    optimizer = None
    if record["groups"] is not None:
        optimizer = {"state": load_moments(folder), "param_groups": record["groups"]}
    return TrainingState(record["epoch"], optimizer, record["losses"])


def _base_source(name: str) -> str:
    """What loads a base: the name itself, or for `run/ID` (`itc:run/ID`) the folder of that run's model."""
    prefix, is_run, run_id = name.rpartition("run/")
    if not is_run or (prefix and not prefix.endswith(":")):
        return name
    return f"{prefix}{adapted_model(RunStore(), run_id)}"


def _tested(
    scorer: Any, task: AdaptationTask, report: Callable[..., None]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a record has of the test set, with the seconds that it took, and the outcomes. report : as of `_measure`."""
    report()
    started = perf_counter()
    test, outcomes = _measure(scorer, task, report)
    return {"test": test, "measured_in": perf_counter() - started}, outcomes


def _validation(model: AdaptedModel, task: AdaptationTask) -> dict[str, Any]:
    """Cola mAP on the small validation set; {} where a task has none."""
    if task.validation is None:
        return {}
    evaluation = RetrievalEvaluation.of(task.validation, score_retrieval(model, task.validation))
    return {COLA_MAP: {n: p.record() for n, p in evaluation.metrics()[COLA_MAP].items()}}


def _measure(
    scorer: Any, task: AdaptationTask, progress: Callable[[float], None]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Everything a task measures of a scorer: JSON-safe metrics, and arrays for later comparisons."""
    scores = score_retrieval(scorer, task.test, progress=progress)
    record: dict[str, Any] = {
        "images": len(task.test.images),
        "queries": len(task.test.queries),
        "retrieval": RetrievalEvaluation.of(task.test, scores).record(),
    }
    arrays: dict[str, np.ndarray] = {"retrieval_scores": scores}
    for name, groups, metric in (
        ("multi_object", task.multi_object, IMAGE_SCORE),
        ("crepe", task.crepe, TEXT_SCORE),
        ("forgetting", task.relations, GROUP_MATCH),
        ("cifar10", task.cifar10, TEXT_SCORE),
    ):
        if groups is None or groups.truth is None:
            continue
        outcome = metrics.outcomes(score_groups(scorer, groups), groups.truth, [metric])[metric]
        m, k = groups.shape
        estimate = statistics.estimate(
            outcome.value,
            100 * metrics.chance(metric, m, k, groups.truth.shape[1]),
            int(outcome.tied.sum()),
            metrics.METRICS[metric].parts(m),
        )
        rounded = {key: round(getattr(estimate, key), _KEPT) for key in ("value", "low", "high", "chance")}
        record[name] = {**rounded, "ties": estimate.ties, "groups": len(groups)}
        arrays[name] = outcome.value
    return record, arrays
