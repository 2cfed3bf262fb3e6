"""`crossmatch compare`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from core import datasets
from core.base.errors import InputError
from core.base.table_formats import _result_csv, open_table, read_bytes
from core.base.text import counted
from core.cli import options
from core.cli._evaluation import cluster_by, load_evaluation, tags_beside
from core.cli._files import _is_embeddings, _is_file, _refuse_file
from core.cli._given_options import benchmark_argument, refuse_unused
from core.cli._latex import _latex_of, _of_groups, _refuse_two_forms, _row_names
from core.cli._output import format_differences, format_metrics, print_note, show_json, writing
from core.datasets.packed_tables import _unpacked
from core.datasets.score_files import _tags_without_captions
from core.exchange.paired_files import _comparison_file
from core.exchange.score_columns import _ScoreColumns
from core.metrics.evaluation import Evaluation
from core.metrics.group_filters import with_tags
from core.metrics.paired import (
    _completed_by,
    _paired_interval,
    _test_named,
    common_groups,
    differences,
    without_names,
)
from core.metrics.statistics import Comparison
from core.ttm.defaults import full_name

_Side = Annotated[
    str, typer.Argument(help="A file of scores or embeddings, or a model that scores --benchmark.")
]


def compare(
    a: _Side,
    b: _Side,
    name: options.Positional = None,
    benchmark: options.Benchmark = None,
    split: options.Split = "test",
    shape: Annotated[
        str | None,
        typer.Option(help="Only groups of this shape, images x captions; of embeddings 2x2 by default."),
    ] = None,
    tag: options.Tag = None,
    tags: Annotated[
        Path | None,
        typer.Option(help="CSV with tags of A's groups: a column `group` (or `id`) and one column per tag."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="CSV for the table.")] = None,
    cluster: options.Cluster = None,
    common: Annotated[
        bool,
        typer.Option("--common", help="Say how many groups each has, also where both have the same ones."),
    ] = False,
    by_order: Annotated[
        bool,
        typer.Option(
            "--by-order",
            help="Pair the groups of two files in their order, where one file or both only number their groups.",
        ),
    ] = False,
    columns: options.Columns = None,
    latex: options._Latex = False,
    as_json: options.Json = False,
) -> None:
    """Two models, two files, or a file and a model on the same groups: every metric, and the paired difference.

    Holm: p corrected for all metrics, as any of them could be picked afterwards; a run of test-time matching is judged
    by its main metrics alone, so its p of the same difference can be smaller. An interval holds 0 where its p, before
    any correction, is above 0.05, and elsewhere does not: an end is moved for that where it has to be, which is said.
    p of IndividualMatch counts groups and its interval is of points, so that this may hold 0 elsewhere, too.
    Detectable: the smallest difference in points that these groups show with 80 % power, in one comparison alone.
    Differences are of the unrounded values, so they may differ by 0.01 from what you subtract.
    """
    _refuse_two_forms(latex, as_json)
    _refuse_file(name, "two sides are compared, the first two")
    benchmark = benchmark_argument(name, benchmark)
    if not (tag or cluster):
        refuse_unused("without --tag or --cluster, which name one of its columns", "tags")
    first, second = _both_sides(a, b, benchmark, split, shape, columns, by_order, tags)
    by_row = benchmark is None and _neither_named(first, second)
    is_asked, by_order = by_order, by_order or by_row
    sizes = {"a": len(first.ids), "b": len(second.ids)}
    _warn_of_left_out(first, second)
    first, second = _on_the_same(first, second, tag, cluster, tags is not None)
    common |= {*sizes.values()} != {len(first.ids)}
    if out is not None:
        _write_table(out, (a, b), first, second, by_order)
    where = {} if benchmark is None else {"benchmark": benchmark, "split": split}
    paired = _paired_line((a, b), first, sizes if by_row else {}) if by_order else ""
    had = (
        f"On the groups that both have: A has {sizes['a']}, B {sizes['b']}." if common and not by_row else ""
    )
    if latex:
        print(_latex((a, b), first, second, where, tag or (), (paired, had)))
        return
    if as_json:
        of = {"groups_of": sizes} if common else {}
        order = {"paired": "in order" if is_asked else "by row number"} if by_order else {}
        show_json({"a": a, "b": b, **where, **of, **order, **_record(first, second)})
        return
    _print_both((a, b), (first, second), where, (paired, had))


def _both_sides(
    a: str,
    b: str,
    benchmark: str | None,
    split: str,
    shape: str | None,
    columns: str | None,
    by_order: bool,
    tags: Path | None,
) -> tuple[Evaluation, Evaluation]:
    """Each side evaluated, the first with the columns of a table of tags; with `by_order` the groups of a file that
    only numbers them have the other's names."""
    embedded = [_is_embeddings(side) for side in (a, b)]
    _check_sides(a, b, benchmark, embedded)
    contents, named = _with_columns(a, b, embedded, columns)
    command = shlex.join(["crossmatch", "compare", a, b, *(["--benchmark", benchmark] if benchmark else [])])
    first, second = (
        _evaluate(
            *(side, is_embedded, benchmark, split, shape, columns if side in named else None, command),
            contents.get(side),
        )
        for side, is_embedded in zip((a, b), embedded, strict=True)
    )
    _check_shapes((a, b), first, second)
    if tags is not None:  # by the names that A itself gives its groups, as the page has them
        first.tags = tags_beside(first.tags, _tags_without_captions(tags, first.ids))
    if by_order:
        first, second = _in_order((a, b), first, second)
    elif benchmark is None and _neither_named(first, second):
        _check_as_many(first, second)
    _check_named(zip((a, b), embedded, (first, second), strict=True))
    return first, second


