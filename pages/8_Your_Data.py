"""Your data: images and captions, sets of the hub, scores, embeddings, models and scorers of your own."""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import ui
from core import doctor, figures
from core.base import files, public_mode
from core.base.errors import InputError
from core.base.table_formats import READ, open_table
from core.base.text import counted
from core.datasets import load, user_sets
from core.exchange.file_kinds import _kind_of_file
from core.exchange.groups import export_groups
from core.exchange.import_hub import fetch_parts, list_parts
from core.exchange.layouts import latex_table
from core.exchange.uploads import Upload
from core.figures.text import escape_markdown
from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.metrics.statistics import Clusters
from core.rejudge import rejudge
from core.scorers import plugins
from core.scoring.cache import ScoreCache
from ui import import_workbench, misplaced
from ui.compared import benchmark_of_file
from ui.compute_queue import READING
from ui.export import MARGIN_NOTE, groups_table, measured_name, metrics_table
from ui.formatting import accuracy_cards, against_chance, anchor, of_groups
from ui.misplaced import WAY_IMAGES, WAY_SCORES
from ui.page import ask_beside, error_text
from ui.selection import forget_set, selected_set
from ui.uploads import (
    BESIDE,
    FORMATS,
    PREFIX,
    PRIOR,
    TAGS,
    beside_line,
    by_row_number,
    files_without_tags,
    hand_tags_on,
    how_to_say_truth,
    match_left_out,
    new_uploads,
    pick_shape,
    put_refused_aside,
    show_left_out,
    stored_upload,
    tags_elsewhere,
    take_tags,
    taken_together,
    upload_evaluation,
    upload_limit,
    upload_names,
    upload_read_as,
    upload_store,
    why_no_prior,
)
from ui.views import came_back_to, read_view, view_field

NAMED = 5  # files, in a sentence
REFUSED = 3  # files that are not stored, each with its sentence; those of the others are folded
LEAD = "Add images, scores, embeddings or models of your own. Every file is checked, and no file is ever run."
HOSTED = (
    "This is a public server: it takes files of scores or embeddings, for you alone. Install Crossmatch on your own "
    "machine to add images and models."
)
# Two groups of two images and two captions; `topic` is a tag. In the first, GroupScore and GroupMatch disagree. The
# scores are log-likelihoods, so that the prior below fits them: without it TextScore is right in both.
EXAMPLE = """group,image,caption,score,match,topic
a,0,0,-4.0,1,kitchen
a,0,1,-5.2,0,kitchen
a,1,0,-1.8,0,kitchen
a,1,1,-2.2,1,kitchen
b,0,0,-4.9,1,garden
b,0,1,-8.0,0,garden
b,1,0,-8.3,0,garden
b,1,1,-5.6,1,garden
"""
EXAMPLE_TAGS = """group,objects,photographer
a,two,Ada
b,three,Grace
"""
EXAMPLE_PRIOR = """group,caption,log_prob
a,0,-2.4
a,1,-3.2
b,0,-4.0
b,1,-4.1
"""
EXAMPLES = {  # file name: content; tags and prior belong to the scores
    "scores.csv": EXAMPLE,
    "tags.csv": EXAMPLE_TAGS,
    "prior.csv": EXAMPLE_PRIOR,
}


def example_embeddings() -> bytes:
    """Vectors of four groups of 2x2 as an NPZ file: image i of a group is near its caption i, but for noise."""
    rng, data = np.random.default_rng(0), io.BytesIO()
    captions = rng.normal(size=(8, 16))
    images = captions + 1.5 * rng.normal(size=(8, 16))
    np.savez(data, img=images.astype(np.float32), cap=captions.astype(np.float32))
    return data.getvalue()


# --- images and captions ---------------------------------------------------------------------------------------------


