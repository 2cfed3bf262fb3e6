"""The page that compares two models, two files, or a file and a model, driven from app.py."""

import io
import json
import re
import runpy
import shlex
import zipfile
from html import unescape

import numpy as np
import pandas as pd
import pytest
from driving import ROOT, button, fine, html, text
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from typer.testing import CliRunner
from written import read_latex

from core.base.text import _exact_differences
from core.cli import app as cli
from core.datasets import load
from core.datasets.score_files import write_scores
from core.exchange.uploads import UploadStore
from core.metrics.evaluation import Evaluation
from core.metrics.groups import METRICS
from core.metrics.statistics import Clusters, Comparison
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from ui.built_in import built_in_said
from ui.compared import sides_of
from ui.export import row_names
from ui.formatting import p_exact

COMPARE = "pages/6_Compare.py"
SET = "scenes/left-right"


def test_two_models_are_compared_with_paired_intervals(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    assert test.title[0].value == "Compare"
    table = test.dataframe[0].value
    names = "A: builtin/clip", "B: builtin/siglip"
    assert {*names, "chance", "B − A", "B − A: 95 %", "p"} <= set(table)
    match = table.set_index("metric").loc["GroupMatch"]
    assert abs(match[names[1]] - match[names[0]] - match["B − A"]) < 1e-9
    assert (table["p (Holm)"] >= table["p"]).all() and "corrected for these 5 metrics" in text(test)
    assert (
        5 < match["detectable"] <= match["detectable by caption"] < 12
    )  # 300 groups, two of which share a caption
    assert "299 clusters in place of 300 groups" in text(test)
    assert "groups** show a difference of 5 points with 80 % power" in text(test)
    fine(share_field(test).set_value(3.0).run())
    assert "cannot be 5 points apart" in text(test)


def share_field(test):
    """The calculator's share of groups on which only one is right."""
    return next(each for each in test.number_input if each.label.startswith("Groups on which only one"))


def test_the_calculator_begins_anew_with_each_comparison(app):
    """It kept the share of the first pair, and answered for that one."""
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    first = share_field(test).value
    test = fine(test.selectbox(key="other").set_value("builtin/clip-details").run())
    differs = next(re.finditer(r"They differ on (\d+) groups?", text(test)))[1]
    assert share_field(test).value == round(int(differs) / 3, 1) != first


def right_in(count: int, of: int) -> bytes:
    """Scores of which the last so many groups are right in every way."""
    rows = ["group,image,caption,score,match"]
    for g in range(of):
        own = g >= of - count
        rows += [f"g{g},{i},{j},{int((i == j) == own)},{int(i == j)}" for i in (0, 1) for j in (0, 1)]
    return "\n".join(rows).encode()


def test_an_interval_that_the_exact_test_stretched_to_0_is_said_to_be_one(app):
    """`+0.0 to +66.4` stood there as if it had come out so; and the detectable difference lacked “uncorrected”."""
    for name, count in (("a.csv", 8), ("b.csv", 13), ("c.csv", 0)):
        UploadStore().add(name, right_in(count, 13), "")
    test = app(COMPARE, set="upload/a.csv", other="upload/b.csv")
    said = text(test).replace("\\", "")
    assert "95 % interval 0.0 to" in said and ", stretched to hold 0 by the exact test;" in said
    assert (
        "The interval of TextScore, ImageScore, GroupScore, GroupMatch is stretched to hold 0 by McNemar's exact test, "
        "that of IndividualMatch is stretched to hold 0 by the exact sign test." in said
    )
    # “show a difference of 9.0 points or more (80 % power, uncorrected)” told a teacher nothing.
    assert re.search(
        r"With 13.groups like these, a true difference of \d+\.\d.points is found four times in five", said
    )
    assert "(by one metric alone)" in said and "power, uncorrected" not in said
    assert "stretched" not in text(app(COMPARE, set="upload/c.csv", other="upload/b.csv"))


def drawn_scores(seed: int, folder) -> list:
    """Two files of scores of the same 40 groups, the second one the better."""
    random, truth, files = np.random.default_rng(seed), np.tile([0, 1], (40, 1)), []
    scores = [random.normal(size=(40, 2, 2)) for _ in "ab"]
    scores[1] += np.eye(2) * random.uniform(0.2, 0.7)
    for name, each in zip("ab", scores, strict=True):
        files.append(folder / f"{name}.npz")
        write_scores(files[-1], each, [f"g{i}" for i in range(40)], truth)
    return files


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (
            321,
            "The interval of TextScore is stretched to hold 0 by McNemar's exact test, that of IndividualMatch is "
            "stretched to hold 0 by the exact sign test.",
        ),
        (1, "None of these intervals had to be moved for that."),
    ],
)
def test_page_latex_report_and_command_say_alike_which_intervals_a_test_has_moved(
    app, tmp_path, exported, seed, said
):
    """The page said that one was stretched, LaTeX that McNemar's test decides on 0 "but for IndividualMatch", and the
    command that "the two may disagree about 0": of one and the same interval."""
    files = drawn_scores(seed, tmp_path)
    for file in files:
        UploadStore().add(file.name, file.read_bytes(), "")
    command = ["compare", *map(str, files)]
    printed = CliRunner().invoke(cli, command, catch_exceptions=False).stdout
    latex = CliRunner().invoke(cli, [*command, "--latex"], catch_exceptions=False).stdout
    test = app(COMPARE, set="upload/a.npz", other="upload/b.npz")
    report = unescape(exported[-1]["report"]().decode())
    texts = [printed, latex.replace("\\%", "%"), text(test).replace("\\", ""), report]
    rule = "An interval holds 0 where its p, before any correction, is above 0.05, and elsewhere does not; that of Indi"
    # The command says what has moved below its table, and the rule in its help.
    told = [texts[0] if said.startswith("The interval") else said, *texts[1:]]
    assert [said in " ".join(each.split()) for each in told] == [True] * 4
    helped = CliRunner().invoke(cli, ["compare", "--help"]).stdout
    assert [rule in " ".join(each.split()) for each in texts[1:]] == [True] * 3
    assert rule.partition(";")[0] in " ".join(helped.split())
    assert ["Bonett and Price's, paired, with Student's t" in each for each in texts] == [True] * 4
    assert ["McNemar's exact test, of IndividualMatch the exact sign test" in each for each in texts] == [
        True
    ] * 4
    assert not any("the two may disagree" in each or "holds 0, but for" in each for each in texts)
    # The two files named a method that gives other numbers: for +0.26 to +19.41 stood 0.0.
    runner, kinds = CliRunner(), {}
    runner.invoke(cli, [*command, "--out", str(tmp_path / "d.csv")], catch_exceptions=False)
    record = json.loads(runner.invoke(cli, [*command, "--json"], catch_exceptions=False).stdout)
    by_label = {METRICS[key].label: each["difference"] for key, each in record["metrics"].items()}
    for _, row in pd.read_csv(tmp_path / "d.csv").iterrows():
        kinds[row["metric"]] = row["difference_interval"]
        assert by_label[row["metric"]]["interval"] == row["difference_interval"]
    plain = "95 % Bonett-Price, Student's t"
    moved = {"TextScore", "IndividualMatch"} if said.startswith("The interval") else set()
    assert kinds == {n: plain + ", stretched to hold 0 by its test" * (n in moved) for n in by_label}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("points", 0.0, "Difference in points must be at least 0.1."),
        ("share", 101.0, "Groups on which only one is right, % must be at most 100."),
    ],
)
def test_a_number_that_the_calculator_does_not_take_is_said_and_nothing_is_computed(app, key, value, said):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    field = share_field(test) if key == "share" else test.number_input(key=key)
    test = field.set_value(value).run()
    assert not test.exception and [each.value.replace("\\", "") for each in test.error] == [said]
    assert "with 80 % power" not in text(test)


