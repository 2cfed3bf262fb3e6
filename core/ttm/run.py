"""Runs of test-time matching and SimpleMatch: what describes one, and the loop that all who start one share.

Truth is read here, to measure, and never passed on: but for the oracle's mask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

from pydantic import Field, model_validator

from core import datasets
from core.base import files, paths
from core.base.errors import InputError
from core.base.paths import is_folder
from core.base.settings import Names, Positive, Seed
from core.base.text import counted
from core.datasets.embeddings import EmbeddingFile, parse_shape, read_embeddings
from core.datasets.shapes import check_one_shape, first_groups, of_shape
from core.matching.groups import Matches
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.group_filters import with_tags
from core.metrics.statistics import Clusters
from core.runs.description import Iteration, Progress, Remains, RunDescription, Stop, _Share
from core.runs.models import ADAPTED_KINDS, of_same_kind, origin
from core.scorers.model_folder import read_config
from core.scorers.score_kinds import CHAT_TYPES, FIXED_TYPES, KINDS
from core.scoring.load import LOCAL, load_scorer, model_folder, scorer_kind
from core.ttm import _checkpoint as checkpoints
from core.ttm._controls import CONTROLS, HALVES, ITSELF, arm, arms
from core.ttm._ledger import Ledger, halves
from core.ttm._model_card import card, library_of
from core.ttm._progress import ProgressPlan, projected_coverage
from core.ttm.config import SimpleMatchConfig, TrainConfig, TTMConfig, _whole_thresholds
from core.ttm.defaults import absolute_name, configured
from core.ttm.records import step_record
from core.ttm.transfer import adapted_pool

if TYPE_CHECKING:
    import numpy as np

    from core.groups import GroupSet
    from core.runs.store import Run
    from core.scorers.base import Trainable
    from core.ttm.loop import TTMState, TTMStep


_Name = TypeVar("_Name", str, int)


class AdaptationRun(RunDescription):
    """What test-time matching and SimpleMatch have in common; `of` and `of_file` make one from what people choose."""

    method: ClassVar[str]  # whose presets and settings it has: "ttm" or "simplematch"

    groups: int | None = None  # only so many, the first ones
    shape: str | None = None  # only groups of this shape, `1x2`
    tags: Names | None = None  # only groups with these: `relation: left of`
    embeddings: str | None = None  # in place of benchmark and model: a file of both modalities
    embeddings_content: str | None = None  # of that: the beginning of its sha256, the same under any path
    scale: Positive | None = None  # of that: the factor on the cosine
    oracle: bool = False  # the skyline: trains on what truth says is right
    adapt_on: Annotated[float, Field(gt=0, lt=1)] | None = (
        None  # transfer check: adapt on this share of the groups
    )
    split_seed: Seed = 0  # which draws them
    preset: str = ""  # that the settings started from

    @classmethod
    def of(
        cls,
        benchmark: str,
        model: str,
        *,
        split: str = "test",
        shape: str | None = None,
        preset: str | None = None,
        options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """The description of a run on a benchmark, checked as far as that needs no model.

        shape : a benchmark of several shapes needs one, because a run's groups are matched as one array. preset : None
        chooses one (`core.ttm.config.default_preset`). options : settings that differ from the preset's; None leaves
        one as it is. more : groups, tags, oracle, adapt_on, split_seed, device, as the class has them.
        """
        name = absolute_name(model)
        known = _learner(name)
        if shape is None:
            check_one_shape(benchmark, split)
        source = {"benchmark": benchmark, "split": split, "model": name, "shape": shape}
        found = cls._configured(benchmark, origin(name), preset, options, {**source, **more})
        if known is not None:
            _check_settings(name, known, found.settings)
        return found

    @classmethod
    def of_file(
        cls,
        path: Path | str,
        shape: str = "2x2",
        *,
        scale: float = 100.0,
        preset: str | None = None,
        options: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """The same for an embeddings file: one trainable map per modality.

        shape : of the groups. scale : exp(logit_scale) of the model that made the file. Others as in `of`.
        """
        parse_shape(shape)
        # A file is named for good: the run may be resumed from another working directory.
        source = {
            "benchmark": Path(path).name,
            "model": "embeddings",
            "embeddings": str(Path(path).resolve()),
            "embeddings_content": _content_of(Path(path)),
        }
        return cls._configured(
            None, "embeddings", preset, options, {**source, "shape": shape, "scale": scale, **more}
        )

    @classmethod
    def _configured(
        cls,
        dataset: str | None,
        model: str,
        preset: str | None,
        options: Mapping[str, Any] | None,
        values: dict[str, Any],
    ) -> Self:
        given = {name: value for name, value in values.items() if value is not None}
        if "split_seed" in given and "adapt_on" not in given:
            raise InputError(
                "split_seed draws the groups of a transfer check; set adapt_on too, or leave it out."
            )
        chosen, config = configured(
            cls.method, dataset, model, preset, options or {}, given.get("oracle", False)
        )
        return cls(**given, preset=chosen, settings=config)

    def describe(self, n_groups: int | None = None) -> str:
        """One line for people: data, model, and the settings that decide the result. n_groups : how many groups there
        are, where that is known."""
        every = f"all {counted(n_groups, 'group')}" if n_groups else "all groups"
        where = [self.benchmark, *([] if self.embeddings else [self.split])]
        if self.shape and not self.embeddings:
            where.append(f"groups of {self.shape}")
        if self.tags:
            where.append(f"only {', '.join(self.tags)}")
        where += [
            every if self.groups is None else f"first {counted(self.groups, 'group')}",
            self._model,
        ]
        return " · ".join([*where, *self._method(), f"seed {self.seed}"])

    @property
    def _model(self) -> str:
        """The model's name; of a folder its last two parts."""
        return "/".join(Path(self.model).parts[-2:]) if Path(self.model).is_absolute() else self.model

    def _method(self) -> list[str]:
        own = self.settings
        rest = [counted(own.epochs, "epoch"), f"learning rate {own.lr:.3g}", *self._schedule()]
        if own.augmentation != "none":
            rest.append(f"augmentation {own.augmentation}")
        if own.contrastive:
            rest.append("contrastive loss")
        if own.lora_rank:
            rest.append(f"LoRA of rank {own.lora_rank}")
        if self.adapt_on:
            rest.append(f"adapted on {100 * self.adapt_on:.0f} % of the groups")
        return rest

    def _schedule(self) -> list[str]:
        return []

    def load_groups(self) -> GroupSet:
        """The groups, with their truth: all of a benchmark's split or file, those with tags, or only the first so many.

        An embeddings file's truth is its order: caption i of a group belongs to its image i.
        """
        if self.embeddings:
            groups = self._file().groups(self.benchmark)
        else:
            groups = of_shape(datasets.load(self.benchmark, self.split), self.shape)
            groups = with_tags(groups, self.tags or ())
        return first_groups(groups, self.groups)

    def pool(self, groups: GroupSet) -> np.ndarray | None:
        """The groups that a transfer check adapts on, bool (n,); None where a run takes all."""
        return None if self.adapt_on is None else adapted_pool(groups, self.adapt_on, self.split_seed)

    def _file(self) -> EmbeddingFile:
        return read_embeddings(str(self.embeddings), self.shape or "2x2")

    def execute(
        self, remains: Remains | None = None, stop: Stop | None = None, progress: Progress | None = None
    ) -> Iterator[Iteration]:
        """Adapt, one item per finished iteration, from 0, the state before, on; as `RunDescription.execute`."""
        plan, shown = ProgressPlan(self.total, [] if remains is None else remains.records), 0.0

        def tell(share: float, text: str) -> None:
            nonlocal shown
            shown = max(shown, share)  # a bar never goes back
            if progress is not None:
                progress(_Share.of(shown, plan.fraction(share)), text)

        prepare = partial(_tell_preparation, tell, _finished(remains), self.total)
        prepare("loading the groups")
        groups = self._checked_groups()
        truth, blind = groups.truth, groups.blind()
        pool, folder = self.pool(blind), None if remains is None else remains.checkpoint
        state = None if folder is None else checkpoints.load_state(folder)
        prepare("loading the model")
        model = self._load_model(folder, state)
        prepare("scoring before training" if state is None else "reading the groups")
        common: dict[str, Any] = {"pool": pool, "resume": state, "stop": stop, "progress": tell}
        for step in self._steps(model, blind, truth, common):
            record = step_record(step, truth, pool)
            yield Iteration(
                record, step.arrays(), step.model, partial(checkpoints.save_state, state=step.state)
            )
            # Before the first iteration too: its share of the work is far from an equal one.
            plan.update(record["coverage"], [] if self.oracle else projected_coverage(self.settings, step))
            if step.iteration == 0:
                tell(0.0, f"iteration 1 of {self.total}: training")

    def check_ready(self) -> None:
        self._checked_groups()
        super().check_ready()
        if not self.embeddings and self.model.rpartition(":")[2].startswith(LOCAL):
            model_folder(self.model)

    def _checked_groups(self) -> GroupSet:
        """`load_groups`, where a run can adapt to them."""
        groups = self.load_groups()
        if self.oracle and groups.truth is None:
            raise InputError(f"The oracle needs the ground truth, and {self.benchmark!r} has none.")
        return groups

    def _steps(
        self, model: Trainable, groups: GroupSet, truth: np.ndarray | None, common: dict[str, Any]
    ) -> Iterator[TTMStep]:
        raise NotImplementedError

    def ledger(self, groups: GroupSet, scores: Callable[[int], np.ndarray], done: int) -> Ledger:
        """What the gain of this run is made of, as far as it is known after iteration `done`.

        scores : gives those after an iteration, float (n, m, k). Raises InputError for groups without a truth, and a
        run that does not train on all of them by its own matchings (oracle, transfer check, global variant).
        """
        _check_ledger(self, groups)
        measured = _evaluations(groups, scores, {at: at for at in {0, done}})
        return Ledger(measured[0], measured[done] if done else None)

    def _load_model(self, checkpoint: Path | None, state: TTMState | None) -> Trainable:
        from core.scorers.base import Trainable  # torch

        # Low-rank adapters go on from the model that they were put on; the checkpoint's is merged, for use.
        merged = state is not None and state.adapter is not None
        source = self.model
        if checkpoint is not None and not merged:
            # What is saved is the whole model; which of its scores is adapted stays in the name.
            source = of_same_kind(str(checkpoint / "model"), self.model)
        elif self.embeddings:
            from core.scorers.devices import pick_device  # torch
            from core.scorers.embedding import EmbeddingModel  # torch

            device = str(pick_device(self.device))
            return EmbeddingModel.of(self._file(), self.scale or 100.0, self.benchmark, device)
        model = load_scorer(source, self.device)
        if not isinstance(model, Trainable):
            raise self.refused(self.model)
        return model

    @staticmethod
    def refused(model: str) -> InputError:
        """What is said of a model that cannot be adapted."""
        return InputError(
            f"Crossmatch cannot adapt {model!r}; choose a two-tower model, one of BLIP's, or an image-text-to-text "
            "model."
        )

    def card(self, model: Path, records: Sequence[Mapping[str, Any]]) -> str:
        return card(self.written(), records, library_of(model))


