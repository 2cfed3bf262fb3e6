"""What Test-Time Matching and the paper on language priors claim, beside what is measured on the built-in world.

    python -m benchmarks.results.paper_claims

Writes assets/results/paper_claims.json from the figures that are in assets/results, and measures nothing itself: a
claim without such a figure is open, and says what it would take. Claims of Cola, which runs were made for, are in
`cola_verdict`.

The rule, the same for all: test-time matching changes a value where the value before is outside of the 95 % interval
after, by the function that counts the lines of the headline on the page. Of a value and its chance level the difference
is clear where the interval leaves the level out, of two values where the interval of their difference leaves out 0
(Newcombe, Statistics in Medicine 17, 1998, method 10: of independent shares, so too wide for pictures that both have in
common). A claim about several sets or models is decided by intervals that are corrected for their number (Bonferroni):
it is the same here where all of them are clear, different where one is clearly the other way, and else open.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.special
import scipy.stats

from benchmarks.results.cola_verdict import DIFFERENT, OPEN, SAME
from core.base.text import counted
from core.metrics.group_metrics import GLOBAL_MATCH, GROUP_MATCH, GROUP_SCORE, TEXT_SCORE
from core.papers._shipped_results import _clear_side, _with_intervals

RESULTS = Path(__file__).resolve().parents[2] / "assets" / "results"
OUT = RESULTS / "paper_claims.json"
CLIP, CAPTIONER, BLIND = "builtin/clip", "builtin/blip-caption", "builtin/blind-lm"
ADAPTED = (CLIP, "builtin/siglip", "builtin/blip-itm", "itc:builtin/blip-itm")
SQUARE = ("attribute-swap", "left-right", "front-behind", "size-swap", "material-swap")
ONE_IMAGE = ("relations-1x4", "replace", "swap", "add", "word-order")
OTHER_SHAPES = ("triples", "two-of-four")  # neither of the two claims is about these
EARLY = "builtin/clip-early"
_SHARES = (TEXT_SCORE, GROUP_SCORE, GROUP_MATCH)  # metrics that are a share of groups, not of pairs
SKYLINE = ("left-right", "front-behind", "attribute-swap", "relations-1x4")  # on which the oracle was run
ONLY_ONE = "On left-right with CLIP, the only one measured"  # begins what is found of settings that were varied there
PLAUSIBLE = ("replace", "swap", "add")  # their false captions read as well as the true ones
GLOBAL = "variant=global threshold_mode=relative tau_first=0.5 tau_last=0.0"
LITTLE = 10.0  # points above chance that a help may have which is called little
RULE = (
    "A claim on several sets or models is judged by intervals corrected for their number (Bonferroni); shown are "
    "single ones. A model rises or falls where the value before is outside the interval after, which is over groups, "
    "not paired, as only sums are stored; the brackets beside its gain are another interval, over seeds, and decide "
    "nothing there. Two ways to train differ where the interval over seeds of their difference leaves out 0. "
    "A value differs from chance where its interval leaves chance out, two values where the interval of their "
    "difference (Newcombe) leaves out 0. A claim holds here where it is clear on every set; of a claim that something "
    f"helps little, every interval has the chance level in it and ends at most {LITTLE:.0f} points above it. It does "
    "not hold where one set is clearly the other way. Else it cannot be told yet."
)


class Value(NamedTuple):
    """A share in percent with its 95 % interval over groups, and its level by chance. groups : of how many it is a
    share, whose interval is exact; 0 where it is none, and its interval one of resamples."""

    what: str
    value: float
    low: float
    high: float
    chance: float
    ties: int = 0
    groups: int = 0

    def side(self, other: Value | float, looks: int = 1) -> int:
        """1 where it is clearly above the other, -1 where clearly below, else 0. looks : measurements of its claim."""
        own = self.corrected(looks)
        if not isinstance(other, Value):
            return int(own.low > other) - int(own.high < other)
        theirs = other.corrected(looks)
        difference = own.value - theirs.value
        low = difference - float(np.hypot(own.value - own.low, theirs.high - theirs.value))
        high = difference + float(np.hypot(own.high - own.value, theirs.value - theirs.low))
        return int(low > 0) - int(high < 0)

    def corrected(self, looks: int) -> Value:
        """With the interval for so many looks: Clopper and Pearson's of a share of groups, else the one of resamples as
        much wider as a normal one would be."""
        level = 1 - 0.05 / looks
        if self.groups:
            right = round(self.value * self.groups / 100)
            found = scipy.stats.binomtest(right, self.groups).proportion_ci(level)
            return self._replace(low=100 * found.low, high=100 * found.high)
        wider = float(scipy.stats.norm.ppf((1 + level) / 2) / scipy.stats.norm.ppf(0.975))
        below, above = (wider * each for each in (self.value - self.low, self.high - self.value))
        return self._replace(low=self.value - below, high=self.value + above)


class Gain(NamedTuple):
    """A difference in points with its 95 % interval; `side` says whether it is clear, `proven` whether it still is once
    it is corrected for all that its claim looks at."""

    what: str
    difference: float
    low: float
    high: float
    side: int
    proven: int


class Claim(NamedTuple):
    """`measure` gives the side of each set on which it is asked, what decided it, and the figures that are shown.
    first : whether it stands before all others of its paper, whatever its verdict: the claim on the metric itself."""

    says: str
    source: str
    measure: Callable[[], tuple[Sequence[int], str, Sequence[Value | Gain]]]
    first: bool = False


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def _adapted_rows() -> tuple[dict[Hashable, Any], ...]:
    """Of `ttm_ablations.csv`, with the intervals that the page shows: those in the file are older, of resamples."""
    table = pd.read_csv(RESULTS / "ttm_ablations.csv", keep_default_na=False, na_values=[""])
    return tuple(_with_intervals(table).to_dict("records"))


@cache
def document(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def value(model: str, set_name: str, metric: str, what: str) -> Value:
    """Of `builtin.csv`: a model that was not adapted, on all groups of a set."""
    wanted = (model, f"scenes/{set_name}", metric, "all")
    (row,) = (r for r in rows("builtin") if (r["model"], r["benchmark"], r["metric"], r["part"]) == wanted)
    return _value(row, what, int(row["groups"]) if metric in _SHARES else 0)


def _value(row: Mapping[str, Any], what: str, groups: int = 0) -> Value:
    ties = int(float(row["ties"] or 0))
    return Value(what, *(float(row[key]) for key in ("value", "low", "high", "chance")), ties, groups)


def measured(set_name: str, metric: str) -> list[tuple[str, Value]]:
    """Of `builtin.csv`: every model that is adapted and was measured on a set before, with its value."""
    wanted = (f"scenes/{set_name}", metric, "all")
    found = {r["model"] for r in rows("builtin") if (r["benchmark"], r["metric"], r["part"]) == wanted}
    return [(model, value(model, set_name, metric, "")) for model in ADAPTED if model in found]


def ends(
    kind: str, model: str, set_name: str, setting: str = "preset", metric: str = GROUP_MATCH
) -> tuple[Value, list[float]]:
    """Of `ttm_ablations.csv`: the value before, and where each seed ends."""
    before, after = _ends(kind, model, set_name, setting, metric)
    return before, [each.value for each in after]


@cache
def _ends(kind: str, model: str, set_name: str, setting: str, metric: str) -> tuple[Value, tuple[Value, ...]]:
    wanted = (kind, model, f"scenes/{set_name}", setting, "all")
    keys = ("kind", "model", "benchmark", "setting", "part")
    found = [row for row in _adapted_rows() if tuple(row[key] for key in keys) == wanted]
    last = {row["seed"]: row for row in sorted(found, key=lambda row: int(row["iteration"]))}
    first = next(row for row in found if int(row["iteration"]) == 0)
    before, *after = (
        Value(
            "",
            *(float(row[f"{metric}{end}"]) for end in ("", "_low", "_high")),
            chance=float(row["chance"]),
            groups=int(row["groups"]) if metric in _SHARES else 0,
        )
        for row in (first, *last.values())
    )
    return before, tuple(after)


def over_seeds(what: str, gains: Sequence[float], looks: int = 1) -> Gain:
    """Mean and Student's interval over seeds, which decides. looks : measurements of its claim."""
    mean, n = float(np.mean(gains)), len(gains)
    error = float(np.std(gains, ddof=1) / np.sqrt(n))
    reach, corrected = (
        float(scipy.special.stdtrit(n - 1, 1 - 0.025 / number)) * error for number in (1, looks)
    )
    side, proven = (int(mean - each > 0) - int(mean + each < 0) for each in (reach, corrected))
    return Gain(what, mean, mean - reach, mean + reach, side, proven)