def test_the_page_says_first_who_is_ahead_and_whether_these_groups_can_tell(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    said = text(test).replace("\\", "")
    assert "these groups cannot tell builtin/clip and builtin/siglip apart" in said
    lead = f"+{match['B − A']:.1f} points, the second minus the first (95 % interval by caption "
    assert match["B − A"] > 0 and (lead + match["B − A by caption: 95 %"]).replace("-", "−") + "; p " in said
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip", other="builtin/siglip")
    said = text(test).replace("\\", "")
    # One sign in sentence, difference and table: “clip is ahead” had −11.33 behind it, and then +11.33 beside −11.33.
    # Two decimals stood beside one in chart and intervals, and a phone had the names four times.
    assert (
        "builtin/siglip is behind builtin/clip**, with 71.3 % against 82.7 %. The difference is −11.3 points (of the "
        "unrounded values; 95 % interval by caption −17.2 to −5.1; p = 0.00012, also after Holm's correction for 5 "
        "metrics)." in said.replace("\u2060", "").replace("\u00a0", " ")
    )
    # “95 % interval by caption, uncorrected; p by caption, corrected for these 5 metrics” filled the headline; without
    # “by caption” it was not the first of the two intervals of `crossmatch compare`, and did not say so.
    (lead,) = [each for each in test.markdown if "is behind" in each.value]
    assert lead.help == (
        "Both count groups that share one caption as one. Interval and p are of this metric alone; the corrected p "
        "counts that 5 metrics are tested."
    )
    assert ":small[" not in said
    assert test.dataframe[0].value.set_index("metric").loc["GroupMatch", "B − A"] == pytest.approx(-34 / 3)
    # Before the figure, which fills the first screen, with the way to them.
    alone = "They differ on 76 groups; on 55 of them only builtin/clip is right: [see where]"
    # On a phone the table of all metrics stands below four cards, and nobody came so far.
    assert f"{alone}(#where-they-differ). [Every metric ↓](#every-metric-with-its-test)" in said.replace(
        "\u00a0", " "
    )
    assert "With 300 groups like these" in said.replace("\u00a0", " ")


def test_the_p_of_the_headline_is_that_of_the_table_and_decides_with_the_interval(app, tmp_path):
    """Right on 7 groups of 300 more: by itself that is p 2 / 2 ** 7 = 0.016, among five metrics 0.078."""
    table = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip").dataframe[0].value
    match = table.set_index("metric").loc["GroupMatch"]
    said = text(app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")).replace("\\", "")
    assert match["p by caption"] < match["p by caption (Holm)"]
    # “95 % interval −0.3 to +14.3; p = 0.29” were one uncorrected and one corrected, and did not fit together.
    alone, corrected = p_exact(match["p by caption"]), p_exact(match["p by caption (Holm)"])
    beside = f"{'also' if alone == corrected else corrected} after Holm's correction for 5 metrics"
    assert f"p = {alone}, {beside})." in said.replace("\u00a0", " ")
    right = np.tile(np.eye(2), (300, 1, 1))
    worse = right.copy()
    worse[:7] = 1 - worse[:7]
    first, second = uploaded(tmp_path, "worse.csv", worse), uploaded(tmp_path, "right.csv", right)
    test = app(COMPARE, set=first, other=second)
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    assert match["p (Holm)"] == pytest.approx(5 * 2 / 2**7) and match["B − A: 95 %"].startswith("+")
    said = text(test).replace("\\", "")
    assert (
        "GroupMatch: right.csv is ahead of worse.csv on these groups, not proven after correction for 5 metrics (p "
        "0.078)**, with 100.0 % against 97.7 %. The difference is +2.3 points (95 % interval +" in said
    )
    # An interval without 0 stood beside a verdict that there is no difference.
    assert "; p = 0.016 by itself)." in said.replace("\u00a0", " ") and "cannot tell worse.csv" not in said


def test_the_difference_has_one_direction_and_sign_in_headline_table_and_note(app, tmp_path):
    """“b.csv leads by 20.00 points (−0.5 to +38.6)” stood above “Difference: a.csv − b.csv”."""
    right = np.tile(np.eye(2), (20, 1, 1))
    worse = right.copy()
    worse[:4] = 1 - worse[:4]
    entries = {
        name: uploaded(tmp_path, name, scores) for name, scores in (("a.csv", worse), ("b.csv", right))
    }
    for first, second, sign in (("b.csv", "a.csv", "−"), ("a.csv", "b.csv", "+")):
        test = app(COMPARE, set=entries[first], other=entries[second])
        said = text(test).replace("\\", "")
        assert f"cannot tell {first} and {second} apart" in said
        assert f"The difference is {sign}20.0 points, the second minus the first (95 % interval" in said
        assert f"Difference: {second} − {first} in percentage points" in said
        match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
        interval = match["B − A: 95 %"].replace("-", "−")
        assert f"95 % interval {interval}; p" in said and match["B − A"] == float(
            sign.replace("−", "-") + "20"
        )


@pytest.mark.parametrize(("name", "metrics"), [(SET, 5), ("scenes/replace", 1)])
def test_every_metric_of_the_table_has_a_bar_and_no_other_has(app, name, metrics):
    """Four bars stood above "corrected for these 5 metrics"; on groups of one image three, which were one metric."""
    test = app(COMPARE, set=name, model="builtin/clip", other="builtin/siglip")
    (figure,) = (json.loads(chart.proto.spec) for chart in test.get("plotly_chart")[:1])
    assert len(figure["layout"]["xaxis"]["ticktext"]) == len(test.dataframe[0].value) == metrics


def test_the_figure_and_the_groups_come_before_the_table(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    kinds = [element.type for element in test.main]
    assert kinds.index("plotly_chart") < kinds.index(test.dataframe[0].type)
    assert [h.value for h in test.header][:2] == ["Where they differ", "Every metric, with its test"]


def test_a_percentage_that_ends_in_a_half_is_the_same_on_cards_bars_and_in_sentences(app):
    """49 of 80 groups are 61.25 %: a card said 61.3, a table 61.2."""
    for name, count in (("a.csv", 49), ("b.csv", 20)):
        UploadStore().add(name, right_in(count, 80), "")
    compared = app(COMPARE, set="upload/a.csv", other="upload/b.csv")
    (figure,) = (json.loads(chart.proto.spec) for chart in compared.get("plotly_chart")[:1])
    (labels,) = (each["text"] for each in figure["data"] if "61.3" in each.get("text", []))
    assert set(labels) == {"61.3"}
    cards = app("pages/8_Your_Data.py", set="upload/a.csv")
    values = [
        each.value for page in (cards, app("pages/2_Matching.py", set="upload/a.csv")) for each in page.metric
    ]
    assert "61.3 %" in values
    whole = [
        text(page) + html(page) for page in (compared, cards, app("pages/2_Matching.py", set="upload/a.csv"))
    ]
    assert not [page for page in whole if "61.2 " in page]


def test_the_table_begins_with_what_decides_and_says_that_intervals_are_not_corrected(app):
    """ImageScore had +3.6 to +44.0 beside p 0.12, and nothing said that the interval was of it alone; and a phone
    showed both accuracies and chance without the difference, then the difference without them."""
    for name, count in (("a.csv", 8), ("b.csv", 13)):
        UploadStore().add(name, right_in(count, 40), "")
    test = app(COMPARE, set="upload/a.csv", other="upload/b.csv")
    order = list(test.dataframe[0].proto.column_order)
    assert order[3:7] == ["B − A", "p (Holm)", "p", "chance"] and "B − A: 95 %" not in order
    shown = convert_arrow_bytes_to_pandas_df(test.dataframe[0].proto.arrow_data.styler.display_values)
    assert any("+12.5 (−" in cell and " to +" in cell for cell in shown.astype(str).to_numpy().ravel())
    widths = json.loads(test.dataframe[0].proto.columns)
    assert (
        sum(widths[name]["width"] for name in order[:4]) <= 390 - 2 * 16 + 8
    )  # of a phone, as its border is in
    assert '"p (alone)"' in test.dataframe[0].proto.columns
    said = text(test).replace("\\", "")
    assert (
        "Intervals and p (alone) are of each metric alone; p (Holm) is corrected for these 5 metrics." in said
    )
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    order = list(test.dataframe[0].proto.column_order)
    # Two intervals and two p stood six columns apart: beside the difference are those to quote.
    assert order[3:7] == ["B − A", "p by caption (Holm)", "p by caption", "chance"] and len(order) == 9
    assert "Intervals and p are of each metric alone" in text(test)


def test_the_table_fits_and_the_rest_of_its_columns_is_closed_below(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    (table,) = test.dataframe
    assert len(table.proto.column_order) == 9 and "detectable" not in table.proto.column_order
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    assert "Swipe the table sideways" in html(test)  # shown on phones


def test_the_two_accuracies_of_the_table_have_one_decimal_as_all_of_the_page(app):
    """71.33 % stood beside 71.3 in the chart; the file has all digits. By hand: 49 of 80."""
    for name, count in (("a.csv", 49), ("b.csv", 20)):
        UploadStore().add(name, right_in(count, 80), "")
    (table,) = app(COMPARE, set="upload/a.csv", other="upload/b.csv").dataframe
    shown = convert_arrow_bytes_to_pandas_df(table.proto.arrow_data.styler.display_values)
    assert any({"61.3", "25.0"} <= {*row} for row in shown.astype(str).to_numpy().tolist())


def test_the_groups_that_only_one_of_them_has_right_open_under_both(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    assert "largest margin of either first" in text(test)
    first = next(b for b in test.button if b.label.startswith("Compare "))
    fine(first.click().run())
    assert html(test).count("cm-verdicts") == 2
    assert "Scores of left-right/test/" in html(test) and html(test).count('cm-hidden">Scores of') == 2
    fine(button(test, "Close").click().run())
    assert html(test).count("cm-verdicts") == 0


def test_a_model_beside_itself_is_no_comparison_and_another_one_is_offered(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/clip")
    assert "that is no comparison" in text(test) and not test.dataframe
    fine(button(test, "Compare with builtin/siglip").click().run())
    assert "GroupMatch" in text(test) and test.dataframe


def test_the_two_are_swapped_and_the_difference_turns_round(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    before = test.dataframe[0].value["B − A"].to_numpy()
    fine(button(test, "Swap the two").click().run())
    assert test.selectbox(key="model").value == "builtin/siglip"
    assert test.selectbox(key="other").value == "builtin/clip"
    assert np.allclose(test.dataframe[0].value["B − A"], -before)


def test_beside_a_model_a_file_can_be_uploaded_here(app, tmp_path):
    """A file against a model took the way over Your data."""
    test = app(COMPARE, set=SET, model="builtin/clip")
    groups = load(SET, "test")
    scores = np.random.default_rng(0).normal(size=(len(groups), 2, 2))
    write_scores(tmp_path / "mine.csv", scores, groups.ids, groups.truth)
    (field,) = test.get("file_uploader")
    test = fine(field.upload("mine.csv", (tmp_path / "mine.csv").read_bytes()).run())
    assert test.selectbox(key="other").value == "upload/mine.csv"
    assert "B: mine.csv" in test.dataframe[0].value


@pytest.mark.parametrize("lost", ["run/none", "upload/gone.csv"])
def test_a_link_to_what_is_gone_says_so_and_compares_with_another_one(app, lost):
    test = app(COMPARE, set=SET, model="builtin/clip", other=lost)
    (said,) = [warning.value.replace("\\", "") for warning in test.warning]
    assert lost.partition("/")[2] in said and "compared with builtin/siglip in its place" in said
    assert test.selectbox(key="other").value == "builtin/siglip" and test.dataframe


def test_classes_are_named_counted_and_turned_page_by_page(app):
    """“Only the first right”: which of the two that is had to be looked up above."""
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip", other="builtin/siglip")
    side = test.segmented_control(key="side")
    # The four counts stood in a line below, and that of the chosen class once more.
    counts = {"only clip right": 55, "only siglip right": 21, "both right": 193, "neither right": 31}
    assert side.options == [f"{name} **{count}**" for name, count in counts.items()]
    assert side.value == "only the first right"  # in the address, which another pair may follow
    said = text(test).replace("\\", "")
    assert "Of 300 groups: right with builtin/clip, wrong with builtin/siglip by GroupMatch, largest" in said
    assert "only clip right 55," not in said and "55 of 300" not in said
    first = [b.label for b in test.button if b.label.startswith("Compare ")]
    test.session_state["cards"] = 2
    fine(test.run())
    assert not {*first} & {b.label for b in test.button if b.label.startswith("Compare ")}
    fine(test.segmented_control(key="side").set_value("neither right").run())
    assert test.session_state["cards"] == 1


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (("builtin/clip", "itc:builtin/blip-itm"), ("clip", "itc:blip-itm")),
        (("openai/clip-vit-base-patch32", "builtin/clip"), ("clip-vi…-patch32", "clip")),
        (
            ("openai/clip-vit-base-patch32", "laion/clip-vit-base-patch32"),
            ("openai/…-patch32", "laion/c…-patch32"),
        ),
        (("run/20261124-031522-0123456789abcdef", "builtin/clip"), ("the run", "clip")),
        (("results-of-monday-x-2026.csv", "results-of-tuesday-2026.csv"), ("the first", "the second")),
    ],
)
def test_two_names_are_as_short_as_they_stay_apart(names, short):
    assert tuple(side.short for side in sides_of(*names)) == short


def test_a_chosen_class_is_of_the_same_groups_after_the_two_are_swapped(app):
    """It was lost: the page showed those of the other side, and the address no side."""
    test = app(COMPARE, set="scenes/attribute-swap", other="builtin/siglip", side="only the second right")
    before = [each.label for each in test.button if each.label.startswith("Compare ")]
    button(test, "Swap the two").click().run()
    fine(test)
    assert test.session_state["side"] == "only the first right"
    assert [each.label for each in test.button if each.label.startswith("Compare ")] == before and before


def test_a_group_under_both_has_its_pictures_once_and_both_matrices_after_them(app):
    """Pictures and captions came twice, with all verdicts between the matrices: a phone's page was twice as long."""
    test = app(COMPARE, set="scenes/attribute-swap", other="builtin/siglip", group="attribute-swap/test/0000")
    shown = html(test)
    assert shown.count("Image A of attribute-swap/test/0000:") == 1
    first, second = (
        shown.index(f"Scores of attribute-swap/test/0000 by builtin/{m}") for m in ("clip", "siglip")
    )
    assert "cm-verdicts" not in shown[first:second]
    folded = next(each for each in test.expander if each.label == "What each metric compares, in numbers")
    assert (
        not folded.proto.expanded
        and sum("cm-verdicts" in each.proto.body for each in folded.get("html")) == 2
    )


def test_an_opened_group_has_each_models_matching_as_lines(app):
    """Every other page draws them; here two matrices alone said who matches what."""
    name, models = "attribute-swap/test/0007", ("builtin/clip", "builtin/blip-itm")
    test = app(COMPARE, set="scenes/attribute-swap", model=models[0], other=models[1], group=name)
    drawn = re.findall(r'class="cm-letters">.*?class="cm-lines" src="[^"]+" alt="([^"]+)"', html(test))
    # The sums of the scores that stand in each matrix: A–1 and B–2 against A–2 and B–1.
    cells = [
        float(found.replace("−", "-"))
        for found in re.findall(r'title="image [AB], caption [12]: (−?[\d.]+)', html(test))
    ]
    assert len(drawn) == 2 and len(cells) >= 8
    for said, (a1, a2, b1, b2) in zip(drawn, (cells[:4], cells[4:8]), strict=True):
        first = 1 if a1 + b2 > a2 + b1 else 2
        assert said.startswith(
            f"The model matches image A with caption {first}, image B with caption {3 - first};"
        )


def test_a_class_in_the_address_is_opened_and_another_one_is_written_there(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip", side="both right")
    assert test.segmented_control(key="side").value == "both right"
    test = fine(test.segmented_control(key="side").set_value("neither right").run())
    assert test.query_params["side"] == "neither right"


def test_scores_side_by_side_have_the_same_decimals_and_a_number_is_called_a_group(app, tmp_path):
    """0.2255 stood beside 0.26, in a group that was headed "1"; then a near tie gave all cards its decimals."""
    near, plain = np.tile(np.eye(2), (3, 1, 1)), np.tile(np.eye(2), (3, 1, 1))
    near[1] = [[0.2255, 0.2251], [0.1, 0.2]]
    first, second = uploaded(tmp_path, "a.csv", near), uploaded(tmp_path, "b.csv", plain)
    test = app(COMPARE, set=first, other=second, side="both right")
    assert html(test).count("1.00 ") == 8 and html(test).count("1.000 ") == 2  # of the near tie alone
    ids = test.selectbox(key="group").options
    test = fine(test.selectbox(key="group").set_value(ids[1]).run())
    assert html(test).count("1.000 ") >= 2 and "0.226 " in html(test)
    assert f"Group {ids[1]}" in [header.value for header in test.header]


def test_a_link_holds_models_side_and_group(app):
    group = "left-right/test/0003"
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip", side="both right", group=group)
    assert html(test).count("cm-verdicts") == 2
    assert next(c for c in test.selectbox if c.key == "other").value == "builtin/siglip"


@pytest.mark.parametrize(("differs", "by_menu"), [(True, False), (False, False), (False, True)])
def test_a_group_that_comes_along_from_another_page_hides_neither_the_verdict_nor_those_that_differ(
    app, differs, by_menu
):
    """Its block stood first, scrolled to, also where both models have it right; by the menu as by a button."""
    both = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip", side="both right")
    here = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip") if differs else both
    label = next(b.label for b in here.button if b.label.startswith("Compare left"))
    group = label.replace("\\", "").split()[-1]
    test = both.switch_page(COMPARE)
    if by_menu:
        test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip", group=group)
        assert html(test).count("cm-verdicts") == 2  # an address asks for it
        test.session_state["drawn_page"] = "that of Groups"
    else:
        test.session_state["carried"] = {"group": group, "other": "builtin/siglip"}
    test = fine(test.run())
    assert (html(test).count("cm-verdicts") == 2) is differs
    if not differs:
        assert "You came from this group: right with both." in text(test)
        test = fine(next(b for b in test.button if b.label.startswith("Show left")).click().run())
        assert html(test).count("cm-verdicts") == 2 and "You came from" not in text(test)


def test_an_unknown_model_is_one_sentence(open_page):
    test = open_page(COMPARE, set=SET, model="builtin/clip", other="builtin/clop")
    assert not test.exception and "did you mean" in test.error[0].value


# --- files


def uploaded(tmp_path, name, scores, groups=None):
    """A stored file of scores (n, 2, 2)."""
    ids, truth = (None, None) if groups is None else (groups.ids, groups.truth)
    write_scores(tmp_path / name, scores, ids, truth)
    return f"upload/{UploadStore().add(name, (tmp_path / name).read_bytes()).name}"


def with_right(groups):
    """Scores of five groups of which these are right by every metric, the others by none."""
    right, wrong = np.eye(2), 1 - np.eye(2)
    return np.array([right if i in groups else wrong for i in range(5)])


@pytest.mark.parametrize("phone", [True, False])
def test_on_a_phone_the_difference_of_two_files_with_long_names_is_in_sight(
    app, tmp_path, monkeypatch, phone
):
    """Both results were 92 pixels wide for the files' names, and the difference began at the edge of 356."""
    monkeypatch.setattr("ui.visitor.on_phone", lambda: phone)
    first = uploaded(tmp_path, "the-first.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "the-second.csv", with_right({1}))
    table = app(COMPARE, set=first, other=second).dataframe[0]
    columns = json.loads(table.proto.columns)
    shown = [*table.proto.column_order][:4]
    width = sum(columns[name]["width"] for name in shown)
    assert shown[3] == "B − A" and (width <= 356) is phone


def test_two_files_are_compared_with_the_paired_test(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2, 3}))
    test = app(COMPARE, set=first, other=second)
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    # 2 and 3 of 5 groups; B alone has 2 and 3, A alone 0: P(X <= 1) of 3 coins, twice, is 2 (1 + 3) / 8 = 1
    assert (match["A: a.csv"], match["B: b.csv"], match["B − A"]) == (40.0, 60.0, 20.0)
    assert (match["only B right"], match["only A right"], match["p"]) == (2, 1, 1.0)
    assert '"name":"b.csv"' in str(test.get("plotly_chart")[0].proto.spec)  # the figure names them


def test_a_file_compared_on_another_set_gives_way_to_the_default_partner(app, open_page, tmp_path):
    """It stayed, and the page was an error: none of the groups in common."""
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2, 3}))
    test = app(COMPARE, set=first, other=second)
    fine(test.selectbox(key="set").set_value(SET).run())
    assert test.selectbox(key="other").value == "builtin/siglip"
    assert "b.csv has none of these groups." in text(test).replace("\\", "")
    assert "".join(test.query_params["other"]) == "builtin/siglip"
    third = next(
        each for each in test.selectbox(key="other").options if "siglip" not in each and "clip" not in each
    )
    fine(test.selectbox(key="other").set_value(third).run())
    assert "has none of these groups" not in text(test)
    wrong = open_page(COMPARE, set=SET, model="builtin/clip", other=second)  # a link that names both
    assert f"b.csv has no group of {SET}." in wrong.error[0].value.replace("\\", "")


def test_files_that_share_no_group_are_last_and_say_so_and_the_address_has_their_names_alone(app, tmp_path):
    """They stood among the others, in the order of the alphabet."""
    first = uploaded(tmp_path, "m.csv", with_right({0, 1}))
    stranger = uploaded(tmp_path, "a.csv", np.stack([np.eye(2)] * 3), load(SET).select(np.arange(300) < 3))
    second = uploaded(tmp_path, "z.csv", with_right({1, 2, 3}))
    test = app(COMPARE, set=first)
    field = test.selectbox(key="other")
    assert field.options == [second, f"{stranger} (no group of m.csv)"] and field.value == second
    assert "".join(test.query_params["other"]) == second and test.dataframe
    test.selectbox(key="other").set_value(stranger).run()
    assert "".join(test.query_params["other"]) == stranger and "a.csv has no group" in test.error[
        0
    ].value.replace("\\", "")
    test = app(COMPARE, set=SET, model="builtin/clip", other=stranger)
    *_, shared, one, other = test.selectbox(key="other").options
    assert shared == stranger and {one, other} == {f"{name} (no group of {SET})" for name in (first, second)}
    assert test.selectbox(key="other").value == stranger and "3 groups that both have" in text(test)


def scores_as_csv(seed, groups=6, match=True):
    """A table of scores of groups that no set has, as somebody writes one by hand."""
    random = np.random.default_rng(seed)
    rows = [
        f"g{group},i{i},c{j},{random.normal():.3f}{f',{int(i == j)}' * match}"
        for group, i, j in np.ndindex(groups, 2, 2)
    ]
    return "\n".join(["group,image,caption,score" + ",match" * match, *rows]).encode()


def by_hand(name, **how):
    """Such a table as a stored file."""
    return f"upload/{UploadStore().add(name, scores_as_csv(len(name), **how)).name}"


def test_two_files_brought_beside_a_set_that_has_none_of_their_groups_are_compared_with_each_other(app):
    """The second took the place of the first, and an otherwise empty page said that they share no group."""
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip")
    test.file_uploader(key="other_file").upload("a.csv", scores_as_csv(1)).run()
    said = "a.csv has no group of scenes/attribute-swap. Compare a.csv with a file of the same groups."
    assert test.error[0].value.replace("\\", "") == said
    labels = [each.label.replace("\\", "") for each in test.button]
    assert "Compare a.csv with another file" in labels and not any("Swap" in label for label in labels)
    test.file_uploader(key="other_file").upload("b.csv", scores_as_csv(2)).run()
    fine(test)
    assert (test.selectbox(key="set").value, test.selectbox(key="other").value) == (
        "upload/a.csv",
        "upload/b.csv",
    )
    said = "a.csv and b.csv are compared with each other: neither has a group of scenes/attribute-swap."
    assert said in text(test).replace("\\", "") and test.dataframe and button(test, "Swap the two")


def test_where_nothing_can_be_compared_each_pair_of_files_is_a_button_and_no_swap_is_offered(app, open_page):
    first, second = by_hand("a.csv"), by_hand("bb.csv")
    by_hand("other.csv", groups=3)
    where = {"set": "scenes/attribute-swap", "model": "builtin/clip", "other": second}
    test = open_page(COMPARE, **where)
    assert "bb.csv has no group of scenes/attribute-swap." in test.error[0].value.replace("\\", "")
    labels = [each.label.replace("\\", "") for each in test.button]
    ways = [label for label in labels if label.startswith("Compare ")]
    assert ways == ["Compare a.csv with bb.csv", "Compare bb.csv with other.csv"]
    assert not any("Swap" in label for label in labels)
    test = fine(next(b for b in test.button if "a\\.csv" in b.label or "a.csv with" in b.label).click().run())
    assert (test.selectbox(key="set").value, test.selectbox(key="other").value) == (first, second)
    both = open_page(COMPARE, set="scenes/attribute-swap", model=first, other=second)
    said = "Neither a.csv nor bb.csv has a group of scenes/attribute-swap."
    assert said in both.error[0].value.replace("\\", "")
    assert not any("Swap" in each.label for each in both.button)


def test_a_model_that_there_is_not_is_said_before_groups_that_are_not_shared(open_page):
    test = open_page(COMPARE, set="scenes/nonsense", model="builtin/clop", other=by_hand("a.csv"))
    assert "did you mean 'builtin/clip'?" in test.error[0].value and "group" not in test.error[0].value
    (said,) = [each.value.replace("\\", "") for each in test.warning if "nonsense" in each.value]
    assert "scenes/attribute-swap" not in said and "in the field “Benchmark or file”." in said


def test_what_is_taken_for_true_and_how_many_groups_each_file_has_stand_below_the_headline(app):
    first, second = by_hand("a.csv"), by_hand("some.csv", groups=4, match=False)
    test = app(COMPARE, set=first, other=second)
    captions = [each.value.replace("\\", "") for each in test.caption]
    said = "a.csv has 6 groups, some.csv has 4 groups. some.csv has no ground truth: image i is assumed to belong to "
    (at,) = [i for i, each in enumerate(captions) if each.startswith(said)]
    assert captions[at].endswith("caption i.") and "Thin lines" in captions[at + 1]


def test_cards_of_files_have_their_key_once_and_say_whose_margin_orders_them(app):
    test = app(COMPARE, set=by_hand("a.csv"), other=by_hand("bb.csv"))
    assert html(test).count("Outlined, with a dot: the matching of each side. ✓: the true pairs.") == 1
    assert any("largest margin of either first" in each.value for each in test.caption)
    assert "Outlined, with a dot: the matching of each side" not in html(
        app(COMPARE, set=SET, model="builtin/clip")
    )


def test_the_source_of_two_files_names_both_and_why_winoground_is_cited(app):
    test = app(COMPARE, set=by_hand("a.csv"), other=by_hand("bb.csv"))
    said = [each.value for each in test.text]
    assert "Data: a.csv and bb.csv" in said and "Cite the data as: a.csv and bb.csv" in said
    assert any("The metrics are those of two papers" in each.value for each in test.caption)


def test_a_set_chosen_on_another_page_brings_its_default_partner(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2, 3}))
    test = app(COMPARE, set=first, other=second)
    fine(test.switch_page("pages/2_Matching.py").run())
    fine(test.selectbox(key="set").set_value(SET).run())
    if "other" in test.query_params:  # the menu's links say nothing of it
        del test.query_params["other"]
    fine(test.switch_page(COMPARE).run())
    assert test.selectbox(key="other").value == "builtin/siglip"