class TTMRun(AdaptationRun):
    """Test-time matching."""

    kind: ClassVar[str] = "ttm"
    method: ClassVar[str] = "ttm"
    settings: TTMConfig = Field(default_factory=TTMConfig)

    @model_validator(mode="after")
    def _check_global(self) -> Self:
        if self.settings.variant == "global" and (self.adapt_on is not None or self.oracle):
            raise InputError(
                "The global variant ignores groups, so it has no oracle and no share of groups to adapt on; "
                "set variant to 'group'."
            )
        return self

    @property
    def total(self) -> int:
        return self.settings.iterations

    def _steps(
        self, model: Trainable, groups: GroupSet, truth: np.ndarray | None, common: dict[str, Any]
    ) -> Iterator[TTMStep]:
        from core.ttm.loop import run_ttm  # torch

        selector = metrics.oracle_mask(truth) if self.oracle and truth is not None else None
        return run_ttm(model, groups, self.settings, selector=selector, **common)

    def _method(self) -> list[str]:
        own = self.settings
        what = "oracle (uses the truth)" if self.oracle else f"{own.variant} variant"
        return [f"test-time matching, {what}", f"T = {own.iterations}", *super()._method()]

    def _schedule(self) -> list[str]:
        own = self.settings
        ends = _whole_thresholds(own.to_dict())
        levels = " to ".join(_end(ends, end) for end in ("first", "last"))
        found = [] if self.oracle else [f"{own.schedule} threshold, {levels}"]
        return [*found, "optimizer state kept"] if own.keep_optimizer else found