def images() -> None:
    left, right = st.columns([3, 2])
    with left:
        upload = st.file_uploader(
            "A zip with images and a manifest, or a Parquet file",
            type=["zip", *(ending[1:] for ending in READ), "npz", "npy"],  # the last to say where it belongs
            key="set_upload",
            max_upload_size=upload_limit(),
            help="Put a table (CSV, TSV, JSON) into a zip together with its images. A Parquet or Arrow file can "
            "hold the images itself.",
        )
        folder = st.text_input(
            "Or a folder on this machine",
            key="set_folder",
            placeholder="/home/me/my-photos",
            help="Images and a manifest; a Hugging Face data set in Parquet; an image folder with metadata.csv.",
        )
        stored_elsewhere()
    with right:
        how_it_looks(folded=upload is not None or bool(folder.strip()))
    if upload is not None:
        if arrays_instead(upload):
            return
        import_workbench.open_upload(upload)
    elif folder.strip():
        bring_folder(folder.strip())
    else:
        import_workbench.forget_origin()
    workbench()


def arrays_instead(upload: Any) -> bool:
    """Whether an upload is a file of scores, embeddings or a prior that is no table, and was said to be one."""
    if Path(upload.name).suffix.lower() not in (".npz", ".npy", ".json"):
        return False
    content = upload.getvalue()
    return misplaced.not_images(upload.name, _kind_of_file(upload.name, content), content)


def bring_folder(folder: str) -> None:
    """A folder of this machine, looked at again when it is another."""
    place = Path(folder).expanduser()
    if not place.is_absolute():
        raise InputError("Give the absolute path of the folder.")
    now = import_workbench.import_session()
    if (now is None or now.origin != str(place)) and not import_workbench.is_added(str(place)):
        import_workbench.clear()
        import_workbench.open_source(str(place), place)


def how_it_looks(folded: bool) -> None:
    """The form of a manifest. folded : once there is one, which is checked below."""
    place = st.expander("What a manifest looks like") if folded else st.container(border=True)
    with place:
        st.markdown("**manifest.csv**, one row per group:")
        st.code(
            "id,image_0,image_1,caption_0,caption_1,topic\n"
            "a,images/1.jpg,images/2.jpg,a cup on a plate,a plate on a cup,kitchen",
            language=None,
            wrap_lines=True,
        )
        st.caption(
            "Or one row per image with its caption: `group,image,caption`; a row without an image is a caption that "
            "belongs to none. JSON lines and Parquet have the same columns. Add `truth` (such as `1 0`) where image "
            "i does not belong to caption i; of one image, several captions may be true (`0 1`)."
        )
        st.download_button(
            "Example of four groups (ZIP)",
            example_images,
            "crossmatch-example.zip",
            "application/zip",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
        )


def example_images() -> bytes:
    """Four groups of the built-in world with their pictures, as they are uploaded here; made when asked for."""
    groups = load("scenes/left-right", "test").select(range(4))
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "example.zip"
        export_groups(groups, out)
        return out.read_bytes()


def workbench() -> None:
    """From an open table to a named set."""
    now = import_workbench.import_session()
    if now is None:
        return
    table = import_workbench.choose_table(now)
    if table is None or misplaced.no_table_of_images(now):
        return
    begin, result = st.container(), st.container()  # the result is below the button, in sight
    columns = import_workbench.choose_columns(table)
    if begin.button("Check everything", type="primary", icon=":material/rule:", key="check"):
        with result:
            import_workbench.check(now, columns)
    if now.staged is not None:
        if columns != now.meant:
            result.info("The columns have changed; check again.", icon=":material/refresh:")
            return
        with result:
            import_workbench.show_result(now.staged)
        if now.staged.groups:
            import_workbench.name_form(now)  # above the pictures: below ten of them it was not found
            import_workbench.show_preview(now.staged)


# --- the hub ---------------------------------------------------------------------------------------------------------


def hub() -> None:
    name = st.text_input(
        "Data set on the Hugging Face hub",
        key="hub",
        bind="query-params",
        placeholder="USER/NAME",
        help="Only its Parquet files are downloaded; its scripts are never run.",
    ).strip()
    if not name:
        st.caption(
            "If you already have its Parquet files, add their folder under “Images and captions”; that needs no "
            "network."
        )
        return
    known = {part.name: part for part in listed(name)}
    split = st.selectbox("Split", list(known), key="hub_split")
    size = doctor.human_bytes(known[split].bytes) if split else ""
    origin = f"hub {name} {split}"
    now = import_workbench.import_session()
    here = now is not None and now.origin == origin
    if not here and st.button(f"Download {size}", type="primary", icon=":material/download:"):
        place = st.empty()
        bar = ui.progress_bar(place, "Fetching")
        files = fetch_parts(name, split, progress=lambda what, share: bar(share))
        place.empty()
        import_workbench.open_source(origin, open_table(files, name=f"{name} ({split})"))
        here = True
    if here:
        workbench()


