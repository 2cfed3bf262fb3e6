"""One group as HTML: its induced matching as lines, its verdicts with live numbers, its card in a gallery.

Pure functions from typed tuples to markup, for any page that shows HTML. Every text from data is escaped here, and
nothing depends on the page's colours: lines use the palette of `plots`, texts the page's own. Images are lettered
A, B, ..., captions numbered 1, 2, ... as on the axes of the score matrix.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from core.figures import OUTCOME_COLOURS, OUTCOME_SYMBOLS
from core.groups import image_name
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS, Outcome
from core.metrics.verdicts import GroupData, group_data

INK = {"student": "#c0569f", **OUTCOME_COLOURS}


def outcome_kind(outcome: Outcome, index: int) -> str:
    """`right`, `wrong` or `tie`: a key of the palette and of the symbols."""
    if outcome.value[index] == 1:
        return "right"
    return "tie" if outcome.tied[index] else "wrong"


def group_data_of(evaluation: Evaluation, index: int) -> tuple[GroupData, dict[str, str]]:
    """One group of an evaluation, and each metric's verdict on it."""
    matching, margin, _ = evaluation.matches
    data = group_data(
        evaluation.scores[index], evaluation.truth[index], matching[index], float(margin[index])
    )
    return data, {name: outcome_kind(outcome, index) for name, outcome in evaluation.outcomes.items()}


class Verdict(NamedTuple):
    """A metric's verdict on one group: palette key, label, meaning, and the comparison with its numbers filled in."""

    kind: str
    label: str
    meaning: str
    numbers: str


def verdicts(data: GroupData, kinds: dict[str, str]) -> list[Verdict]:
    """kinds : metric -> `right`, `wrong` or `tie`, as `metrics.outcomes` and `outcome_kind` say."""
    return [Verdict(kinds[n], METRICS[n].label, METRICS[n].meaning, METRICS[n].verdict(data)) for n in kinds]


def verdicts_html(rows: Sequence[Verdict]) -> str:
    """A table: symbol and metric, and what it compares."""
    body = "".join(
        f'<tr><th scope="row"><span class="cm-mark cm-{v.kind}">{OUTCOME_SYMBOLS[v.kind]} {v.kind}</span></th>'
        f"<td><b>{escape(v.label)}</b><br><small>{escape(v.meaning)}</small><br>{escape(v.numbers)}</td></tr>"
        for v in rows
    )
    return f'<table class="cm-verdicts"><caption class="cm-hidden">Verdicts</caption><tbody>{body}</tbody></table>'


def card_html(images: Sequence[str], captions: Sequence[str], marks: Sequence[tuple[str, str]]) -> str:
    """A gallery card: pictures (`<img ...>` markup), captions, and (palette key, text) marks."""
    texts = "".join(f"<li>{escape(caption)}</li>" for caption in captions)
    signs = " ".join(  # a line may end between two of them
        f'<span class="cm-mark cm-{kind}">{OUTCOME_SYMBOLS[kind]} {escape(text)}</span>'
        for kind, text in marks
    )
    return f'<div class="cm-card"><div class="cm-row">{"".join(images)}</div><ol>{texts}</ol><div>{signs}</div></div>'


class Edge(NamedTuple):
    """A line between an image and a caption; `kind` is a key of INK."""

    image: int
    caption: int
    kind: str


def edges(data: GroupData, revealed: bool, student: Sequence[int | None] | None = None) -> list[Edge]:
    """Which lines are drawn: the student's guess, the model's matching, and once revealed what is right.

    Revealed, the model's lines are right or wrong, and a pair that it missed is a thin tie-coloured line.
    """
    found = [Edge(i, j, "student") for i, j in enumerate(student or ()) if j is not None]
    if not revealed:
        return found
    for i, own in enumerate(data.truth):
        if data.matching is None:
            found.append(Edge(i, own, "tie"))
            continue
        if data.matching[i] != own:
            found.append(Edge(i, own, "tie"))
        found.append(Edge(i, data.matching[i], "right" if data.matching[i] == own else "wrong"))
    return found


LINES = {
    "right": 'stroke-width="4"',
    "wrong": 'stroke-width="4" stroke-dasharray="9 6"',
    "tie": 'stroke-width="2.5" stroke-dasharray="2 5"',
    "student": 'stroke-width="9" stroke-opacity="0.45"',
}


def matching_html(images: Sequence[str], captions: Sequence[str], lines: Sequence[Edge], alt: str) -> str:
    """Images on the left, captions on the right, lines between: flows with the page's width, text wraps."""
    m, k = len(images), len(captions)
    signs: dict[int, str] = {
        line.caption: f'<span class="cm-mark cm-{line.kind}">{OUTCOME_SYMBOLS[line.kind]}</span>'
        for line in lines
        if line.kind in ("right", "wrong")
    }
    left = "".join(
        f'<div class="cm-cell"><span class="cm-badge">{image_name(i)}</span>{picture}</div>'
        for i, picture in enumerate(images)
    )
    right = "".join(
        f'<div class="cm-cell"><span class="cm-badge">{j + 1}</span>'
        f'<span class="cm-text">{signs.get(j, "")}{escape(caption)}</span></div>'
        for j, caption in enumerate(captions)
    )
    return (
        f'<div class="cm-match"><div class="cm-side">{left}</div><div class="cm-middle">'
        f'<img class="cm-lines" src="{lines_uri(lines, m, k)}" alt="{escape(alt, quote=True)}"></div>'
        f'<div class="cm-side">{right}</div></div>'
    )


def lines_uri(lines: Sequence[Edge], m: int, k: int) -> str:
    """The lines as an SVG picture that stretches to any size (pages that clean HTML drop an SVG element)."""
    paths = []
    for line in lines:
        y1, y2 = 100 * (line.image + 0.5) / m, 100 * (line.caption + 0.5) / k
        look = f'stroke="{INK[line.kind]}" {LINES[line.kind]} vector-effect="non-scaling-stroke"'
        paths.append(f'<path d="M1 {y1:.2f} C45 {y1:.2f} 55 {y2:.2f} 99 {y2:.2f}" {look}/>')
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" preserveAspectRatio="none">'
        f'<g fill="none" stroke-linecap="round">{"".join(paths)}</g></svg>'
    )
    return "data:image/svg+xml;base64," + b64encode(picture.encode()).decode()


def matching_alt(data: GroupData, revealed: bool) -> str:
    """The drawing in words."""
    if not revealed:
        return "The model's matching is hidden until you reveal it."
    if data.matching is None:
        return "Two matchings tie for the highest total, so the model induces no matching."
    pairs = ", ".join(f"image {image_name(i)} with caption {j + 1}" for i, j in enumerate(data.matching))
    wrong = [image_name(i) for i, j in enumerate(data.matching) if j != data.truth[i]]
    verdict = f"wrong for image {', '.join(wrong)}" if wrong else "all right"
    return f"The model matches {pairs}; {verdict}. Margin {data.margin:.2f}."
