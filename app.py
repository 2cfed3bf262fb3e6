"""Home: what this is, live numbers of the built-in model, three clicks to the first insight."""

from __future__ import annotations

import streamlit as st

import ui
from core import figures
from core.figures import group_html
from core.groups import GroupSet
from core.metrics import group_filters
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, yes_or_no
from core.scoring.load import builtin_models

SETS = ("scenes/attribute-swap", "scenes/left-right", "scenes/front-behind", "scenes/relations-1x4")
LEAD = """
A vision-language model scores every image of a group against every caption. **GroupScore** counts a group as
right only if every single comparison in that table is right; **GroupMatch** asks whether the best overall *matching* is
right, and far more often it is. Compare both, group by group, and let a model learn from the matchings it is confident
of: **test-time matching**.
"""


def disagreement_button(group: tuple[str, str | None], selection: dict[str, object]) -> None:
    """The first insight: a group on which the two metrics disagree."""
    label = "See a group where GroupScore says no and GroupMatch says yes"
    state = {**selection, "set": group[0], "group": group[1]}
    ui.page_button(
        label,
        "pages/1_Groups.py",
        state,
        type="primary",
        icon=":material/search:",
        width="stretch",
        wrap=True,
    )
    st.caption("The matching is right, although not every single comparison is.")


def more_buttons(selection: dict[str, object]) -> None:
    """The others, which need no scores."""
    state = {**selection, "set": "scenes/left-right"}
    ui.page_button(
        "Take a lesson", "pages/0_Lessons.py", {"lesson": "matrix"}, icon=":material/school:", width="stretch"
    )
    st.caption("Five minutes, a table of four numbers: how can a model be hopeless and capable at once?")
    ui.page_button("See margins", "pages/2_Matching.py", state, icon=":material/bar_chart:", width="stretch")
    st.caption("How confident the model is in its matchings, and how often it is right when it is confident.")
    page = "pages/4_Test-Time_Matching.py"
    ui.page_button(
        "Run test-time matching", page, {**state, "run": None}, icon=":material/trending_up:", width="stretch"
    )
    st.caption("About a minute: watch accuracy change while the model learns from its own matchings.")


def clearest_disagreement(evaluations: dict[str, Evaluation]) -> tuple[str, str | None]:
    """The set and group where the two metrics disagree most clearly."""
    clearest = {name: group_filters.clearest_disagreement(each) for name, each in evaluations.items()}
    name = max(clearest, key=lambda n: clearest[n][1])
    index = clearest[name][0]
    return name, None if index is None else evaluations[name].ids[index]


def numbers(evaluations: dict[str, Evaluation]) -> None:
    rows = {name.removeprefix("scenes/"): each.metrics for name, each in evaluations.items()}
    data = figures.bars_data(rows, (GROUP_SCORE, GROUP_MATCH))
    values = (
        f"{row}: {data.value[0, i]:.1f} and {data.value[1, i]:.1f} %" for i, row in enumerate(data.rows)
    )
    alt = f"Bars of GroupScore and GroupMatch with 95 % intervals and chance levels. {'; '.join(values)}."
    first = next(iter(evaluations.values()))
    figure = ui.cached_on(first, f"bars of {', '.join(evaluations)}", lambda: figures.bars_figure(data))
    ui.chart(figure, alt, key="home-numbers")
    st.caption(
        "Percent of test groups that count as right; thin lines are 95 % intervals, dotted lines chance levels. On "
        "2×2 groups GroupMatch's chance level is 50 %: judge a bar by its height above the dotted line."
    )


def page() -> None:
    models = list(builtin_models())
    if not models:
        st.info(
            "The built-in model is not in `assets/models` yet. Train it with `crossmatch pretrain clip`, or upload "
            "your own scores or embeddings on **Matching**.",
            icon=":material/model_training:",
        )
        return
    selection: dict[str, object] = {"split": "test", "model": models[0], "tag": []}
    left, right = st.columns([3, 2], gap="large")
    with right:
        st.header("Start here", anchor=False)
        first = st.container()
        more_buttons(selection)
    with left:
        st.header(f"The built-in model, `{models[0]}`", anchor=False)
        evaluations = {name: ui.evaluate(ui.whole_test_set(name, models[0])) for name in SETS}
        numbers(evaluations)
    name, group = clearest_disagreement(evaluations)
    with first:
        disagreement_button((name, group), selection)
    if group:
        one_group(evaluations[name], ui.load_groups(name, "test"), group)


def one_group(evaluation: Evaluation, groups: GroupSet, group: str) -> None:
    """One group, drawn: why the two metrics disagree."""
    index = evaluation.ids.index(group)
    st.header("One group, two verdicts", anchor=False)
    data = evaluation.group(index)
    left, right = st.columns([3, 2], gap="large")
    with left:
        ui.draw_group(groups[index], data)
    with right:
        st.html(group_html.verdicts_html(data, yes_or_no(data.kinds)))


if __name__ == "__main__":  # Streamlit draws the page
    ui.open_page("Crossmatch", LEAD, pick=False)
    with ui.show_errors():
        page()
else:  # `streamlit run` starts the server that this names
    from ui.server import options

    app = st.App(__file__, **options())
