"""A run of adaptation: its JSON-safe description, and the one loop that command line, worker and sweeps share.

Truth is read here, to measure, and never passed on: but for the oracle's mask. Torch, numpy and the rest are imported
inside functions: a worker that waits in the queue is 20 MB, not 400.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core import datasets
from core.base import files, paths
from core.base.errors import InputError, unknown_name
from core.base.paths import is_folder
from core.datasets.embeddings import parse_shape, read_embeddings
from core.datasets.shapes import check_one_shape, of_shape
from core.metrics import groups as metrics
from core.runs.models import origin
from core.scoring.load import load_scorer, scorer_kind
from core.ttm.checkpoint import load_state
from core.ttm.config import SimpleMatchConfig, TTMConfig
from core.ttm.defaults import absolute_name, check_device, configured
from core.ttm.records import step_record
from core.ttm.transfer import adapted_pool

if TYPE_CHECKING:
    import numpy as np

    from core.groups import GroupSet
    from core.scorers.base import Trainable
    from core.ttm.config import SimpleMatchConfig, TTMConfig
    from core.ttm.loop import TTMState, TTMStep

KINDS = ("ttm", "simplematch")


class FinishedIteration(NamedTuple):
    """One finished iteration: its JSON-safe record, and the step itself with scores and model."""

    record: dict[str, Any]
    step: TTMStep

    @property
    def model(self) -> Trainable:
        return self.step.model


# ---- descriptions


def ttm_job(
    benchmark: str,
    model: str,
    *,
    split: str = "test",
    groups: int | None = None,
    shape: str | None = None,
    preset: str | None = None,
    oracle: bool = False,
    adapt_on: float | None = None,
    split_seed: int | None = None,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The description of test-time matching that `execute` takes, checked as far as that needs no model.

    groups : only so many, the first ones. shape : only the groups of this shape, `1x2`; a benchmark of several shapes
    needs one, because a run's groups are matched as one array. preset : None chooses one
    (`core.ttm.config.default_preset`). oracle : the skyline, which trains on what truth says is right. adapt_on : the
    transfer check: adapt on this share of the groups, drawn with `split_seed`, and report the others apart. options :
    settings of `TTMConfig` that differ from the preset's; None leaves a setting as it is.
    """
    source = _benchmark_source(benchmark, model, split, groups, shape)
    more = {"oracle": oracle, "adapt_on": adapt_on, "split_seed": split_seed, "device": device}
    return _job("ttm", source, preset, options, more)