def test_the_second_file_is_kept_after_others_were_looked_at_as_long_as_it_is_stored(app, tmp_path):
    """With three files of the same groups it was asked for again after every visit to another file."""
    first, second, third = (uploaded(tmp_path, f"{n}.csv", with_right({n})) for n in range(3))
    test = app(COMPARE, set=first, other=second)

    def partner(of):
        test.switch_page("pages/2_Matching.py").run()
        fine(test.selectbox(key="set").set_value(of).run())
        if "other" in test.query_params:  # the menu's links say nothing of it
            del test.query_params["other"]
        fine(test.switch_page(COMPARE).run())
        return next(iter({test.selectbox(key=key).value for key in ("set", "other")} - {of}))

    assert partner(third) is None or partner(third) == second
    assert partner(first) == second
    assert partner(second) == first  # the same two
    UploadStore().remove("1.csv")
    assert partner(first) != second


def test_of_two_files_the_one_uploaded_first_is_a_unless_somebody_chose_the_sides(app, tmp_path):
    """The newer one was A: “second minus first” was the change backwards."""
    first = uploaded(tmp_path, "z-before.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "a-after.csv", with_right({1, 2, 3}))

    def sides(test):
        assert "".join(test.query_params["set"]) == test.selectbox(key="set").value
        return test.selectbox(key="set").value, test.selectbox(key="other").value

    test = app(COMPARE, set=second, group="1")
    assert sides(test) == (first, second) == sides(app(COMPARE, set=first))
    assert "".join(test.query_params["group"]) == "1"
    assert sides(app(COMPARE, set=second, other=first)) == (second, first)  # a link that names both
    fine(button(test, "Swap the two").click().run())
    assert sides(test) == (second, first)
    fine(test.switch_page("pages/2_Matching.py").run())
    if "other" in test.query_params:  # the menu's links say nothing of it
        del test.query_params["other"]
    assert sides(fine(test.switch_page(COMPARE).run())) == (second, first)


def test_the_way_from_an_opened_group_of_a_file_begins_with_the_earlier_file_too(app, tmp_path):
    first = uploaded(tmp_path, "before.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "after.csv", with_right({1, 2, 3}))
    test = app("pages/1_Groups.py", set=second, group="2")
    fine(button(test, "Compare with before.csv").click().run())
    assert [test.selectbox(key=key).value for key in ("set", "other", "group")] == [first, second, "2"]


def test_files_that_agree_on_every_group_have_no_link_to_where_they_differ(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    same = uploaded(tmp_path, "b.csv", with_right({0, 1}))
    said = text(app(COMPARE, set=first, other=same))
    assert "They differ on no group. [Every" in said and "see where" not in said
    assert "that both have" not in said  # no group is dropped


def test_two_that_agree_on_every_group_begin_with_the_first_class_that_has_groups(app, tmp_path):
    """“only a.csv right 0” was chosen: “No group falls into this class; choose another one”."""
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    uploaded(tmp_path, "none.csv", with_right(()))
    same = uploaded(tmp_path, "b.csv", with_right({0, 1}))
    side, empty = lambda test: test.segmented_control(key="side"), "No group falls into this class"
    test = app(COMPARE, set=first, other=same)
    assert side(test).value == "both right" and empty not in text(test) and "side" not in test.query_params
    test = fine(side(test).set_value("only the first right").run())  # whoever chooses an empty one has it
    assert empty in text(test) and test.query_params["side"] == "only the first right"
    test = fine(test.run())
    assert empty in text(test)
    assert side(app(COMPARE, set=first, other=same, side="only the second right")).value == (
        "only the second right"
    )
    test = app(COMPARE, set=first, other="upload/none.csv")
    assert side(test).value == "only the first right"
    test = fine(test.selectbox(key="other").set_value(same).run())  # what nobody chose does not stay, empty
    assert side(test).value == "both right" and empty not in text(test)


@pytest.mark.parametrize("home", [False, True])
@pytest.mark.parametrize(
    ("group", "side", "shown"),
    [
        ("4", "only the second right", False),
        ("2", "only the second right", True),
        ("0", "only the first right", True),
    ],
)
def test_a_group_from_another_page_stands_open_only_among_the_groups_that_are_chosen(
    app, tmp_path, group, side, shown, home
):
    """One that neither has right stood open above the groups that only the second has right."""
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2, 3}))
    test = app("pages/1_Groups.py", set=first, group=group)
    del test.query_params["group"]  # the menu's links have the selection alone
    if home:
        fine(test.switch_page("app.py").run())
    test.query_params["set"], test.query_params["other"] = first, second
    test = fine(test.switch_page(COMPARE).run())
    for _ in range(2):  # and on the next run
        assert test.segmented_control(key="side").value == side
        assert (html(test).count("cm-verdicts") == 2) is shown
        assert ("You came from this group: wrong with both." in text(test)) is not shown
        fine(test.run())
    if group == "0":  # another class leaves it in a line
        fine(test.segmented_control(key="side").set_value("only the second right").run())
        assert html(test).count("cm-verdicts") == 0 and "You came from this group" in text(test)