def _print_both(
    names: tuple[str, str],
    sides: tuple[Evaluation, Evaluation],
    where: Mapping[str, str],
    more: Sequence[str],
) -> None:
    """Each side by itself, then their differences. where : the set and split that models scored, {} of files. more :
    what comes first, "" left out."""
    on = f" on {where['benchmark']}, split {where['split']}" if where else ""
    for line in filter(None, more):
        print(f"{line}\n")
    for letter, source, side in zip("AB", names, sides, strict=True):
        print(f"{letter}: {source if _is_file(source) else f'{source}{on}'}; {_measured(side)}\n")
    print(format_differences("B minus A", differences(*sides), ("A better", "B better")))


def _latex(
    names: tuple[str, str],
    first: Evaluation,
    second: Evaluation,
    where: Mapping[str, str],
    tags: Sequence[str],
    more: Sequence[str],
) -> str:
    """Both with their difference as a table in LaTeX. more : what else has to be known of their groups, "" left out."""
    rows = _row_names(names, [*map(_is_file, names)])
    about = [_of_groups(rows, first, where, tags), *(line.rstrip(".") for line in more)]
    return _latex_of(
        dict(zip(rows, (first, second), strict=True)), about, compared=differences(first, second)
    )


def _write_table(
    out: Path, sides: tuple[str, str], first: Evaluation, second: Evaluation, by_order: bool
) -> None:
    names = _row_names(sides, [*map(_is_file, sides)])
    with writing(out):
        out.write_bytes(_result_csv(_comparison_file(first, second, names, by_order)))
    print_note(f"wrote {out}")


def _check_sides(a: str, b: str, benchmark: str | None, embedded: Sequence[bool]) -> None:
    """Raises InputError for sides that are the same, for a model without a benchmark, and for options of no use."""
    _refuse_same(a, b)
    models = [side for side in (a, b) if not _is_file(side)]
    if a_set := next((side for side in models if _is_benchmark(side)), None):
        sides = [side for side in (a, b, benchmark) if side not in (None, a_set)]
        command = shlex.join(["crossmatch", "compare", *[*sides, "MODEL"][:2], a_set])
        raise InputError(
            f"{a_set} is a benchmark, which comes behind the two that are compared on it: `{command}`."
        )
    if models and benchmark is None:
        raise InputError(
            f"{models[0]!r} is not a file of scores or embeddings, so it is taken for a model; "
            "name its benchmark behind both, or with --benchmark, or give an existing file."
        )
    if benchmark is not None:
        refuse_unused("with --benchmark, whose groups have names", "by_order")
    if all(embedded):
        refuse_unused("with two files of embeddings", "name", "benchmark", "split")
    if benchmark is None:
        refuse_unused("with two files and no --benchmark", "split")
        if not any(embedded):
            refuse_unused("with two files of scores", "shape")


def _is_benchmark(name: str) -> bool:
    """Whether a side is called as a benchmark is, also with its pictures changed or all its pairs."""
    return name.partition("~")[0].removesuffix("@global") in datasets.names(None)


def _check_named(sides: Iterable[tuple[str, bool, Evaluation]]) -> None:
    """Raises InputError for two that have no group in common because one only numbers its own."""
    known = list(sides)
    (_, _, first), (_, _, second) = known
    if {*first.ids} & {*second.ids}:
        return
    for (side, is_embedded, found), (letter, other) in zip(known, (("B", second), ("A", first)), strict=True):
        hint = without_names(side, found.ids, is_embedded)
        if hint:
            also = " Or add --by-order, where both have the same groups in the same order."
            raise InputError(
                f"A and B have no group in common: {letter} names {other.ids[0]!r}; {hint}"
                + also * (_sizes_of(found) == _sizes_of(other))
            )