def gain(
    model: str,
    set_name: str,
    setting: str = "preset",
    metric: str = GROUP_MATCH,
    what: str = "",
    looks: int = 1,
) -> Gain:
    """What test-time matching gains, clear by the rule of the page's headline. looks : measurements of its claim."""
    before, after = _ends("ttm", model, set_name, setting, metric)
    gains = [end.value - before.value for end in after]
    side, proven = (
        _clear_side(before.value, *np.mean([(end.low, end.high) for end in ends], axis=0))
        for ends in (after, [end.corrected(looks) for end in after])
    )
    found = over_seeds(what or f"{named(model)} on {set_name}", gains)
    return found._replace(side=side, proven=proven)


def named(model: str) -> str:
    names = {"builtin/clip": "CLIP", "builtin/siglip": "SigLIP", "builtin/blip-itm": "BLIP ITM"}
    return names.get(model, "BLIP ITC")


def verdict(sides: Iterable[int]) -> str:
    sides = list(sides)
    return DIFFERENT if -1 in sides else SAME if sides and min(sides) == 1 else OPEN


# --- Test-Time Matching --------------------------------------------------------------------------------------------


def hidden_by_group_score() -> tuple[list[int], str, list[Value | Gain]]:
    before = [(model, name, each) for name in SQUARE for model, each in measured(name, GROUP_SCORE)]
    looks = len(before)
    low = [(model, name) for model, name, each in before if each.side(each.chance, looks) < 0]
    found = [value(*pair, GROUP_MATCH, f"{named(pair[0])} on {pair[1]}") for pair in low]
    sides = [each.side(each.chance, looks) for each in found]
    rest, below = sides.count(0), sides.count(-1)
    assert rest and not below  # else it is the same or different, and this sentence another one
    said = (
        f"GroupScore is clearly below chance in {len(low)} of {looks} measurements (a model on a set each, "
    )
    said += f"corrected for {looks}); in {sides.count(1)} of these GroupMatch is clearly above it, in the other {rest} "
    said += "it cannot be told from chance. The highest and the lowest GroupMatch:"
    ordered = sorted(found, key=lambda each: each.value)
    return sides, said, [ordered[-1], ordered[0]]