def test_page_and_report_say_that_individualmatch_counts_groups_with_more_images_right(app, exported):
    """101 / 38 stood beside IndividualMatch under “only … right”: groups with more images right, which nothing said."""
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    said = "by IndividualMatch those of which {} has more images right"
    assert f"“Only”: groups, {said.format('that one')}." in text(test).replace("\\", "")
    heads = json.loads(test.dataframe[0].proto.columns)
    for key, name in (("only A right", "builtin/clip"), ("only B right", "builtin/siglip")):
        assert heads[key]["help"] == f"Groups that {name} alone has right; {said.format(name)}."
    report = " ".join(unescape(exported[-1]["report"]().decode()).split())
    assert f"the groups that only one of them has right ({said.format('that one')})" in report


def test_where_groups_share_captions_the_table_says_what_by_caption_is_and_which_interval_is_quoted(app):
    """“95 % by caption” stood beside “95 %”: which of the two to quote was said nowhere."""
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    said = "Quote the interval by caption, where groups that share one count as one."
    shown = text(test).replace("\\", "")
    assert said in shown
    heads = json.loads(test.dataframe[0].proto.columns)
    assert heads["B − A"]["help"].endswith(said)
    assert "count as one (299 clusters in place of 300 groups)." in shown
    # 9.0 points in one sentence, 8.4 in another: by caption, and by groups.
    assert "With 300 groups like these, by caption, a true difference" in shown.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert "Both count each group by itself; by caption, as the tests above do, it takes more." in shown


