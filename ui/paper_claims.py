"""What a paper claims and what is found here, claim by claim, above its tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.base import paths
from core.base.text import _pct, _signed, _signed_range, counted
from core.figures.text import escape_markdown
from core.papers.table_html import PAPERS, WORLD
from ui.formatting import true_minus
from ui.retrieval_table import _VERDICTS, _counted_verdicts, _verdict_record
from ui.ttm_shifts import TO_COUNTED, beside_the_table_of_sets

_JUDGED = (
    "Here: small models on the built-in world, so not the paper's own pictures. A claim is the same or different only "
    "where the numbers show it clearly, beyond their 95 % intervals; else it is open."
)
_COLA_RULE = (
    "The difference in points is the mean over seeds, with its 95 % interval. Same or different only where the "
    "difference is clear, every seed agrees and longer training would not undo it. The whole rule stands on Retrieval."
)
_FIGURES_RULE = (
    "Measured on groups of the test sets. Differences are in points, over seeds where a model is trained; all have "
    "95 % intervals, and no group is tied where no ties are named. {}"
)


# Each claim in the few words that a line has room for; those without stand among “more”.
_IN_SHORT = {
    "After SimpleMatch, GroupScore is what GroupMatch was before.": "SimpleMatch lifts GroupScore to GroupMatch",
    "Training on right matchings only would lift it much further.": "right matchings gain far more",
    "Three or five iterations already gain.": "3 or 5 iterations gain",
    "Test-time matching raises GroupMatch for every model and every set of 2×2 groups.": "gains on every 2×2 set",
    "It also helps where a group has one image and both metrics are the same.": "with one image",
    "Without groups, test-time matching raises the accuracy of that assignment.": "without groups",
    "A constant or a rising threshold gains nothing.": "no gain with constant or rising threshold",
    "A model that sees no picture finds the true caption among shuffled ones.": "text alone tells shuffled captions",
    "Among shuffled captions, the generative score beats ITM and ITC.": "generative above ITM, ITC there",
    "Among shuffled captions, removing the prior hurts.": "removing the prior hurts there",
    "Where false captions read well, an alpha from validation helps.": "alpha helps where captions read well",
    "On groups whose captions are swapped, an alpha from validation helps.": "alpha helps with swapped captions",
    "Alpha = 1 helps even without validation.": "alpha = 1 helps without validation",
    "MM-Adapter finds what queries ask for, all of them, better than the model before.": "MM-Adapter above before",
    "MM-Adapter beats Linear.": "above Linear",
    "MM-Adapter beats Prompt-tune.": "above Prompt-tune",
    "MM-Pred beats FT late.": "MM-Pred above FT late",
    "MM-Adapter finds combinations that training never showed better than the model before.": (
        "MM-Adapter above before on combinations never shown"
    ),
    "MM-Adapter beats tuning both encoders.": "above full tuning",
    "MM-Adapter tells such pictures apart better than tuning both encoders.": (
        "with exchanged attributes MM-Adapter above full tuning"
    ),
    "MM-Pred tells such pictures apart better than tuning both encoders.": "MM-Pred above it",
    "The model before tells such pictures apart worse than chance does.": "below chance before training",
}
_HEADS = {"same": "Same here", "different": "Different here", "open": "Open"}
_ROOM = 100  # letters of a line beside the choice of a paper
_EACH = "claims-here"  # the place of all claims with their numbers


def section(paper: str) -> None:
    """Which claims of the paper whose tables are shown are found here, and which are not, in short; a phone, whose
    figure would leave the first screen, has the way to them. Beside the built-in world a line per paper; nothing where
    none is recorded."""
    if paper == WORLD:
        _of_all_papers()
        return
    claims, _ = _claims_of(PAPERS.get(paper, ""))
    if claims:  # a phone shows the second alone, see the style
        _in_short(claims, "claims-beside", f" [Numbers ↓](#{_EACH})")
        with st.container(key="claims-way"):
            st.markdown(f"[{_counts(claims)} ↓](#{_EACH})")


def each_claim(paper: str) -> None:
    """Below the figure: every claim with its numbers, once it is opened; on a phone in short before."""
    claims, rule = _claims_of(PAPERS.get(paper, ""))
    if not claims:
        return
    st.html(f'<div id="{_EACH}"></div>')
    _in_short(claims, "claims-below")
    with st.expander(f"Of the paper's {_count(claims)}"), st.container(key="paper-claims"):
        st.caption(_JUDGED)
        st.table(_rows(sorted(claims, key=_place_in_table)))
        with st.expander("How a claim is judged"):
            st.caption(rule)


def _in_short(claims: Sequence[Mapping[str, Any]], key: str, way: str = "") -> None:
    """A line per verdict: how many claims have it, and which. way : to their numbers."""
    found = {name: [c for c in claims if c["verdict"] == name] for name in _VERDICTS}
    lines = [
        f"**{_HEADS[name]} ({len(own)}):** {escape_markdown(_named(own))}"
        for name, own in found.items()
        if own
    ]
    with st.container(key=key):
        st.markdown("  \n".join(lines) + way)


def _named(claims: Sequence[Mapping[str, Any]]) -> str:
    """`gains on every 2×2 set; gains with one image; 3 more`, as many as fit."""
    said, names = "", [name for claim in claims if (name := _short(claim))]
    taken = 0
    for name in names:
        longer = f"{said}; {name}" if said else name
        if len(longer) > _ROOM:
            break
        said, taken = longer, taken + 1
    more = len(claims) - taken
    return f"{said}; {more} more" if said and more else said or f"{more} more"


def _short(claim: Mapping[str, Any]) -> str:
    """A claim in few words; of the one on the metric on how many sets it holds clearly."""
    held = re.search(r"below chance on (\d+) of \d+ sets; on (\d+) of these", str(claim.get("decided_by")))
    if held:
        return f"below chance by GroupScore, above it by GroupMatch: clear on {held[2]} of {held[1]} sets"
    return _IN_SHORT.get(claim["says"], "")


def _counts(claims: Sequence[Mapping[str, Any]]) -> str:
    """`11 claims: 3 same here, 4 different, 4 open`."""
    return f"{len(claims)} claims: {_counted_verdicts(claims).replace(' same', ' same here')}"


def _of_all_papers() -> None:
    """`The same here: 3 of 11 claims of Test-Time Matching, ...`, and once it is opened which are different."""
    of_paper = {paper: claims for paper, short in PAPERS.items() if (claims := _claims_of(short)[0])}
    if not of_paper:
        return
    same = [
        f"{sum(c['verdict'] == _VERDICTS[0] for c in claims)} of {len(claims)} of {paper}"
        for paper, claims in of_paper.items()
    ]
    with st.expander(f"The papers' claims that are the same here: {', '.join(same)}"):
        st.markdown(
            "\n".join(
                f"- [{paper}](Papers?{urlencode({'paper': paper})}): of {_count(claims)}{_different(claims)}."
                for paper, claims in of_paper.items()
            )
        )


def _count(claims: Sequence[Mapping[str, Any]]) -> str:
    """`11 claims 3 are the same here, 4 different, 4 open`."""
    return f"{len(claims)} claims {_counted_verdicts(claims, in_a_sentence=True)}"


def _different(claims: Sequence[Mapping[str, Any]]) -> str:
    """`. Different: ...`, the claims that are not found here, in few words; "" where none is."""
    said = [_IN_SHORT.get(c["says"], c["says"].rstrip(".")) for c in claims if c["verdict"] == _VERDICTS[1]]
    return f". **Different**: {escape_markdown('; '.join(said))}" if said else ""


def _place_in_table(claim: Mapping[str, Any]) -> tuple[bool, int]:
    """The claim on the metric itself first, whatever is found of it; then the same, the different and the open ones."""
    return not claim.get("first"), _VERDICTS.index(claim["verdict"])


def _claims_of(short: str) -> tuple[list[Mapping[str, Any]], str]:
    """Those of a paper with the sentences on how they are judged: Cola's from runs that were made for them, the others
    from figures that are shipped."""
    record, rule = (_verdict_record(), _COLA_RULE) if short == "Cola" else (_record_of_figures(), "")
    record = record or {}
    claims = [c for c in record.get("claims", ()) if short and str(c.get("source")).startswith(f"{short},")]
    return claims, rule or _FIGURES_RULE.format(record.get("rule"))


def _record_of_figures() -> dict[str, Any] | None:
    """What `benchmarks.results.paper_claims` wrote; None where it is not shipped."""
    path = paths.assets() / "results" / "paper_claims.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def how_lines_are_counted(record: Mapping[str, Any]) -> tuple[str, str]:
    """What a line of the table of all sets and models is and when it rises, and how its count fits those of the claims
    and of the page on test-time matching, in Markdown. record : `TablePlan.record()` of that table."""
    kinds = (_record_of_figures() or {}).get("lines", ())
    if not kinds:
        return "", ""
    seeds = {c["shipped_seeds"] for line in record["lines"] for c in line["cells"] if c["method"] == "TTM"}
    runs = f"of {counted(seeds.pop(), 'seed')}" if len(seeds) == 1 else "over its seeds"
    parts = [
        f"{kind['lines']} {'on ' + kind['of'] if kind['of'] else 'others'} ({_clear(kind)})" for kind in kinds
    ]
    counted_so = (
        f"A line is one model on one set, the mean {runs}. It rises where GroupMatch ends "
        "higher than before, clearly where the value before lies outside the 95 % interval after."
    )
    fits = (
        f"The claims count clear changes of the same {sum(kind['lines'] for kind in kinds)} lines: {', '.join(parts)}. "
        f"{beside_the_table_of_sets()}"
    )
    return counted_so, fits.strip()


def _clear(kind: Mapping[str, Any]) -> str:
    """`4 rise, 2 fall`."""
    rises, falls = kind["rises"], kind["falls"]
    return f"{rises} rise{'s' * (rises == 1)}, {falls} fall{'s' * (falls == 1)}"


def _rows(claims: list[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "claim": f"{escape_markdown(claim['says'].rstrip('.'))} :small[({_place(claim)})]",
            "here": _here(claim),
            "verdict": claim["verdict"],
        }
        for claim in claims
    ]


def _place(claim: Mapping[str, Any]) -> str:
    """`section 4.2, Table 1`, where the paper claims it."""
    return str(claim["source"]).partition(", ")[2]


def _here(claim: Mapping[str, Any]) -> str:
    """`+9.8 (+3.4 to +14.8)`, or what was found in a sentence with its figures."""
    if "figures" in claim:
        figures = "; ".join(_figure(each) for each in claim["figures"])
        said = escape_markdown(true_minus(f"{claim['decided_by']} {figures}".rstrip()))
        return said.replace("such lines", f"[such lines]({TO_COUNTED})")
    if "difference" not in claim:
        return "not measured"
    return true_minus(_points(claim))


def _points(found: Mapping[str, Any]) -> str:
    return f"{_signed(found['difference'])} ({_signed_range(found['low'], found['high'])})"


def _figure(found: Mapping[str, Any]) -> str:
    """`GroupMatch, left-right 66.7 % (61.0 to 72.0), chance 50.0 %`, or a difference in points."""
    if "difference" in found:
        return f"{found['what']} {_points(found)}"
    tied = f", {found['ties']} tied" if found["ties"] else ""
    interval = f"{_pct(found['low'])} to {_pct(found['high'])}"
    return f"{found['what']} {_pct(found['value'])} % ({interval}), chance {_pct(found['chance'])} %{tied}"
