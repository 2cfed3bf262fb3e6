"""What `crossmatch alpha` prints: every number with its interval, its chance level and its ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.base.text import (
    _change_in_points,
    _exact_differences,
    _pct,
    _signed,
    _signed_range,
    _true_minus,
    counted,
    p_digits,
    tie_count,
)
from core.cli._output import format_metrics
from core.debiasing.curves import _alpha_text, _edge_text, _shortest_within, _span_text
from core.debiasing.priors import _caption_known_by
from core.debiasing.study import TUNED_ON_TEST, TUNED_PER_ROW
from core.metrics.groups import IMAGE_TO_TEXT, TEXT_SCORE
from core.metrics.paired import _moved_to_zero

_HALVES = "held out (half/half x 10)"
_HELD_OUT = (
    "held out: mean ± standard deviation (n - 1) over the 10 halvings, which is no interval; ties are not counted, as "
    "every halving has an alpha of its own"
)


def format_groups(record: Mapping[str, Any]) -> str:
    """A study of groups as an aligned table, and one for every slice."""
    source, prior = record.get("model") or record["scores"], record["prior"]["line"]
    whole = f"the groups with {', '.join(record['tags'])}" if "tags" in record else "all groups"
    head = f"{counted(record['n_groups'], 'group')} of {record['shape']}; {source}; log P(t): {prior}"
    one = _written(record["metrics"][TEXT_SCORE]["best"])
    lines = [*_quoted_first(record), head, "", *_metric_lines(record, whole, one)]
    where = record.get("tuned_on", {})
    for name, row in where.get("metrics", {}).items():
        lines.append(
            f"alpha {row['alpha']:.3f} from {where['split']}: {name} {_number(row)}; "
            + _gain(row["gain"], record["metrics"][name]["alpha_0"], row)
        )
    for column, values in record.get("slices", {}).items():
        for value, part in values.items():
            lines += [
                "",
                f"{column} = {value} ({counted(part['n_groups'], 'group')})",
                *_metric_lines(part, whole, one),
            ]
    lines += [*_clusters_line(record), *_holm_line(record)]
    return "\n".join(lines)


def _clusters_line(record: Mapping[str, Any]) -> list[str]:
    """What an interval by caption is, and how a shared one is known; [] where groups share none."""
    found = record["metrics"][TEXT_SCORE]["alpha_0"].get("clustered")
    if found is None or "caption" not in found["by"]:
        return []
    known = _caption_known_by(of_file="scores" in record)
    return ["", f"by {found['by']}: groups that share one count as one; a caption is known by {known}"]


def _quoted_first(record: Mapping[str, Any]) -> list[str]:
    """The gain to quote, and in short that of every slice: what the long tables below come to."""
    quoted = record["to_quote"]
    lines = [] if quoted is None else [quoted["line"], quoted["held_out"]]
    for column, values in record.get("slices", {}).items():
        for value, part in values.items():
            size = f"{part['images']} images" if "images" in part else counted(part["n_groups"], "group")
            found = part["to_quote"]
            gain = "too few for halves" if found is None else f"{_gain_said(found)} points"
            lines.append(f"  {column} = {value} ({size}): {gain}")
    return [*lines, ""] if lines else []


def _gain_said(found: Mapping[str, Any]) -> str:
    return _true_minus(f"{_signed(found['mean'])} ± {_pct(found['std'])}")


def _written(best: Mapping[str, Any]) -> str:
    """An alpha that has the best value, with the digits that keep it within its span: 0.669 may lie beside it."""
    return _alpha_text(_shortest_within(best["alpha_low"], best["alpha_high"]))


def _metric_lines(record: Mapping[str, Any], whole: str, one: str) -> list[str]:
    """one : the alpha of the whole table, of which a slice is a part, as it is written."""
    rows = [row for name, metric in record["metrics"].items() for row in _rows(name, metric)]
    width = max(len(alpha) for _, alpha, _ in rows)
    head = f"{'metric':<18}{'alpha':<{width}}{'value':>8}{'95 % interval':>18}{'chance':>9}{'ties':>6}"
    lines = [head, *(f"{name:<18}{alpha:<{width}}{values}" for name, alpha, values in rows)]
    moved = {name: metric["best"] for name, metric in record["metrics"].items() if metric["depends_on_alpha"]}
    lines += ["", f"one alpha: {one}, the best of 0 to 1 for TextScore of {whole}, {TUNED_ON_TEST}"]
    if moved:
        lines.append(f"best: of 0 to 1, its widest span, {TUNED_PER_ROW}")
    lines += _edges(moved)
    if any(metric["validated"] is not None for metric in record["metrics"].values()):
        lines.append(_HELD_OUT)
    if record["shape"].startswith("1x") and moved:
        name, best = next(iter(moved.items()))
        lines.append(
            f"{', '.join(moved)}, one test: {_helps(best, record['metrics'][name]['alpha_0'], best)}"
        )
    else:
        lines += [
            f"{name}: {_helps(best, record['metrics'][name]['alpha_0'], best)}"
            for name, best in moved.items()
        ]
    lines += [_exact_differences(2)] if moved else []
    language = record["language"]
    if (likelier := language["true_caption_likelier"]) is not None:
        bias = (
            f"SyntaxBias of this log P(t): {language['syntax_bias']:+.3f} (mean over groups; 1 is the largest "
            "difference here; above 0 the prior favours true captions)"
        )
        lines += [f"true captions are the likelier text in pairs: {_number(likelier)}", bias]
    return [*lines, language["says"]]


def _edges(best: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Of which metrics the best alpha may lie beyond 0 or 1, a line for each way to say it."""
    found: dict[str, list[str]] = {}
    for name, row in best.items():
        found.setdefault(_edge_text(row["value"], row["intervals"]), []).append(name)
    return [f"{', '.join(names)}: {said[0].lower()}{said[1:-1]}" for said, names in found.items() if said]