@st.cache_data(ttl=300, max_entries=16, show_spinner="Contacting the hub …")
def listed(name: str) -> list:
    return list_parts(name)


# --- scores and embeddings -------------------------------------------------------------------------------------------


def scores() -> None:
    """A field for a file, then what was found in it; what files hold stands open until there is one."""
    left, right = st.columns([3, 2])
    with left:
        new, wrong, older, in_field, aside, waiting = new_uploads("scores_upload")
        entries = upload_names()
        stored_before(in_field)
        told = st.container()
    if not entries:
        refused([*older, *wrong])
        refused_before(aside)
    if new:
        st.session_state["stored_together"] = new[:2]
        st.session_state[REFUSED_WITH] = {file.file_id for file, _ in wrong}
        ui.select(set=new[0], shape=stored_upload(new[0]).shape, tag=[])
    if not entries:
        what_files_hold()
        return
    with right.container(horizontal=True):
        if not {st.session_state.get("set"), st.query_params.get("set")} & set(entries):
            ui.seed("set", entries[0])
        # No entry is the default, which an address leaves out: after another upload it would be another file.
        entry = (
            st.selectbox(
                "Show the result of", entries, None, key="set", bind="query-params", on_change=select_shown
            )
            or entries[0]
        )
        shape = pick_shape(entry)
    with told:
        came_last(is_alone=not (older or wrong or aside))
        offered = {
            file.file_id
            for file, _ in (*older, *wrong, *(each for each in aside if each[0].file_id in waiting))
            if misplaced.offer_beside(file, entry)
        }
        left_out = [each for each in (*older, *wrong) if each[0].file_id not in offered]
        if left_out:
            not_stored(left_out, entry)
        below = st.empty()
    newest_failed = any(each in left_out for each in wrong)
    if newest_failed:  # what whoever brought it goes on with; of older ones it pushed the result out of sight
        ways_on(left_out)
    refused_before([each for each in aside if each[0].file_id not in offered], entry)
    offer_comparison(entry, entries)
    selected_elsewhere(entry)
    came_with = st.session_state.get(REFUSED_WITH, set())
    file_section(
        entry, shape, before=any(each in left_out and each[0].file_id not in came_with for each in wrong)
    )
    heading = st.empty()
    if left_out and not newest_failed and ways_on(left_out):
        heading.subheader(NOT_STORED, anchor=anchor(NOT_STORED))
        below.caption(f"[What to do about files that are not stored ↓](#{anchor(NOT_STORED)})")
    with st.expander("File formats and examples"):
        what_files_hold()


def offer_comparison(entry: str, entries: list[str]) -> None:
    """A button that compares two files that were stored together, beside one of them."""
    together = [each for each in st.session_state.get("stored_together", []) if each in entries]
    if len(together) == 2 and entry in together:
        first, second = (each.removeprefix(PREFIX) for each in together)
        ui.page_button(
            escape_markdown(f"Compare {first} with {second}"), "pages/6_Compare.py",
            {"set": together[0], "other": together[1], "tag": [], "group": None}, icon=":material/compare:",
        )  # fmt: skip


def select_shown() -> None:
    """The other pages open the file that has been chosen here: its field is none of theirs, which had kept theirs."""
    put_refused_aside()
    select_everywhere(st.session_state["set"])


def select_everywhere(entry: str | None) -> None:
    """A file for all pages (from a callback)."""
    if entry in upload_names():
        ui.set_state({"set": entry, "shape": stored_upload(str(entry)).shape, "tag": []})


def selected_elsewhere(entry: str) -> None:
    """Where nobody chose the file that is in view, as on a visit later on: what the other pages have, and a button."""
    selected = selected_set()
    if selected == entry:
        return
    name = entry.removeprefix(PREFIX)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="selected-elsewhere"):
        st.caption(escape_markdown(f"The other pages show {selected.removeprefix(PREFIX)}."), width="content")
        st.button(
            escape_markdown(f"Select {name} there"),
            on_click=select_everywhere,
            args=(entry,),
            type="tertiary",
            icon=":material/check_box:",
            key="select-shown",
        )


