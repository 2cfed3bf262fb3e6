"""`crossmatch published`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import _pct
from core.cli import options
from core.cli._evaluation import read_score_file
from core.cli._files import _is_embeddings
from core.cli._output import print_note, show_json
from core.papers.published import PublishedSet, _comparable, _higher_said, _places
from core.runs.store import RunStore


def published(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SET", help="winoground, spec/count, 'EqBen, val', ...; without one, all sets."
        ),
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RESULT...",
            help="Your own results, without an option: a metrics.json of evaluate, what evaluate or recall printed "
            "with `--json`, or a file of scores or embeddings, in a form that `evaluate` reads; embeddings in groups "
            "of the set's shape.",
        ),
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Default: the strictest that was published.")] = None,
    as_json: options.Json = False,
) -> None:
    """Published results of named systems on one set, with chance, and yours among them: files, of scores too, which
    are named behind the set, and finished runs."""
    if name is None:
        every = PublishedSet.every()
        sets = [{"set": title, "metrics": found.metrics} for title, found in every.items()]
        if as_json:
            show_json(sets)
        else:
            print("\n".join(f"{title}: {', '.join(found.metrics)}" for title, found in every.items()))
        return
    chosen = PublishedSet.named(name)
    metric = chosen.metric(metric)
    own = [chosen.runs(RunStore(), metric), *(_own(chosen, path, metric) for path in results or ())]
    given = [each for each in own if len(each)]
    table = chosen.standing(metric, pd.concat(given, ignore_index=True) if given else None)
    if as_json:
        show_json({"set": chosen.title, "metric": metric, "rows": table.to_dict("records")})
        return
    print(f"{chosen.title}, {metric} in percent")
    for row in table.to_dict("records"):
        mark = "*" if row["kind"] == "yours" else " "
        caution = f"; not comparable: {row['caution']}" if row["caution"] else ""
        named = (row["system"], row["method"], row["note"], row["source"])
        what = ", ".join(dict.fromkeys(filter(None, named)))  # a file of scores is system and source
        value = " ".join(filter(None, (f"{_pct(row['value'], 2):>7}", chosen.interval(row))))
        print(f"{mark}{value}  {what}{caution}")
    others = _comparable(table)
    for place, row in zip(_places(table), table.to_dict("records"), strict=True):
        if place:
            print(f"{row['system']}, {place}: {_higher_said(others, row)}.")
    print_note(
        f"{'* yours. ' if given else ''}No source gives an interval; preprocessing and versions of a set may differ."
    )


def _own(chosen: PublishedSet, path: Path, metric: str) -> pd.DataFrame:
    """One's own row; of a file of scores with several mistakes the error names all."""
    try:
        return chosen.result(path, metric)
    except InputError:
        is_table = path.suffix.lower() in (".csv", ".parquet", ".npz", ".npy", ".zip") and path.is_file()
        if is_table and not _is_embeddings(str(path)):
            read_score_file(path)
        raise
