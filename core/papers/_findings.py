"""What each table says, in one or two sentences: read off its cells where test-time matching is measured, else written
in assets/papers/findings.json with the paper's printed numbers (`tests/test_page_papers.py` looks them up)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from core.base.paths import assets
from core.base.text import _pct, _signed, counted
from core.figures.text import label_and_meaning
from core.metrics.groups import TEXT_SCORE
from core.metrics.retrieval import COLA_MAP, METRICS
from core.papers import _beside, _cola, _shipped_results
from core.scorers.cola_config import STRATEGIES


@cache
def _written() -> dict[str, str]:
    return json.loads((assets() / "papers" / "findings.json").read_text("utf-8"))


@cache
def _of_what() -> dict[str, str]:
    return json.loads((assets() / "papers" / "about.json").read_text("utf-8"))


def _about(key: str) -> str:
    """What a table's sets ask, in a sentence; "" where nothing is written. key : as of `finding`."""
    return _of_what().get(key, "")


class _Finding(NamedTuple):
    """A paragraph about a table. verdict : whether what the paper claims is seen here, in a sentence without its full
    stop; "" where the table asks of something else, or is the paper's own. text : the rest."""

    verdict: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.verdict}: {self.text}" if self.verdict else _capital(self.text)


def finding(key: str, plan: Mapping[str, Any] | None = None, beside: str = "") -> str:
    """What a table says, in plain text, what is measured here in a paragraph of its own; "" where nothing is written
    and nothing can be read.

    key : of `TABLES`, or a table's name in the paper where it is no run of adaptation. plan : `TablePlan.record()`.
    beside : the paper's table below which it stands. It then begins with whether the same is seen here, where both ask
    the same: in part where some lines say so and others do not.
    """
    return "\n\n".join(each.whole for each in _findings(key, plan, beside))


def _findings(key: str, plan: Mapping[str, Any] | None, beside: str = "") -> list[_Finding]:
    """The paragraphs of `finding`."""
    of_cola = key.startswith(("cola/", "world/cola"))
    if key in _written() or plan is None or of_cola:
        ours = _by_length(key in _OF_ADAPTERS) if plan is not None and of_cola else _NOTHING
        found = [_Finding("", _written().get(key, "")), ours]
    elif key in _OF_A_CAPTIONER:
        alone = _of_the_scores() if beside == _beside._ARO else _NOTHING
        found = [alone, _OF_A_CAPTIONER[key](plan, beside in _OF_THE_PRIOR)]
    else:
        if beside in _OF_ONE_IMAGE:
            plan = {**plan, "lines": list(filter(_beside._is_of_one_image, plan["lines"]))}
        parts = dict.fromkeys(cell["part"] for line in plan["lines"] for cell in line["cells"])
        each = [_gains(plan, part, beside) for part in parts]
        verdict = next((e.verdict for e in each), "")
        found = [
            _Finding(verdict, " ".join([e.text for e in each[:1]] + [e.whole for e in each[1:]]).strip())
        ]
    return [each for each in found if each.text]


_NOTHING = _Finding("", "")
# Of `_before_and_after`.
_Change = tuple[str, str, float, float, float | None, float | None, bool]


_CALLED = {
    "itc:builtin/blip-itm": "ITC of the built-in BLIP",
    "builtin/blip-itm": "ITM of the built-in BLIP",
    "builtin/clip-early": "the built-in CLIP that was stopped early",
    "builtin/siglip": "the built-in SigLIP",
    "builtin/clip": "the built-in CLIP",
}


def _said(line: str) -> str:
    """A line's name in a sentence: set, and model by what it is, `scenes/swap, ITC of the built-in BLIP`."""
    return ", ".join(_CALLED.get(part, part) for part in line.split(", "))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


_HERE = "Here, with small models on rendered scenes"  # begins every verdict


def _agrees(same: int, of: int, in_part: str) -> str:
    """The verdict below a paper's table. same : of so many measurements, how many say what the paper says. in_part :
    what is seen where some do and others do not: numbers of both say more than “in part”."""
    if 0 < same < of:
        return f"{_HERE}, {in_part}"
    return f"{_HERE}, {'the same is' if same else 'this is not'} seen"


# Tables whose claim is what is measured here, too: that test-time matching raises a metric, that Cola's own adapters
# come out highest, that removing the prior helps.
_OF_GAINS = ("ttm/1", "ttm/2", "ttm/6", "ttm/7", "ttm/8", "ttm/9")
_OF_ONE_IMAGE = ("ttm/6", "ttm/7")  # of the former, those that print one number of groups of one image
_OF_ADAPTERS = ("cola/1", "cola/2a", "cola/3", "cola/4", "cola/10")
_OF_THE_PRIOR = ("vgpt/3a", "vgpt/4", "vgpt/7", "vgpt/8", "vgpt/10", "vgpt/11")