def test_each_sides_own_interval_is_of_the_kind_of_the_difference_and_the_heads_say_so(app):
    """Plain ones stood closed below those by caption, which the figure draws, and nothing said so."""
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip", other="builtin/siglip")
    groups = load("scenes/attribute-swap")
    scores = score_groups(load_scorer("builtin/clip"), groups)
    found = Evaluation.of(scores, groups.truth, groups.ids, clusters=Clusters.of_groups(groups))
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    ends = re.findall(r"[\d.]+", match["A: builtin/clip: 95 %"])
    assert ends == [f"{end:.1f}" for end in found.metrics["group_match"].bounds]
    assert ends != [f"{end:.1f}" for end in found.metrics["group_match"][1:3]]
    heads = {name: each.get("label") for name, each in json.loads(test.dataframe[0].proto.columns).items()}
    assert heads["B: builtin/siglip: 95 %"] == "siglip: 95 % by caption"
    assert heads["B − A: 95 %"] == "difference: 95 % over groups"
    assert (heads["p"], heads["p (Holm)"]) == ("p over groups", "p over groups (Holm)")


def test_groups_of_files_without_pictures_share_none(app, tmp_path):
    """Their images have no names: "image A" of one group is not that of another."""
    entries = [
        uploaded(tmp_path, f"{i}.csv", with_right(right)) for i, right in enumerate(({3}, {0, 1, 2, 3, 4}))
    ]
    test = app(COMPARE, set=entries[0], other=entries[1])
    assert "by image" not in text(test) + html(test) and "clusters" not in text(test) + html(test)


def test_names_that_only_count_the_images_of_a_group_tie_no_groups_together(app, tmp_path):
    """A file that calls its images img0 and img1 in every group was one cluster: -100 to +100 points, p 1; the command
    counted every group. Groups that do share a picture, by its name, still count as one."""

    def stored(name, right, image):
        rows = ["group,image,caption,score"]
        for i, scores in enumerate(with_right(right)):
            cells = [(m, k, scores[m, k]) for m in range(2) for k in range(2)]
            rows += [f"g{i},{image(i, m)},cap{k},{score}" for m, k, score in cells]
        return f"upload/{UploadStore().add(name, chr(10).join(rows).encode()).name}"

    def compared(image):
        sides = [stored(f"{side}.csv", right, image) for side, right in (("a", {3}), ("b", {0, 1, 2, 3, 4}))]
        test = app(COMPARE, set=sides[0], other=sides[1])
        return test, text(test) + html(test)

    test, said = compared(lambda group, m: f"img{m}")
    assert "clusters" not in said
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    assert (match["B − A"], match["p"]) == (80.0, 0.125)  # 4 of 4 coins, twice
    assert "4 clusters in place of 5 groups" in compared(lambda group, m: f"{min(group, 3)}-{m}")[1]


@pytest.fixture
def exported(monkeypatch):
    """What the pages offer to export: one record per "Export"."""
    given = []
    monkeypatch.setattr("ui.export_section", lambda *args, **more: given.append({"of": args, **more}))
    return given


def test_export_offers_a_report_latex_rows_and_the_command_of_both(app, exported):
    app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    assert exported[-1]["command"] == (
        f"crossmatch compare builtin/clip builtin/siglip --benchmark {SET} --split test"
    )
    rows = [row[0] for row in read_latex(exported[-1]["latex"]())[1:]]
    assert [row for row in rows if row != "by caption"] == [
        "builtin/clip",
        "builtin/siglip",
        "chance",
        "builtin/siglip $-$ builtin/clip, by caption",
        "p (by caption)",
        "p (by caption, Holm)",
    ]
    assert rows.count("by caption") == 2
    latex, report = exported[-1]["latex"](), exported[-1]["report"]().decode()
    assert "builtin/siglip − builtin/clip" in report
    # The brackets of the differences went by Clopper-Pearson's name, and p by none.
    assert "of differences Bonett and Price's, paired, with Student's t)." in latex
    assert "p by the test that flips the signs of all groups of one caption at once" in latex
    assert "their 95 % interval (Bonett and Price's, paired, with Student's t)" in report


def test_exported_pictures_can_be_had_without_title_and_note(app, monkeypatch):
    """A paper has its own caption, and the title could not be left out."""
    given = []
    monkeypatch.setattr("ui.export._figure_buttons", lambda name, title, figure: given.append(figure()))
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    (choice,) = [each for each in test.checkbox if each.label == "Pictures with title and note"]
    assert choice.value and given[-1].layout.title.subtitle.text
    fine(choice.uncheck().run())
    bare = given[-1]
    assert bare.layout.title.text is None and bare.layout.title.subtitle.text is None
    assert bare.layout.height < given[-2].layout.height and len(bare.data) == len(given[-2].data)


def test_export_of_two_files_names_them_and_no_benchmark(app, tmp_path, exported):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    app(COMPARE, set=first, other=uploaded(tmp_path, "b.csv", with_right({1, 2, 3})))
    assert exported[-1]["command"] == "crossmatch compare a.csv b.csv"
    report = exported[-1]["report"]().decode()
    assert "b.csv − a.csv" in report and "<h1>a.csv compared with b.csv, " in report
    assert "b.csv on a.csv" not in report


def stored(kind, name, tagged=False):
    """A stored file of 12 groups, of embeddings or of scores; with a table of tags beside it where it is tagged."""
    rng, store, data = np.random.default_rng(len(name)), UploadStore(), io.BytesIO()
    if kind == "embeddings":
        np.savez(data, img=rng.normal(size=(24, 4)), cap=rng.normal(size=(24, 4)))
    else:
        np.savez(data, scores=rng.normal(size=(12, 2, 2)), truth=np.tile([0, 1], (12, 1)))
    upload = store.add(name, data.getvalue(), "2x2" if kind == "embeddings" else "")
    if tagged:
        rows = "\n".join(["group,kind", *(f"{i},{'ab'[i % 2]}" for i in range(12))])
        store.put_beside(upload, "tags", "tags.csv", rows.encode())
    return f"upload/{upload.name}"


@pytest.mark.parametrize("tagged", [False, True])
@pytest.mark.parametrize("first", ["embeddings", "scores"])
@pytest.mark.parametrize("second", ["embeddings", "scores"])
def test_embeddings_and_scores_are_compared_in_both_orders_with_and_without_tags(
    app, exported, first, second, tagged
):
    """The first file's metrics of all pairs together, which no table of groups has, ended the page in an error."""
    a, b = stored(first, "a.npz", tagged), stored(second, "second.npz", tagged)
    more = {"tag": "kind: a"} if tagged else {}
    test = app(COMPARE, set=a, other=b, **more)
    table = test.dataframe[0].value.set_index("metric")
    assert "GroupMatch" in table.index and "internal error" not in text(test)
    files = exported[-1]
    assert "second.npz" in files["report"]().decode() and files["latex"]()
    assert len(files["of"][1]()) == len(table)


