"""What a paper claims and what is found here, claim by claim, above its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.base.text import _pct, _signed, _signed_range, counted
from core.figures.text import escape_markdown
from core.metrics.groups import GROUP_MATCH
from core.papers.table_html import PAPERS, WORLD
from ui.formatting import true_minus
from ui.retrieval_table import _VERDICTS, _counted_verdicts, _verdict_in_words, _verdict_record
from ui.ttm_shifts import COUNTED, TO_COUNTED, both_counts, record_of_claims
from ui.visitor import on_phone

_HERE = "A claim that does not hold **here**, with small models, may hold with the paper's."
_JUDGED = (
    "Here: small models on the built-in world, so not the paper's own pictures. A claim holds here, or does not, only "
    "where the numbers show it beyond their 95 % intervals; else it cannot be told yet."
)
_COLA_RULE = (
    "The difference in points is the mean over seeds, with its 95 % interval. A claim holds here, or does not, only "
    "where the difference is clear, every seed agrees and longer training would not undo it. The whole rule stands on "
    "Retrieval."
)
_FIGURES_RULE = (
    "Measured on groups of the test sets. Differences are in points, over seeds where a model is trained; all have "
    "95 % intervals, and no group is tied where no ties are named. {}"
)


# What the paper says, in a clause that is read by itself. Those without stand as they are: they are short.
_IN_SHORT = {
    "Models that GroupScore puts below chance are above chance by GroupMatch.": (
        "models below chance by GroupScore are above it by GroupMatch"
    ),
    "After SimpleMatch, in groups of several pictures, GroupScore is what GroupMatch was before.": (
        "SimpleMatch lifts GroupScore to GroupMatch in groups of k pictures and k captions"
    ),
    "Training on right matchings only would lift it further.": (
        "training on right matchings only gains more"
    ),
    "Three or five iterations already gain.": "TTM gains within three or five iterations",
    "Test-time matching raises GroupMatch for every model and every set of 2×2 groups.": (
        "TTM gains on every 2×2 set, with every model"
    ),
    "It also helps where a group has one image and both metrics are the same.": (
        "TTM gains with one image per group, too"
    ),
    "Without groups, one assignment over everything beats GroupScore.": (
        "one assignment over everything beats GroupScore without groups"
    ),
    "Without groups, test-time matching raises the accuracy of that assignment.": "TTM gains without groups, too",
    "A constant or a rising threshold gains nothing.": "a constant or rising threshold gains nothing",
    "A falling threshold gains more than a constant or a rising one.": (
        "a falling threshold gains more than a constant or rising one"
    ),
    "With GroupMatch, GPT-4.1 is above people on Winoground.": "GPT-4.1 is above people on Winoground by GroupMatch",
    "A model that sees no picture finds the true caption among shuffled ones.": (
        "a model that sees no picture finds the true caption among shuffled ones"
    ),
    "Among shuffled captions, the generative score beats ITM and ITC.": (
        "the generative score beats ITM and ITC among shuffled captions"
    ),
    "Among shuffled captions, removing the prior hurts.": "removing the prior hurts among shuffled captions",
    "Text alone helps little where false captions read well.": "text alone helps little where false captions read well",
    "Where false captions read well, an alpha from validation helps.": (
        "an alpha from validation helps where false captions read well"
    ),
    "On groups whose captions are swapped, an alpha from validation helps.": (
        "an alpha from validation helps with swapped captions"
    ),
    "Alpha = 1 helps even without validation.": "alpha = 1 helps without validation",
    "Removing the prior helps to find captions.": "removing the prior helps to find captions",
    "The prior plays no role in finding pictures.": "the prior plays no role in finding pictures",
    "A few noise images give a better prior than training images.": (
        "a few noise images give a better prior than training images"
    ),
    "Removing the prior helps even on training pairs.": "removing the prior helps even on training pairs",
    "MM-Adapter finds what queries ask for, all of them, better than the model before.": (
        "MM-Adapter beats the model before on all queries"
    ),
    "MM-Adapter finds combinations that training never showed better than the model before.": (
        "MM-Adapter beats the model before on combinations never shown"
    ),
    "MM-Adapter beats tuning both encoders on combinations that training never showed.": (
        "MM-Adapter beats tuning both encoders on combinations never shown"
    ),
    "Attention over picture and query together beats attention in each tower alone (FT late).": (
        "attention over picture and query together beats attention in each tower alone"
    ),
    "Tuning later layers of each tower (FT late) beats tuning both encoders.": "FT late beats tuning both encoders",
    "Comparing with the frozen query beats predicting a score (MM-Pred), on all queries.": (
        "comparing with the frozen query beats predicting a score on all queries"
    ),
    "Comparing with the frozen query beats predicting a score (MM-Pred), on combinations never shown.": (
        "comparing with the frozen query beats predicting a score on combinations never shown"
    ),
    "MM-Adapter tells which of two pictures with exchanged attributes is meant, better than the model before.": (
        "MM-Adapter tells pictures with exchanged attributes apart better than the model before"
    ),
    "The model before tells such pictures apart worse than chance does.": (
        "the model before tells pictures with exchanged attributes apart worse than chance does"
    ),
    "What MM-Adapter learns carries over to two captions of one picture, in CREPE's manner.": (
        "what MM-Adapter learns carries over to two captions of one picture"
    ),
    "Tuning both encoders is enough for two captions of one picture, in CREPE's manner.": (
        "tuning both encoders is enough for two captions of one picture"
    ),
    "Linear is enough for two captions of one picture, in CREPE's manner.": (
        "Linear is enough for two captions of one picture"
    ),
    "FT late is enough for two captions of one picture, in CREPE's manner.": (
        "FT late is enough for two captions of one picture"
    ),
}
# Kinds of claims of which a paper has many: what they begin with, or speak of, and what stands there in short.
_IN_WORDS = (
    (
        r"^Where all the words are there and wrongly attached, (.*)$",
        r"\1 where the words are wrongly attached",
    ),
    (r"^(.* better than the model before), for (queries of .*)$", r"\1 for \2"),
    (r"\bsuch pictures\b", "pictures with exchanged attributes"),
)
_EVIDENCE = "The evidence for each claim"
_WHY_LESS = "Why less than in the paper?"
_COUNTED_SO = "How measurements are counted"
_MARKS = {"same": "✓", "different": "✗", "open": "?"}
_MANY, _FIRST = 7, 5  # claims of a verdict: 17 in sight were two screens of a phone
_OF_NEITHER = re.compile(r"measurements of neither kind( \(.*?\))")
_TWO_LINES = 82  # letters that stand with the number of claims in two lines of a phone
_EACH = "claims-here"  # the place of the lists of all claims
_EVIDENCE_PLACE = "the-evidence"  # that of their numbers


def section(paper: str) -> None:
    """How many claims of the paper whose tables are shown hold here, with the way to which these are: there is no room
    for sentences beside the choice, as the figure is to end on the first screen. Beside the built-in world a line per
    paper; nothing where none is recorded."""
    if paper == WORLD:
        _of_all_papers()
        return
    claims, _ = _claims_of(PAPERS.get(paper, ""))
    if claims:
        with st.container(key="claims-way"):
            st.markdown(f"[{_counts(claims)} ↓](#{_EACH})")


def has_claims(paper: str) -> bool:
    """Whether claims of this paper are recorded, for which the figure leaves room beside it."""
    return bool(_claims_of(PAPERS.get(paper, ""))[0])


def each_claim(paper: str, found: str = "", is_beside: bool = False) -> None:
    """Beside the figure, in a narrow window below it: which claims hold and which do not. Their numbers are `evidence`.

    found : the sentences on what came out here; a phone, which has them far below, has the first one before the lists.
    is_beside : a figure stands beside them on a laptop, where the evidence is below both, and so a way to it here.
    """
    claims, _ = _claims_of(PAPERS.get(paper, ""))
    if not claims:
        return
    with st.container(key="claims-here-said"):  # on a phone below the lists, once one of them is open
        st.markdown(_HERE)
    with st.container(key="claims-named"):  # on a phone, which has the lists in place of the way to them
        of_paper = f"The paper's {counted(len(claims), 'claim')}"
        first = _first_found(found) if on_phone() else ""
        st.markdown(f"**{first}** {of_paper}:" if first else f"**{of_paper}**")
    st.html(f'<div id="{_EACH}"></div>')  # right before the lists, which a way to it opens
    _in_short(claims)
    if is_beside:
        with st.container(key="claims-to-evidence"):  # on a laptop; see the style
            st.markdown(f"[{_EVIDENCE} ↓](#{_EVIDENCE_PLACE})")


def evidence(paper: str, lines: Mapping[str, Any] | None = None) -> None:
    """Every claim with its numbers, once it is opened, as wide as the page: beside the figure its table was three
    screens long. lines : `TablePlan.record()` of the table of all sets and models, where it is counted beside it."""
    claims, rule = _claims_of(PAPERS.get(paper, ""))
    if not claims:
        return
    why = _why_less(record_of_claims() or {}) if PAPERS[paper] == "TTM" else ""
    label = f"{_EVIDENCE}, and why gains are smaller" if why else _EVIDENCE
    with st.container(key="evidence"):
        st.html(f'<div id="{_EVIDENCE_PLACE}"></div>')  # right before the fold, which a way to it opens
        with st.expander(label), st.container(key="paper-claims"):
            st.caption(_JUDGED)
            st.table(_rows(sorted(claims, key=_place_in_table)))
            st.markdown(f"**How a claim is judged.** {rule}")
            if lines is not None:
                how_counted(lines)
            if why:
                st.markdown(f"**{_WHY_LESS}** {why}")


def _first_found(found: str) -> str:
    """What came out here in one sentence of two lines of a phone: without what its sets and words are; "" where it is
    longer."""
    plain = re.sub(r"\\(\W)", r"\1", found)  # it is Markdown
    told = re.search(r"Here, with small models on rendered scenes, (.+?)(?:\. |\.?\*\*)", plain)
    if told is None:
        return ""
    said = re.sub(r" \([^)]*\)|, which [^,]*,|, not paired and not corrected; .+", "", told[1])
    return f"Here {escape_markdown(said)}." if len(said) <= _TWO_LINES else ""


def how_counted(lines: Mapping[str, Any]) -> None:
    """What the count of the measurements of all sets and models counts, at the place to which that count leads, and how
    the others of the pages fit it. lines : `TablePlan.record()` of that table."""
    counted_so, fits = how_measurements_are_counted(lines)
    if counted_so:
        st.html(f'<div id="{COUNTED}"></div>')
        st.markdown(f"**{_COUNTED_SO}.** {counted_so} {fits}")


def _in_short(claims: Sequence[Mapping[str, Any]]) -> None:
    """A list per verdict: how many claims have it, and which; of many the first, as the table has them all."""
    found = {name: [c for c in claims if c["verdict"] == name] for name in _VERDICTS}
    with st.container(key="claims-below", gap="xsmall"):
        for name, own in found.items():
            if own:
                shown = own if len(own) <= _MANY else own[:_FIRST]
                more = [f"{len(own) - len(shown)} more below, with the evidence"] * (len(own) > len(shown))
                said = [f"- {_both_parts(claim)}" for claim in shown]
                head = f"{_MARKS[name]} {_counted_verdicts(own)}"
                with st.container(key=f"claims-{name}"):
                    # on a phone and beside a figure each list is closed below its count; see the style
                    title = f"<span>{head}<small>{escape(_for_one(own))}</small></span>"
                    st.html(f'<details class="cm-fold"><summary>{title}</summary></details>')
                    st.markdown("\n".join([f"**{head}**", "", *said, *(f"- {m}" for m in more)]))


def _for_one(claims: Sequence[Mapping[str, Any]]) -> str:
    """What a closed list is of, in a sentence of the same form for each: its first claim. One of the three stood open,
    and the page looked one-sided."""
    one = ", for one" if len(claims) > 1 else ""
    return f"The paper says{one}: {_clause(claims[0]['says'])}."


def _why_less(record: Mapping[str, Any]) -> str:
    """What the shipped runs say of why test-time matching gains less here than in the paper; "" without them."""
    found = record.get("first_labels")
    if not found:
        return ""
    guess, right = found["examples"]
    before, after = _pct(right["before"]), _pct(right["after"])
    near_chance = (
        f"Where CLIP is near chance, few more than by chance are right: on {guess['set']} {_pct(guess['right'])} % "
        f"(chance {_pct(guess['chance'])} %)."
    )
    not_enough = (
        f"But right ones are not enough: on {right['set']} {_pct(right['right'])} % are right at first, and GroupMatch "
        f"goes from {before} to {after} % (chance {_pct(right['chance'])} %)."
    )
    over_all = (
        f"Over all {found['lines']} measurements the share that is right at first does not tell the gain (rank "
        f"correlation {_signed(found['rank_correlation'], 2)})."
    )
    return true_minus(
        "Our runs tell it only in part, by the first pseudo-labels. "
        f"{near_chance} {not_enough} {over_all} The paper's larger models were not run here."
    )


def _both_parts(claim: Mapping[str, Any]) -> str:
    """`**The paper:** A constant or rising threshold gains nothing. **Here:** ...` with the numbers, in Markdown: below
    “do not hold here” what the paper says alone was read as what is found."""
    said = _clause(claim["says"])
    return f"**The paper:** {escape_markdown(said[0].upper() + said[1:])}. **Here:** {_short(claim)}"


def _short(claim: Mapping[str, Any]) -> str:
    """What is found here in a sentence; where the claim is on many sets, on how many."""
    decided = str(claim.get("decided_by"))
    if held := re.search(r"below chance in (\d+) of \d+ measurements .*?; in (\d+) of these", decided):
        return f"clearly in {held[2]} of {held[1]} measurements{_untold(int(held[1]) - int(held[2]))}."
    if moved := re.search(
        r"^Of (\d+) (such measurements|sets) (\d+) rises? and (\d+) falls? by single 95 % intervals(?: \((.+?)\))?"
        r"; (corrected .+?)\.",
        decided,
    ):
        of, what, rise, fall, model, corrected = moved.groups()
        named = _such_measurements(claim) if what.startswith("such") else "2×2 sets"
        return f"{f'with {model}, ' if model else ''}{_clear(int(of), named, int(rise), int(fall))}; {corrected}."
    if won := re.search(
        r"^Clearly higher in (\d+) of (\d+) measurements .*?, clearly lower in (\d+),", decided
    ):
        higher, of, lower = map(int, won.groups())
        return f"in {lower} of {of} measurements it is clearly lower; {higher} higher{_untold(of - higher - lower)}."
    if further := re.search(
        r"clearly on (\d+) of the (\d+) sets measured, corrected for .*? cannot be told", decided
    ):
        return f"clearly on {further[1]} of {further[2]} sets, {int(further[2]) - int(further[1])} cannot be told."
    if decided.startswith("Not measured"):
        return "not measured."
    points = " points" if "figures" not in claim and "difference" in claim else ""
    return f"{_here(claim)}{points}."


def _untold(number: int) -> str:
    """`, 2 cannot be told`"""
    return f", {number} cannot be told" if number else ""


def _clause(says: str) -> str:
    """A claim's sentence as a clause of a list."""
    if says in _IN_SHORT:
        return _IN_SHORT[says]
    said = says.rstrip(".")
    for pattern, words in _IN_WORDS:
        said = re.sub(pattern, words, said)
    return said