def _of_alpha(plan: Mapping[str, Any], agrees: bool) -> _Finding:
    """On how many sets of groups removing the prior pays off, with an alpha that was chosen on other groups, and
    wholly. The former is its gain on those halves: the value at alpha 0 is of all groups."""
    cells = [
        (
            line["line"].partition(",")[0],
            {(c["method"].rpartition(" ")[2], c["metric"]): _known(c) for c in line["cells"]},
        )
        for line in plan["lines"]
    ]
    ends = (("alpha_0", TEXT_SCORE), ("alpha_1", TEXT_SCORE), ("validated", "absolute_gain"))
    found = [
        (name, *(at[end] for end in ends)) for name, at in cells if None not in (at[end] for end in ends)
    ]
    if not found:
        return _NOTHING
    raised = [row for row in found if row[3] > 0]
    lower = sum(row[2] < row[1] for row in found)
    in_part = f"removing part of the prior helps on {len(raised)} of {len(found)} sets"
    verdict = _agrees(len(raised), len(found), in_part) if agrees else ""
    best = max(found, key=lambda row: row[3])
    most = f", most on {best[0]}: by {_signed(best[3])} points" if raised else ""
    where = f"all {len(found)} sets" if lower == len(found) else f"{lower}"
    return _Finding(
        verdict,
        f"an α that is chosen on held-out groups raises TextScore on {len(raised)} of {len(found)} sets{most} "
        f"(means over held-out halves, without intervals). Removing the whole prior (α = 1) lowers it on {where}.",
    )


def _of_retrieval(plan: Mapping[str, Any], agrees: bool) -> _Finding:
    """How far the prior's removal raises recall among all captions, with the alpha of the validation split."""
    told, raised = [], 0
    for line in plan["lines"]:
        at = {cell["head"]: _known(cell) for cell in line["cells"]}
        before, after = at["α = 0 R@1"], at["test R@1, α from validation"]
        if before is not None and after is not None:
            told.append(
                f"from {_pct(before)} to {_pct(after)} % (prior from {line['line'].rpartition(': ')[2]})"
            )
            raised += after > before
    if not told:
        return _NOTHING
    verdict = _agrees(raised, len(told), f"it helps with {raised} of {len(told)} priors") if agrees else ""
    return _Finding(
        verdict, f"R@1 from image to text goes {' and '.join(told)} with the α of the validation split."
    )


def _of_the_scores() -> _Finding:
    """On how many built-in sets the generative score is above ITC, and on how many a model that sees no image is above
    chance: of sets of one image, for of several it cannot be right on all."""
    found = _beside._compared_here()
    if not found:
        return _NOTHING
    above = [name for name, (_, itc, generative) in found.items() if generative.value > itc.value]
    alone = {name: blind for name, (blind, *_) in found.items() if blind.images == 1}
    told_apart = [name for name, blind in alone.items() if blind.low > blind.chance]
    both = f"the generative score is above ITC on {len(above)} of {len(found)} sets. "
    # Beside a claim that holds of shuffled captions, “1 of 5” alone seemed to say the opposite.
    which = f" ({told_apart[0]})" if len(told_apart) == 1 else ""
    # Of several images it cannot be right on all, so that there are fewer sets than above. In a line of a laptop, whose
    # first screen the figure's axis leaves else.
    of = f"{len(alone)} with one image a group"
    both += f"A text-only model is above chance on {len(told_apart)} of {of}{which}"
    verdict = _agrees(len(above) + len(told_apart), len(found) + len(alone), both)
    text = "the generative score is of the built-in captioner (α = 0), ITC of another built-in model"
    if above:
        best = max(above, key=lambda name: found[name][2].value - found[name][1].value)
        text += f"; it is most above it on {best}: {_pct(found[best][2].value)} against {_pct(found[best][1].value)} %"
    text += f". A model that sees no image is measured on the {len(alone)} sets with one image a group"
    if told_apart:
        levels = (
            f"{name} ({_pct(alone[name].value)} %, chance {_pct(alone[name].chance)} %)"
            for name in told_apart
        )
        text += f"; above chance on {', '.join(levels)}"
    return _Finding(verdict, f"{text}.")


_OF_A_CAPTIONER = {"world/alpha": _of_alpha, "world/retrieval": _of_retrieval}