@pytest.mark.parametrize("first", ["embeddings", "scores"])
def test_the_command_of_two_files_filtered_by_a_table_of_tags_names_it_and_prints_the_same(
    app, exported, tmp_path, monkeypatch, first
):
    """It had `--tag` alone, and was refused: these groups have no tags."""
    a, b = stored(first, "a.npz", tagged=True), stored("scores", "second.npz")
    for entry in (a, b):
        upload = UploadStore().get(entry.removeprefix("upload/"))
        (tmp_path / upload.name).write_bytes(upload.content())
        if (beside := upload.beside("tags")) is not None:
            (tmp_path / beside[0]).write_bytes(beside[1])
    assert "--tags" not in (app(COMPARE, set=a, other=b), exported[-1]["command"])[1]
    test = app(COMPARE, set=a, other=b, tag="kind: a")
    words = shlex.split(exported[-1]["command"])
    assert words[-5:] == ["--tags", "tags.csv", "--tag", "kind: a", "--by-order"]  # neither names its groups
    monkeypatch.chdir(tmp_path)
    found = json.loads(CliRunner().invoke(cli, [*words[1:], "--json"], catch_exceptions=False).stdout)
    shown = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    assert found["n_groups"] == 6
    assert found["metrics"]["group_match"]["difference"]["difference"] == pytest.approx(shown["B − A"])


def test_a_comparison_of_models_has_no_shape_of_a_file_that_was_selected_before(app, exported):
    """The command had `--shape 2x2`, which it refuses for such a set; the link had it, too."""
    rows = np.random.default_rng(0).normal(size=(10, 4))
    content = io.BytesIO()
    np.savez(content, img=rows, cap=rows)
    entry = f"upload/{UploadStore().add('e.npz', content.getvalue(), '2x2').name}"
    test = app(COMPARE, set=entry, shape="2x2")
    assert test.selectbox(key="shape").value == "2x2"
    fine(test.selectbox(key="set").set_value(SET).run())
    assert "--shape" not in exported[-1]["command"] and "shape" not in test.query_params


def test_the_title_of_two_files_names_their_set_once(app, tmp_path, exported):
    """It said "a.csv and b.csv on a.csv"."""
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    app(COMPARE, set=first, other=uploaded(tmp_path, "b.csv", with_right({1, 2, 3})))
    assert exported[-1]["title"] == "a.csv and b.csv, 5 groups"
    groups = load(SET, "test")
    scores = np.random.default_rng(1).normal(size=(len(groups), 2, 2))
    first = uploaded(tmp_path, "c.csv", scores, groups)
    app(COMPARE, set=first, other=uploaded(tmp_path, "d.csv", scores + 1, groups))
    assert exported[-1]["title"] == f"c.csv and d.csv on {SET}, {len(groups)} groups"


def test_with_nothing_chosen_the_page_says_what_to_choose(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    uploaded(tmp_path, "c.csv", with_right({1})[:3])  # of other groups: nothing is taken by itself
    assert "Choose above the file that a.csv is compared with" in text(app(COMPARE, set=first)).replace(
        "\\", ""
    )


def test_a_file_that_only_numbers_its_groups_says_how_it_gets_names(open_page, tmp_path):
    groups = load(SET, "test").select(range(5))
    named = uploaded(tmp_path, "a.csv", with_right({0, 1}), groups)
    other = uploaded(tmp_path, "b.npz", with_right({0}))
    three = uploaded(tmp_path, "c.npz", with_right({0})[:3])  # too few to be paired in order
    (error,) = open_page(COMPARE, set=named, other=three).error
    said = error.value.replace("\\", "")
    assert "c.npz only numbers its groups, 0 to 2: add an array 'ids'" in said
    test = open_page(COMPARE, set=named, other=other)
    assert not test.error and not test.dataframe
    (said,) = [each.value.replace("\\", "") for each in test.info if "no name of a group" in each.value]
    assert "Each has 5. Turn “Pair them in order” on where both have" in said


def test_files_of_as_many_groups_are_paired_in_order_and_every_result_says_so(app, exported, tmp_path):
    """The page gave Python code to rewrite the file with."""
    groups = load(SET, "test").select(range(5))
    named = uploaded(tmp_path, "a.csv", with_right({0, 1}), groups)
    other = uploaded(tmp_path, "b.npz", with_right({1, 2, 3}))
    test = app(COMPARE, set=named, other=other)
    exported.clear()
    fine(test.toggle(key="in_order").set_value(True).run())
    assumed = "Paired in order: b.npz only numbers its groups, so group i of b.npz is taken to be group i of a.csv, for"
    # At the top, and below the table.
    assert sum(assumed in each.value.replace("\\", "") for each in test.caption) == 2
    given = exported[-1]
    assert assumed in given["note"] and given["command"] == "crossmatch compare a.csv b.npz --by-order"
    assert assumed in given["latex"]() and assumed in given["report"]().decode()
    assert any(
        "b.npz has no ground truth; truth: of a.csv." in c.value.replace("\\", "") for c in test.caption
    )
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    for column, scores in (("A: a.csv", with_right({0, 1})), ("B: b.npz", with_right({1, 2, 3}))):
        # Of these files the diagonal is the larger total, or the smaller one; the truth is a.csv's for both.
        right = [(s[0, 0] > s[0, 1]) == (t[0] == 0) for s, t in zip(scores, groups.truth, strict=True)]
        assert match[column] == 100 * sum(right) / 5


def numbered(name, shape, **arrays):
    """A stored file that names no group."""
    content = io.BytesIO()
    np.savez(content, **arrays)
    return f"upload/{UploadStore().add(name, content.getvalue(), shape).name}"


def test_files_that_name_no_group_are_said_to_be_paired_by_row_number(app, exported):
    """They were compared as if equal numbers of rows were names that both have."""
    rows = np.tile(np.eye(2), (5, 1))
    first, second = (
        numbered("a.npz", "", scores=with_right({0})),
        numbered("e.npz", "2x2", img=rows, cap=rows),
    )
    test = app(COMPARE, set=first, other=second)
    said = "Paired by row number, as neither file names its groups: group i of a.npz is taken to be group i of e.npz"
    assert sum(said in each.value.replace("\\", "") for each in test.caption) == 2
    given = exported[-1]
    assert said in given["note"] and said in given["latex"]() and "for all 5, with" in given["note"]
    assert given["command"].endswith("--by-order") and "that both have" not in text(test)


@pytest.mark.parametrize("swapped", [False, True])
def test_files_of_other_counts_that_name_no_group_wait_for_somebody_to_say_the_order(app, exported, swapped):
    """Rows 0 to 2 of both were called "the 3 groups that both have"."""
    rows = np.tile(np.eye(2), (3, 1))
    sides = [numbered("a.npz", "", scores=with_right({0})), numbered("e.npz", "2x2", img=rows, cap=rows)]
    first, second = sides[::-1] if swapped else sides
    test = app(COMPARE, set=first, other=second)
    had = "e.npz has 3, a.npz 5" if swapped else "a.npz has 5, e.npz 3"
    assert f"Neither file names its groups, and {had}: turn “Pair them in order” on" in "".join(
        each.value.replace("\\", "") for each in test.info
    )
    assert not test.dataframe
    exported.clear()
    fine(test.toggle(key="in_order").set_value(True).run())
    said = "for the first 3, with images"
    assert said in exported[-1]["note"] and exported[-1]["command"].endswith("--by-order")
    assert "on the 3 groups paired by row number" in text(test) and "that both have" not in text(test)


def test_a_file_of_other_groups_is_not_what_a_file_is_compared_with(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    same = uploaded(tmp_path, "b.csv", with_right({1}))
    uploaded(tmp_path, "c.csv", with_right({1})[:3])  # the newest
    test = app(COMPARE, set=first)
    assert next(c for c in test.selectbox if c.key == "other").value == same
    UploadStore().remove("b.csv")
    test = app(COMPARE, set=first)
    assert next(c for c in test.selectbox if c.key == "other").value is None and not test.dataframe


def test_of_several_files_of_the_same_groups_none_is_chosen_unasked(app, tmp_path):
    """The newest was, a file of log-likelihoods beside one of cosines."""
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    for name in ("b.csv", "c.csv"):
        uploaded(tmp_path, name, with_right({1}))
    test = app(COMPARE, set=first)
    assert next(c for c in test.selectbox if c.key == "other").value is None and not test.dataframe
    assert "Choose above the file that a.csv is compared with" in text(test).replace("\\", "")


def test_the_only_other_file_that_fits_is_chosen_though_it_has_other_groups_or_is_paired_in_order(
    app, tmp_path
):
    """The page began with an empty field “a file” beside one file that fits."""
    groups = load(SET, "test").select(range(5))
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}), groups)
    some = uploaded(tmp_path, "some.csv", with_right({1})[:3], groups.select(range(3)))
    uploaded(tmp_path, "strange.csv", with_right({1})[:2], load(SET, "test").select([8, 9]))
    test = app(COMPARE, set=first)
    assert next(c for c in test.selectbox if c.key == "other").value == some
    assert "on the 3 groups that both have" in text(test)
    UploadStore().remove("some.csv")
    in_order = uploaded(tmp_path, "numbered.npz", with_right({1}))
    test = app(COMPARE, set=first)
    assert next(c for c in test.selectbox if c.key == "other").value == in_order
    assert not test.dataframe and test.toggle(key="in_order").value is False