def simplematch() -> tuple[list[int], str, list[Value | Gain]]:
    sides = []
    for name in SQUARE:
        target = ends("simplematch", CLIP, name)[0].value
        after = ends("simplematch", CLIP, name, metric=GROUP_SCORE)[1]
        sides += [1 if end == target else 0 for end in after]
    before = value(CLIP, "left-right", GROUP_SCORE, "GroupScore before, left-right")
    match_before = value(CLIP, "left-right", GROUP_MATCH, "GroupMatch before, and GroupScore after")
    said = f"CLIP's GroupScore after SimpleMatch equals GroupMatch before it in {sum(sides)} of {len(sides)} runs."
    return sides, said, [before, match_before]


def _gains(sets: Sequence[str]) -> list[Gain]:
    looks = len(ADAPTED) * len(sets)
    return [gain(model, name, looks=looks) for model in ADAPTED for name in sets]


def gains_on(sets: Sequence[str]) -> tuple[list[int], str, list[Value | Gain]]:
    found = _gains(sets)
    sides = [each.proven for each in found]
    single = _counted_sides([each.side for each in found])
    said = f"Of {len(found)} such measurements {single}; {_counted_proven(found)}."
    ordered = sorted(found, key=lambda each: each.difference)
    extremes = [ordered[-1], ordered[0]]
    return sides, f"{said} The most and the least, GroupMatch over seeds:", extremes