@cache
def _by_length(agrees: bool) -> _Finding:
    """How Cola's strategies stand on the built-in world after the protocol's epochs and after the longest training, as
    far as results ship: none alone says what the other does."""
    of_part = {part: _standings(part) for part in _OF_QUERIES}
    found = of_part["all"]
    if not found:
        return _NOTHING
    _, before, chance, *_ = next(iter(found.values()))
    own = [each[-1] for standings in of_part.values() for each in standings.values()]
    said = [_highest(part, standings) for part, standings in of_part.items() if standings]
    in_part = ". ".join([*said[:1], *map(_capital, said[1:])])
    verdict = _agrees(sum(map(bool, own)), len(own), in_part) if agrees else ""
    where = "" if agrees else "on the built-in world "
    # Below a paper's table, whose figure is of them.
    unseen = " ".join(text for text, *_ in of_part["unseen"].values()) if agrees else ""
    return _Finding(
        verdict,
        f"{where}the order depends on the length of training{' and on the queries' * agrees}. "
        f"{METRICS[COLA_MAP].label} of all queries is {_pct(before)} % before, chance {_pct(chance)} %. "
        f"{' '.join(text for text, *_ in found.values())} "
        f"{f'Of unseen combinations {unseen[0].lower()}{unseen[1:]} ' if unseen else ''}Their intervals stand below.",
    )


# First what the figures of Cola's Tables 1 and 4 open on.
_OF_QUERIES = {"unseen": "on unseen combinations", "all": "on all queries"}


def _highest(part: str, standings: Mapping[int, _Standing]) -> str:
    """`a multimodal strategy (MM-Pred) is highest on all queries`, or which one is where none of the paper's two is:
    `Token map, which the paper does not have, is highest on ...`. “None is” left out that it does not."""
    if where := _where_own(part, standings):
        who = " or ".join(sorted({own for *_, own in standings.values() if own}))
        return f"a multimodal strategy ({who}) is highest {where}"
    names = list(dict.fromkeys(best for *_, best, _ in standings.values()))
    theirs = {s.label for s in STRATEGIES.values()} - {STRATEGIES["token-map"].label}
    whose = "" if theirs & {*names} else ", which the paper does not have,"
    return f"{' or '.join(names)}{whose} is highest {_OF_QUERIES[part]}"


_Standing = tuple[str, float, float, str, str]


def _standings(part: str) -> dict[int, _Standing]:
    """`_standing` of these queries by number of epochs, as far as results ship."""
    told = {o["epochs"]: _standing(number, o["epochs"], part) for number, o in enumerate(_cola.LENGTHS)}
    return {epochs: each for epochs, each in told.items() if each}


def _where_own(part: str, standings: Mapping[int, _Standing]) -> str:
    """`on all queries after 64 epochs but not after 16`; "" where another one is highest always."""
    of = _OF_QUERIES[part]
    own, other = (
        " and ".join(str(e) for e, (*_, is_own) in standings.items() if bool(is_own) is wanted)
        for wanted in (True, False)
    )
    if not own or not other:
        return of if own else ""
    return f"{of} after {own} epochs but not after {other}"


def _standing(length: int, epochs: int, part: str) -> _Standing | None:
    """After so many epochs, in a sentence: the best strategy, and the paper's own two where they are not that one. Also
    the number before, the chance level, the best one, and that one again if it is of the paper's two, else ""; None
    where no results ship."""
    found: dict[str, tuple[float, tuple[float, float]]] = {}
    chance = 0.0
    for line in _cola.protocol_lines(((COLA_MAP, part),), length):
        (cell,) = line.cells
        for runs in _shipped_results.of_line(line)[:1]:
            value, ends = runs.read(cell), runs.interval(cell)
            if value is not None and ends is not None:
                found[cell.method] = value.mean, ends
                chance = runs.chance(cell) or chance
    before = found.pop("before", None)
    if before is None or not found:
        return None
    best = max(found, key=lambda name: found[name][0])
    near = sum(ends[1] >= found[best][1][0] for name, (_, ends) in found.items() if name != best)
    first = f"After {epochs} epochs {best} is highest, {_pct(found[best][0])} %"
    first += f" ({near} of the other {counted(len(found) - 1, 'interval')} overlap)" if near else ""
    own = [s.label for s in STRATEGIES.values() if s.joint and s.label != best and s.label in found]
    others = "".join(f", {name} {_pct(found[name][0])} %" for name in own)
    of_paper = any(s.joint and s.label == best for s in STRATEGIES.values())
    return f"{first}{others}.", before[0], chance, best, best if of_paper else ""


