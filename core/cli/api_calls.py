"""Before a served model is asked: how many calls, and that somebody wants them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from core.cli.output import print_note
from core.scorers.api import ApiScorer, planned_calls
from core.scoring.scores import ScoreCache

if TYPE_CHECKING:
    from core.groups import GroupSet


def confirm_calls(scorer: Any, groups: GroupSet) -> None:
    """Say what a served model will be asked beyond what the cache holds, and at a terminal, ask whether to start."""
    if not isinstance(scorer, ApiScorer):
        return
    found = planned_calls(scorer, groups, ScoreCache())
    print_note(
        f"{scorer.describe()}: {found.calls} calls, about {found.tokens_in:,} tokens in, {found.tokens_out:,} out"
    )
    if found.calls and sys.stdin.isatty():
        typer.confirm("Start?", abort=True, err=True)
