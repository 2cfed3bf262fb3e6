"""One group as HTML: its score matrix, its matching as lines, its verdicts with live numbers, its card in a gallery.

Pure functions from typed tuples to markup, for any page that shows HTML. Every text from data is escaped here, and
nothing depends on the page's colours: lines use the palette of figures, texts the page's own. Every colour comes with a
sign, so that none is told by it alone. Images are lettered A, B, ..., captions numbered 1, 2, ...
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from PIL import Image

from core.figures._style import MARK_COLOUR, OUTCOME_COLOURS, OUTCOME_SYMBOLS, score_colour
from core.groups import Group, image_name
from core.matching import comparisons
from core.metrics.group_metrics import METRICS, GroupData, Rule

# Colour and stroke of a line between an image and a caption, by what it says.
LINES = {
    "right": f'stroke="{OUTCOME_COLOURS["right"]}" stroke-width="4"',
    "wrong": f'stroke="{OUTCOME_COLOURS["wrong"]}" stroke-width="4" stroke-dasharray="9 6"',
    "tie": f'stroke="{OUTCOME_COLOURS["tie"]}" stroke-width="2.5" stroke-dasharray="2 5"',
    "student": 'stroke="#c0569f" stroke-width="9" stroke-opacity="0.45"',
}
# What a metric's rule asks the highest score of: every image, every true caption, or both; any other rule judges the
# induced matching.
_ASKED: dict[Rule, tuple[str, ...]] = {
    comparisons.rows: ("image",),
    comparisons.single: ("image",),
    comparisons.columns: ("caption",),
    comparisons.both: ("image", "caption"),
}
_OTHER = {"image": "caption", "caption": "image"}
_LONGEST_WORD = 16  # letters that go onto the next line whole
_MOST_BESIDE = 3  # captions that have room side by side
_TABLE = "border-collapse:separate;border-spacing:4px;font-variant-numeric:tabular-nums"
_HEAD = "font-weight:500;white-space:nowrap;padding:0 .3rem"
_CELL = "padding:.4rem .55rem;border-radius:.4rem;text-align:right;white-space:nowrap;font-weight:600"


class _Cell(NamedTuple):
    """A score of a group's matrix as it is drawn, whoever draws it."""

    image: str  # its letter
    caption: str  # its number
    score: str  # with as many decimals as the group's scores are shown with
    matched: bool  # by the model
    true: bool
    fill: str
    ink: str
    edge: str

    @property
    def signs(self) -> str:
        return ("●" if self.matched else "") + ("✓" if self.true else "")

    @property
    def description(self) -> str:
        """The cell in words."""
        pair = f"image {self.image}, caption {self.caption}: {self.score}"
        return pair + ", matched" * self.matched + ", a true pair" * self.true


_DARK = (
    0.645  # from this shade on white reads better: both have 4.4 : 1 there, and 4.5 on all but a few shades
)


def matrix_cells(data: GroupData, dark: bool = False) -> list[list[_Cell]]:
    """The score matrix: images down, captions across; shades from its lowest to its highest score, which stands out
    from the page: the darkest of all, on a dark page the brightest."""
    digits = data.digits
    low, spread = data.scores.min(), float(np.ptp(data.scores)) or 1.0

    def cell(i: int, j: int, score: float) -> _Cell:
        level, matched = (score - low) / spread, data.matching is not None and data.matching[i] == j
        level = 1 - level if dark else level
        ink, edge = "#ffffff" if level > _DARK else "#05040f", MARK_COLOUR if matched else "transparent"
        true = (i, j) in data.truth_pairs
        text = f"{score:z.{digits}f}".replace("-", "−")
        return _Cell(image_name(i), str(j + 1), text, matched, true, score_colour(level), ink, edge)

    return [[cell(i, j, score) for j, score in enumerate(row)] for i, row in enumerate(data.scores.tolist())]