def _gains(plan: Mapping[str, Any], part: str, beside: str) -> _Finding:
    """In how many measurements test-time matching raises its metric, and where most. beside : as of `finding`."""
    agrees = beside in _OF_GAINS
    found = list(_before_and_after(plan, part))
    if not found:
        return _NOTHING
    metric = label_and_meaning(found[0][1])[0] + (f" of {part} groups" if part else "")
    raised = [row for row in found if row[3] > row[2]]
    if raised and len(found) == 1:
        where = f"in the one measurement, {raised[0][0]}"
        text = f"test-time matching raises {metric} {where}: {_from_to(raised[0])}."
        return _Finding("", _capital(text))
    # Without their number, which stood beside that of all lines here and that of the claims.
    few = f"{len(raised) or 'none'} of {counted(len(found), 'measurement')}"
    within = [row for row in raised if row[4] is not None and not _side(row)]
    lower = sum(row[3] < row[2] for row in found)
    in_part = f"it rises in {len(raised)} of {counted(len(found), 'measurement')} and falls in {lower}"
    if within:  # these counts alone: with the others beside them, readers could not make the numbers meet
        in_part = f"{metric} {_clear_counts(found, _ON_ONE_IMAGE if beside in _OF_ONE_IMAGE else _ON_A_SET)}"
    most, least = (pick(found, key=lambda row: row[3] - row[2]) for pick in (max, min))
    best, worst = (f"{_said(row[0])}: {_from_to(row)}" for row in (most, least))
    verdict = _agrees(len(raised), len(found), in_part) if agrees else ""
    if agrees and raised and lower:  # the counts are in the verdict
        return _Finding(verdict, f"{metric} goes up most on {best}, and down most on {worst}. {_OTHERS}")
    if len(within) > 1 or (within and lower):
        most_of = f"It goes up most on {best}" + (f", and down most on {worst}" if lower else "")
        return _Finding(verdict, f"with test-time matching {metric} {_clear_counts(found)}. {most_of}.")
    every = "with every model that it trains" if all(row[6] for row in found) else _in_all(plan, len(found))
    text = f"test-time matching raises {metric} {every if len(raised) == len(found) else f'in {few}'}"
    if within:  # before where it rises most: said last, it took the sentence back
        text += f", in {len(raised) - len(within)} of them by single 95 % intervals"
    text += f", most on {best}" if raised else ""
    text += f". It falls in {lower}, most on {worst}" if lower else ""
    return _Finding(verdict, f"{text}.")


def _in_all(plan: Mapping[str, Any], count: int) -> str:
    """`in all 4 measurements, of one set and one model`: “in every measurement” read as of all sets and models, where
    only a setting differs."""
    alike = len({tuple(line["needs"]) for line in plan["lines"]}) == 1
    return f"in all {counted(count, 'measurement')}{', of one set and one model' * alike}"


def _from_to(row: _Change) -> str:
    """`from 77.67 to 85.75 %`, as the paper prints it: with one decimal its own table seemed to say something else."""
    digits = 2 if row[6] and any(abs(each - round(each, 1)) > 1e-9 for each in row[2:4]) else 1
    return f"from {_pct(row[2], digits)} to {_pct(row[3], digits)} %"


def _side(row: _Change) -> int:
    """Of a measurement of `_before_and_after`, whether it rises (1) or falls (-1) by its 95 % interval."""
    return _shipped_results._clear_side(row[2], row[4], row[5])


_ON_A_SET = "a model on a set each"
_ON_ONE_IMAGE = "a model each on a set with one image a group, where GroupScore is the same"


def _clear_counts(found: list[_Change], each: str = _ON_A_SET) -> str:
    """`rises in 6 of 49 measurements (a model on a set each) and falls in 4 by single 95 % intervals, not paired and
    not corrected; in the other 39 it does neither`: what ships are sums, of which no paired test can be made."""
    risen, sunk = (sum(_side(row) == side for row in found) for side in (1, -1))
    return (
        f"rises in {risen or 'none'} of {len(found)} measurements ({each}) and falls in "
        f"{sunk or 'none'} by single 95 % intervals, not paired and not corrected; in the other "
        f"{len(found) - risen - sunk} it does neither"
    )


_OTHERS = (
    "These are other models and pictures than the paper's: small models, trained here, on rendered scenes."
)


def _before_and_after(plan: Mapping[str, Any], part: str) -> Iterator[_Change]:
    """Every measured line: its name, the metric, its value before and after, both ends of the latter's interval where
    it has one, and whether it is the paper's, else the shipped one."""
    for line in plan["lines"]:
        cells = [(cell, _known(cell)) for cell in line["cells"] if cell["part"] == part]
        for start in ("SimpleMatch", "raw"):
            before = next(((c["metric"], v) for c, v in cells if c["method"] == start), None)
            if before is not None:
                break
        if before is None or before[1] is None:
            continue
        ends = (
            (v, c.get("shipped_low"), c.get("shipped_high"), c["paper"] is not None)
            for c, v in cells
            if c["method"].startswith("TTM") and c["metric"] == before[0]
        )
        after, low, high, is_printed = next(ends, (None, None, None, False))
        if after is not None:
            yield line["line"], before[0], before[1], after, low, high, is_printed


def _known(cell: Mapping[str, Any]) -> float | None:
    return cell["paper"] if cell["paper"] is not None else cell["shipped"]