def stored_before(in_field: set[str]) -> None:
    """The stored files that the field above does not show, as it is empty whenever the page is opened again.

    in_field : the names of those that it shows.
    """
    names = [each.removeprefix(PREFIX) for each in upload_names()]
    others = [name for name in names if name not in in_field]
    if others:
        st.caption(escape_markdown(f"Uploaded already, and still here: {_first_names(others)}."))


def stored_elsewhere() -> None:
    """Below the field for images: the files and sets of one's own that are here, though no field shows them."""
    sets = [f"mine/{name}" for name in user_sets.sets()]
    if sets:
        st.caption(escape_markdown(f"Your sets, still here: {_first_names(sets)}."))
    names = [each.removeprefix(PREFIX) for each in upload_names()]
    if names:
        st.caption(
            escape_markdown(f"Under “{WAY_SCORES}”, uploaded already and still here: {_first_names(names)}.")
        )


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def refused(wrong: list[tuple[Any, InputError]]) -> None:
    """What is wrong with files, the newest first, which somebody has just brought: that it belongs elsewhere, a form
    for its columns, or all of its mistakes; of each older one the first of these alone."""
    said = []
    for place, (file, error) in enumerate(reversed(wrong)):
        if misplaced.not_scores(file):
            continue
        if place == 0:
            misplaced.show_mistakes(error, file.name, file.getvalue(), "Nothing of it is stored: mend")
        elif place < REFUSED:
            ui.show_error(error)
        else:
            said.append(error_text(error))
    more_refused(said)


def more_refused(lines: list[str]) -> None:
    """The sentences of files beyond the first few, in a fold: of ten files one red box filled the screen."""
    if lines:
        with st.expander(f"And {len(lines)} more {'file' if len(lines) == 1 else 'files'} not stored"):
            st.error("  \n".join(lines), icon=":material/error:")


NOT_STORED = "Files that are not stored"
REFUSED_WITH = (
    "refused_with"  # in the session: files that were refused when those in view were stored, by their ids
)


def came_last(is_alone: bool) -> None:
    """Of the files that came last a line each: what it was taken for, and where it is.

    is_alone : no file in the field was refused; the heading of its result says it of a single one then.
    """
    lines, taken = [], taken_together()
    for name, what, entries in [] if is_alone and len(taken) == 1 and not taken[0].what else taken:
        *more, last = (entry.removeprefix(PREFIX) for entry in entries)
        of = f"{', '.join(more)} and {last}" if more else last
        said = f"{what_is_stored(entries[0])[0]}, read" if not what else _BESIDE_SAID[what].format(of)
        lines.append(f"**{escape_markdown(name)}**: {escape_markdown(said)}.")
    if lines:
        st.success("  \n".join(lines), icon=":material/check:")


_BESIDE_SAID = {TAGS: "tags, added to {}", PRIOR: "a language prior, added to {}; Debias removes it"}


def not_stored(left_out: list[tuple[Any, InputError]], entry: str) -> None:
    """A sentence for each file that was refused where another one is shown, right below the field: what is wrong with
    it. The newest first; their forms and tables follow (`ways_on`)."""
    why = dict.fromkeys(misplaced.why_not_stored(file, error, entry) for file, error in reversed(left_out))
    lines = [f"**Not stored**: {line}" for line in why]
    st.error("  \n".join(lines[:REFUSED]), icon=":material/error:")
    more_refused(lines[REFUSED:])


def refused_before(files: list[tuple[Any, InputError]], entry: str = "") -> None:
    """The files that are in the field still and were refused before another one came or was chosen, the newest first,
    in a closed fold: each with its sentence and what is to be done about it. entry : the file that is shown."""
    if not files:
        return
    were = "was" if len(files) == 1 else "were"
    with st.expander(f"{counted(len(files), 'file')} before this {were} not stored"):
        for file, error in reversed(files):
            st.markdown(misplaced.why_not_stored(file, error, entry))
            ways_on([(file, error)])


