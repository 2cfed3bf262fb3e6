"""How the bars' intervals are made is said of each metric, on pages and in exported figures."""

from ui.export import bars_note


def test_bars_do_not_say_that_a_share_of_images_has_the_interval_of_yes_or_no():
    assert "(Clopper-Pearson)." in bars_note(["group_score", "group_match"])
    said = bars_note(["group_match", "individual_match"])
    assert "(Clopper-Pearson; IndividualMatch: of dependent answers)." in said