class SimpleMatchRun(AdaptationRun):
    """SimpleMatch."""

    kind: ClassVar[str] = "simplematch"
    method: ClassVar[str] = "simplematch"
    settings: SimpleMatchConfig = Field(default_factory=SimpleMatchConfig)

    @property
    def total(self) -> int:
        return self.settings.rounds

    def is_over(self, records: Sequence[Mapping[str, Any]]) -> bool:
        return bool(records) and self.settings.is_over([record.get("fitted") for record in records[1:]])

    def _steps(
        self, model: Trainable, groups: GroupSet, truth: np.ndarray | None, common: dict[str, Any]
    ) -> Iterator[TTMStep]:
        from core.ttm.loop import simple_match  # torch

        return simple_match(model, groups, self.settings, **common)

    def _method(self) -> list[str]:
        return ["SimpleMatch", f"at most {counted(self.settings.rounds, 'round')}", *super()._method()]


class LedgerRun(TTMRun):
    """Test-time matching beside its controls, with the same settings, one run after the other and its own as the last.

    Iterations are counted through. The record of each says in `control` whose it is; all measure the set's own groups.
    """

    kind: ClassVar[str] = "ledger"
    controls: Names = tuple(CONTROLS)  # of `core.ttm._controls`

    @model_validator(mode="after")
    def _check_explained(self) -> Self:
        if self.oracle or self.adapt_on is not None or self.settings.variant == "global":
            raise InputError(_EXPLAINED)
        arms(self.controls)
        return self

    @property
    def total(self) -> int:
        return self.settings.iterations * len(arms(self.controls))

    def execute(
        self, remains: Remains | None = None, stop: Stop | None = None, progress: Progress | None = None
    ) -> Iterator[Iteration]:
        """Adapt once for every arm; as `AdaptationRun.execute`."""
        from core.ttm.loop import run_ttm  # torch

        prepare = partial(_tell_preparation, progress, _finished(remains), self.total)
        prepare("loading the groups")
        groups, each, names = self._checked_groups(), self.settings.iterations, arms(self.controls)
        folder = None if remains is None else remains.checkpoint
        state = None if folder is None else checkpoints.load_state(folder)
        prepare("loading the model")
        frozen, done = self._load_model(None, None), -1 if state is None else state.iteration
        # What cannot be an arm is refused before any work.
        parts = [arm(name, groups.blind(), self.seed, self.split_seed) for name in names]
        for i, (name, part) in enumerate(zip(names, parts, strict=True)):
            is_first = i == 0 and done < 0  # the frozen model is recorded once
            start, model, resumed = each * i, frozen, None
            if done >= start + each:
                continue
            if state is not None and done > start:
                model, resumed = self._load_model(folder, state), replace(state, iteration=done - start)
            told: dict[str, Any] = {"resume": resumed, "stop": stop}
            if progress is not None:
                told["progress"] = partial(self._tell, progress, i, name)
                if resumed is None:
                    self._tell(progress, i, name, 0.0, "scoring before training")
            step = None
            for step in run_ttm(
                model, part.groups, self.settings, pool=part.pool, relabel=part.relabel, **told
            ):
                if step.iteration or is_first:
                    yield self._iteration(step, start, name, groups)
            if step is None or step.iteration < each:
                return

    def _checked_groups(self) -> GroupSet:
        groups = self.load_groups()
        _check_ledger(self, groups)
        return groups

    def _tell(self, progress: Progress, i: int, name: str, share: float, message: str) -> None:
        names = arms(self.controls)
        progress((i + share) / len(names), f"{name} ({i + 1} of {len(names)}): {message}")

    def _iteration(self, step: TTMStep, start: int, name: str, groups: GroupSet) -> Iteration:
        """The set's own groups are measured, which come first; a control may have trained on others."""
        assert groups.truth is not None
        own = slice(len(groups))
        matches = Matches(*(values[own] for values in step.matches))
        seen = replace(
            step,
            scores=step.scores[own],
            matches=matches,
            selected=step.selected[own],
            matching=step.matching[own],
        )
        record = {**step_record(seen, groups.truth), "iteration": start + step.iteration}
        record |= {"control": name, "selected": int(step.selected.sum())}
        save = partial(checkpoints.save_state, state=step.state)
        return Iteration(record, {"scores": seen.scores}, step.model, save)

    def ledger(self, groups: GroupSet, scores: Callable[[int], np.ndarray], done: int) -> Ledger:
        each = self.settings.iterations
        ends = {name: each * (i + 1) for i, name in enumerate(arms(self.controls))}
        found = _evaluations(groups, scores, {n: at for n, at in {"": 0, **ends}.items() if at <= done})
        frozen, itself = found.pop(""), found.pop(ITSELF, None)
        parts = [found.pop(name) for name in HALVES if name in found]
        pool = adapted_pool(groups.blind(), 0.5, self.split_seed) if len(parts) == len(HALVES) else None
        return Ledger(frozen, itself, found, None if pool is None else halves(parts[0], parts[1], pool))

    def _method(self) -> list[str]:
        return [f"a ledger of {len(arms(self.controls))} runs", *super()._method()]

    def card(self, model: Path, records: Sequence[Mapping[str, Any]]) -> str:
        """Of the run itself, which is the last."""
        last = {**records[-1], "iteration": self.settings.iterations}
        return card(self.written(), [records[0], last], library_of(model))