def ways_on(left_out: list[tuple[Any, InputError]]) -> bool:
    """What is to be done about these files beside their sentences: where each belongs, a form for its columns, all
    mistakes of the newest; whether there is anything."""
    shown = False
    for place, (file, error) in enumerate(reversed(left_out)):
        if misplaced.is_not_read(file):
            continue
        if misplaced.not_scores(file, is_said=True):
            shown = True
        elif place == 0 and misplaced.has_several_mistakes(file):
            so = "Nothing of it is stored: mend"
            misplaced.show_mistakes(error, file.name, file.getvalue(), so, is_said=True)
            shown = True
    return shown


def what_files_hold() -> None:
    """The forms that are read, and examples to see the form or try the page: scores with what can be put beside them,
    and embeddings."""
    st.caption(FORMATS)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples"):
        st.markdown("Download examples:", width="content")
        for name, content in [*EXAMPLES.items(), ("embeddings.npz", example_embeddings)]:
            st.download_button(
                name,
                content,
                name,
                "text/csv" if name.endswith(".csv") else "application/octet-stream",
                on_click="ignore",
                type="tertiary",
                icon=":material/download:",
            )
    if public_mode.is_public():
        st.caption(f"A file is deleted when nobody has used it for {public_mode.UPLOAD_HOURS} hours.")


def second_opinion(entry: str, evaluation: Evaluation) -> None:
    """What MTEB's own metric makes of its predictions, a sentence each; nothing for other files."""
    upload = stored_upload(entry)
    if not upload.name.endswith(".json"):
        return

    def findings() -> list[str]:
        with READING.one():
            parts = rejudge([Path(upload.name)], upload.content()).record()["submissions"]
        parts = [part for part in parts if part["tool"] != "scores"]  # plain scores: no report says otherwise
        several = len(parts) > 1  # the cards above are of all subsets and splits together
        return [
            f"{part['benchmark']}: {told}" if several else told for part in parts for told in part["findings"]
        ]

    found = ui.cached_on(evaluation, "rejudge", findings)
    if found:
        st.info("\n".join(f"- {escape_markdown(sentence)}" for sentence in found), icon=":material/rule:")


def file_section(entry: str, shape: str, before: bool = False) -> None:
    """A stored file: its result, the pages that use it, what belongs to it. shape : of the groups of embeddings.
    before : whether the file that came last was refused, so that this result is of another one."""
    evaluation, name = upload_evaluation(entry, shape), entry.removeprefix(PREFIX)
    size = f"{counted(len(evaluation.scores), 'group')} of {'×'.join(map(str, evaluation.shape))}"
    heading = f"Stored before: {name}, {size}" if before else f"{name}: {size}"
    st.subheader(escape_markdown(heading), anchor=False)
    st.markdown(against_chance(evaluation.metrics))
    accuracy_cards(evaluation.metrics)
    if said := upload_read_as(entry):
        st.caption(escape_markdown(said))
    if not evaluation.truth_given:
        assumed = "image i is assumed to belong to caption i."
        lacks = (
            f"No column was chosen as match: {assumed}"
            if match_left_out(entry)
            else f"The file has no ground truth: {assumed}"
        )
        st.caption(f"{lacks}{how_to_say_truth(entry)}")
    show_left_out(evaluation)
    second_opinion(entry, evaluation)
    links(entry)
    what_metrics_ask(evaluation)
    beside(entry)
    figure = figures.margins_figure(
        figures.margins_data(evaluation.matches, evaluation.outcomes[metrics.GROUP_MATCH])
    )
    st.markdown("#### Margins of right and wrong matchings")
    ui.chart(figure, "Margins of right and wrong matchings", key="your-margins")
    with st.container(horizontal=True):
        ui.export_section(
            f"your-scores-{measured_name([entry])}",
            partial(groups_table, entry, evaluation),
            {"margins": figure},
            title=f"{name}: {size}",
            table_label="Groups (CSV)",
            note=MARGIN_NOTE,
            latex=lambda: latex_table([(name, evaluation.metrics)]),
            metrics=lambda: metrics_table(name, evaluation),
            state=view_state(entry, shape),
        )
        ask_to_remove(entry)


def view_state(entry: str, shape: str) -> dict[str, str]:
    """What a link to this file's result says, though the address may leave it out."""
    way = {} if public_mode.is_public() else {"way": WAY_SCORES}
    return {**way, "set": entry, **({"shape": shape} if shape else {})}