def _counts(claims: Sequence[Mapping[str, Any]]) -> str:
    """`The paper's 11 claims: 3 hold here, 4 do not hold here, 4 cannot be told yet`."""
    return f"The paper's {counted(len(claims), 'claim')}: {_counted_verdicts(claims)}"


def _of_all_papers() -> None:
    """`The papers' claims that hold here: 3 of 11 of Test-Time Matching, ...`, and once it is opened which do not."""
    of_paper = {paper: claims for paper, short in PAPERS.items() if (claims := _claims_of(short)[0])}
    if not of_paper:
        return
    held = [
        f"{sum(c['verdict'] == _VERDICTS[0] for c in claims)} of {len(claims)} of {paper}"
        for paper, claims in of_paper.items()
    ]
    with st.expander(f"The papers' claims that hold here: {', '.join(held)}"):
        st.markdown(
            "\n".join(
                f"- [{paper}](Papers?{urlencode({'paper': paper})}): {_counted_verdicts(claims)}{_different(claims)}."
                for paper, claims in of_paper.items()
            )
        )


def _different(claims: Sequence[Mapping[str, Any]]) -> str:
    """`. What does not hold here: ...`, the claims that are not found here, in few words; "" where none is."""
    said = [_clause(c["says"]) for c in claims if c["verdict"] == _VERDICTS[1]]
    return f". **What does not hold here**: {escape_markdown('; '.join(said))}" if said else ""