def _neither_named(a: Evaluation, b: Evaluation) -> bool:
    """Whether neither of two files names its groups, so that only the numbers of their rows can pair them."""
    return not (a.ids_given or b.ids_given)


def _check_as_many(a: Evaluation, b: Evaluation) -> None:
    """Raises InputError for other numbers of groups, none of which has a name: equal numbers make no equal groups."""
    fewer = min(len(a.ids), len(b.ids))
    if len(a.ids) != len(b.ids):
        raise InputError(
            f"Neither file names its groups, and A has {len(a.ids)}, B {len(b.ids)}: name the groups in both, or add "
            f"--by-order where the first {fewer} of both are the same groups in the same order."
        )


def _check_shapes(names: tuple[str, str], a: Evaluation, b: Evaluation) -> None:
    """Raises InputError for groups of two shapes, before anything is said of which groups are left out."""
    if a.shape != b.shape:
        one, other = ("x".join(map(str, side.shape)) for side in (a, b))
        raise InputError(
            f"{names[0]} has groups of {one} and {names[1]} of {other}, so that they cannot be paired; give two files "
            "of one shape."
        )


def _sizes_of(side: Evaluation) -> tuple[int, ...]:
    """How many groups of how many images and captions, (n, m, k)."""
    return side.scores.shape


def _in_order(names: tuple[str, str], a: Evaluation, b: Evaluation) -> tuple[Evaluation, Evaluation]:
    """Both with the names that one gives the groups, by their order; a file without truth has the other's.

    Raises InputError where names pair them, where both name their groups differently, and for other numbers of groups.
    """
    if _neither_named(a, b):
        return _completed_by(a, b, names[1]), _completed_by(b, a, names[0])
    common = len({*a.ids} & {*b.ids})
    if common:
        raise InputError(
            f"--by-order has no effect: {counted(common, 'group')} of A and B have the same names, by which they are "
            "paired; leave it out."
        )
    numbered = [bool(without_names(name, side.ids, False)) for name, side in zip(names, (a, b), strict=True)]
    if not any(numbered):
        raise InputError(
            f"--by-order needs a file that only numbers its groups: A names {a.ids[0]!r} and B {b.ids[0]!r}; compare "
            "files with one way to name groups."
        )
    if _sizes_of(a) != _sizes_of(b):
        sizes = (f"{len(side.ids)} of {'x'.join(map(str, side.shape))}" for side in (a, b))
        raise InputError(
            f"--by-order needs as many groups of one shape in both: A has {' and B '.join(sizes)}; give files of the "
            "same groups."
        )
    ids = list(b.ids if numbered[0] else a.ids)
    a, b = replace(a, ids=ids), replace(b, ids=ids)
    return _completed_by(a, b, names[1]), _completed_by(b, a, names[0])


def _paired_line(names: tuple[str, str], first: Evaluation, sizes: Mapping[str, int]) -> str:
    """What is assumed of two that were paired in their order. sizes : how many groups each file has where neither names
    them, else {}."""
    how = "Paired by row number, as neither file names its groups" if sizes else "Paired in order"
    alike = len({*sizes.values()}) < 2
    which = f"all {len(first.ids)}" if alike else f"the first {min(sizes.values())}"
    return (
        f"{how}: group i of {names[0]} is taken to be group i of {names[1]}, for {which}, with "
        "images and captions in one order. If the orders differ, no difference and no p means anything."
    )


def _warn_of_left_out(a: Evaluation, b: Evaluation) -> None:
    """How many groups of each the other one lacks, which the comparison leaves out; nothing where it is none."""
    for name, other, lost, whole in (
        ("A", "B", len({*a.ids} - {*b.ids}), len(a.ids)),
        ("B", "A", len({*b.ids} - {*a.ids}), len(b.ids)),
    ):
        if 0 < lost < whole:
            have = (
                "is left out, as {} does not have it"
                if lost == 1
                else "are left out, as {} does not have them"
            )
            print_note(f"warning: {lost} of the {whole} groups of {name} {have.format(other)}")


def _on_the_same(
    a: Evaluation, b: Evaluation, tag: Sequence[str] | None, cluster: str | None, has_table: bool
) -> tuple[Evaluation, Evaluation]:
    """Both on the groups that they have in common, of these tags, with one way to hang together.

    has_table : whether a table of tags was given, which A has; they are those of B's groups, too.
    """
    first, second = common_groups(a, b)
    if has_table:
        second.tags = first.tags
    if tag:
        kept = np.isin(first.ids, with_tags(second if first.tags is None else first, tag).ids)
        first, second = first.select(kept), second.select(kept)
    first.clusters = second.clusters = first.clusters or second.clusters  # a file does not know its images
    for side in (first, second):
        cluster_by(side, cluster)
    return first, second


