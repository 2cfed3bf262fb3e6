"""`crossmatch rejudge`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from core.base.files import storage_errors, write_bytes
from core.base.text import _pct
from core.cli import options
from core.cli._output import format_differences, format_metrics, print_note, show_json
from core.metrics.group_metrics import Metric
from core.rejudge import rejudge as judge


def rejudge(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Results of MTEB, lm-eval, lmms-eval, Inspect, VLMEvalKit or CLIP_benchmark, score files, tables of "
            "results, or folders of them. Every two systems on one benchmark are compared."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="JSON for everything that was found.")] = None,
    as_json: options.Json = False,
) -> None:
    """A second opinion on results of MTEB, lm-eval or Inspect: groups, ties, chance, what the report hides."""
    found = judge(files)
    record = found.record()
    for sentence in found.left_out:
        print_note(f"left out: {sentence}")
    if out is not None:
        with storage_errors(out):
            write_bytes(out, (json.dumps(record, indent=2, allow_nan=False) + "\n").encode())
        print_note(f"wrote {out}")
    if as_json:
        show_json(record)
        return
    for each, told in zip(found.judged, record["submissions"], strict=True):
        counts = [f"{told[f'n_{what}']} {what}" for what in ("questions", "groups") if f"n_{what}" in told]
        shape = f" of {told['shape']}" if "shape" in told else ""
        print(f"{each.submission.title}: {', '.join(counts) or 'numbers alone'}{shape}")
        if told["reported"]:
            print(
                "reported: "
                + ", ".join(f"{name} {_pct(value, 2)}" for name, value in told["reported"].items())
            )
        if told["metrics"]:
            print(format_metrics(told))
        for sentence in (*told["findings"], *told["limits"]):
            print(f"- {sentence}")
        print()
    tests = sum(len(Metric.same(metrics)) for *_, metrics in found.differences)
    for a, b, metrics in found.differences:
        print(f"B: {b.submission.title}\nA: {a.submission.title}")
        print(format_differences("B minus A", metrics, ("A better", "B better"), tests), end="\n\n")