_EXPLAINED = (
    "A ledger explains test-time matching of all groups by their own matchings; leave out the oracle, the share of "
    "groups to adapt on and the global variant."
)


def _evaluations(
    groups: GroupSet, scores: Callable[[int], np.ndarray], at: Mapping[_Name, int]
) -> dict[_Name, Evaluation]:
    """The groups by the scores after some iterations, under their names."""
    clusters = Clusters.of_groups(groups)
    return {
        name: Evaluation.of(scores(i), groups.truth, groups.ids, clusters=clusters) for name, i in at.items()
    }


def _check_ledger(run: AdaptationRun, groups: GroupSet) -> None:
    is_global = getattr(run.settings, "variant", "group") == "global"
    if run.oracle or run.adapt_on is not None or is_global:
        raise InputError(_EXPLAINED)
    if groups.truth is None:
        raise InputError(
            f"A ledger measures what a gain is made of, and {groups.name!r} has no ground truth to measure by."
        )


RUNS: dict[str, type[AdaptationRun]] = {run.kind: run for run in (TTMRun, SimpleMatchRun)}


def adaptation(config: Mapping[str, Any]) -> AdaptationRun:
    """The description in a stored run of either kind, or of a ledger."""
    kinds: dict[str, type[AdaptationRun]] = {**RUNS, LedgerRun.kind: LedgerRun}
    return next(kinds[kind] for kind in kinds if kind in config).read(config)


