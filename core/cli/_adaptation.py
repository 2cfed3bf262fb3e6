"""From the options of a command to the description of a run that adapts a model, and its start in the background."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.base.errors import InputError
from core.cli._files import (
    _is_embeddings,
    _is_file_and_no_benchmark,
    _measuring,
    _refuse_missing,
    _scores_or_embeddings,
)
from core.cli._given_options import benchmark_argument, refuse_unused
from core.cli._output import print_note, show_json
from core.runs.engine import start
from core.runs.store import RunStore
from core.scoring.load import scorer_kind
from core.ttm.defaults import preset_target
from core.ttm.run import AdaptationRun
from core.ttm.seeds import _warning_of_copies, launch_seeds

_HOW = ("groups", "preset", "adapt_on", "split_seed", "device")


def described(
    kind: type[AdaptationRun], given: Mapping[str, Any], names: tuple[str, ...], more: Mapping[str, Any]
) -> AdaptationRun:
    """The description of a run from a command's arguments."""
    if given["background"]:
        refuse_unused("with --background: get the model with `runs export` when the run has finished", "save")
        refuse_unused("with --background, which stores its run", "no_store")
    settings = {name: given[name] for name in names}
    for listed in ("lora_targets", "parameters", "betas"):
        if settings.get(listed) is not None:
            settings[listed] = comma_list(settings[listed])
    if settings.get("betas") is not None:
        settings["betas"] = _numbers(settings["betas"], "--betas")
    given = _with_embeddings(kind, given)
    common = {**{name: given.get(name) for name in _HOW}, **more, "options": settings}
    if given["embeddings"] is not None:
        if benchmark_argument(given["name"], given["benchmark"]) is not None:
            raise InputError("Give exactly one of --benchmark NAME or --embeddings FILE.")
        refuse_unused("with --embeddings", "model", "split", "tag")
        file, shape = given["embeddings"], given["shape"] or "2x2"
        return kind.of_file(file, shape, scale=given["scale"], **common)
    refuse_unused("without --embeddings", "scale")
    benchmark, model = _subject(given)
    if given.get("micro_batch") is not None and scorer_kind(model) == "itm":  # before anything is loaded
        raise InputError(
            f"The loss of {model}, a matching head, depends on all pairs of a batch; leave out --micro-batch and "
            "lower --batch instead."
        )
    source = {"split": given["split"], "shape": given["shape"], "tags": given.get("tag") or None}
    return kind.of(benchmark, model, **source, **common)


def _with_embeddings(kind: type[AdaptationRun], given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with a file of embeddings, named first, as --embeddings; InputError for any other file."""
    name, scores, embeddings = _scores_or_embeddings(given["name"], None, given["embeddings"])
    file = scores or (given["benchmark"] if _is_file_and_no_benchmark(given["benchmark"]) else None)
    if file is not None:
        _refuse_missing(str(file))
        if _is_embeddings(str(file)):
            raise InputError(
                f"{file} is a file of embeddings; name it with --embeddings, not with --benchmark."
            )
        raise InputError(
            f"{file} is a file, and {kind.kind} trains a model on a set by name (BENCHMARK --model NAME) or embeddings "
            f"(--embeddings FILE.npz), not scores, which hold nothing to train; `{_measuring(str(file))}` measures "
            "them."
        )
    return {**given, "name": name, "embeddings": embeddings}


def comma_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _numbers(parts: list[str], option: str) -> list[float]:
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise InputError(
            f"{option} is {','.join(parts)!r}; it must be numbers, separated by commas."
        ) from None


def _subject(given: Mapping[str, Any]) -> tuple[str, str]:
    """Benchmark and model: as named, else as the preset has them; a remark where the preset is of another benchmark."""
    home = preset_target(given["preset"]) if given["preset"] is not None else None
    named = benchmark_argument(given["name"], given["benchmark"])
    benchmark = named or (home and home.benchmark)
    if benchmark is None:
        raise InputError("Give exactly one of --benchmark NAME or --embeddings FILE.")
    if home is not None and home.benchmark not in (None, benchmark):
        print_note(f"the preset {given['preset']} was chosen for {home.benchmark}; this is {benchmark}")
    return benchmark, given["model"] or (home and home.model) or "builtin/clip"


def start_in_background(job: AdaptationRun, seeds: int, as_json: bool) -> None:
    """One background run, or a group of them."""
    store, title = RunStore(), f"{job.benchmark} · {job.model}"
    if seeds == 1:
        run = start(store, title, job)
        text = f"started run {run.id}; see `crossmatch runs show {run.id}`"
        show_json({"id": run.id}) if as_json else print(text)
        return
    _warn_of_copies(job, seeds)
    group, runs = launch_seeds(store, title, job, seeds)
    text = f"started {seeds} runs as group {group}; see `crossmatch runs seeds {group}`"
    show_json({"group": group, "runs": [run.id for run in runs]}) if as_json else print(text)


def _warn_of_copies(job: AdaptationRun, seeds: int) -> None:
    """A remark before the start, where several seeds would be copies of one run."""
    if job.embeddings and (warning := _warning_of_copies(job, seeds, len(job.load_groups()))):
        print_note(f"warning: {warning}")