def simplematch_job(
    benchmark: str,
    model: str,
    *,
    split: str = "test",
    groups: int | None = None,
    shape: str | None = None,
    preset: str | None = None,
    adapt_on: float | None = None,
    split_seed: int | None = None,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `ttm_job`, for SimpleMatch; `options` are settings of `SimpleMatchConfig`."""
    source = _benchmark_source(benchmark, model, split, groups, shape)
    more = {"oracle": False, "adapt_on": adapt_on, "split_seed": split_seed, "device": device}
    return _job("simplematch", source, preset, options, more)


def embeddings_job(
    kind: str,
    path: Path | str,
    shape: str = "2x2",
    *,
    scale: float = 100.0,
    groups: int | None = None,
    preset: str | None = None,
    oracle: bool = False,
    adapt_on: float | None = None,
    split_seed: int | None = None,
    device: str = "auto",
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """As `ttm_job` or `simplematch_job` (`kind`), for an embeddings file: one trainable map per modality.

    shape : of the groups, `2x2`. scale : factor on the cosine, as exp(logit_scale) of the model that made the file.
    """
    if not isfinite(scale) or scale <= 0:
        raise InputError(f"The scale is {scale}; it must be a positive number, 100 for most models.")
    parse_shape(shape)
    # A file is named for good: the run may be resumed from another working directory.
    file = {"embeddings": str(Path(path).resolve()), "shape": shape, "scale": scale}
    source = {"benchmark": Path(path).name, "split": "test", "model": "embeddings", "groups": groups, **file}
    more = {"oracle": oracle, "adapt_on": adapt_on, "split_seed": split_seed, "device": device}
    return _job(kind, source, preset, options, more)


def _benchmark_source(
    benchmark: str, model: str, split: str, groups: int | None, shape: str | None
) -> dict[str, Any]:
    name = absolute_name(model)
    _check_adaptable(name)
    if shape is None:
        check_one_shape(benchmark, split)
    source = {"benchmark": benchmark, "split": split, "model": name, "groups": groups}
    return source if shape is None else {**source, "shape": shape}


def _check_adaptable(model: str) -> None:
    """Refuse a score that has nothing to adapt before a run waits in vain; what is not here is told at the start."""
    source = model.rpartition(":")[2]
    if not (source.startswith(("builtin/", "run/")) or is_folder(source)):
        return  # to ask a hub's model what it is would download it
    try:
        kind = scorer_kind(model)
    except InputError:
        return
    if kind not in ("itc", "itm"):
        raise _no_weights(model)


def _no_weights(model: str) -> InputError:
    return InputError(f"The model {model!r} has no weights to adapt; choose a contrastive model.")


def _job(
    kind: str,
    source: dict[str, Any],
    preset: str | None,
    options: Mapping[str, Any] | None,
    more: dict[str, Any],
) -> dict[str, Any]:
    if kind not in KINDS:
        raise unknown_name("kind of adaptation", kind, KINDS)
    check_device(more["device"])
    model = origin(source["model"])
    dataset = None if "embeddings" in source else source["benchmark"]
    chosen, config = configured(kind, dataset, model, preset, options or {}, more["oracle"])
    share = more["adapt_on"]
    if share is not None and not 0 < share < 1:
        raise InputError(f"adapt_on is {share}; give a share of the groups between 0 and 1, such as 0.5.")
    if isinstance(config, TTMConfig) and config.variant == "global" and (share is not None or more["oracle"]):
        raise InputError(
            "The global variant ignores groups, so it has no oracle and no share of groups to adapt on; "
            "set variant to 'group'."
        )
    if more["split_seed"] is not None and share is None:
        raise InputError(
            "split_seed draws the groups of a transfer check; set adapt_on too, or leave it out."
        )
    more = {**more, "split_seed": more["split_seed"] or 0}
    return {**source, **more, "preset": chosen, kind: config.to_dict()}


def kind_of(config: Mapping[str, Any]) -> str:
    """Which of `KINDS` a description is of."""
    return next(kind for kind in KINDS if kind in config)


def settings_of(config: Mapping[str, Any]) -> TTMConfig | SimpleMatchConfig:
    """The settings in a description."""
    kind = kind_of(config)
    return TTMConfig(**config[kind]) if kind == "ttm" else SimpleMatchConfig(**config[kind])


def total_of(config: Mapping[str, Any]) -> int:
    """Iterations, or the largest number of rounds."""
    kind = kind_of(config)
    return config[kind]["iterations" if kind == "ttm" else "rounds"]


def is_over(config: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these records of finished iterations, from iteration 0 on, are those of a complete run."""
    if not records:
        return False
    settings = settings_of(config)
    shares = [record.get("fitted") for record in records[1:]]
    return (
        settings.is_over(shares)
        if isinstance(settings, SimpleMatchConfig)
        else len(shares) >= settings.iterations
    )


def describe(config: Mapping[str, Any]) -> str:
    """A description in one line for people: data, model, and the settings that decide the result."""
    kind = kind_of(config)
    count = config.get("groups")
    where = [config["benchmark"], *([] if config.get("embeddings") else [config.get("split") or "test"])]
    if config.get("shape") and not config.get("embeddings"):
        where.append(f"groups of {config['shape']}")
    where += ["all groups" if count is None else f"first {count} groups", _short(config["model"])]
    return " · ".join([*where, *_method(config, kind), f"seed {config[kind]['seed']}"])


def _short(model: str) -> str:
    """A model's name; of a folder its last two parts."""
    return "/".join(Path(model).parts[-2:]) if Path(model).is_absolute() else model


def _method(config: Mapping[str, Any], kind: str) -> list[str]:
    own = config[kind]
    told = [f"{own['epochs']} epochs", f"learning rate {own['lr']:.3g}"]
    if kind == "simplematch":
        told = ["SimpleMatch", f"at most {own['rounds']} rounds", *told]
    else:
        what = "oracle (uses the truth)" if config.get("oracle") else f"{own['variant']} variant"
        ends = " to ".join(_end(own, end) for end in ("first", "last"))
        told = [f"test-time matching, {what}", f"T = {own['iterations']}", *told]
        if not config.get("oracle"):
            told.append(f"{own['schedule']} threshold, {ends}")
    if own["keep_optimizer"] and kind == "ttm":
        told.append("optimizer state kept")
    if own["augmentation"] != "none":
        told.append(f"augmentation {own['augmentation']}")
    if own["lora_rank"]:
        told.append(f"LoRA of rank {own['lora_rank']}")
    if config.get("adapt_on"):
        told.append(f"adapted on {config['adapt_on']:.0%} of the groups")
    return told


def _end(own: Mapping[str, Any], end: str) -> str:
    level, share = own[f"tau_{end}"], own[f"coverage_{end}"]
    if share is not None:
        return f"{share:.0%} selected"
    return "default" if level is None else f"τ = {level:g}"


def store_embeddings(name: str, data: bytes) -> Path:
    """Keep an uploaded embeddings file where a run can read it at any later time; returns its path.

    The folder is named for the content: the same file again is the same path. Only the last part of `name` is used.
    """
    from hashlib import sha256

    plain = re.sub(r"[^\w.-]+", "-", Path(name).name).strip(".-") or "embeddings.npz"
    path = paths.home() / "embeddings" / sha256(data).hexdigest()[:16] / plain
    if not path.is_file():
        with files.storage_errors(path):
            for folder in (path.parent.parent, path.parent):
                files.private_folder(folder)
            files.write_bytes(path, data)
    return path


# ---- execution


def execute(
    config: Mapping[str, Any],
    checkpoint: Path | None = None,
    stop: Callable[[], bool] | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Iterator[FinishedIteration]:
    """Load what a description names and adapt, one item per finished iteration, from 0, the state before, on.

    checkpoint : a folder of `save_checkpoint`, to go on after its iteration. stop, progress : as in `run_ttm`.
    """
    settings = settings_of(config)
    groups = load_groups(config)
    truth, blind = groups.truth, groups.blind()
    selector = None
    if config.get("oracle"):
        if truth is None:
            raise InputError(f"The oracle needs the ground truth, and {config['benchmark']!r} has none.")
        selector = metrics.oracle_mask(truth)
    pool = adaptation_pool(config, blind)
    state = None if checkpoint is None else load_state(checkpoint)
    model = _load_model(config, checkpoint, state)
    for step in _steps(model, blind, settings, selector, pool, state, stop, progress):
        yield FinishedIteration(step_record(step, truth, pool), step)


def _steps(
    model: Trainable,
    blind: GroupSet,
    settings: TTMConfig | SimpleMatchConfig,
    selector: Any,
    pool: np.ndarray | None,
    state: TTMState | None,
    stop: Callable[[], bool] | None,
    progress: Callable[[float, str], None] | None,
) -> Iterator[TTMStep]:
    from core.ttm.loop import run_ttm  # torch
    from core.ttm.simplematch import simple_match  # torch

    common: dict[str, Any] = {"pool": pool, "resume": state, "stop": stop, "progress": progress}
    if isinstance(settings, TTMConfig):
        return run_ttm(model, blind, settings, selector=selector, **common)
    return simple_match(model, blind, settings, **common)


def _load_model(config: Mapping[str, Any], checkpoint: Path | None, state: TTMState | None) -> Trainable:
    from core.scorers.base import Trainable  # torch

    device = config.get("device") or "auto"
    # Low-rank adapters go on from the model that they were put on; the checkpoint's is merged, for use.
    merged = state is not None and state.adapter is not None
    if checkpoint is None or merged:
        if config.get("embeddings"):
            from core.scorers.devices import pick_device  # torch
            from core.scorers.embedding import EmbeddingModel  # torch

            return EmbeddingModel.of(
                _embeddings(config), config["scale"], config["benchmark"], str(pick_device(device))
            )
        source = config["model"]
    else:
        # What is saved is the whole model; which of its scores is adapted stays in the name.
        kind = "itc:" if config["model"].startswith("itc:") else ""
        source = f"{kind}{checkpoint / 'model'}"

    model = load_scorer(source, device)
    if not isinstance(model, Trainable):
        raise _no_weights(config["model"])
    return model


def _embeddings(config: Mapping[str, Any]) -> Any:
    return read_embeddings(config["embeddings"], config["shape"])


def load_groups(config: Mapping[str, Any]) -> GroupSet:
    """The groups a description names, with their truth: all of a benchmark's split or file, or only the first so many.

    An embeddings file's truth is its order: caption i of a group belongs to its image i.
    """
    if config.get("embeddings"):
        groups = _embeddings(config).groups(config["benchmark"])
    else:
        groups = of_shape(
            datasets.load(config["benchmark"], config.get("split") or "test"), config.get("shape")
        )
    wanted = config.get("groups")
    if wanted is None:
        return groups
    if not 1 <= wanted <= len(groups):
        raise InputError(f"{wanted} groups were asked for; {groups.name} has 1 to {len(groups)} to give.")
    return groups.select(range(wanted))


def adaptation_pool(config: Mapping[str, Any], groups: GroupSet) -> np.ndarray | None:
    """The groups that a transfer check adapts on, bool (n,); None where a run takes all."""
    if config.get("adapt_on") is None:
        return None

    return adapted_pool(groups, config["adapt_on"], config.get("split_seed") or 0)
