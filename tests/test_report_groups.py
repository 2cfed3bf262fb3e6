"""The notable groups of a report without pictures: their score matrices, in numbers."""

import re

import numpy as np
import pandas as pd
import pytest

from core.cli._evaluation import load_evaluation
from core.datasets import load
from core.datasets.score_files import read_scores
from core.exchange.report import ReportSection, report_html
from core.metrics.evaluation import Evaluation

RIGHT, CROSSED = [[5.25, 1.5], [2.0, 4.75]], [[1.5, 5.25], [4.75, 2.0]]


@pytest.fixture
def report(tmp_path):
    """A report of one file: a group matched right, one matched wrong, and one whose matchings tie."""
    rows = [
        (name, f"{name}-{i}.png", f"the <b>text</b> {j} of {name}", scores[i][j])
        for name, scores in (("good", RIGHT), ("bad", CROSSED), ("tied", [[1.0, 1.0], [1.0, 1.0]]))
        for i in (0, 1)
        for j in (0, 1)
    ]
    path = tmp_path / "own.csv"
    pd.DataFrame(rows, columns=["group", "image", "caption", "score"]).to_csv(path, index=False)
    table = read_scores(path)
    found = Evaluation.of(table.scores, table.truth, table.ids)
    return report_html([ReportSection("own.csv", table.groups("own.csv"), found, "", "")])


def group_of(page, name):
    return next(
        each for each in re.findall(r"<article>.*?</article>", page, re.DOTALL) if f"<h4>{name}:" in each
    )


def cells(block):
    """Every score of a matrix with its signs, and whether it is outlined."""
    found = re.findall(r'<td [^>]*outline:3px solid ([^"]+)"[^>]*>([^<]+)</td>', block)
    return [(text.strip(), edge != "transparent") for edge, text in found]


def test_a_group_of_a_file_is_drawn_by_its_scores_with_true_pairs_ticked_and_the_matching_outlined(report):
    """It was a diagram of lines, without a number."""
    assert cells(group_of(report, "good")) == [
        ("5.25 ●✓", True), ("1.50", False), ("2.00", False), ("4.75 ●✓", True),
    ]  # fmt: skip
    assert cells(group_of(report, "bad")) == [
        ("1.50 ✓", False), ("5.25 ●", True), ("4.75 ●", True), ("2.00 ✓", False),
    ]  # fmt: skip
    assert "cm-lines" not in report.partition("</style>")[2] and "●, what the model matches" in report


def test_below_a_matrix_stand_the_matching_in_words_and_what_images_and_captions_are_called(report):
    bad = group_of(report, "bad")
    assert (
        "The model matches image A with caption 2, image B with caption 1; wrong for image A, B. Margin 6.50."
        in bad
    )
    assert "<b>A</b> bad-0.png<br><b>B</b> bad-1.png<br><b>1</b> the &lt;b&gt;text&lt;/b&gt; 0 of bad" in bad


def test_names_that_only_number_are_not_repeated_below_a_matrix(tmp_path):
    np.savez(tmp_path / "own.npz", scores=np.array([RIGHT, CROSSED]))
    table = read_scores(tmp_path / "own.npz")
    found = Evaluation.of(table.scores, table.truth, table.ids)
    page = report_html([ReportSection("own.npz", table.groups("own.npz"), found, "", "")])
    assert len(cells(page)) == 8 and 'class="cm-names"' not in page


def test_pictures_that_a_licence_keeps_out_leave_the_matrix_and_shown_ones_the_diagram():
    groups = load("scenes/left-right").select(np.arange(300) < 20)
    found = load_evaluation(None, None, "scenes/left-right", "builtin/clip", "test", None)
    section = ReportSection(
        "builtin/clip", groups, found.select(np.arange(300) < 20), "scenes/left-right", "test"
    )
    shown, left_out = report_html([section]), report_html([section], pictures=False)
    assert "cm-lines" in shown and "cm-scroll" not in shown.partition("</style>")[2]
    assert "cm-lines" not in left_out.partition("</style>")[2] and len(cells(left_out)) >= 8
    assert groups[0].captions[0] in left_out or any(g.captions[0] in left_out for g in groups)
