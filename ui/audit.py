"""The audit of a set on a page: the answer in one sentence, a row for each check that opens on its evidence, and what
cites it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import streamlit as st

from core.audit import Audit, Finding
from core.base.errors import InputError
from core.base.text import counted
from core.datasets import benchmark_entry
from core.figures.text import escape_markdown
from core.groups import GroupSet
from ui.cached import cached_on
from ui.compute_queue import queued
from ui.export import export_section, tag_words
from ui.formatting import progress, progress_bar
from ui.loaders import load_groups
from ui.missing import missing_set
from ui.selection import Selection, page_button, shared_parameters
from ui.uploads import upload_evaluation

_FAULT, _LIMIT, _CANNOT_TELL, _SOUND = Audit.VERDICTS
_LOOKS = {
    _FAULT: ("red", ":material/error:"),
    _LIMIT: ("orange", ":material/straighten:"),
    _CANNOT_TELL: ("gray", ":material/help:"),
    _SOUND: ("green", ":material/check:"),
}
_STEPS = {"images": "Comparing the images", "rules": "Trying rules that see no image"}


def audited(groups: GroupSet, split: str) -> Audit:
    """The audit of groups of one shape, made once."""
    return cached_on(groups, ("audit", split, ""), lambda: _made(groups, split))


def _made(groups: GroupSet, split: str) -> Audit:
    """The audit; while it is made, its step with the time left, and what the number of groups alone says already."""
    first = st.empty()
    with progress("Auditing") as (place, _):
        with first.container():
            size = Audit.size(groups)
            st.markdown(f"{_label(size)}  \n{escape_markdown(size.says)}")
        bars: dict[str, Callable[[float], None]] = {}

        def say(what: str, share: float) -> None:
            bars.setdefault(what, progress_bar(place, _STEPS.get(what, f"Scores of {what}")))(share)

        found = queued(Audit.of)(groups, split, progress=say)
    first.empty()
    return found


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
    """The verdict, its reasons, then a row for every check, faults first; open, it shows what was found and groups to
    look at."""
    found = of_selection(selection)
    st.subheader(escape_markdown(found.headline), anchor=False)
    st.markdown(_unbroken(found.problems))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        worth = f" {found.dependence}." if found.dependence else ""
        counts = f"{found.summary}. In brackets: 95 % intervals.{worth}"
        st.caption(escape_markdown(counts), width="stretch")
        _exports(found, selection)
    for finding in found.in_order():
        _row(finding)
    with st.expander("What the verdicts mean"):
        st.markdown("\n".join(f"- {escape_markdown(line)}" for line in found.HOW_TO_READ))


def of_file(selection: Selection, needs: Mapping[str, str], split: str) -> None:
    """What can be said of an uploaded file: which benchmark its groups are from, to audit that, and their number.

    needs : every benchmark with what it needs; "" for one that is here.
    """
    groups = selection.groups
    here = [name for name in needs if not needs[name]]
    home = cached_on(groups, ("home", split), lambda: _home(groups, here, split))
    alike = [name for name in needs if _is_as_large(name, groups, split)]
    if home:
        line = (
            f"{groups.title} has the groups of {home}; audit that, as an audit looks at captions and images."
        )
    else:
        line = (
            f"An audit looks at captions and images, and {groups.title} has neither; choose the benchmark of its "
            "groups."
        )
        if alike:
            m, k = groups.shape
            have = "has" if len(alike) == 1 else "have"
            line += f" {', '.join(alike)} {have} as many: {counted(len(groups), 'group')} of {m}×{k}."
    st.info(escape_markdown(line), icon=":material/fact_check:")
    names = [*dict.fromkeys((*alike, *needs))]
    place = names.index(home) if home else None
    name = st.selectbox("Benchmark of the file's groups", names, index=place, key=f"home-{groups.name}")
    if name:
        _audit_of_home(name, needs[name], groups, split)
    again = Audit.repeats(groups, upload_evaluation(groups.name, "x".join(map(str, groups.shape))).scores)
    checked = "only the number of groups" if again is None else "only its scores and the number of groups"
    st.markdown(f"Of the file itself {checked} can be checked:")
    found = [Audit.size(groups), *([] if again is None else [again])]
    for finding in sorted(found, key=lambda each: Audit.VERDICTS.index(each.verdict)):
        _row(finding)


def _is_as_large(name: str, groups: GroupSet, split: str) -> bool:
    """Whether a benchmark, here or not, has as many groups of the same shape as published."""
    entry = benchmark_entry(name)
    return entry is not None and entry.shape == groups.shape and len(groups) in entry.counts.get(split, ())


def _audit_of_home(name: str, needs: str, groups: GroupSet, split: str) -> None:
    """The button to the audit of the benchmark that was chosen for a file; how to get one that is not here."""
    if needs:
        missing_set(name, needs)
        return
    there = {*load_groups(name, split).ids}
    shared = sum(group in there for group in groups.ids)
    if shared < len(groups):
        some, rest = (f"only {shared}", "the rest of the file") if shared else ("none", "the file")
        line = (
            f"These do not match: {name} has {counted(len(there), 'group')} and, by their ids, {some} of the "
            f"{len(groups)} in {groups.title}. Its audit says nothing about {rest}."
        )
        st.warning(escape_markdown(line), icon=":material/link_off:")
        return
    state = {"set": name, "split": split, "model": groups.name}
    page_button(f"Audit {name}", "pages/10_Audit.py", state, type="primary", key="audit_home")


def _home(groups: GroupSet, available: Sequence[str], split: str) -> str:
    """The benchmark that has all groups of a file; "" where none has."""
    asked = {*groups.ids}
    for name in available:
        with suppress(InputError):
            if asked <= {*load_groups(name, split).ids}:
                return name
    return ""


def summary_line(groups: GroupSet, split: str) -> None:
    """One closed line that sums the audit up; open, its faults and open questions."""
    found = audited(groups, split)
    with st.expander(
        escape_markdown(f"Audit of {groups.name}: {found.answer}"),
        key=f"audit-{groups.name}-{groups.shape}",
        on_change="rerun",
    ) as closed:
        if closed.open:
            for finding in found.in_order():
                if finding.verdict != _SOUND:
                    st.markdown(f"{_label(finding)}  \n{escape_markdown(finding.says)}")
            state = {"set": groups.name, "split": split}
            page_button("Open the audit", "pages/10_Audit.py", state, icon=":material/fact_check:")


def _label(finding: Finding) -> str:
    """Verdict, question, its answer, the number with its interval in brackets, chance and ties."""
    colour, icon = _LOOKS[finding.verdict]
    brief = finding.in_brief
    said = _unbroken(
        f"{finding.reply}: {brief}"
        if finding.reply and brief
        else finding.reply or brief[:1].upper() + brief[1:]
    )
    return (
        f":{colour}-badge[{icon} {finding.verdict}] **{escape_markdown(finding.question)}** {said}".rstrip()
    )


def _unbroken(words: str) -> str:
    """As Markdown, with each percent sign on the line of its number."""
    return escape_markdown(words.replace(" %", "\u00a0%"))


# Which groups a check names, by its key; of a rule those that it has right.
_NAMED = {
    "order": "in each no other caption has the words of the right one",
    "captions": "in each two captions are the same",
    "repeats": "each beside the one that it repeats",
    "contradictions": "each has a right caption that is right of another image too",
    "images": "those with images that are nearly the same, or alike, beside each other",
    "shared": "those that share with most others",
    "agreement": "none of the models solves them",
}
_RULE = "the rule is right in each of them"
_WRONG = {  # where the check finds a fault
    "contradictions": "each has a caption that contradicts another group or the picture",
}


def _shown(finding: Finding) -> str:
    """Above the groups of a check: how many, and what they have in common."""
    which = _NAMED.get(finding.key, _RULE)
    if finding.verdict == _FAULT:
        which = _WRONG.get(finding.key, which)
    return f"{counted(len(finding.evidence), 'group')} to look at: {which}."


def _row(finding: Finding) -> None:
    """A check; open, the sentence with all numbers, and links that open groups."""
    with st.expander(_label(finding), key=f"check-{finding.key}", on_change="rerun") as row:
        if not row.open:
            return
        st.markdown(escape_markdown(finding.says))
        if finding.evidence:
            st.caption(_shown(finding))
        with st.container(horizontal=True):
            for name in finding.evidence:
                where = {**shared_parameters(), "group": name}
                label = escape_markdown(name)
                st.page_link(
                    "pages/1_Groups.py", label=label, icon=":material/grid_view:", query_params=where
                )


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