def what_metrics_ask(evaluation: Evaluation) -> None:
    with st.expander("What each metric asks"):
        for name in of_groups(evaluation.metrics):
            st.markdown(f"**{metrics.METRICS[name].label}**: {metrics.METRICS[name].meaning}")


def links(entry: str) -> None:
    """The pages that can use a file; each opens with it selected."""
    pages = {
        "Matching: metrics, thresholds, tags": ("pages/2_Matching.py", ":material/join_inner:"),
        "Groups one by one": ("pages/1_Groups.py", ":material/grid_view:"),
        "Compare with another file": ("pages/6_Compare.py", ":material/compare:"),
    }
    if PRIOR in fit_beside(entry):
        pages["Debias: subtract a language prior"] = ("pages/3_Debias.py", ":material/balance:")
    if stored_upload(entry).shape and not public_mode.is_public():
        pages["Adapt at test time"] = ("pages/4_Test-Time_Matching.py", ":material/trending_up:")
    with st.container(horizontal=True):
        for label, (page, icon) in pages.items():
            ui.page_button(label, page, {"set": entry, "tag": [], "group": None}, icon=icon)
    made_on = benchmark_of_file((entry,))
    if made_on is not None:
        ui.page_button(
            f"Open beside {made_on['set']}", "pages/1_Groups.py",
            {**made_on, "model": entry, "tag": [], "group": None}, icon=":material/imagesmode:",
            help="Its scores with the images and captions of this set, whose ids the file has.",
        )  # fmt: skip
        return
    st.caption(
        "To see its scores with images and captions, or beside a model's, select the benchmark that it was made on, "
        "and this file as the model, in the sidebar of [Groups](Groups) or [Compare](Compare)."
    )


def fit_beside(entry: str) -> list[str]:
    """What can be put beside a file: all of `BESIDE`, and no prior where its scores are no log-likelihoods."""
    return [what for what in BESIDE if what != PRIOR or not why_no_prior(entry)]


def beside(entry: str) -> None:
    """Tags for a file's groups, and a language prior where its scores can have one."""
    kinds = fit_beside(entry)
    offer_tags_of_others(entry)
    with st.expander(
        "Add tags or a language prior" if PRIOR in kinds else "Add tags (and why no language prior)"
    ):
        st.caption("A row for each group of the file, by the same ids; rows of other groups are left out.")
        if PRIOR not in kinds:
            st.caption(f"No language prior, and no Debias: {error_text(why_no_prior(entry))}")
        for what in kinds:
            fits = beside_line(entry, what)
            if fits:
                st.success(escape_markdown(fits), icon=":material/check:")
            if what == TAGS:
                hand_tags_on_button(entry)
            ask_beside(entry, what)


def offer_tags_of_others(entry: str) -> None:
    """A button for each table of tags that another file with the same groups has, and this one has not."""
    others = tags_elsewhere(entry)[:NAMED]
    if not others:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="tags-of-others"):
        for other in others:
            st.button(
                escape_markdown(f"Use the tags of {other.removeprefix(PREFIX)}"),
                on_click=take_tags,
                args=(entry, other),
                icon=":material/sell:",
            )
        is_by_row = by_row_number(entry, *others)
        said = "Their groups are paired by row number." if is_by_row else "Both files have the same groups."
        st.caption(said, width="content")


def hand_tags_on_button(entry: str) -> None:
    """Below the tags of a file a button that puts them beside the other files with these groups, too."""
    others = files_without_tags(entry)
    if not others:
        return
    names = [each.removeprefix(PREFIX) for each in others]
    *more, last = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    how = "by row number" if by_row_number(entry, *others) else "same ids"
    st.button(
        escape_markdown(f"Also apply to {' and '.join(filter(None, [', '.join(more), last]))} ({how})"),
        on_click=hand_tags_on,
        args=(entry, others),
        icon=":material/sell:",
        key="hand-tags-on",
    )


def ask_to_remove(entry: str) -> None:
    """A button that asks first. Its key is the file's: the next file's, which then stands there, is closed."""
    name = escape_markdown(entry.removeprefix(PREFIX))
    with st.popover("Remove", icon=":material/delete:", key=f"ask-remove-{entry}"):
        st.markdown("This deletes the file and what was added to it. Runs on it are kept.")
        st.button(
            f"Remove {name}", key=f"remove-{entry}", on_click=remove_file, args=(entry,), type="primary"
        )