class _Learner(NamedTuple):
    """What is known of a model before it is loaded."""

    kind: str  # of score
    type: str  # `model_type` of its configuration


def _learner(model: str) -> _Learner | None:
    """What is adapted, so that nobody waits for a run in vain; None for what is not on this machine to be asked.

    Raises InputError for a score that Crossmatch cannot adapt.
    """
    prefix, source = model.partition(":")[0], model.rpartition(":")[2]
    if prefix in KINDS and prefix not in ADAPTED_KINDS:
        raise AdaptationRun.refused(model)
    if not (source.startswith(("builtin/", "run/")) or is_folder(source)):
        return None  # to ask a hub's model what it is would download it
    try:
        found = _Learner(scorer_kind(model), str(read_config(model_folder(model)).get("model_type", "")))
    except InputError:
        return None
    if found.kind not in ADAPTED_KINDS or found.type in FIXED_TYPES[found.kind]:
        raise AdaptationRun.refused(model)
    return found


def _check_settings(model: str, known: _Learner, settings: TrainConfig) -> None:
    """Raise InputError for a setting that has no use for this model."""
    if settings.contrastive and known.kind != "vgpt":
        raise InputError(
            f"The contrastive loss is for captioners, and {model!r} is none; leave contrastive out."
        )
    if settings.augmentation != "none" and known.type in CHAT_TYPES:
        raise InputError(
            f"The pictures of {model!r} differ in size as it reads them; set augmentation to 'none'."
        )


