"""The table of metrics: an entry is whole or refused, and a new one is on every page, in every figure and command."""

import ast
import json
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from test_debias import case, plain

from core.base.errors import InputError
from core.debiasing.curves import alpha_curve
from core.debiasing.study import AlphaStudy
from core.figures._style import MARK_COLOUR, OUTCOME_COLOURS
from core.figures.group_html import verdicts_html
from core.matching import comparisons
from core.matching.comparisons import Found
from core.metrics import group_metrics
from core.metrics.alpha_intervals import AlphaIntervals, all_of
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import Metric, _AlphaRule, _check_table
from core.metrics.groups import GLOBAL, GROUP_MATCH, METRICS, TEXT_SCORE, evaluate, outcomes
from core.metrics.retrieval import METRICS as RETRIEVAL

ROOT = Path(__file__).resolve().parent.parent
SHAPES = [(1, 2), (1, 4), (2, 2), (2, 4), (3, 3)]


# --- what an entry has to bring


def parts(name: str = GROUP_MATCH) -> dict:
    return {field.name: getattr(METRICS[name], field.name) for field in fields(Metric)}


@pytest.mark.parametrize("part", [field.name for field in fields(Metric) if field.default is MISSING])
def test_an_entry_that_lacks_a_part_is_refused_and_the_part_is_named(part):
    lacking = parts()
    del lacking[part]
    with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{part}'"):
        Metric(**lacking)
    for nothing in (None, ""):
        with pytest.raises(ValueError, match=rf"has {nothing!r} as its {part}; `Metric` says what it takes"):
            Metric(**{**parts(), part: nothing})


def test_a_colour_is_written_as_six_digits():
    with pytest.raises(ValueError, match="The metric 'GroupMatch' has 'red' as its colour"):
        Metric(**{**parts(), "colour": "red"})


@pytest.mark.parametrize("name", [*METRICS, *GLOBAL])
def test_the_chance_line_and_the_interval_can_be_seen_on_a_metrics_bar(name):
    def channels(colour):
        return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])

    bar = channels(group_metrics.description_of(name).colour)
    for line in (OUTCOME_COLOURS["tie"], MARK_COLOUR):  # of chance levels, of intervals
        assert np.linalg.norm(bar - channels(line)) > 50


def test_two_entries_neither_share_a_label_nor_look_the_same():
    _check_table({**METRICS, **GLOBAL})
    twin = replace(METRICS[GROUP_MATCH], colour="#123456")
    with pytest.raises(ValueError, match="'group_match' and 'twin' have the same label"):
        _check_table({**METRICS, "twin": twin})
    with pytest.raises(ValueError, match="'group_match' and 'twin' have the same colour and marker and dash"):
        _check_table({**METRICS, "twin": replace(METRICS[GROUP_MATCH], label="Twin")})


@pytest.mark.parametrize("name", [*METRICS, *GLOBAL])
def test_the_look_of_an_entry_is_one_that_figures_can_draw(name):
    entry = group_metrics.description_of(name)
    line = {"color": entry.colour, "dash": entry.dash}
    go.Figure(go.Scatter(line=line, marker={"symbol": [entry.marker, f"{entry.marker}-open"]}))


# --- no key of a metric stands anywhere else

