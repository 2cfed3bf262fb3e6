"""`crossmatch doctor` and `crossmatch cache`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base import paths
from core.base.files import clear_cache, folder_size
from core.base.text import counted, duration
from core.cli._given_options import App, refuse_unused
from core.cli._output import print_note, show_json
from core.cli.options import Json
from core.doctor import PROBLEM, cache_size, diagnose, human_bytes

cache_app = App(no_args_is_help=True)


def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also ask torch which device it sees (seconds).")
    ] = False,
    rehearse: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="MODEL SET",
            help="What a model will take on a benchmark, from a short measurement here (minutes): download, disk, "
            "memory, time. Weights that are not here are random ones of that size.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """What this machine has and lacks: device, memory, caches, data, extras. Works offline; changes nothing."""
    if rehearse is not None:
        refuse_unused("where a model is rehearsed", "deep")
        _rehearse(*rehearse, as_json)
        return
    diagnoses = diagnose(deep)
    if as_json:
        show_json([each._asdict() for each in diagnoses])
    else:
        labels = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
        for each in diagnoses:
            print(f"{labels[each.state]}  {each.topic}: {each.text}")
            if each.do:
                print(f"         -> {each.do}")
    if any(each.state == PROBLEM for each in diagnoses):
        raise typer.Exit(1)


def _rehearse(model: str, benchmark: str, as_json: bool) -> None:
    from core.doctor.rehearsal import rehearse  # torch

    found = rehearse(model, benchmark, told=print_note)
    if as_json:
        show_json(found)
        return
    for name, line in _rehearsed_lines(found):
        print(f"{name:<20}{line}")


def _rehearsed_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """A rehearsal in lines: what is told, and how much."""
    counts, scoring, ttm, memory = (found[part] for part in ("counts", "scoring", "ttm", "memory"))
    m, k = counts["shape"]
    size = human_bytes(found["weights"]["bytes"] or 0)
    kinds = {"scoring": "scoring", "ttm": "test-time matching", "simplematch": "SimpleMatch"}
    most = ", ".join(f"{label} {human_bytes(memory[key])}" for key, label in kinds.items() if key in memory)
    start = f"{duration(scoring['start_seconds'])} of it to load the model"
    lines = [
        ("set", f"{counts['groups']:,} groups of {m} x {k}, {counts['images']:,} images; {found['data']}"),
        ("weights", f"{size}, {'here' if found['weights']['here'] else 'to be downloaded'}"),
        (
            "disk",
            f"{human_bytes(found['disk']['needed'])} more; {human_bytes(found['disk']['free'])} are free",
        ),
        ("memory", f"{most}; {human_bytes(memory['free'])} are free"),
        ("scoring", f"about {duration(scoring['seconds'])}, {start}"),
    ]
    if ttm is not None:
        each, before = ttm["seconds_per_iteration"], ttm["seconds_before"]
        whole = duration(before + ttm["iterations"] * each)
        lines.append(
            (
                "test-time matching",
                f"an iteration on all groups about {duration(each)} ({ttm['epochs']} epochs, preset {ttm['preset']}), "
                f"{ttm['iterations']} of them at most {whole}",
            )
        )
    measured = scoring["measured_groups"]
    lines.append(("measured", f"{found['machine']}; {counted(measured, 'group')} scored"))
    return [*lines, *(("note", note) for note in found["notes"])]


@cache_app.command("show", epilog="Example: crossmatch cache show --json")
def _cache_show(as_json: Json = False) -> None:
    """How many scores are cached, and how much disk space they, the features of Cola's trainings and drawn pictures
    of the built-in world take."""
    path, scores, size = cache_size()
    features, pictures = map(folder_size, _folders())
    if as_json:
        sizes = {"bytes": size, "feature_bytes": features, "picture_bytes": pictures}
        show_json({"path": str(path), "scores": scores, **sizes})
    else:
        print(f"{scores} scores, {human_bytes(size)} in {path}")
        for what, taken, folder in zip(
            ("features", "pictures"), (features, pictures), _folders(), strict=True
        ):
            print(f"{what}, {human_bytes(taken)} in {folder}")


def _folders() -> tuple[Path, Path]:
    """Where core/cola/_feature_store.py keeps features and core/scenes/pictures.py pictures, without importing them."""
    cache = paths.home() / "cache"
    return cache / "features", cache / "pictures"


@cache_app.command("clear", epilog="Example: crossmatch cache clear")
def _cache_clear() -> None:
    """Delete every cached score, feature of Cola's trainings and drawn picture; all are made again when needed."""
    from core.scoring.cache import ScoreCache  # imports numpy, which is slow

    cache = ScoreCache()
    before = cache.size()
    cache.clear()
    features, pictures = map(clear_cache, _folders())
    print_note(
        f"deleted {before.scores} scores, {human_bytes(before.bytes)}, {human_bytes(features)} of features and "
        f"{human_bytes(pictures)} of pictures"
    )