def _finished(remains: Remains | None) -> int | None:
    """The last iteration that earlier attempts have finished; None where none has."""
    return remains.records[-1]["iteration"] if remains is not None and remains.records else None


def _tell_preparation(progress: Progress | None, finished: int | None, total: int, what: str) -> None:
    """Say what is done before the first iteration of this attempt, and which one that is where the run goes on."""
    if progress is not None:
        text = what if finished is None else f"continues at iteration {finished + 1} of {total}: {what}"
        progress((finished or 0) / max(total, 1), text)


def _end(own: Mapping[str, Any], end: str) -> str:
    """own : the settings, with both ends as of `_whole_thresholds`."""
    share = own[f"coverage_{end}"]
    return f"τ = {own[f'tau_{end}']:g}" if share is None else f"{100 * share:.0f} % selected"


_CONTENT = 16  # hexadecimal digits of a file's sha256 that tell files apart


def _content_of(path: Path) -> str | None:
    """What a file of embeddings is known by under any path; None of one that cannot be read."""
    try:
        return files._checksum_while_unchanged(path)[:_CONTENT]
    except OSError:
        return None


def _content_in_run(run: Run) -> str:
    """What the embeddings of a stored run are known by. One of an older version did not note it: then it is that of the
    file, if this is still as it was when the run was made, else the path."""
    config = run.config
    if noted := config.get("embeddings_content"):
        return str(noted)
    path = Path(config["embeddings"])
    if (
        path.parent.parent == paths.home() / "embeddings"
    ):  # `store_embeddings` names the folder for the content
        return path.parent.name
    with suppress(OSError):
        if path.is_absolute() and path.stat().st_mtime <= run.created and (found := _content_of(path)):
            return found
    return str(path)


def store_embeddings(name: str, data: bytes) -> Path:
    """Keep an uploaded embeddings file where a run can read it at any later time; returns its path.

    The folder is named for the content: the same file again is the same path. Only the last part of `name` is used.
    """
    from hashlib import sha256

    plain = re.sub(r"[^\w.-]+", "-", Path(name).name).strip(".-") or "embeddings.npz"
    path = paths.home() / "embeddings" / sha256(data).hexdigest()[:_CONTENT] / plain
    if not path.is_file():
        with files.storage_errors(path):
            for folder in (path.parent.parent, path.parent):
                files.private_folder(folder)
            files.write_bytes(path, data)
    return path
