"""Every table in LaTeX fits into the text of a paper: 397 pt, ten-point Computer Modern."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from core.exchange import _latex_width
from core.exchange.layouts import (
    FORMATS,
    LAYOUTS,
    Adapted,
    Result,
    latex_table,
    layout_table,
    text_table_latex,
)
from core.exchange.run_pairs import _ties_said
from core.exchange.run_table import _pair_said
from core.exchange.seeds import SeedResult
from core.metrics.evaluation import Evaluation
from core.metrics.paired import differences
from core.papers.published import PublishedSet
from ui import published

TEXT = 397
# cmr10 as TeX's metrics have it, in pt of 10 pt.
CMR10 = {
    **dict.fromkeys("0123456789/*", 5.0),
    **dict.fromkeys("ao", 5.0), **dict.fromkeys("bdhnpu", 5.556), **dict.fromkeys("cez", 4.444),
    "f": 3.056, "g": 5.0, "i": 2.778, "j": 3.056, "k": 5.278, "l": 2.778, "m": 8.333, "q": 5.278, "r": 3.917,
    "s": 3.944, "t": 3.889, "v": 5.278, "w": 7.222, "x": 5.278, "y": 5.278,
    "A": 7.5, "B": 7.083, "C": 7.222, "D": 7.639, "E": 6.806, "F": 6.528, "G": 7.847, "H": 7.5, "I": 3.611, "J": 5.139,
    "K": 7.778, "L": 6.25, "M": 9.167, "N": 7.5, "O": 7.778, "P": 6.806, "Q": 7.778, "R": 7.361, "S": 5.556,
    "T": 7.222, "U": 7.5, "V": 7.5, "W": 10.278, "X": 7.5, "Y": 7.5, "Z": 6.111,
    **dict.fromkeys(".,:;'[]!", 2.778), **dict.fromkeys("()", 3.889), **dict.fromkeys(" ~-", 3.333), "–": 5.0,
    **dict.fromkeys("+=<>@&±−×≥≤", 7.778), **dict.fromkeys("%#Δ", 8.333), "→": 10.0, "α": 6.398, "τ": 4.37, "·": 2.778,
    "_": 3.0,
}  # fmt: skip
SIZES = {"": 1.0, r"\small": 0.925, r"\footnotesize": 0.85}  # cmr9, cmr8: digits of 4.63 and 4.25 pt


def glyphs(latex):
    names = {"pm": "±", "alpha": "α", "tau": "τ", "Delta": "Δ", "times": "×", "cdot": "·", "geq": "≥", "leq": "≤",
             "rightarrow": "→"}  # fmt: skip
    latex = re.sub(
        r"\\cite(?:\[([^]]*)\])?\{([^}]*)\}", lambda c: f"[00{', 00' * c[2].count(',')}, {c[1] or ''}]", latex
    )
    latex = re.sub(r"\\(" + "|".join(names) + r")(?![a-z])", lambda hit: names[hit[1]], latex)
    latex = latex.replace("$-$", "−").replace("--", "–")
    latex = re.sub(r"\\(?:mathrm|text\w+)", "", latex)
    return sum(CMR10.get(c, 10.0) for c in re.sub(r"\\(.)", r"\1", latex) if c not in "{}$^")


def cell_width(cell):
    cell, factor = cell.strip(), 1.0
    if cell.startswith(r"\shortstack{"):
        return max(map(glyphs, cell[12:-1].split(r"\\")))
    if cell.startswith(r"\textbf{"):
        cell, factor = cell[8:-1], 1.15
    small = re.findall(r"\{\\scriptsize (.*?\])\}", cell)
    rest = re.sub(r"\{\\scriptsize .*?\]\}", "", cell)
    return factor * (glyphs(rest) + 0.797 * sum(map(glyphs, small)))


def width(latex):
    """pt of a table: its columns and TeX's room at both sides of each."""
    before, _, rest = latex.partition(r"\begin{tabular}")
    room = float((re.findall(r"tabcolsep\}\{([\d.]+)pt", before) or ["6"])[0])
    factor = SIZES[next((size for size in SIZES if size and size in before), "")]
    columns = re.findall(r"p\{\d+pt\}|[lrc]", rest.partition("\n")[0])
    rows = [line.removesuffix(r"\\").split(" & ") for line in rest.split("\n") if line.endswith(r"\\")]
    assert rows and all(len(row) == len(columns) for row in rows)
    total = 0.0
    for letter, cells in zip(columns, zip(*rows, strict=True), strict=True):
        fixed = re.search(r"\d+", letter)
        total += float(fixed[0]) if fixed else factor * max(map(cell_width, cells))
    return total + 2 * room * len(columns)


def tables(latex):
    return [f"{part}" for part in re.split(r"(?=% The document needs)", latex) if r"\end{tabular}" in part]