def remove_file(entry: str) -> None:
    """Delete a file, which no page has selected any more (a callback, which a double click calls twice)."""
    name = entry.removeprefix(PREFIX)
    with suppress(InputError):
        upload_store().remove(name)
    forget_set(entry)
    st.toast(escape_markdown(f"{name} removed"), icon=":material/check:")


# --- models and scorers ----------------------------------------------------------------------------------------------


def model() -> None:
    st.markdown(
        "A Hugging Face name (`openai/clip-vit-base-patch32`, `google/siglip2-base-patch16-224`), an open_clip name "
        "(`open_clip:ViT-B-32/laion2b_s34b_b79k`), or a folder with one of them. Only safetensors weights are "
        "loaded, and a model's code is never run. The sidebar of every other page accepts the same names."
    )
    name = st.text_input(
        "Model", key="try_model", bind="query-params", placeholder="openai/clip-vit-base-patch32"
    ).strip()
    if not name:
        return
    public_mode.check_model(name, ui.model_names())
    if st.button("Try it on eight groups", type="primary", icon=":material/play_arrow:"):
        st.session_state["tried"] = (name, tried(name))
    if st.session_state.get("tried", ("",))[0] == name:
        found = st.session_state["tried"][1]
        st.success("The model loads and gives scores.", icon=":material/check:")
        names = metrics.headline_metrics(found.outcomes)
        for column, metric in zip(st.columns(len(names)), names, strict=True):
            with column:
                ui.metric_card(metric, found.metrics[metric])
        ui.page_button("Use it", "pages/1_Groups.py", {"model": name}, icon=":material/grid_view:")


def tried(name: str) -> Evaluation:
    from core.scoring.load import load_scorer
    from core.scoring.scores import score_groups

    groups = load("scenes/left-right").select(range(8))
    with st.spinner("Loading and scoring …"):
        found = score_groups(load_scorer(ui.model_source(name)), groups, ScoreCache())
    return Evaluation.of(found, groups.truth, groups.ids, clusters=Clusters.of_groups(groups))


def scorer() -> None:
    st.markdown(
        "Your own scorer is ten lines in a package that you install beside Crossmatch. Select it as `python:NAME`; "
        "it sees images, captions and pairs, and never the truth. Uploaded files are never run."
    )
    blocks: dict[str, list[str]] = {"toml": [], "python": []}
    for part in (plugins.__doc__ or "").split("\n\n"):
        if part.startswith("    "):
            language = "toml" if part.lstrip().startswith("[project") else "python"
            blocks[language].append(re.sub(r"(?m)^    ", "", part))
    for language, where in (("toml", "In the package's pyproject.toml"), ("python", "In its code")):
        st.caption(f"{where}:")
        st.code("\n\n".join(blocks[language]), language=language)
    known = plugins.plugins()
    if known:
        st.dataframe(
            pd.DataFrame([{"name": f"python:{name}", "from": entry.value} for name, entry in known.items()]),
            hide_index=True,
        )
    else:
        st.caption("No installed package registers a scorer yet.")


# --- what is kept ----------------------------------------------------------------------------------------------------


def kept() -> None:
    stored_files()
    st.header("Your sets", anchor=False)
    own = user_sets.sets()
    if not own:
        st.caption("None yet.")
    for name in own:
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            facts = user_sets._facts(name)
            of = [
                f"{counted(n, 'group')} of {shape.replace('x', '×')}"
                for shape, n in facts.get("shapes", {}).items()
            ]
            said = " · ".join(filter(None, [", ".join(of), doctor.human_bytes(user_sets.size(name))]))
            st.markdown(f"**{escape_markdown(f'mine/{name}')}** · {said}")
            ui.page_button(
                "Open", "pages/1_Groups.py",
                {"set": user_sets._benchmarks(name, facts)[0], "split": "test", "tag": [], "group": None},
                icon=":material/grid_view:", key=f"open-mine/{name}",
            )  # fmt: skip
            with st.popover("Remove", icon=":material/delete:"):
                st.markdown("This deletes its images and groups. Runs on it are kept.")
                st.button(
                    f"Remove mine/{name}",
                    key=f"remove-{name}",
                    on_click=removed,
                    args=(name,),
                    type="primary",
                )
    st.header("Score cache", anchor=False)
    path, count, size = doctor.cache_size()
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(f"**{count}** scores · {doctor.human_bytes(size)}", help=escape_markdown(str(path)))
        st.button(
            "Clear",
            key="clear_cache",
            on_click=ScoreCache().clear,
            disabled=not count,
            icon=":material/delete:",
        )
    st.header("This machine", anchor=False)
    icons = {"ok": ":material/check:", "note": ":material/info:", "problem": ":material/error:"}
    with st.container(border=True, gap="xxsmall"):
        for finding in doctor.diagnose():
            st.markdown(
                f"{icons[finding.state]} **{escape_markdown(finding.topic)}**: {_with_code(finding.text)}"
            )
            if finding.do:
                st.caption(_with_code(finding.do))