def gains_on_one_image() -> tuple[list[int], str, list[Value | Gain]]:
    """With what is in neither claim, so that the counts of both add up to those of the page's headline; it decides
    nothing."""
    sides, said, extremes = gains_on(ONE_IMAGE)
    rest = _sides_of_the_rest()
    others = f"{len(rest)} measurements of neither kind ({', '.join(OTHER_SHAPES)}, a CLIP stopped early)"
    apart = f" Not counted here: {others}, of which {_counted_sides(rest)}."
    return sides, said.replace(" The most", f"{apart} The most"), extremes


def _kinds_of_lines() -> list[dict[str, Any]]:
    """The lines of the headline by the claim that they are about, with their rises and falls: what the page says
    of how its counts fit together."""
    kinds = (("2×2 groups", _gains(SQUARE)), ("groups of one image", _gains(ONE_IMAGE)))
    found = [(of, [each.side for each in gains]) for of, gains in kinds]
    return [
        {"of": of, "lines": len(sides), "rises": sides.count(1), "falls": sides.count(-1)}
        for of, sides in (*found, ("", _sides_of_the_rest()))
    ]


def _first_labels() -> dict[str, Any]:
    """Whether the share of right matchings among the first pseudo-labels tells what a line gains: the rank correlation
    over all lines, and what it is of CLIP on a set where it is near chance and on one where all are right, in percent,
    beside GroupMatch before and after; means over seeds."""
    lines = [(model, name) for model in ADAPTED for name in (*SQUARE, *ONE_IMAGE, *OTHER_SHAPES)]
    lines.append((EARLY, "left-right"))
    found = [_first_and_gain(*line) for line in lines]
    right, ends = zip(*found, strict=True)
    gains = [after - before for before, after in ends]
    examples = [
        {
            "set": name,
            "right": round(first, 4),
            "chance": _ends("ttm", CLIP, name, "preset", GROUP_MATCH)[0].chance,
            "before": round(before, 4),
            "after": round(after, 4),
        }
        for name in ("size-swap", "attribute-swap")
        for first, (before, after) in [_first_and_gain(CLIP, name)]
    ]
    correlation = scipy.stats.spearmanr(right, gains).statistic
    return {"lines": len(lines), "rank_correlation": round(float(correlation), 4), "examples": examples}


def _first_and_gain(model: str, set_name: str) -> tuple[float, tuple[float, float]]:
    """Precision of the pseudo-labels of the first iteration, and GroupMatch before and after; in percent."""
    wanted = {
        "kind": "ttm",
        "model": model,
        "benchmark": f"scenes/{set_name}",
        "setting": "preset",
        "part": "all",
    }
    first = [
        100 * float(row["precision"])
        for row in _adapted_rows()
        if int(row["iteration"]) == 1 and all(row[key] == value for key, value in wanted.items())
    ]
    before, after = _ends("ttm", model, set_name, "preset", GROUP_MATCH)
    return float(np.mean(first)), (before.value, float(np.mean([end.value for end in after])))


def _sides_of_the_rest() -> list[int]:
    """Of the table's lines that are neither on a set of 2×2 groups nor on one of one image."""
    pairs = [(model, name) for model in ADAPTED for name in OTHER_SHAPES]
    return [gain(*pair).side for pair in (*pairs, (EARLY, "left-right"))]