def _place_in_table(claim: Mapping[str, Any]) -> tuple[bool, int]:
    """The claim on the metric itself first, whatever is found of it; then those that hold, do not, and are not told."""
    return not claim.get("first"), _VERDICTS.index(claim["verdict"])


def _claims_of(short: str) -> tuple[list[Mapping[str, Any]], str]:
    """Those of a paper with the sentences on how they are judged: Cola's from runs that were made for them, the others
    from figures that are shipped."""
    record, rule = (_verdict_record(), _COLA_RULE) if short == "Cola" else (record_of_claims(), "")
    record = record or {}
    claims = [c for c in record.get("claims", ()) if short and str(c.get("source")).startswith(f"{short},")]
    return claims, rule or _FIGURES_RULE.format(record.get("rule"))


def how_measurements_are_counted(record: Mapping[str, Any]) -> tuple[str, str]:
    """What a measurement of the table of all sets and models is and when it rises, and how its count fits those of the
    claims and of the page on test-time matching, in Markdown. record : `TablePlan.record()` of that table."""
    kinds = (record_of_claims() or {}).get("lines", ())
    if not kinds:
        return "", ""
    seeds = {c["shipped_seeds"] for line in record["lines"] for c in line["cells"] if c["method"] == "TTM"}
    runs = f"of {counted(seeds.pop(), 'seed')}" if len(seeds) == 1 else "over its seeds"
    changes = list(_changes(record))
    counted_so = (
        f"A measurement is one model on one set, the mean {runs}. It rises where GroupMatch ends "
        "higher than before, by a single 95 % interval where the value before lies outside that interval after: not "
        f"paired, not corrected for {len(changes)} looks."
    )
    fits = (
        f"However little, {sum(each > 0 for each in changes)} rise and {sum(each < 0 for each in changes)} fall. "
        f"{_measurements_add_up()} {both_counts()} "
        "A paired test would need each group's outcome, which does not ship."
    )
    return counted_so, fits.strip()


