"""Home: what this is in one sentence, a group that shows it, where to go from there, and the numbers of four sets."""

from __future__ import annotations

from difflib import get_close_matches

import streamlit as st

import ui
from core import figures
from core.base.text import _pct
from core.figures import group_html
from core.figures.text import escape_markdown
from core.groups import GroupSet
from core.metrics import group_filters
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.scoring.load import builtin_models
from ui.built_in import built_in_said
from ui.export import bars_note
from ui.images import shades_key
from ui.navigation import NO_PAGE

SETS = ("scenes/attribute-swap", "scenes/left-right", "scenes/front-behind", "scenes/relations-1x4")
HEADING = "Which caption belongs to which image?"
LEAD = (
    "A model scores every image with every caption; Crossmatch shows where it pairs them right, where it fails "
    "although both captions use the same words, and how it improves without the answers."
)
TWO_VERDICTS = (
    "The lines show which caption the built-in model gives to which image. It is right, and yet one of two common "
    "metrics counts this group as wrong. **GroupMatch** compares the sums of whole pairings, **GroupScore** judges "
    "each image and each caption alone."
)


def clearest_disagreement(evaluations: dict[str, Evaluation]) -> tuple[str, str | None]:
    """The set and group where the two metrics disagree most clearly."""
    clearest = {name: group_filters.clearest_disagreement(each) for name, each in evaluations.items()}
    name = max(clearest, key=lambda n: clearest[n][1])
    index = clearest[name][0]
    return name, None if index is None else evaluations[name].ids[index]


def first_button(state: dict[str, object]) -> None:
    """The first click: into the group that Home shows."""
    label = "Open this group" if state["group"] else "Browse the groups"
    ui.page_button(label, "pages/1_Groups.py", state, type="primary", icon=":material/search:")


def one_group(evaluation: Evaluation, groups: GroupSet, group: str, state: dict[str, object]) -> None:
    """One group, drawn: why the two metrics disagree; and the way into it."""
    index = evaluation.ids.index(group)
    data = evaluation.group(index)
    left, right = st.columns([3, 2], gap="large")
    with left, st.container(key="drawn-home"):
        ui.draw_group(groups[index], data)
        marks = [(data.kinds[name], METRICS[name].label) for name in (GROUP_MATCH, GROUP_SCORE)]
        st.html(group_html.card_html([], [], marks))
    with right:
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="home-first"
        ):  # on a phone the button comes first
            st.header("One group, two verdicts", anchor=False, width="content")
            first_button(state)
        st.markdown(TWO_VERDICTS)
        with st.container(horizontal=True, vertical_alignment="center", key="home-scores"):
            st.html(
                group_html.matrix_html(data, "Scores of images, down, with captions, across"), width="content"
            )
            legend = f"{shades_key()} Outlined, with a dot: the model's matching. ✓: the true pairs."
            st.caption(legend, width=235)  # beside the matrix of a laptop, which leaves that room empty
        both = (GROUP_MATCH, GROUP_SCORE)
        st.html(group_html.verdicts_html(data, both))
        with st.expander("The other metrics"):
            st.html(group_html.verdicts_html(data, [name for name in data.kinds if name not in both]))


def next_steps(selection: dict[str, object]) -> None:
    """Where to go from Home: label, page, what to set there, and what one finds."""
    state = {**selection, "set": "scenes/left-right"}
    steps: tuple[tuple[str, str, dict[str, object], str, str], ...] = (
        (
            "Take a lesson",
            "pages/0_Lessons.py",
            {"lesson": "matrix"},
            ":material/school:",
            "Five minutes, four scores: how can a model be hopeless under one metric and good under another?",
        ),
        (
            "See how sure it is",
            "pages/2_Matching.py",
            state,
            ":material/bar_chart:",
            "How far the model's matchings lead the next best ones, and how often they are right when they lead far.",
        ),
        (
            "Let it learn",
            "pages/4_Test-Time_Matching.py",
            {**state, "run": None},
            ":material/trending_up:",
            "Test-time matching: a few minutes in which the model learns from its own matchings, without any answer.",
        ),
        (
            "Use your own data",
            "pages/8_Your_Data.py",
            {},
            ":material/add_photo_alternate:",
            "Your images and captions, or scores and embeddings of your own model.",
        ),
    )
    st.header("Where to go from here", anchor=False)
    grid = st.container(key="next-steps").grid(4, min_column_width=220, border=True)
    for label, page, values, icon, text in steps:
        with grid.cell():
            ui.page_button(label, page, values, icon=icon, width="stretch")
            st.caption(text)


def numbers(evaluations: dict[str, Evaluation], model: str) -> None:
    """The two metrics on four sets."""
    st.header(f"The built-in model, `{model}`, on four sets", anchor=False)
    rows = {name.removeprefix("scenes/"): each.metrics for name, each in evaluations.items()}
    data = figures.bars_data(rows, (GROUP_SCORE, GROUP_MATCH))
    values = (
        f"{row}: {_pct(data.value[0, i])} and {_pct(data.value[1, i])} %" for i, row in enumerate(data.rows)
    )
    alt = f"Bars of GroupScore and GroupMatch with 95 % intervals and chance levels. {'; '.join(values)}."
    st.markdown(built_in_said(model))
    first = next(iter(evaluations.values()))
    figure = ui.cached_on(first, f"bars of {', '.join(evaluations)}", lambda: figures.bars_figure(data))
    ui.chart(figure, alt, key="home-numbers")
    st.caption(
        f"Percent of the test groups that count as right. {bars_note(data.metrics, *rows.values())} For GroupMatch on "
        "groups of two images and two captions that is 50 %: judge a bar by its height above the dotted line. The "
        "groups of relations-1x4 have one image each; there both metrics are the same."
    )


def no_such_page() -> None:
    """That the address had a page which is not there, and the nearest that is."""
    asked = st.query_params.get(NO_PAGE, "")  # stays, or its button would be gone when it is pressed
    if not asked:
        return
    files = {label: file for file, (label, _) in ui.PAGES.items()}
    near = get_close_matches(asked.casefold(), [label.casefold() for label in files], 1)
    st.warning(
        escape_markdown(f"There is no page “{asked[:40]}”; this is Home. The pages are in the menu above."),
        icon=":material/link_off:",
    )
    for label in (each for each in files if [each.casefold()] == near):
        ui.page_button(f"Open {label}", files[label], {}, icon=ui.PAGES[files[label]][1])


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
    evaluations = {name: ui.evaluate(ui.whole_test_set(name, models[0])) for name in SETS}
    name, group = clearest_disagreement(evaluations)
    state = {**selection, "set": name, "group": group}
    if group:
        one_group(evaluations[name], ui.load_groups(name, "test"), group, state)
    else:
        first_button(state)
    next_steps(selection)
    numbers(evaluations, models[0])


if __name__ == "__main__":  # Streamlit draws the page
    ui.open_page("Crossmatch", LEAD, pick=False, heading=HEADING)
    no_such_page()
    with ui.show_errors():
        page()
else:  # `streamlit run` starts the server that this names
    from ui.server import options

    app = st.App(__file__, **options())
