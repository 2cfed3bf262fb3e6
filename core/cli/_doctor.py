"""`crossmatch doctor` and `crossmatch cache`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.base import paths
from core.base.files import folder_size, remove
from core.cli._given_options import App
from core.cli._output import print_note, show_json
from core.cli.options import Json
from core.doctor import PROBLEM, cache_size, diagnose, human_bytes

cache_app = App(no_args_is_help=True)


def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also ask torch which device it sees (seconds).")
    ] = False,
    as_json: Json = False,
) -> None:
    """What this machine has and lacks: device, memory, caches, data, extras. Works offline; changes nothing."""
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


@cache_app.command("show", epilog="Example: crossmatch cache show --json")
def _cache_show(as_json: Json = False) -> None:
    """How many scores are cached, and how much disk space they and the features of Cola's trainings take."""
    path, scores, size = cache_size()
    features = folder_size(_features())
    if as_json:
        show_json({"path": str(path), "scores": scores, "bytes": size, "feature_bytes": features})
    else:
        print(f"{scores} scores, {human_bytes(size)} in {path}")
        print(f"features, {human_bytes(features)} in {_features()}")


def _features() -> Path:
    """Where core/cola/_feature_store.py keeps features, by a name that imports no torch."""
    return paths.home() / "cache" / "features"


@cache_app.command("clear", epilog="Example: crossmatch cache clear")
def _cache_clear() -> None:
    """Delete every cached score and every feature of Cola's trainings; both are computed again when needed."""
    from core.scoring.cache import ScoreCache  # imports numpy, which is slow

    cache = ScoreCache()
    before = cache.size()
    cache.clear()
    features = folder_size(_features())
    remove(_features())
    print_note(
        f"deleted {before.scores} scores, {human_bytes(before.bytes)}, and {human_bytes(features)} of features"
    )