def _counted_sides(sides: Sequence[int]) -> str:
    """`4 rise and 2 fall by single 95 % intervals`."""
    risen, fallen = sides.count(1), sides.count(-1)
    rise, fall = "rises" if risen == 1 else "rise", "falls" if fallen == 1 else "fall"
    return f"{risen} {rise} and {fallen} {fall} by single 95 % intervals"


def _counted_proven(found: Sequence[Gain]) -> str:
    """`corrected for 20, 2 rise and 1 falls`: what is left of them, which decides the claim."""
    risen, fallen = ([each.proven for each in found].count(side) for side in (1, -1))
    if not (risen or fallen):
        return f"corrected for {len(found)}, none does"
    rise, fall = "rises" if risen == 1 else "rise", "falls" if fallen == 1 else "fall"
    return f"corrected for {len(found)}, {risen or 'none'} {rise} and {fallen or 'none'} {fall}"


def global_beats_group_score() -> tuple[list[int], str, list[Value | Gain]]:
    """Where assigning everything to everything needs no pairs through the model, which BLIP's ITM would need."""
    pairs = {
        (model, name): (found, value(model, f"{name}@global", GROUP_SCORE, "GroupScore"))
        for name in SQUARE
        for model, found in measured(f"{name}@global", GLOBAL_MATCH)
    }
    looks = len(pairs)
    sides = [first.side(second, looks) for first, second in pairs.values()]
    least = min(pairs, key=lambda pair: pairs[pair][0].value - pairs[pair][1].value)
    said = f"Clearly higher in {sides.count(1)} of {looks} measurements (a model on a set each), clearly lower in "
    said += f"{sides.count(-1)}, not to be told apart in {sides.count(0)}; corrected for {looks}. Lowest against it, "
    first, second = pairs[least]
    said += f"{named(least[0])} on {least[1]}:"
    return sides, said, [first._replace(what="assignment"), second]


def global_ttm() -> tuple[list[int], str, list[Value | Gain]]:
    found = [gain(CLIP, f"{name}@global", GLOBAL, GLOBAL_MATCH, name, looks=len(SQUARE)) for name in SQUARE]
    sides = [each.proven for each in found]
    ordered = sorted(found, key=lambda each: each.difference)
    single = _counted_sides([each.side for each in found])
    said = f"Of {counted(len(found), 'set')} {single} (CLIP); {_counted_proven(found)}."
    return sides, f"{said} The most and the least, over seeds:", [ordered[-1], ordered[0]]


def oracle() -> tuple[list[int], str, list[Value | Gain]]:
    pairs = {
        name: [ends("ttm", CLIP, name, setting)[1] for setting in ("oracle=1", "preset")] for name in SKYLINE
    }
    found = [
        over_seeds(name, np.subtract(true, own).tolist(), len(pairs)) for name, (true, own) in pairs.items()
    ]
    sides = [each.proven for each in found]
    assert sides.count(1) + sides.count(0) == len(sides)  # else this sentence is another one
    said = f"With CLIP, clearly on {sides.count(1)} of the {len(found)} sets measured, corrected for {len(found)}"
    untold = [each.what for each in found if not each.proven]
    said += f"; on {' and '.join(untold)} it cannot be told" if untold else ""
    return (
        sides,
        f"{said}. GroupMatch of the oracle minus that of test-time matching, over four seeds:",
        found,
    )


def other_schedules() -> tuple[list[int], str, list[Value | Gain]]:
    found = [
        gain(CLIP, "left-right", f"schedule={name}", what=f"{name} threshold", looks=2)
        for name in ("constant", "ascending")
    ]
    return (
        [-each.proven for each in found],
        f"{ONLY_ONE}: it gains with both, GroupMatch over four seeds:",
        found,
    )