@pytest.fixture(scope="module")
def both():
    rng = np.random.default_rng(0)
    truth = np.tile([0, 1], (400, 1))
    return [Evaluation.of(rng.normal(size=(400, 2, 2)), truth) for _ in range(2)]


NAMES = ("a", "builtin/blip-caption, fine-tuned")


@pytest.mark.parametrize("name", NAMES)
def test_metrics_of_one_and_of_two_models_fit(both, name):
    results = [(name, both[0].metrics), (f"{name} 2", both[1].metrics)]
    assert width(latex_table(results[:1])) <= TEXT
    assert width(latex_table(results, differences(*both))) <= TEXT


@pytest.mark.parametrize("part", ["", "untouched groups"])
def test_several_seeds_fit(both, part):
    found = SeedResult.of_seeds([both[0]] * 3, [both[1], both[0], both[1]], {part: np.arange(400) < 300})
    for latex in tables(SeedResult.latex(found, "builtin/clip")):
        assert width(latex) <= TEXT


def test_two_compared_runs_of_several_seeds_fit():
    row = {
        "metric": "TextScore, ImageScore, GroupScore",
        "A": 74.333,
        "A: low": 68.9,
        "A: high": 79.2,
        "A: sd": 12.5,
    }
    row |= {"A: tied": 13, "A: chance": 16.67, "B: chance": 16.67, "p": 1.3e-5, "p (Holm)": 2.5e-5}
    row |= {"B": 84.333, "B: low": 78.9, "B: high": 89.2, "B: sd": 12.5, "B: tied": 13}
    row |= {"B − A": -10.0, "B − A: low": -15.25, "B − A: high": -4.75}
    frame = pd.DataFrame([row, {**row, "metric": "IndividualMatch", "B: tied": 0}])
    assert _ties_said(frame).count(" 13") == 3
    said = _pair_said(frame.drop(columns=["A: tied", "B: tied"]))
    assert "p (Holm)" in said and "p, Holm" not in said
    latex = text_table_latex(said)
    assert width(latex) <= TEXT and r"\scriptsize" in latex


@pytest.mark.parametrize("title", [*PublishedSet.every()])
@pytest.mark.parametrize("cite", [True, False])
def test_ones_own_result_among_published_ones_fits(title, cite):
    chosen = PublishedSet.every()[title]
    for metric in chosen.metrics:
        own = chosen._typed(metric, "36.25", "400", "Our fine-tuned CLIP", "hard negatives")
        table = chosen.standing(metric, own)
        table = table.assign(place=published._places(table))
        latex = published._latex(table, published._marks(table), title, cite)
        assert width(latex) <= TEXT, metric
        body = latex.partition(r"\bottomrule")[0]
        assert "alpha=alpha" not in body and "also quoted" not in body
        assert not re.search(r"& +& (?:VPEval|LLMScore)", body)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layouts_of_the_papers_fit(both, layout):
    adapted = Adapted(74.67, 11.12, 4, (70.21, 79.02), "preset")
    results = [
        Result(model, name, title, dict(both[0].metrics), 400, (2, 2), adapted)
        for model in ("builtin/blip-caption", "open_clip:ViT-B-32/laion2b_s34b_b79k")
        for name, title in (("winoground", "Winoground"), ("mmvp", "MMVP-VLM"))
    ]
    assert width(FORMATS["latex"](layout_table(results, layout))) <= TEXT


def test_the_mildest_step_is_taken_and_texts_break_only_where_no_size_is_enough():
    table = pd.DataFrame({"a": ["x"], "b": ["1.00 [0.00, 2.00]"]})
    assert "tabcolsep" not in text_table_latex(table)
    wide = [
        pd.DataFrame({f"c{i}": ["74.33 [68.90, 79.20]"] for i in range(n)}).assign(end="x")
        for n in (1, 4, 6, 7)
    ]
    assert all(width(text_table_latex(t)) <= TEXT for t in wide)
    long = text_table_latex(pd.DataFrame({"a": ["word " * 60], "b": ["1"]}), columns="lr")
    assert re.search(r"\{p\{\d+pt\}r\}", long) and width(long) <= TEXT
    steps = [room * factor for room, factor in ((r, _latex_width._SIZES[s]) for r, s in _latex_width._STEPS)]
    assert all(a > b for a, b in pairwise(steps))


def test_known_widths():
    """From cmr10.tfm: 45.56 pt of "74.33 [x]" are 22.78 + 3.33 + 10.83."""
    assert _latex_width._cell_width("74.33") == pytest.approx(22.78, abs=0.01)
    assert _latex_width._cell_width("GroupMatch") == pytest.approx(cell_width("GroupMatch"), abs=0.05)
    for cell in (
        r"74.33 $\pm$ 2.50 {\scriptsize [68.90, 79.20]}",
        r"\textbf{Our CLIP (yours)}",
        r"$\alpha=\alpha^*$",
    ):
        assert _latex_width._cell_width(cell) == pytest.approx(cell_width(cell), rel=0.01)