def _rows(name: str, metric: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, alpha and the numbers of a metric at every choice of alpha; the name stands in the first row alone."""
    best, held = metric["best"], metric["validated"]
    if not metric["depends_on_alpha"]:
        yield name, "any", _values(metric["alpha_0"])
    else:
        yield name, "0", _values(metric["alpha_0"])
        yield "", "1", _values(metric["alpha_1"])
        yield "", "one alpha", _values(metric["one_alpha"])
        flat = (best["alpha_low"], best["alpha_high"]) == (0, 1)
        widest = _span_text(best["alpha_low"], best["alpha_high"])
        named = "no alpha changes it" if flat else f"best, {widest}"
        yield "", named, _values(best)
    if held is not None:
        at = "" if held["alpha"] is None else f"{_spread(held['alpha'], 2)}, "
        chance = _pct(metric["alpha_0"]["chance"], 2)
        if metric["depends_on_alpha"]:  # beside which the value at the chosen alpha is read
            yield "", f"0, {_HALVES}  ", f"{_spread(held['alpha_0'], 1):>26}{chance:>9}{'–':>6}"
        yield "", f"{at}{_HALVES}  ", f"{_spread(held['value'], 1):>26}{chance:>9}{'–':>6}"


def _values(e: Mapping[str, Any]) -> str:
    """Value, interval, chance level, ties, and the interval by cluster, in columns."""
    interval, c = f"[{_pct(e['low'], 2)}, {_pct(e['high'], 2)}]", e.get("clustered")
    by_cluster = f"  by {c['by']} [{_pct(c['low'], 2)}, {_pct(c['high'], 2)}]" if c else ""
    return f"{_pct(e['value'], 2):>8}{interval:>18}{_pct(e['chance'], 2):>9}{tie_count(e['ties']):>6}{by_cluster}"


def _number(e: Mapping[str, Any]) -> str:
    """The same in a sentence."""
    c = e.get("clustered")
    by_cluster = f", by {c['by']} {_pct(c['low'], 2)} to {_pct(c['high'], 2)}" if c else ""
    interval = f"95 % interval {_pct(e['low'], 2)} to {_pct(e['high'], 2)}{by_cluster}"
    return f"{_pct(e['value'], 2)} % ({interval}; chance {_pct(e['chance'], 2)}, ties {tie_count(e['ties'])})"


def _gain(
    gain: Mapping[str, Any], zero: Mapping[str, Any], found: Mapping[str, Any], *, with_p: bool = True
) -> str:
    """A paired comparison with alpha 0, by cluster where groups hang together; points are exact. with_p : not of the
    best alpha, whose verdict has a p of its own, that allows for the choice."""
    tested = gain.get("clustered") or gain
    by = f" by {tested['by']}" if "by" in tested else ""
    interval = f"95 % interval{by} {_signed_range(tested['low'], tested['high'], 2)}"
    if moved := _moved_to_zero(tested["low"], tested["high"]):
        interval += f", {moved} by the exact test"
    points = _change_in_points(zero["value"], found["value"], digits=2)
    p = f", p = {p_digits(tested['p_value'])}" if with_p else ""
    return f"{_signed(points, 2)} points against alpha 0 ({interval}{p})"


def _helps(best: Mapping[str, Any], zero: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Whether any alpha is better than 0, by how much, and what could not be told; with one p, that of the verdict. The
    record has the others."""
    if (best["alpha_low"], best["alpha_high"]) == (0, 1):
        return f"no alpha changes its value; {best['says']}"
    most = f"the best is {_gain(best['gain'], zero, found, with_p=False)}, {TUNED_ON_TEST}"
    luck, signs = (
        p_digits(best.get(f"{name}_holm", best[name])) for name in ("p_any_alpha", "p_random_signs")
    )
    not_found, tests = "no alpha gives more", ""
    if best["probably"]:
        not_found = "likely, but not proven: alpha helps"
        after = " after Holm" if "p_random_signs_holm" in best else ""
        number = "" if "(p = " in best.get("verdict", "") else f", {signs}"
        tests = f"; p over all alphas, of random signs{after}{number}"
    elif best["gain"]["difference"] > 0:
        not_found = f"over all alphas tried its gain may be luck (p = {luck})"
    known = {True: "alpha helps", False: not_found, None: "cannot tell whether alpha helps"}
    # Of groups in the words of the page; images of a retrieval set have none.
    verdict = best.get("verdict", known[best["better_than_0"]]).removesuffix(".")
    return f"{verdict}: {most}{tests}; {best['says']}"


def _holm_line(record: Mapping[str, Any]) -> list[str]:
    """Which verdicts of this output are corrected for one another, where there are several: those of the whole, and
    apart from them those of all slices."""
    whole, apart = record["verdicts"], record["slice_verdicts"]
    over = lambda tests: f"after Holm over {tests} verdicts" if tests > 1 else "one verdict, uncorrected"  # noqa: E731
    said = [
        f"of the whole, {over(whole)}",
        *([f"of its slices, {over(apart)} of their own"] if apart else []),
    ]
    return ["", f"p values over all alphas: {'; '.join(said)}"] if max(whole, apart) > 1 else []


def _spread(e: Mapping[str, float], digits: int) -> str:
    return f"{_pct(e['mean'], digits)} ± {_pct(e['std'], digits)}"  # an exact half as in the headline


def format_recall(record: Mapping[str, Any]) -> str:
    """Recall both ways as text, and once more for every slice."""
    source = record.get("model") or record["scores"]
    of = f" with {', '.join(record['tags'])}" if "tags" in record else ""
    whole = f"the images{of}" if of else "all images"
    lines = [
        *_quoted_first(record),
        f"{record['images']} images{of}, {record['captions']} captions; {source}",
    ]
    one = _written(record["best"])
    lines += [f"log P(t): {record['prior']['line']}", *_recall_lines(record, whole, one)]
    for column, values in record.get("slices", {}).items():
        for value, part in values.items():
            lines += ["", f"{column} = {value} ({part['images']} images, {part['captions']} captions)"]
            lines += _recall_lines(part, whole, one)
    lines += _holm_line(record)
    return "\n".join(lines)


def _recall_lines(record: Mapping[str, Any], whole: str, one: str) -> list[str]:
    """one : the alpha of the whole set, of which a slice is a part, as it is written."""
    own = _written(record["best"])
    span = "–".join(f"{record['best'][end]:.{len(own) - len('0.')}f}" for end in ("alpha_low", "alpha_high"))
    labels = {"alpha_0": "alpha = 0", "alpha_1": "alpha = 1"}
    labels["one_alpha"] = "alpha = {one}, the best of 0 to 1 of {whole}, {label}"
    labels["best"] = "alpha = {own}, the middle of {span}, {label}"
    labels["tuned_on"] = "alpha = {alpha:.3f}, chosen on {split}"
    lines = []
    for name in (name for name in labels if name in record):
        lines += [
            "",
            labels[name].format(**record[name], whole=whole, one=one, own=own, span=span),
            format_metrics(record[name]),
        ]
    lines += ["", f"R@1 from image to text: {_helps(record['best'], *_r1(record, 'best'))}"]
    if (held := record["validated"]) is not None:
        at, value, zero = _spread(held["alpha"], 2), _spread(held["value"], 1), _spread(held["alpha_0"], 1)
        lines.append(f"R@1 from image to text, {_HALVES}: {value} % at {at}; at alpha 0 {zero} %")
        lines.append(_HELD_OUT)
    return lines + (["", _transferred(record)] if "tuned_on" in record else [])


def _r1(record: Mapping[str, Any], chosen: str) -> list[Mapping[str, Any]]:
    """R@1 from image to text at alpha 0 and at a chosen one."""
    return [record[name]["metrics"][IMAGE_TO_TEXT] for name in ("alpha_0", chosen)]


def _transferred(record: Mapping[str, Any]) -> str:
    """What an alpha from elsewhere is worth, and how alike the two curves are."""
    found = record["tuned_on"]
    there, correlation = found["chosen_on"], found["correlation"]
    alike = "" if correlation is None else f"; both curves over alpha correlate by {correlation:.3f}"
    return (
        f"R@1 from image to text with the alpha of {found['split']}: "
        f"{_gain(found['gain'], *_r1(record, 'tuned_on'))}; there it is "
        f"{_number(there)} at {there['alpha_low']:.3f}–{there['alpha_high']:.3f}{alike}. "
        f"{_exact_differences(2)}"
    )