def decay() -> tuple[list[int], str, list[Value | Gain]]:
    _, own = ends("ttm", CLIP, "left-right")
    found = []
    for name, words in (("constant", "constant"), ("ascending", "rising")):
        _, other = ends("ttm", CLIP, "left-right", f"schedule={name}")
        found.append(over_seeds(f"falling minus {words}", np.subtract(own, other).tolist(), looks=2))
    sides = [each.proven for each in found]
    assert sides == [0, 0]  # else this sentence is another one
    said = (
        f"{ONLY_ONE}: whether a falling threshold gains more cannot be told, of either once corrected for 2. "
    )
    return sides, f"{said}GroupMatch over four seeds:", found


def few_iterations() -> tuple[list[int], str, list[Value | Gain]]:
    found = [gain(CLIP, "left-right", f"iterations={n}", what=f"{n} iterations", looks=2) for n in (3, 5)]
    return [each.proven for each in found], f"{ONLY_ONE}: GroupMatch over four seeds,", found


def beyond_people() -> tuple[list[int], str, list[Value | Gain]]:
    return [], "Not measured. It takes GPT-4.1's scores on Winoground, through its API.", []


# --- Language priors -----------------------------------------------------------------------------------------------


def blind_on_shuffled() -> tuple[list[int], str, list[Value | Gain]]:
    found = value(BLIND, "word-order", TEXT_SCORE, "text-only model")
    return [found.side(found.chance)], "TextScore on word-order, whose false captions are shuffled:", [found]


def generative_first() -> tuple[list[int], str, list[Value | Gain]]:
    names = ((CAPTIONER, "generative"), ("builtin/blip-itm", "ITM"), ("itc:builtin/blip-itm", "ITC"))
    first, *others = (value(model, "word-order", TEXT_SCORE, name) for model, name in names)
    return (
        [first.side(each, len(others)) for each in others],
        "TextScore of BLIP on word-order:",
        [first, *others],
    )


def of_alpha(set_name: str, setting: str, metric: str = TEXT_SCORE) -> dict[str, str]:
    """Of `alpha.csv`: the captioner with the prior of three noise images."""
    wanted = (CAPTIONER, f"scenes/{set_name}", "gaussian", metric, setting)
    keys = ("model", "benchmark", "prior", "metric", "setting")
    (row,) = (row for row in rows("alpha") if tuple(row[key] for key in keys) == wanted)
    return row


def prior_helps_on_shuffled() -> tuple[list[int], str, list[Value | Gain]]:
    kept, removed = (_value(of_alpha("word-order", f"alpha {n}"), f"alpha {n}") for n in (0, 1))
    return [kept.side(removed)], "TextScore of the captioner on word-order:", [kept, removed]


def blind_on_plausible() -> tuple[list[int], str, list[Value | Gain]]:
    found = [value(BLIND, name, TEXT_SCORE, name) for name in PLAUSIBLE]
    most = max(each.high - each.chance for each in found)
    sides = [int(not each.side(each.chance) and each.high - each.chance <= LITTLE) for each in found]
    said = "The text-only model's intervals hold the chance level, and end at most "
    return sides, f"{said}{most:.1f} points above it. TextScore:", found


def tuned_gain(sets: Sequence[str], said: str) -> tuple[list[int], str, list[Value | Gain]]:
    """With alpha from the validation groups; corrected for the number of sets."""
    found = []
    for name in sets:
        row = of_alpha(name, "from validation")
        difference, low, high = (float(row[key]) for key in ("gain", "gain_low", "gain_high"))
        clear = float(row["p_value"]) * len(sets) < 0.05
        side = int(np.sign(difference)) * clear
        found.append(Gain(name, difference, low, high, side, side))
    sides = [each.side for each in found]
    return sides, said if any(sides) else said.replace(":", "; no gain is proven after correction:"), found