def matrix_html(
    data: GroupData,
    title: str,
    *,
    row_highest: bool = False,
    corner: str = "",
    pictures: Sequence[str] = (),
    captions: Sequence[str] = (),
) -> str:
    """The matrix as a table. Outlined and with a dot: the induced matching. Ticked: the true pairs. Underlined, if
    asked for: the highest score of each row, several where they tie. corner : what the whole matrix is of, in its empty
    corner; rows and columns then have letters and numbers alone, for a narrow place. pictures, captions : beside the
    letters (`<img ...>` markup), and as tips of the numbers."""
    rows, dark = matrix_cells(data), matrix_cells(data, dark=True)
    highest = data.scores == data.scores.max(axis=1, keepdims=True)
    named, image = (
        "caption " if len(rows[0]) <= _MOST_BESIDE and not corner else "",
        '<span class="cm-hidden">image </span>' if corner else "image ",
    )
    tips = [f' title="{escape(caption, quote=True)}"' for caption in captions] or [""] * len(rows[0])
    head = "".join(
        f'<th scope="col" style="{_HEAD}"{tip}>{named}{cell.caption}</th>'
        for tip, cell in zip(tips, rows[0], strict=True)
    )
    seen = [f" {picture}" for picture in pictures] or [""] * len(rows)
    body = "".join(
        f'<tr><th scope="row" style="{_HEAD}">{image}{row[0].image}{seen[i]}</th>'
        + "".join(map(_cell_html, row, dark[i], highest[i] & row_highest))
        + "</tr>"
        for i, row in enumerate(rows)
    )
    return (
        f'<div class="cm-scroll"><table style="{_TABLE}"><caption class="cm-hidden">{title}</caption>'
        f'<thead><tr><td style="{_HEAD}">{escape(corner)}</td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _matching_key(data: GroupData) -> str:
    """What the outline in `matrix_html` says; of a tie that there is none."""
    if data.matching is None:
        return "No pairs are outlined: the best matchings tie, so the model has none."
    return "Outlined, with a dot: the model's matching."


def _shades_html(more: str = "") -> str:
    """A line below `matrix_html`: which end of its shades is high, as a bar of them. The browser turns it round with
    the matrix, in the theme that is shown, where a sentence would be that of the theme before. more : what follows."""
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    shades = ",".join(f"light-dark({score_colour(level)},{score_colour(1 - level)})" for level in levels)
    bar = f'<span class="cm-shades" style="background:linear-gradient(to right,{shades})"></span>'
    return f'<p class="cm-key">Scores: lowest {bar} highest.{f" {escape(more)}" if more else ""}</p>'


def _cell_html(cell: _Cell, dark: _Cell, underlined: bool) -> str:
    """dark : the same on a dark page."""
    colours = f"background:light-dark({cell.fill},{dark.fill});color:light-dark({cell.ink},{dark.ink})"
    style = f"{_CELL};{colours};outline:3px solid {cell.edge}"
    score, said = (f"<u>{cell.score}</u>", ", the highest of its row") if underlined else (cell.score, "")
    return f'<td style="{style}" title="{cell.description}{said}">{score} {cell.signs}</td>'


def verdicts_html(data: GroupData, names: Iterable[str] | None = None) -> str:
    """A table of all metrics, or those named: symbol and metric, and what it compares with the group's numbers."""
    body = ""
    for name in data.kinds if names is None else names:
        told = _unbroken(escape(METRICS[name].verdict(data)))
        compared = "" if told == data._told(name) else f"<br>{told}"  # of parts the verdict has the count
        body += (
            f'<tr><th scope="row">{_told_mark(data, name)}</th><td><b>{escape(METRICS[name].label)}</b>'
            f"<br><small>{escape(METRICS[name].meaning_for(*data.scores.shape))}</small>{compared}</td></tr>"
        )
    return f'<table class="cm-verdicts"><caption class="cm-hidden">Verdicts</caption><tbody>{body}</tbody></table>'


def _folded_verdicts_html(data: GroupData, names: Sequence[str]) -> str:
    """`verdicts_html`, on a phone folded below the verdicts alone until they are pressed (`style.css`)."""
    marks = " ".join(_named_mark(data, name) for name in names)
    return (
        f'<div class="cm-folded"><details class="cm-fold"><summary>{marks}</summary></details>'
        f"{verdicts_html(data, names)}</div>"
    )


def _unbroken(markup: str) -> str:
    """No line ends within `A–1: 24.13 > 23.90`, nor within a sum: spaces that do not break, and a dash that joins."""
    return re.sub(
        r"(\w)–(\d+): ([^ ]+) (&[lg]t;|=) |([−\d.]+ [+−] )+[−\d.]+ [=≈] [−\d.]+( &[lg]t;| =(?= .* = ))?"
        r"|([^ ]+) (&[lg]t;|=) ",
        lambda found: found[0].replace(" ", "\u00a0").replace("–", "–\u2060"),
        markup,
    )


def _mark(kind: str, text: str = "") -> str:
    shown = f"{OUTCOME_SYMBOLS[kind]} {escape(text)}".strip()
    return f'<span class="cm-mark cm-{kind}">{shown}</span>'


def _told_mark(data: GroupData, name: str) -> str:
    """A metric's verdict with its sign; none stands before a part that is right, as `✗ 1 of 2 right` said both."""
    kind, told = data.kinds[name], data._told(name)
    is_part = kind == "wrong" and data.shares.get(name, 0) > 0 and told != kind
    return f'<span class="cm-mark cm-wrong">{told}</span>' if is_part else _mark(kind, told)


def _named_mark(data: GroupData, name: str) -> str:
    """A metric's name behind its sign, or where only some of its parts are right behind how many: `✗` beside two right
    images of three read as none."""
    kind, label, told = data.kinds[name], METRICS[name].label, data._told(name)
    if kind == "right" or told == kind or not data.shares[name]:
        return _mark(kind, label)
    count = told.removesuffix(" right").replace(" ", "\u00a0")
    return f'<span class="cm-mark cm-{kind}">{count} {escape(label)}</span>'


def image_descriptions(group: Group, described: bool = True, data: GroupData | None = None) -> list[str]:
    """The alternative text of each image: `Image A of swap/test/0003: a red cube`, with its true caption if `described`
    and known; then with the caption of the induced matching of `data`, too, where there is one."""
    names = [f"Image {image_name(i)} of {group.id}" for i in range(len(group.images))]
    own = [[group.captions[j] for i, j in group.truth_pairs if i == image] for image in range(len(names))]
    told = [f"{n}: {' / '.join(c)}" if described and c else n for n, c in zip(names, own, strict=True)]
    if not described or data is None or data.matching is None:
        return told
    given = zip(told, data.matching, strict=True)
    return [f"{each}; the model gives it caption {caption + 1}" for each, caption in given]


def card_html(
    images: Sequence[str],
    captions: Sequence[str],
    marks: Sequence[tuple[str, str]],
    truth: Sequence[tuple[int, int]] = (),
    matched: GroupData | None = None,
) -> str:
    """A gallery card: pictures (`<img ...>` markup) with their letters, captions, (right, wrong or tie; text) marks.

    truth : (image, caption) pairs that belong together: behind a caption stands the letter of its image. In many sets
    the first caption is not that of the first image. matched : whose matching stands behind that, a sign at each
    caption that it gives to an image, with the image's letter where that is wrong; none where two matchings tie.
    """
    images = [
        f'<div class="cm-lettered"><span class="cm-badge">{image_name(i)}</span>{picture}</div>'
        for i, picture in enumerate(images)
    ]
    own = {j: "".join(_own(i) for i, caption in truth if caption == j) for j in range(len(captions))}
    for image, caption, kind in () if matched is None else matching_lines(matched):
        own[caption] += _matched(image, kind)
    row = f'<div class="cm-row">{"".join(images)}</div>' if images else ""
    texts = "".join(f"<li>{_with_signs(caption, own[j])}</li>" for j, caption in enumerate(captions))
    # A line may end between two of them; with a space alone “✗ GroupScore = GroupMatch” read as an equation.
    signs = "\N{NO-BREAK SPACE}· ".join(_mark(*mark) for mark in marks)
    return f'<div class="cm-card">{row}{f"<ol>{texts}</ol>" if texts else ""}<div>{signs}</div></div>'


def _with_signs(caption: str, signs: str) -> str:
    """A caption with the signs behind it, none of which falls alone onto a line: its last word goes with them, of one
    that is longer than a line might be (or of a script without spaces) its last letter."""
    if not signs:
        return escape(caption)
    word = len(caption.rpartition(" ")[2])
    at = len(caption) - (word if word <= _LONGEST_WORD else 1)
    return f'{escape(caption[:at])}<span class="cm-joined">{escape(caption[at:])}{signs}</span>'


def _own(image: int) -> str:
    """The letter of the image that a caption belongs to."""
    said = f"belongs to image {image_name(image)}"
    return f' <span class="cm-own" role="img" aria-label="{said}" title="{said}">{image_name(image)}</span>'


def _matched(image: int, kind: str) -> str:
    """The sign of a caption's line in `matching_html`, of the image that the model matches it with; "" of a pair that
    the matching misses."""
    if kind == "tie":
        return ""
    said = f"the model matches it with image {image_name(image)}, {kind}"
    mark = _mark(kind, "" if kind == "right" else image_name(image))
    return f' <span role="img" aria-label="{said}" title="{said}">{mark}</span>'


def _card_key(tied: bool = False) -> str:
    """A line above cards: what stands behind a caption in `card_html`; of a phone as short as its width needs.

    tied : whether some of them have a verdict that is a tie, whose sign is explained then.
    """
    right, wrong, letter = _mark("right"), _mark("wrong", "A"), _own(0)
    long = (
        f"Behind a caption: {letter} it belongs to image A · {right} the model matches it so · "
        f"{wrong} the model matches it with image A"
    )
    short = f"{letter} true · {_mark('wrong', 'B')}: model says B"
    tie = f" · {_mark('tie')} tie, counts as wrong" if tied else ""
    return (
        f'<p class="cm-key cm-behind"><span class="cm-wide">{long}{tie}</span>'
        f'<span class="cm-narrow">{short}{tie}</span></p>'
    )


def picture_html(picture: Image.Image, side: int, name: str) -> str:
    """An image with its pixels in its address, at most `side` pixels a side; overwrites the picture."""
    return f'<img src="{picture_uri(picture, side)}" alt="{escape(name, quote=True)}">'


def picture_uri(picture: Image.Image, side: int, kind: str = "WEBP") -> str:
    """An image as a data address, at most `side` pixels a side; overwrites the picture. kind : "PNG" for programs that
    read no WebP."""
    picture.thumbnail((side, side))
    buffer = io.BytesIO()
    picture.save(buffer, kind, quality=88)
    return _uri(f"image/{kind.lower()}", buffer.getvalue())


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def matching_html(
    images: Sequence[str],
    captions: Sequence[str],
    data: GroupData,
    revealed: bool = True,
    student: Sequence[int | None] | None = None,
    metric: str | None = None,
) -> str:
    """Images (`<img ...>` markup), captions, and the matching between them as lines; text wraps.

    Two or three images stand side by side with their captions below, so that they are large; other groups have their
    images on the left and their captions on the right. Drawn are the student's guess, and once revealed the model's
    matching, right or wrong, with a thin line for a pair that it missed. metric : where the lines are to be those that
    this one judges, such as each image's highest caption.
    """
    lines = [(i, j, "student") for i, j in enumerate(student or ()) if j is not None]
    lines += _judged_lines(data, metric) if revealed else []
    signs, said = _signs(lines), _judged_text(data, metric) if revealed else _matching_text(data, revealed)
    first = "".join(
        f'<div class="cm-cell"><span class="cm-badge">{image_name(i)}</span>{picture}</div>'
        for i, picture in enumerate(images)
    )
    last = "".join(
        f'<div class="cm-cell"><span class="cm-badge">{j + 1}</span>'
        f'<span class="cm-text">{signs.get(j, "")}{escape(caption)}</span></div>'
        for j, caption in enumerate(captions)
    )
    beside = len(images) > 1 and len(captions) <= _MOST_BESIDE
    style = " cm-beside" if beside else ""
    if not revealed and student is None:  # no lines to come: captions directly at the images
        style += " cm-plain"
    drawn = _uri("image/svg+xml", _lines_svg(lines, len(images), len(captions), beside).encode())
    return (
        f'<div class="cm-match{style}"><div class="cm-side">{first}</div><div class="cm-middle">'
        f'<img class="cm-lines" src="{drawn}" alt="{said}"></div>'
        f'<div class="cm-side">{last}</div></div>'
    )


def matching_lines(data: GroupData) -> Iterator[tuple[int, int, str]]:
    """Image, caption and what the line says."""
    for image in range(len(data.scores)):
        matched = None if data.matching is None else data.matching[image]
        own = [j for i, j in data.truth_pairs if i == image]
        if matched not in own:
            yield from ((image, j, "tie") for j in own)
        if matched is not None:
            yield image, matched, "right" if matched in own else "wrong"


def _asked(data: GroupData, metric: str | None) -> tuple[str, ...]:
    """Whose highest score the metric asks for; none where it judges the induced matching."""
    return () if metric is None else _ASKED.get(METRICS[metric].rule(*data.scores.shape), ())


def _highest(data: GroupData, of: str) -> Iterator[tuple[int, int | None]]:
    """Each image with its highest caption, or each true caption with its highest image; None where scores tie."""
    scores = data.scores if of == "image" else data.scores.T
    for each in range(len(scores)) if of == "image" else sorted(data.truth):
        best = np.flatnonzero(scores[each] == scores[each].max())
        yield each, int(best[0]) if len(best) == 1 else None


def _judged_lines(data: GroupData, metric: str | None) -> list[tuple[int, int, str]]:
    """The same of what a metric judges: highest scores, without a line where two tie, or the induced matching."""
    asked = _asked(data, metric)
    if not asked or len(data.truth) > len(data.scores):  # of one image they are the same
        return list(matching_lines(data))
    found = [(of, each, best) for of in asked for each, best in _highest(data, of) if best is not None]
    # A pair that is highest both ways has one line.
    drawn = dict.fromkeys((each, best) if of == "image" else (best, each) for of, each, best in found)
    true = data.truth_pairs
    missed = [(i, j, "tie") for i, j in true if (i, j) not in drawn]
    return [*missed, *((i, j, "right" if (i, j) in true else "wrong") for i, j in drawn)]


def _judged_said(data: GroupData, metric: str) -> str:
    """What `matching_html` draws for a metric, in one line for readers."""
    asked = _asked(data, metric)
    whose = "the" if len(data.scores) == 1 else "each"
    lines = (
        f"{whose} image's highest caption" if of == "image" else "each caption's highest image"
        for of in asked
    )
    drawn = " and ".join(lines) or "the matching"
    ties = any(best is None for of in asked for _, best in _highest(data, of))
    none = "; none where scores tie" if ties or (not asked and data.matching is None) else ""
    return f"Lines: {drawn}, dashed where wrong{none}; dotted: true pairs that are missed."


def _signs(lines: Iterable[tuple[int, int, str]]) -> dict[int, str]:
    """The sign of each caption's line; of several, each with its image's letter."""
    ends: dict[int, list[tuple[str, str]]] = {}
    for image, caption, kind in lines:
        if kind in ("right", "wrong"):
            ends.setdefault(caption, []).append((kind, image_name(image)))
    return {
        caption: " ".join(_mark(kind, letter if len(found) > 1 else "") for kind, letter in found)
        for caption, found in ends.items()
    }


def _lines_svg(lines: Sequence[tuple[int, int, str]], m: int, k: int, downwards: bool) -> str:
    """The lines, to the right or downwards, as a picture that stretches to any size (pages that clean HTML drop an SVG
    element)."""
    paths = []
    for image, caption, kind in lines:
        start, end = 100 * (image + 0.5) / m, 100 * (caption + 0.5) / k
        points = ((1, start), (45, start), (55, end), (99, end))
        ordered = [(across, along) if downwards else (along, across) for along, across in points]
        path = "M{} C{} {} {}".format(*(f"{x:.4g} {y:.4g}" for x, y in ordered))
        paths.append(f'<path d="{path}" {LINES[kind]} vector-effect="non-scaling-stroke"/>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" preserveAspectRatio="none">'
        f'<g fill="none" stroke-linecap="round">{"".join(paths)}</g></svg>'
    )


def _judged_text(data: GroupData, metric: str | None) -> str:
    """What is drawn for a metric, in words."""
    asked = _asked(data, metric)
    if not asked:
        return _matching_text(data, True)
    said = []
    for of in asked:
        for each, best in _highest(data, of):
            own = image_name(each) if of == "image" else each + 1
            if best is None:
                said.append(f"Of {of} {own}, the highest scores tie.")
                continue
            other = best + 1 if of == "image" else image_name(best)
            right = ((each, best) if of == "image" else (best, each)) in data.truth_pairs
            verdict = "right" if right else "wrong"
            said.append(f"The highest {_OTHER[of]} of {of} {own} is {other}, {verdict}.")
    return " ".join(said)


def _matching_text(data: GroupData, revealed: bool) -> str:
    """The drawing in words."""
    if not revealed:
        return "The model's matching is hidden until you reveal it."
    if data.matching is None:
        return "Two matchings tie for the highest total, so the model induces no matching."
    pairs = ", ".join(f"image {image_name(i)} with caption {j + 1}" for i, j in enumerate(data.matching))
    wrong = [image_name(i) for i, j in enumerate(data.matching) if (i, j) not in data.truth_pairs]
    verdict = f"wrong for image {', '.join(wrong)}" if wrong else "all right"
    return f"The model matches {pairs}; {verdict}. Margin {data.shown_margin}."