# Where metrics are defined, and what data files and published tables call them.
MAY_NAME = {f"core/metrics/{name}.py" for name in ("group_metrics", "groups", "retrieval")}
READERS = [*(ROOT / "core").rglob("*.py"), *(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py")]


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in [*READERS, ROOT / "app.py", ROOT / "gradio_app.py"]
        if str(path.relative_to(ROOT)) not in MAY_NAME and "datasets" not in path.parts
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_page_figure_report_or_command_writes_the_key_of_a_metric(path):
    texts = {n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)}
    keys = {*METRICS, *GLOBAL, *RETRIEVAL}
    assert not {text for text in texts if isinstance(text, str)} & keys


# --- metrics that are added here


def half(view):
    rows, columns = comparisons.rows(view), comparisons.columns(view)
    tied = [found.tied for found in (rows, columns) if found.tied is not None]
    value = (rows.value + 1.0 * columns.value) / 2
    return Found(value, np.logical_or.reduce(tied) if tied else None)


def half_spans(view):
    """Each of the two counts by itself, with the same weight."""
    parts = zip(all_of(view.rows).parts, all_of(view.columns).parts, strict=True)
    return AlphaIntervals(*(np.concatenate(pair, axis=1) for pair in parts))


HALF = Metric(
    label="HalfScore",
    short="Half",
    formula=r"\tfrac12(\text{TextScore} + \text{ImageScore})",
    meaning="Half for each of the two.",
    reference="made up for the tests",
    colour="#b05a4a",
    marker="cross",
    dash="longdash",
    headline=True,
    share=True,
    applies=lambda m, k: True,
    rule=lambda m, k: half,
    chance=lambda m, k: (k**-m + m**-m) / 2,
    alpha=_AlphaRule(half_spans),
    verdict=lambda data: f"half of {len(data.truth)} rows and columns each",
)
SQUARE = replace(
    METRICS[GROUP_MATCH],
    label="SquareScore",
    meaning="GroupScore where it asks for rows and columns.",
    colour="#3f8f4f",
    marker="x",
    dash="dot",
    applies=lambda m, k: m == k,
    rule=lambda m, k: comparisons.both,
    chance=METRICS["group_score"].chance,
    alpha=_AlphaRule(lambda v: all_of(v.rows, v.columns, v.matching)),
    verdict=lambda data: "rows, columns and totals",
)
NEW = {"half_score": HALF, "square_score": SQUARE}


@pytest.fixture
def added(fresh_pages, monkeypatch):
    """Two more entries for the length of a test: a share on every shape, and a verdict on square groups alone."""
    for name, metric in NEW.items():
        monkeypatch.setitem(METRICS, name, metric)
    _check_table({**METRICS, **GLOBAL})


@pytest.mark.parametrize("shape", SHAPES)
def test_a_new_metric_is_measured_beside_the_others(added, shape):
    scores, _, truth = case(200, *shape, seed=3)
    found = outcomes(scores, truth)
    text = found[TEXT_SCORE].value
    image = found["image_score"].value if shape[0] > 1 else np.ones(200)
    assert found["half_score"].value.tolist() == ((text + 1.0 * image) / 2).tolist()
    if shape[0] == shape[1]:
        assert found["square_score"].value.tolist() == found["group_score"].value.tolist()
    else:
        assert "square_score" not in found
        with pytest.raises(InputError, match="have no SquareScore; choose one of text_score, "):
            evaluate(scores, truth, ["square_score"])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_chance_level_of_every_metric_is_what_random_scores_reach(added, shape):
    rng = np.random.default_rng(5)
    scores, truth = rng.normal(size=(20_000, *shape)), np.tile(np.arange(shape[0]), (20_000, 1))
    for name, found in evaluate(scores, truth).items():
        assert found.value == pytest.approx(found.chance, abs=1.7), (
            name
        )  # 4 standard errors of a share of 1/2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", [None, 4])
def test_every_metric_s_alpha_rule_agrees_with_its_outcome_and_none_follows_another_s(added, shape, levels):
    scores, prior, truth = case(60, *shape, seed=sum(shape), levels=levels)
    alphas = np.array([0, 0.25, 0.5, 0.75, 1, 0.1, 0.3, 0.62, 0.9])
    for name in group_metrics.metrics_of_shape(*shape):
        curve = alpha_curve(scores, prior, truth, name)
        assert curve.value(alphas) == pytest.approx([plain(scores, prior, truth, name, a) for a in alphas]), (
            name
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_whether_alpha_moves_a_metric_is_as_its_entry_says(added, shape):
    scores, prior, truth = case(400, *shape, seed=2)
    for name in group_metrics.metrics_of_shape(*shape):
        still = np.ptp(alpha_curve(scores, prior, truth, name).values) == 0
        assert still == (not METRICS[name].alpha.moves(*shape)), name


@pytest.mark.parametrize("shape", SHAPES)
def test_every_metric_has_a_verdict_with_the_numbers_of_the_group(added, shape):
    scores, _, truth = case(5, *shape, seed=4)
    data = Evaluation.of(scores, truth).group(0)
    assert list(data.kinds) == list(group_metrics.metrics_of_shape(*shape))
    assert all(METRICS[name].verdict(data) for name in data.kinds)
    assert verdicts_html(data).count("<tr>") == len(data.kinds)


def test_a_study_of_alpha_has_every_metric_of_its_shape(added):
    scores, prior, truth = case(30, 2, 3, seed=1)
    study = AlphaStudy(scores, prior, truth, [str(i) for i in range(30)])
    assert list(study.record()["metrics"]) == list(group_metrics.metrics_of_shape(2, 3))
    json.dumps(study.record(), allow_nan=False)
