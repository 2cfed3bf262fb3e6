"""How the bars' intervals are made is said of each metric, on pages and in exported figures."""

import numpy as np

from core.figures import bars_data, bars_figure
from core.metrics.statistics import Clusters, Estimate, estimate
from ui.export import bars_note

RIGHT = np.repeat([1.0, 1, 0, 1, 0], 20)
ALONE = estimate(RIGHT, 50.0)
SHARED = estimate(RIGHT, 50.0, clusters=Clusters("caption", np.repeat(np.arange(5), 20)))


def test_bars_do_not_say_that_a_share_of_images_has_the_interval_of_yes_or_no():
    assert "(Clopper-Pearson)." in bars_note(["group_score", "group_match"])
    said = bars_note(["group_match", "individual_match"])
    assert "(Clopper-Pearson; IndividualMatch: of dependent answers)." in said


def test_bars_draw_the_interval_that_cards_show_and_say_which_one_it_is():
    """Cards had the interval by shared caption, the bars beside them the plain one."""
    assert SHARED.bounds != (SHARED.low, SHARED.high)
    rows = {"a": {"group_match": SHARED}, "b": {"group_match": ALONE}}
    data = bars_data(rows, ["group_match"])
    assert [tuple(ends) for ends in zip(data.low[0], data.high[0], strict=True)] == [
        SHARED.bounds,
        ALONE.bounds,
    ]
    pointed_at = next(trace for trace in bars_figure(data).data if trace.type == "bar").hovertext[0]
    assert f"95 %: {SHARED.clustered.low:.1f}–{SHARED.clustered.high:.1f}" in pointed_at
    assert bars_note(["group_match"], rows["a"]).startswith("Thin lines: 95 % intervals by shared caption. ")
    assert "by shared caption, where groups share one." in bars_note(["group_match"], *rows.values())
    assert bars_note(["group_match"], rows["b"]) == bars_note(["group_match"])


def test_an_interval_that_is_the_same_as_printed_has_no_name():
    same = Estimate(*ALONE[:5], clustered=SHARED.clustered._replace(low=ALONE.low, high=ALONE.high))
    assert "Clopper-Pearson" in bars_note(["group_match"], {"group_match": same})