def _measured(side: Evaluation) -> str:
    """How many groups there are and where their truth is from, then every metric."""
    record = side.record()
    size = f"{counted(record['n_groups'], 'group')} of {record['shape']}"
    return f"{size}; truth: {record['truth']}\n{format_metrics(record)}"


def _refuse_same(a: str, b: str) -> None:
    """Raises InputError for a file or a model beside itself, as the page does."""
    if Path(a).resolve() == Path(b).resolve() if _is_file(a) else full_name(a) == full_name(b):
        raise InputError(
            f"{a} beside {b}: that is no comparison; give another file or model for one of them."
        )


def _evaluate(
    side: str,
    is_embedded: bool,
    benchmark: str | None,
    split: str,
    shape: str | None,
    columns: str | None,
    command: str,
    data: bytes | None,
) -> Evaluation:
    if not _is_file(side):
        return load_evaluation(None, None, benchmark, full_name(side), split, shape)
    if is_embedded:
        return load_evaluation(Path(side), None, None, "", split, shape)
    return load_evaluation(
        None, Path(side), benchmark, "", split, shape if benchmark else None, common=True, columns=columns,
        command=command, data=data,
    )  # fmt: skip


def _with_columns(
    a: str, b: str, embedded: Sequence[bool], columns: str | None
) -> tuple[dict[str, bytes], list[str]]:
    """What is in the files of scores, each read once, and those which have the columns that --columns names; one that
    lacks them is read by its own. Raises InputError where none has them. Empty without --columns."""
    files = [side for side, is_it in zip((a, b), embedded, strict=True) if _is_file(side) and not is_it]
    if columns is None or not files:
        refuse_unused("without a file of scores, whose columns it names", "columns")
        return {}, []
    contents, found, errors = dict[str, bytes](), [], []
    for side in files:
        try:
            contents[side] = read_bytes(side)
            _ScoreColumns.read(columns, open_table(*_unpacked(Path(side), contents[side])))
            found.append(side)
        except InputError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return contents, found


def _record(a: Evaluation, b: Evaluation) -> dict[str, Any]:
    return {
        "n_groups": len(a.ids),
        "shape": "x".join(map(str, a.shape)),
        "metrics": {
            name: {
                "a": a.metrics[name].record(),
                "b": b.metrics[name].record(),
                "difference": _difference_record(name, difference),
            }
            for name, difference in differences(a, b).items()
        },
    }


def _difference_record(name: str, found: Comparison) -> dict[str, Any]:
    """A paired difference by the names that the table of `--out` has, with its test, unit and kind of interval.

    name : of the metric, its key.
    """
    called = {"fixed": "only_b_right", "broken": "only_a_right"}
    record = {called.get(key, key): value for key, value in found.record().items()}
    how: dict[str, Any] = {
        "unit": "percentage points",
        "interval": _paired_interval(found.low, found.high),
        "test": _test_named(name),
    }
    if found.clustered is not None:
        by = found.clustered.by
        how["clustered"] = record.pop("clustered") | {
            "interval": _paired_interval(found.clustered.low, found.clustered.high, ", of clusters"),
            "test": _test_named(name, by),
        }
    return record | how


def groups_needed(
    difference: Annotated[float, typer.Option(help="Points by which the two should differ.")] = 5.0,
    differ: Annotated[
        float, typer.Option(help="Percent of groups on which only one of the two is right.")
    ] = 20.0,
    groups: Annotated[
        int | None, typer.Option(help="Also: the smallest difference that this many groups show.", min=1)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """How many groups show a difference with 80 % power, and the smallest difference that so many groups show."""
    difference = abs(difference)  # which of the two is ahead does not matter
    needed = Comparison.groups_needed(difference, differ)
    detectable = None if groups is None else Comparison.detectable_difference(groups, differ)
    if as_json:
        record = {"difference": difference, "differ": differ, "groups_needed": needed}
        show_json(record if groups is None else {**record, "groups": groups, "detectable": detectable})
        return
    print(
        f"{needed:,} groups show a difference of {difference:g} points with 80 % power, where only one of the two is "
        f"right on {differ:g} % of groups (McNemar's exact test at 5 %)."
    )
    if groups is not None:
        digits = 6 if detectable is not None and detectable < 0.01 else 2
        answer = (
            "no difference"
            if detectable is None
            else f"differences of {detectable:.{digits}f} points or more"
        )
        print(f"{f'{groups:,} groups show' if groups > 1 else '1 group shows'} {answer}.")
