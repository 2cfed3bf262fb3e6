"""`crossmatch doctor` and `crossmatch cache`."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli.given_options import App
from core.cli.options import Json
from core.cli.output import print_note, show_json
from core.doctor import PROBLEM, cache_size, diagnose, human_bytes

cache_app = App(no_args_is_help=True, help="The cache of scores: show, clear.")


def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also ask torch which device it sees (seconds).")
    ] = False,
    as_json: Json = False,
) -> None:
    """What this machine has and lacks: device, memory, caches, data, extras. Works offline; changes nothing."""
    found = diagnose(deep)
    if as_json:
        show_json([finding._asdict() for finding in found])
    else:
        signs = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
        for finding in found:
            print(f"{signs[finding.state]}  {finding.topic}: {finding.text}")
            if finding.do:
                print(f"         -> {finding.do}")
    if any(finding.state == PROBLEM for finding in found):
        raise typer.Exit(1)


@cache_app.command("show", epilog="Example: crossmatch cache show --json")
def _cache_show(as_json: Json = False) -> None:
    """How many scores are kept, and how much disk they take."""
    path, scores, size = cache_size()
    if as_json:
        show_json({"path": str(path), "scores": scores, "bytes": size})
    else:
        print(f"{scores} scores, {human_bytes(size)} in {path}")


@cache_app.command("clear", epilog="Example: crossmatch cache clear")
def _cache_clear() -> None:
    """Forget every score; they are computed again when they are needed."""
    from core.scoring.scores import ScoreCache  # pandas

    cache = ScoreCache()
    before = cache.size()
    cache.clear()
    print_note(f"forgot {before.scores} scores, {human_bytes(before.bytes)}")