def _prior_kept_and_removed() -> dict[str, list[Value]]:
    """Of `measured.jsonl`, as below the paper's table: every set on which the captioner was measured with the prior of
    noise images, and its TextScore with alpha 0 and 1."""
    lines = map(json.loads, (RESULTS / "measured.jsonl").read_text(encoding="utf-8").splitlines())
    found = {
        line["run"]["benchmark"].removeprefix("scenes/"): line["record"]
        for line in lines
        if line["run"]["model"] == CAPTIONER and line["run"]["measure"]["prior"] == "gaussian"
        if TEXT_SCORE in line["record"].get("alpha", {})
    }
    return {
        name: [
            _value(record["alpha"][TEXT_SCORE][f"alpha_{n}"], f"alpha {n}", record["n_groups"])
            for n in (0, 1)
        ]
        for name, record in found.items()
    }


def fixed_alpha() -> tuple[list[int], str, list[Value | Gain]]:
    pairs = _prior_kept_and_removed()
    sides = [removed.side(kept, len(pairs)) for kept, removed in pairs.values()]
    lower = sum(removed.value < kept.value for kept, removed in pairs.values())
    on = f"{'all' if lower == len(pairs) else f'{lower} of the'} {len(pairs)} sets measured"
    said = f"TextScore of the captioner is lower with alpha 1 on {on}, clearly on {sides.count(-1)}"
    said += f" once corrected for {len(pairs)}. On relations-1x4:"
    return sides, said, pairs["relations-1x4"]


def retrieval_gain() -> tuple[list[int], str, list[Value | Gain]]:
    record = document("alpha_retrieval")
    before = _value(record["alpha_0"]["metrics"]["image_to_text_r1"], "R@1 with alpha 0")
    after = _value(record["from_validation"]["metrics"]["image_to_text_r1"], "alpha from validation")
    return (
        [after.side(before)],
        f"{record['images']} pictures with {record['captions']} captions:",
        [before, after],
    )


def text_to_image() -> tuple[list[int], str, list[Value | Gain]]:
    record = document("alpha_retrieval")
    found = [
        _value(record[f"alpha_{n}"]["metrics"]["text_to_image_r1"], f"R@1 with alpha {n}") for n in (0, 1)
    ]
    alike = found[0].value == found[1].value
    return [int(alike)], "From a caption to its picture the number stays the same, as it must:", found


def few_null_images() -> tuple[list[int], str, list[Value | Gain]]:
    record = document("alpha_stability")
    (noise,) = (row for row in record["rows"]["gaussian"] if row["size"] == 3)
    (train,) = (row for row in record["rows"]["train"] if row["size"] == 3)
    (n1, s1), (n2, s2), draws = noise["value"], train["value"], record["draws"]
    # Welch's interval of the difference of two means of five draws each.
    parts = np.array([s1**2, s2**2]) / draws
    freedom = parts.sum() ** 2 / (parts**2 / (draws - 1)).sum()
    reach = float(scipy.special.stdtrit(freedom, 0.975) * np.sqrt(parts.sum()))
    side = int(n1 - n2 - reach > 0) - int(n1 - n2 + reach < 0)
    ends = (n1 - n2, n1 - n2 - reach, n1 - n2 + reach)
    found = Gain("three noise minus three training images", *ends, side, side)
    untold = "" if side else "; not to be told apart"
    return [side], f"TextScore on swap with the best alpha, five draws{untold}:", [found]


def on_training_pairs() -> tuple[list[int], str, list[Value | Gain]]:
    found = []
    for row in document("alpha_trainset")["rows"]:
        one = row["gain"]
        clear = int(one["low"] > 0) - int(one["high"] < 0)
        found.append(Gain(f"{row['size']} pairs", one["difference"], one["low"], one["high"], clear, clear))
    sides = [each.side for each in found]
    untold = "" if any(sides) else "; no number of pairs tells a gain from none"
    return sides, f"R@1 on training pairs, the best alpha minus alpha 0{untold}:", [found[0], found[-1]]


