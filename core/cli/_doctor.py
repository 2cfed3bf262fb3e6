"""`crossmatch doctor` and `crossmatch cache`."""

from __future__ import annotations

from typing import Annotated

import typer

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
    """How many scores are cached, and how much disk space they take."""
    path, scores, size = cache_size()
    if as_json:
        show_json({"path": str(path), "scores": scores, "bytes": size})
    else:
        print(f"{scores} scores, {human_bytes(size)} in {path}")


@cache_app.command("clear", epilog="Example: crossmatch cache clear")
def _cache_clear() -> None:
    """Delete every cached score; scores are computed again when needed."""
    from core.scoring.scores import ScoreCache  # imports pandas, which is slow

    cache = ScoreCache()
    before = cache.size()
    cache.clear()
    print_note(f"deleted {before.scores} scores, {human_bytes(before.bytes)}")