def _changes(record: Mapping[str, Any]) -> Iterator[float]:
    """By how much GroupMatch ends higher than before, of every measurement of the table of all sets and models."""
    for line in record["lines"]:
        at = {c["method"]: c["shipped"] for c in line["cells"] if c["metric"] == GROUP_MATCH}
        if at.get("TTM") is not None and at.get("SimpleMatch") is not None:
            yield at["TTM"] - at["SimpleMatch"]


def _such_measurements(claim: Mapping[str, Any]) -> str:
    """`measurements of 2×2 groups`, the part of all that a claim is about."""
    kinds = [kind["of"] for kind in (record_of_claims() or {}).get("lines", ()) if kind["of"]]
    of = next((each for each in kinds if each.removeprefix("groups of ") in claim["says"]), "")
    return f"measurements of {of}" if of else "measurements"


def _measurements_add_up() -> str:
    """How the changes that single claims count make those of all; of another metric are none of these."""
    kinds = (record_of_claims() or {}).get("lines", ())
    others = next(
        (found[1] for c in _claims_of("TTM")[0] if (found := _OF_NEITHER.search(str(c.get("decided_by"))))),
        "",
    )
    parts = [
        f"{kind['lines']} {'on ' + kind['of'] if kind['of'] else 'others' + others}: "
        f"{_rises(kind['rises'], kind['falls'])}"
        for kind in kinds
    ]
    lines, rises, falls = (sum(kind[name] for kind in kinds) for name in ("lines", "rises", "falls"))
    if not lines:
        return ""
    return f"All {lines} measurements, by single 95 % intervals: {_rises(rises, falls)} ({'; '.join(parts)})."


def _rises(rises: int, falls: int) -> str:
    """`4 rise, 2 fall`."""
    return f"{rises} rise{'s' * (rises == 1)}, {falls} fall{'s' * (falls == 1)}"


def _clear(of: int, what: str, rises: int, falls: int) -> str:
    """`in 2 of the 20 measurements it falls by single 95 % intervals; 4 rise ...`: what speaks against it first."""
    untold = _untold(of - rises - falls)
    if not falls:
        return f"in {rises or 'none'} of the {of} {what} it rises by single 95 % intervals, in none it falls{untold}"
    risen = f"{rises or 'none'} rise{'s' * (rises < 2)}"
    return f"in {falls} of the {of} {what} it falls by single 95 % intervals; {risen}{untold}"


def _rows(claims: list[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "claim": f"{escape_markdown(claim['says'].rstrip('.'))} :small[({_place(claim)})]",
            "here": _here(claim),
            "verdict": _verdict_in_words(claim["verdict"]),
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
        return said.replace("such measurements", f"[{_such_measurements(claim)}]({TO_COUNTED})")
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