@pytest.mark.parametrize(("scale", "shift", "said"), [(30, -40, True), (30, 0, True), (2, 0.1, False)])
def test_scales_that_plainly_differ_are_said_not_to_matter(app, tmp_path, scale, shift, said):
    first = uploaded(tmp_path, "cosines.csv", with_right({0, 1}))
    other = uploaded(tmp_path, "logs.csv", scale * with_right({1}) + shift)
    line = "The scores of cosines.csv and of logs.csv have different scales; that does not matter"
    assert (line in text(app(COMPARE, set=first, other=other)).replace("\\", "")) is said


def test_a_file_alone_says_what_it_can_be_compared_with(app, tmp_path):
    """The page was empty but for one sentence."""
    test = app(COMPARE, set=uploaded(tmp_path, "a.csv", with_right({0}), load(SET, "test").select(range(5))))
    said = text(test).replace("\\", "")
    assert "Compare a.csv with a second file" in said and "Compare a.csv with a built-in model" in said
    assert f"It has groups of {SET}: the model scores them, too." in said
    assert "a.csv by itself" in said and "by its own 95 % interval" in said and not test.dataframe
    assert [each.label for each in test.metric] == [METRICS[name].label for name in METRICS][
        : len(test.metric)
    ]
    second = "\n".join(
        ["group,image,caption,score"] + [f"x,{i},{j},{int(i == j)}" for i in (0, 1) for j in (0, 1)]
    )
    test = test.file_uploader(key="other_file").upload("b.csv", second.encode()).run()
    assert test.session_state["other"] == "upload/b.csv"
    alone = app(COMPARE, set="upload/b.csv")  # beside a.csv, which has none of its groups
    assert "b.csv by itself" in text(alone).replace("\\", "") and len(alone.metric) == 5
    UploadStore().remove("a.csv")
    said = text(app(COMPARE, set="upload/b.csv")).replace("\\", "")
    assert "Its groups have the names of no set here." in said


def test_a_second_file_that_cannot_be_read_is_said_in_its_place_and_the_rest_of_the_page_stays(
    open_page, tmp_path
):
    groups = load(SET, "test").select(range(5))
    test = open_page(COMPARE, set=uploaded(tmp_path, "a.csv", with_right({0}), groups))
    test = test.file_uploader(key="other_file").upload("b.csv", b"a,b\n1,2\n").run()
    assert len(test.error) == 1 and test.metric and button(test, "Compare a.csv with a model")


def test_images_with_captions_as_a_second_file_are_told_where_they_belong(open_page, tmp_path):
    """“manifest.csv has no column 'score'; add it” was said of a zip of pictures."""
    groups = load(SET, "test").select(range(5))
    test = open_page(COMPARE, set=uploaded(tmp_path, "a.csv", with_right({0}), groups))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("manifest.csv", "image_0,image_1,caption_0,caption_1\n1.png,2.png,a dog,a cat\n")
        archive.writestr("1.png", b"x")
    test = test.file_uploader(key="other_file").upload("mine.zip", packed.getvalue()).run()
    assert [each.value.replace("\\", "") for each in test.error] == [
        "mine.zip looks like images and captions, not scores: Your data has a place for them."
    ]


def test_beside_a_comparison_the_upload_says_what_a_file_holds_and_one_that_cannot_be_read_changes_nothing(
    open_page, tmp_path
):
    """The comparison vanished, while its field still named the file before."""
    groups = load(SET, "test").select(range(5))
    first, second = (uploaded(tmp_path, f"{name}.csv", with_right({0}), groups) for name in "ab")
    test = open_page(COMPARE, set=first, other=second)
    said = next(each.value for each in test.caption if "group,image,caption,score" in each.value)
    assert said.endswith("`group` names the groups: those that both sides have are compared.")
    verdict = next(each.value for each in test.markdown if "GroupMatch: " in each.value)
    test = test.file_uploader(key="other_file").upload("c.csv", b"a,b\n1,2\n").run()
    assert len(test.error) == 1 and test.session_state["other"] == second
    assert verdict in [each.value for each in test.markdown] and test.dataframe


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (("upload/b.npz", "upload/rect.npz"), "b.npz has groups of 2 images × 2 captions, rect.npz of 1 × 3"),
        ((SET, "upload/rect.npz"), "builtin/clip has groups of 2 images × 2 captions, rect.npz of 1 × 3"),
        (("upload/rect.npz", "upload/b.npz"), "rect.npz has groups of 1 image × 3 captions, b.npz of 2 × 2"),
    ],
)
def test_two_of_different_shapes_are_named_with_their_shapes(open_page, tmp_path, where, said):
    groups, random = load(SET, "test"), np.random.default_rng(0)
    uploaded(tmp_path, "b.npz", random.normal(size=(len(groups), 2, 2)), groups)
    write_scores(tmp_path / "rect.npz", random.normal(size=(len(groups), 1, 3)), groups.ids, None)
    UploadStore().add("rect.npz", (tmp_path / "rect.npz").read_bytes(), "")
    (error,) = open_page(COMPARE, set=where[0], other=where[1]).error
    assert error.value.replace("\\", "") == f"{said}: they cannot be compared; choose two of one shape."


@pytest.mark.parametrize("file_is", ["A", "B"])
def test_a_file_and_a_model_are_compared_on_the_benchmark_of_the_file(app, tmp_path, file_is):
    groups = load(SET, "test")
    shuffled = groups.select(np.random.default_rng(0).permutation(len(groups)))
    scores = np.random.default_rng(1).normal(size=(len(groups), 2, 2))
    entry = uploaded(tmp_path, "a.csv", scores, shuffled)
    if file_is == "A":
        test = app(COMPARE, set=entry)
        test = fine(button(test, "Compare a.csv with a model").click().run())
        assert test.selectbox(key="set").value == SET and test.selectbox(key="model").value == entry
    else:
        test = app(COMPARE, set=SET, other=entry)
    table = test.dataframe[0].value.set_index("metric")
    column = next(name for name in table if name == f"{file_is}: a.csv")
    alone = app("pages/2_Matching.py", set=entry)
    assert f"{table.loc['GroupMatch'][column]:.1f} %" in [m.value for m in alone.metric]


def test_a_file_of_some_groups_and_a_model_are_compared_on_these(app, tmp_path, exported):
    groups = load(SET, "test").select(range(40))
    whole = uploaded(tmp_path, "whole.csv", np.random.default_rng(1).normal(size=(40, 2, 2)), groups)
    test = app(COMPARE, set=SET, model="builtin/clip", other=whole)
    said = text(test).replace("\\", "")
    assert "on the 40 groups that both have." in said
    assert f"{SET} has 300 groups, whole.csv has 40 groups." in said
    table = test.dataframe[0].value.set_index("metric")
    # of the model: what it has of these 40 groups alone
    clip = Evaluation.of(score_groups(load_scorer("builtin/clip"), groups), groups.truth, groups.ids)
    for name, metric in METRICS.items():
        assert table.loc[metric.label]["A: builtin/clip"] == pytest.approx(clip.metrics[name].value)
    assert exported[-1]["command"].endswith(f"whole.csv --benchmark {SET} --split test --common")
    assert html(fine(next(b for b in test.button if b.label.startswith("Compare left")).click().run()))


def test_a_file_of_some_groups_is_compared_with_a_model_of_its_benchmark(app, tmp_path):
    groups = load(SET, "test").select(range(40))
    entry = uploaded(tmp_path, "part.csv", np.random.default_rng(1).normal(size=(40, 2, 2)), groups)
    test = app(COMPARE, set=entry)
    assert "40 of its 300 groups" in text(app("pages/1_Groups.py", set=entry))  # with their pictures
    test = fine(button(test, "Compare part.csv with a model").click().run())
    assert test.selectbox(key="set").value == SET and "on the 40 groups that both have" in text(test)


def test_two_files_without_pictures_show_their_scores_on_cards_and_no_box_above_the_figure(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2, 3}))
    test = app(COMPARE, set=first, other=second, side="only the second right")
    assert not test.info and "The file has no ground truth: image i is assumed" in text(test).replace(
        "\\", ""
    )
    cards = [element.proto.body for element in test.get("html") if "<table" in element.proto.body]
    assert len(cards) == 2  # groups 2 and 3
    for card in cards:
        assert card.count("<table") == 2 and "<b>a.csv</b>" in card and "<b>b.csv</b>" in card
        assert (
            card.count("1.00 ●✓") == 2 and card.count("1.00 ●<") == 2
        )  # b matches the true pairs, a the others
        assert "cm-none" not in card


@pytest.mark.parametrize("file_is", ["the first", "the second"])
def test_a_file_without_truth_is_measured_by_that_of_the_set(app, tmp_path, file_is):
    groups = load(SET, "test")
    write_scores(
        tmp_path / "mine.csv", np.eye(2)[groups.truth], groups.ids
    )  # each pair right, and no `match`
    entry = f"upload/{UploadStore().add('mine.csv', (tmp_path / 'mine.csv').read_bytes()).name}"
    sides = {"model": entry, "other": "builtin/clip"}
    if file_is == "the second":
        sides = {"model": "builtin/clip", "other": entry}
    test = app(COMPARE, set=SET, **sides)
    table = test.dataframe[0].value.set_index("metric")
    assert table.loc["GroupMatch"][next(name for name in table if name.endswith(": mine.csv"))] == 100
    assert f"has no ground truth; truth: of {SET}" in text(test).replace("\\", "")


def test_a_file_of_another_benchmark_is_offered_that_one(app, tmp_path):
    groups = load(SET, "test")
    entry = uploaded(tmp_path, "a.csv", np.random.default_rng(1).normal(size=(300, 2, 2)), groups)
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip", other=entry)
    assert not test.dataframe and f"The file has groups of {SET}, split test" in text(test).replace("\\", "")
    test = fine(button(test, f"Compare them on {SET}").click().run())
    assert test.selectbox(key="set").value == SET and test.dataframe


