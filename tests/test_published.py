"""Published results of named systems on one set: facts with their source, chance marked, one's own among them."""

from __future__ import annotations

import pandas as pd
import pytest
from driving import fine

from core import datasets
from core.base.paths import assets
from core.runs.store import RunStore
from ui.published import _BENCHMARKS, own_runs, published, standing

PAPERS = "pages/7_Papers.py"


def test_every_number_read_elsewhere_has_its_address_day_and_paper():
    rows = pd.read_csv(assets() / "papers" / "other_systems.csv", dtype=str, keep_default_na=False)
    assert rows["address"].str.startswith("https://").all() and rows[["paper", "where"]].ne("").all(axis=None)
    assert pd.to_datetime(rows["read"], format="%Y-%m-%d").notna().all()
    assert rows["value"].astype(float).between(0, 100).all()
    assert not rows.duplicated(["dataset", "subset", "system", "method", "metric"]).any()


def test_winoground_systems_stand_in_order_with_people_chance_and_yours_among_them():
    own = pd.DataFrame({"system": ["mine"], "value": [20.0]})
    table = standing("Winoground", "", "group_score", own).set_index("system")
    assert table.loc["human", "value"] == 85.5 and table.loc["human", "kind"] == "people"
    assert table.loc["VinVL", "value"] == 14.5 and table.loc["mine", "kind"] == "yours"
    assert list(table["value"]) == sorted(table["value"], reverse=True)
    chance = table[table["kind"] == "chance"]["value"]
    assert chance.tolist() == pytest.approx([100 / 6], abs=0.05)  # 1 of 6 as [TTM] derives it


def test_bivlc_s_outcomes_stand_as_counted_with_what_was_trained_for_it_marked():
    """The authors' files of outcomes: 1,439 of 2,933 groups by CLIP ViT-B/32."""
    table = standing("BiVLC", "", "group_score").set_index("method")
    assert table.loc["ITC", "value"] == 49.06 and table.loc["ITC", "caution"] == ""
    assert table.loc["fine-tuned on COCO", "caution"] == "trained for the task"
    assert table[table["kind"] == "chance"]["value"].tolist() == pytest.approx([100 / 6])
    by_words = standing("SugarCrepe", "Swap Object", "text_score").iloc[0]
    assert by_words["system"] == "GPT-4V" and "answers in words" in by_words["caution"]


def test_every_set_with_runs_of_one_s_own_is_a_benchmark_with_published_numbers():
    assert set(_BENCHMARKS.values()) <= set(datasets.names())
    rows = published()
    assert set(_BENCHMARKS) <= set(zip(rows["dataset"], rows["subset"], strict=True))


def test_chance_is_computed_where_no_paper_prints_it():
    table = standing("ColorSwap", "", "group_match")
    assert table[table["kind"] == "chance"]["value"].tolist() == [50.0]


def test_what_was_adapted_tuned_or_sees_no_image_is_marked():
    rows = published()
    for method, why in (
        ("TTM", "adapted to these very groups"),
        ("VisualGPTScore alpha=alpha*", "chosen on the test set"),
        ("VisualGPTScore alpha=alpha*_val", "chosen on other groups"),
        ("blind LM", "sees no image"),
    ):
        assert rows[rows["method"] == method]["caution"].str.contains(why).all()
    # SimpleMatch's GroupMatch is that of the model as it is; GPT-4.1, which nobody can train, has it, too.
    assert not rows[rows["method"] == "SimpleMatch"]["caution"].str.contains("adapted").any()
    assert not rows[rows["method"] == "ITC"]["caution"].str.contains("chosen|adapted|sees").any()


def test_finished_runs_on_the_set_are_ones_own_rows_before_and_after(tmp_path):
    """Iteration 0 is the model as it was: comparable, unless another run had adapted it already."""
    store = RunStore(tmp_path)
    for benchmark, model, values in (
        ("winoground", "clip", (31.0, 41.0)),
        ("winoground", "run/1", (50.0, 60.0)),
        ("colorswap", "clip", (98.0, 99.0)),
    ):
        config = {"benchmark": benchmark, "model": model, "groups": 40, "oracle": model == "run/1"}
        run = store.create("ttm", f"{model} on {benchmark}", config)
        attempt = store.queue_up(run.id)
        for i, value in enumerate(values):
            store.append_step(run.id, {"iteration": i, "metrics": {"group_match": {"value": value}}}, attempt)
        store.conclude(run.id, attempt, "finished")
    own = own_runs(store, "Winoground", "", "group_match").sort_values("value")
    some = "some of the groups alone"
    assert own[["system", "method", "value", "caution"]].values.tolist() == [
        ["clip on winoground", "ttm, before it", 31.0, some],
        ["clip on winoground", "ttm", 41.0, f"adapted to these very groups, without labels; {some}"],
        [
            "run/1 on winoground",
            "ttm",
            60.0,
            f"an oracle: adapted to these very groups with knowledge of the truth; {some}",
        ],
    ]
    assert own_runs(store, "Winoground", "", "text_score").empty
    table = standing("Winoground", "", "group_match", own)
    assert table[table["kind"] == "yours"]["value"].tolist() == [60.0, 41.0, 31.0]


def test_the_section_opens_filters_and_is_not_drawn_while_it_is_closed(app):
    test = app(PAPERS)
    assert "published_set" not in {box.key for box in test.selectbox}
    test.session_state["published"] = True
    fine(test.run())
    fine(test.selectbox(key="published_set").set_value("Winoground").run())
    assert len(test.selectbox(key="published_metric").options) == 4
    fine(test.selectbox(key="published_metric").set_value("group_score").run())
    fine(test.text_input(key="published_filter").set_value("vinvl").run())
    (table,) = [frame.value for frame in test.dataframe if "System" in frame.value.columns]
    assert table["System"].tolist() == ["VinVL"] and table["Value (%)"].tolist() == [14.5]
