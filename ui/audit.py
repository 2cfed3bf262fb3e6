"""The audit of a set on a page: one line that sums it up, its findings with groups to open, and what cites it."""

from __future__ import annotations

import json
import shlex

import streamlit as st

from core.audit import Audit, Finding
from core.base.text import counted
from core.figures.text import escape_markdown
from core.groups import GroupSet
from ui.cached import cached_on
from ui.compute_queue import queued
from ui.export import export_section, tag_words
from ui.formatting import progress
from ui.selection import Selection, page_button

_FAULT, _CANNOT_TELL, _SOUND = Audit.VERDICTS
_LOOKS = {
    _FAULT: ("red", ":material/error:"),
    _CANNOT_TELL: ("gray", ":material/help:"),
    _SOUND: ("green", ":material/check:"),
}
_BUTTONS = 4  # groups to open of each finding


def audited(groups: GroupSet, split: str, name: object = "") -> Audit:
    """The audit of groups of one shape, made once. name : of what was selected of them, if not all."""
    return cached_on(groups, ("audit", split, name), lambda: _made(groups, split))


def _made(groups: GroupSet, split: str) -> Audit:
    with progress("Auditing") as (_, bar):
        return queued(Audit.of)(groups, split, progress=lambda what, share: bar(share))


def of_selection(selection: Selection) -> Audit:
    """The audit of the groups that are selected by tags."""
    if selection.mask.all():
        return audited(selection.groups, selection.split)
    return cached_on(
        selection.groups,
        ("audit", selection.split, selection.tags),
        lambda: _made(selection.selected_groups, selection.split),
    )


def show(selection: Selection) -> None:
    """All findings: faults and open questions first, each with groups to open; what is sound is closed."""
    found = of_selection(selection)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header(escape_markdown(headline(found)), anchor=False, width="content")
        _exports(found, selection)
    st.caption(escape_markdown(f"{found.about}."))
    for finding in found.in_order():
        if finding.verdict != _SOUND:
            with st.container(border=True, gap="xsmall"):
                _finding(finding, True)
    sound = [finding for finding in found.findings if finding.verdict == _SOUND]
    label = f"Sound: {counted(len(sound), 'check')}"
    with st.expander(label, icon=":material/check:", key="sound", on_change="rerun") as closed:
        if closed.open:
            for finding in sound:
                _finding(finding, False)
    st.caption(escape_markdown(found.HOW_TO_READ))


def headline(found: Audit) -> str:
    """`2 faults, 9 sound, 3 cannot tell`."""
    return found.summary.partition(";")[0]


def summary_line(groups: GroupSet, split: str) -> None:
    """One closed line that sums the audit up; open, its faults and open questions."""
    found = audited(groups, split)
    with st.expander(
        escape_markdown(f"Audit of {groups.name}: {headline(found)}"),
        icon=":material/fact_check:",
        key=f"audit-{groups.name}-{groups.shape}",
        on_change="rerun",
    ) as closed:
        if closed.open:
            for finding in found.in_order():
                if finding.verdict != _SOUND:
                    _finding(finding, False)
            state = {"set": groups.name, "split": split}
            page_button("Open the audit", "pages/10_Audit.py", state, icon=":material/fact_check:")


def _finding(finding: Finding, openable: bool) -> None:
    """Verdict, question, the sentence with the numbers, and buttons that open groups."""
    colour, icon = _LOOKS[finding.verdict]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(finding.verdict, color=colour, icon=icon)  # type: ignore[arg-type]
        st.markdown(f"**{escape_markdown(finding.question)}**", width="content")
    st.markdown(escape_markdown(finding.says))
    if not openable or not finding.evidence:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        for name in finding.evidence[:_BUTTONS]:
            page_button(
                escape_markdown(name), "pages/1_Groups.py", {"group": name}, type="tertiary",
                icon=":material/grid_view:", key=f"open-{finding.key}-{name}",
            )  # fmt: skip


def _exports(found: Audit, selection: Selection) -> None:
    name = f"audit-{found.name.replace('/', '-')}"
    shape = ["--shape", "x".join(map(str, found.shape))] if st.session_state.get("shape") else []
    words = ["crossmatch", "audit", found.name, "--split", found.split, *shape, *tag_words(selection.tags)]

    def as_json() -> None:
        data = lambda: json.dumps(found.record(), indent=1).encode()  # noqa: E731
        st.download_button(
            "Audit (JSON)", data, f"{name}.json", "application/json", on_click="ignore",
            icon=":material/data_object:",
        )  # fmt: skip

    export_section(
        name,
        more=as_json,
        report=lambda: found.html().encode(),
        command=shlex.join(words),
        groups=selection.groups,
    )