def test_two_files_with_other_groups_besides_are_compared_on_what_both_have(app, tmp_path):
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2})[:3])
    test = app(COMPARE, set=first, other=second)
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    heads = json.loads(test.dataframe[0].proto.columns)
    assert heads["only B right"]["label"] == "only b.csv"  # a head is no Markdown: it was `only b\\.csv`
    assert round(match["A: a.csv"], 1) == 66.7 and (match["only B right"], match["only A right"]) == (1, 1)
    # Small and grey below the figure alone: a.csv by itself has another number, 40.0 %.
    said = next(each.value for each in test.markdown if each.value.startswith("**GroupMatch: "))
    assert "with 66.7\xa0% and 66.7\xa0% on the 3 groups that both have." in said
    assert "a.csv has 5 groups, b.csv has 3 groups." in text(test).replace("\\", "")


def test_a_small_p_is_written_in_full_with_the_corrected_one_beside_it(app, tmp_path):
    """Every p below 0.001 was “< 0.001”, which a paper's appendix cannot quote, and the corrected one was left out.

    Right on all of 20 groups against none: p is 2 / 2 ** 20, among five metrics 10 / 2 ** 20."""
    right = np.tile(np.eye(2), (20, 1, 1))
    first, second = uploaded(tmp_path, "a.csv", 1 - right), uploaded(tmp_path, "b.csv", right)
    test = app(COMPARE, set=first, other=second)
    assert "p = 1.9×10⁻⁶, 9.5×10⁻⁶ after Holm's correction for 5 metrics)." in text(test).replace(
        "\u00a0", " "
    )
    shown = convert_arrow_bytes_to_pandas_df(test.dataframe[0].proto.arrow_data.styler.display_values)
    assert {*shown["p"]} == {"1.9×10⁻⁶"} and {*shown["p (Holm)"]} == {"9.5×10⁻⁶"}


def test_two_that_swap_keep_their_colours(app):
    """The first one's bars were violet, whichever it was: after “Swap the two” both had the other's colour."""
    test, found = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip"), []
    for names in (["builtin/clip", "builtin/siglip"], ["builtin/siglip", "builtin/clip"]):
        drawn = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
        bars = {each["name"]: json.dumps(each["marker"]) for each in drawn if each["type"] == "bar"}
        assert list(bars) == names  # A stands to the left
        found.append(sorted(bars.items()))
        fine(button(test, "Swap the two").click().run())
    assert found[0] == found[1]


def test_a_model_keeps_its_colour_beside_another_opponent(app):
    """builtin/clip turned from violet to orange where the second one's name came before its own."""
    test, found = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip"), []
    for other in ("builtin/siglip", "builtin/blip-itm"):
        fine(test.selectbox(key="other").set_value(other).run())
        drawn = json.loads(test.get("plotly_chart")[0].proto.spec)["data"]
        bars = {each["name"]: json.dumps(each["marker"]) for each in drawn if each["type"] == "bar"}
        found.append((bars["builtin/clip"], bars[other]))
    assert found[0] == found[1] and found[0][0] != found[0][1]


def test_of_one_metric_nothing_is_corrected(app):
    test = app(COMPARE, set="scenes/replace", model="builtin/clip", other="builtin/siglip")
    assert len(test.dataframe[0].value) == 1 and "corrected" not in text(test)


@pytest.mark.parametrize("old", ["the second alone", "both wrong"])
def test_a_link_with_the_former_name_of_a_class_opens_it(app, old):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip", side=old)
    (chosen,) = (c.value for c in test.segmented_control if c.key == "side")
    assert chosen == {"the second alone": "only the second right", "both wrong": "neither right"}[old]


def test_the_difference_in_the_table_is_that_of_the_unrounded_columns_beside_it(app):
    """71.33 less 82.67 % was -11.34, where 34 of 300 groups are 11.33; the caption says which it is."""
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip", other="builtin/siglip")
    table = test.dataframe[0].value
    a, b = (name.removesuffix(": tied") for name in table if name.endswith(": tied"))
    assert np.allclose(table["B − A"], table[b] - table[a], atol=1e-3)
    assert _exact_differences() in text(test).replace("\\", "")


def test_a_difference_that_is_not_that_of_its_printed_ends_says_so_beside_the_headline_and_only_there(app):
    """82.7 and 71.3, and “−11.3”, looked like a mistake; 66.7 and 92.7 give +26.0, of which nothing is said."""

    def headline(**chosen):
        test = app(COMPARE, model="builtin/clip", **chosen)
        (line,) = (each for each in test.markdown if each.value.startswith("**GroupMatch"))
        return line.value

    said = "points (of the unrounded values; 95"
    assert said in headline(set="scenes/attribute-swap", other="builtin/siglip").replace("\\", "")
    assert "unrounded" not in headline(set="scenes/left-right", other="builtin/blip-itm")


def test_what_the_other_built_in_model_is_stands_below_the_figure(app):
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    (below,) = (each.value for each in test.caption if each.value.startswith("Thin lines"))
    assert built_in_said("builtin/siglip") in below.replace("\\", "")


def test_the_options_of_a_score_stand_below_the_figure_which_stays_where_it_is(app):
    """A row of options came with some models, between the fields and the figure, and moved it down."""
    test = app(COMPARE, set="scenes/attribute-swap", model="builtin/clip", other="builtin/blip-itm")
    drawn = ["options" if getattr(each, "label", "") == "Score options" else each.type for each in test.main]
    assert drawn.index("plotly_chart") < drawn.index("options")


def test_where_groupmatch_tells_nothing_the_headline_names_the_metrics_that_do():
    """It said in bold that nothing can be told, above a table in which two metrics differed by 35 and 40 points."""
    others_apart = runpy.run_path(str(ROOT / COMPARE), run_name="compare")["others_apart"]
    unsure = Comparison(5.0, -3.0, 12.0, 9, 6, 0.4, p_holm=0.8)
    sure = Comparison(-35.0, -50.0, -18.0, 2, 16, 0.001, p_holm=0.004)
    found = {"image_score": sure, "group_score": unsure, "group_match": unsure}
    said = others_apart(found, "a.csv", "b.csv").replace("\\", "")
    assert said == "  \nCorrected for several tests, a.csv is ahead in ImageScore."
    found |= {"text_score": sure}
    ahead = Comparison(35.0, 18.0, 50.0, 16, 2, 0.001, p_holm=0.004)
    several = others_apart({**found, "group_score": ahead}, "a.csv", "b.csv").replace("\\", "")
    assert several.removeprefix("  \nCorrected for several tests, ") == (
        "a.csv is ahead in ImageScore and TextScore; b.csv is ahead in GroupScore."
    )
    assert others_apart({**found, "group_match": sure}, "a.csv", "b.csv") == ""
    assert others_apart({"group_match": unsure, "group_score": unsure}, "a", "b") == ""


def test_exported_tables_name_files_without_their_ending_or_as_somebody_types_and_say_the_assumed_truth(
    app, tmp_path, exported
):
    """Rows of a table for a paper said "a.csv", and its note not that the truth is assumed."""
    first = uploaded(tmp_path, "a.csv", with_right({0, 1}))
    second = uploaded(tmp_path, "b.csv", with_right({1, 2, 3}))
    app(COMPARE, set=first, other=second)
    given = exported[-1]
    latex = given["latex"]()
    assert read_latex(latex)[1][0] == "a" and "a.csv" not in latex
    assert "a and b have no ground truth: image i is assumed to belong to caption i." in latex
    table = given["of"][1]()
    assert {*table["a_name"]} == {"a"} and {*table["b_name"]} == {"b"} and "a_ties" in table
    alone = app("pages/2_Matching.py", set=first)
    latex = exported[-1]["latex"]()
    assert (
        "a has no ground truth: image i is assumed" in latex and "a.csv" not in latex and not alone.exception
    )


def test_a_row_is_called_in_exports_what_somebody_types(app, tmp_path):
    first, second = (uploaded(tmp_path, name, with_right({0, 1})) for name in ("a.csv", "b.csv"))
    test = app(COMPARE, set=first, other=second)
    fine(test.text_input(key=f"row-name-{second}").set_value("Our CLIP").run())
    latex = next(each.value for each in test.code if "tabular" in each.value)
    assert "Our CLIP" in [row[0] for row in read_latex(latex)] and "b.csv" not in latex


def test_names_of_rows_stay_apart_and_those_of_models_are_whole(app, tmp_path):
    assert row_names(["upload/a.csv", "upload/b.npz"]) == ["a", "b"]
    assert row_names(["upload/a.csv", "upload/a.npz"]) == ["a.csv", "a.npz"]
    assert row_names(["open_clip:ViT-B.32", "upload/a.csv"]) == ["open_clip:ViT-B.32", "a"]


def test_on_a_phone_every_metric_is_a_card_with_p_and_chance_in_sight(app):
    """p and chance levels took a swipe that nobody made."""
    test = app(COMPARE, set=SET, model="builtin/clip", other="builtin/siglip")
    (drawn,) = [each.body for each in test.get("html") if "cm-metric-cards" in each.body]
    (card,) = [part for part in drawn.split("<section>") if part.startswith("<b>GroupMatch</b>")]
    told = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", card))
    assert list(told)[:5] == ["clip", "siglip", "Difference", "p (Holm)", "Chance"]
    match = test.dataframe[0].value.set_index("metric").loc["GroupMatch"]
    for name in ("clip", "siglip"):
        value = match["A: builtin/clip" if name == "clip" else "B: builtin/siglip"]
        assert told[name].startswith(f"{value:.1f} (") and "–" in told[name]
    assert f"{abs(match['B − A']):.1f} (" in told["Difference"] and " to " in told["Difference"]
    assert told["p (Holm)"] == (
        f"{p_exact(match['p by caption (Holm)'])}, {p_exact(match['p by caption'])} alone"
    )
    assert told["Chance"] == f"{match['chance']:.1f}"