def _with_code(text: str) -> str:
    """Words between backticks as code, and all else as it is."""
    return "".join(
        part if i % 2 else escape_markdown(part) for i, part in enumerate(re.split(r"(`[^`\n]+`)", text))
    )


def stored_files() -> None:
    """Every file of scores or embeddings, with the ways to its result and to remove it."""
    st.header("Your files of scores and embeddings", anchor=False)
    entries = upload_names()
    if not entries:
        st.caption("None yet.")
    for entry in entries:
        upload, name = stored_upload(entry), entry.removeprefix(PREFIX)
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            size = doctor.human_bytes(files.folder_size(upload.folder))
            holds, wrong = what_is_stored(entry)
            said = " · ".join(filter(None, [holds, size, *said_beside(upload), wrong]))
            st.markdown(f"**{escape_markdown(name)}** · {escape_markdown(said)}")
            if st.button("Open", key=f"open-{entry}", icon=":material/insert_chart:"):
                ui.select(way=WAY_SCORES, set=entry, shape=upload.shape, tag=[])
            ask_to_remove(entry)


def what_is_stored(entry: str) -> tuple[str, str]:
    """`scores, 40 groups of 2×2`, and of a file that cannot be read just now why."""
    kind = "embeddings" if stored_upload(entry).shape else "scores"
    try:
        evaluation = upload_evaluation(entry)
    except InputError as error:  # tags beside it that fit no more, or too many readers just now
        return kind, f"not read: {error}"
    size = f"{counted(len(evaluation.scores), 'group')} of {'×'.join(map(str, evaluation.shape))}"
    return f"{kind}, {size}", ""


def said_beside(upload: Upload) -> list[str]:
    """`tags: topics.csv` and the like, of what was added to a file."""
    labels = {TAGS: "tags", PRIOR: "language prior"}
    return [f"{labels[what]}: {each['name']}" for what, each in upload.facts["beside"].items()]


def removed(name: str) -> None:
    try:
        user_sets.remove(name)
    except InputError as error:
        st.toast(error_text(error), icon=":material/error:")
    import_workbench.clear_caches()


def reopen_last_way() -> None:
    """Whoever comes back by the menu, whose link says nothing, finds what was open here before."""
    state, before = st.session_state, came_back_to("way")
    if before is None and "way" not in st.query_params and not state.get("way") and state.get(LAST_WAY):
        state["way"] = state[LAST_WAY]


LAST_WAY = "last_way"  # in the session
WAYS = {
    WAY_IMAGES: images,
    "Hugging Face": hub,
    WAY_SCORES: scores,
    "A model": model,
    "A scorer in Python": scorer,
    "Stored data": kept,
}

ui.open_page("Your data", LEAD, pick=False, shows_files=True)
if public_mode.is_public():
    st.info(HOSTED, icon=":material/lock:")
    with ui.show_errors():
        scores()
else:
    import_workbench.show_added()
    reopen_last_way()
    asked = read_view("way", list(WAYS))
    ui.warn_unknown("way", [asked.unknown], WAYS)
    with st.container(key="ways"):
        way = view_field(
            "way", list(WAYS), "What do you want to do?", on_change=import_workbench.forget_added
        )
    st.session_state[LAST_WAY] = way
    with ui.show_errors():
        WAYS[way]()