CLAIMS = (
    Claim(
        "Models that GroupScore puts below chance are above chance by GroupMatch.",
        "TTM, section 4.2, Table 1",
        hidden_by_group_score,
        first=True,
    ),
    Claim(
        "After SimpleMatch, in groups of several pictures, GroupScore is what GroupMatch was before.",
        "TTM, section 3.1",
        simplematch,
    ),
    Claim(
        "Test-time matching raises GroupMatch for every model and every set of 2×2 groups.",
        "TTM, section 4.2, Table 1",
        lambda: gains_on(SQUARE),
    ),
    Claim(
        "It also helps where a group has one image and both metrics are the same.",
        "TTM, section 4.3, Figure 3",
        gains_on_one_image,
    ),
    Claim(
        "Without groups, one assignment over everything beats GroupScore.",
        "TTM, section 4.4, Table 2",
        global_beats_group_score,
    ),
    Claim(
        "Without groups, test-time matching raises the accuracy of that assignment.",
        "TTM, section 4.4, Table 2",
        global_ttm,
    ),
    Claim("Training on right matchings only would lift it further.", "TTM, section 4.5, Figure 4", oracle),
    Claim("A constant or a rising threshold gains nothing.", "TTM, Figure 2", other_schedules),
    Claim("A falling threshold gains more than a constant or a rising one.", "TTM, Figure 2", decay),
    Claim("Three or five iterations already gain.", "TTM, Table 9", few_iterations),
    Claim(
        "With GroupMatch, GPT-4.1 is above people on Winoground.", "TTM, section 4.2, Table 1", beyond_people
    ),
    Claim(
        "A model that sees no picture finds the true caption among shuffled ones.",
        "VGPT, section 4, Table 1a",
        blind_on_shuffled,
    ),
    Claim(
        "Among shuffled captions, the generative score beats ITM and ITC.",
        "VGPT, section 4, Table 1a",
        generative_first,
    ),
    Claim(
        "Among shuffled captions, removing the prior hurts.",
        "VGPT, section 4, Table 2",
        prior_helps_on_shuffled,
    ),
    Claim("Text alone helps little where false captions read well.", "VGPT, Table 1c", blind_on_plausible),
    Claim(
        "Where false captions read well, an alpha from validation helps.",
        "VGPT, section 4, Table 2",
        lambda: tuned_gain(PLAUSIBLE, "Gain of TextScore, alpha from validation:"),
    ),
    Claim(
        "On groups whose captions are swapped, an alpha from validation helps.",
        "VGPT, section 5, Table 3a",
        lambda: tuned_gain(SQUARE[:2], "Gain of TextScore, alpha from validation:"),
    ),
    Claim("Alpha = 1 helps even without validation.", "VGPT, section 5, Table 3a", fixed_alpha),
    Claim("Removing the prior helps to find captions.", "VGPT, section 5, Table 3a", retrieval_gain),
    Claim("The prior plays no role in finding pictures.", "VGPT, section 5, Table 3b", text_to_image),
    Claim("A few noise images give a better prior than training images.", "VGPT, Table 6", few_null_images),
    Claim("Removing the prior helps even on training pairs.", "VGPT, Table 5a", on_training_pairs),
)


def record() -> dict[str, Any]:
    """All claims with their verdicts, as stored."""
    return {
        "rule": RULE,
        "lines": _kinds_of_lines(),
        "first_labels": _first_labels(),
        "claims": [_written(claim) for claim in CLAIMS],
    }


def _written(claim: Claim) -> dict[str, Any]:
    sides, said, found = claim.measure()
    figures = [
        {
            name: round(part, 4) if isinstance(part, float) else part
            for name, part in each._asdict().items()
            if name not in ("proven", "groups")
        }
        for each in found
    ]
    return {
        "says": claim.says,
        "source": claim.source,
        **({"first": True} if claim.first else {}),
        "verdict": verdict(sides),
        "decided_by": said,
        "figures": figures,
    }


if __name__ == "__main__":
    OUT.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
