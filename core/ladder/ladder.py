"""The binding ladder of a model on a set: where is it lost which attribute belongs to which object?

Every rung answers one question on the same test groups: which caption belongs to which picture, where the pictures of a
group differ in nothing but one exchange. So every rung is a table of scores (n, m, m) and is judged by the same two
metrics with the same chance levels. What differs is what the scores are read from:

- tokens and pooled vectors of one tower: a linear probe reads that tower, the other side is known exactly from the
  scenes. A probe that fails has not found the binding; a richer one might.
- one linear map between the pooled vectors of both towers (as in LABCLIP, arXiv 2502.03566): contrasted with the
  swapped pictures and captions of the same group alone, as most captions of these worlds are true of many pictures.
- the model's own scores: GroupMatch, and GroupScore, which asks more.
- test-time matching: the last iteration of a run that ships with Crossmatch, where there is one.

Probes and map are trained on fresh groups of the training split, never on test groups, by one loss (`_probes.py`).
Combinations that no training scene holds were seen neither by model nor probe, and are shown apart. Two controls go
through the same code: labels dealt at random, which end at chance on average over deals, and an untrained model of
the same architecture, which shows how much a probe finds where nothing was learned. Steps between rungs are paired
tests over groups, corrected together (Holm). Source: issue 22 C.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from core import datasets
from core.base import paths
from core.base.files import write_json
from core.base.lazy import pandas as pd
from core.base.text import p_digits
from core.groups import GroupSet
from core.ladder._facts import Questions, vocabulary
from core.ladder._probes import Problem, linear_map, probe
from core.ladder._towers import Towers, has_tokens, untrained
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, chance
from core.metrics.statistics import Clusters, Comparison, Estimate, compare, estimate
from core.scenes import sets
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key
from core.scoring.scores import score_groups

# Sets whose pictures differ by one exchange.
SETS = tuple(
    f"scenes/{name}"
    for name in ("attribute-swap", "left-right", "size-swap", "material-swap", "front-behind", "triples")
)
_TRAINED_ON = 1700  # groups; with the test groups so many pictures as stay drawn for the next model
_FRESH = 22  # seed of those groups
_VERSION = "crossmatch-ladder-1"  # change it whenever a number changes
_BOTH = (GROUP_MATCH, GROUP_SCORE)
_Progress = Callable[[str, float], None]


class _Rung(NamedTuple):
    label: str
    within: str  # as in "binding is in the image tokens"
    meaning: str


RUNGS: dict[str, _Rung] = {
    "image-tokens": _Rung(
        "Image tokens",
        "the image tokens",
        "A linear probe of every image patch, before the last layer; what the captions say is known.",
    ),
    "image-pooled": _Rung(
        "Pooled image vector",
        "the pooled image vector",
        "A linear probe of the one vector that stands for the image; what the captions say is known.",
    ),
    "caption-tokens": _Rung(
        "Caption tokens",
        "the caption tokens",
        "A linear probe of every word, before the last layer; what the images show is known.",
    ),
    "caption-pooled": _Rung(
        "Pooled caption vector",
        "the pooled caption vector",
        "A linear probe of the one vector that stands for the caption; what the images show is known.",
    ),
    "map": _Rung(
        "One linear map between the towers",
        "what one linear map makes of both vectors",
        "Both vectors of the model, the caption's turned by one linear map that was trained on swapped pairs.",
    ),
    "own": _Rung(
        "The model's own scores", "the model's own scores", "Both vectors as they are: the metric itself."
    ),
    "ttm": _Rung(
        "After test-time matching",
        "the scores after test-time matching",
        "The whole model adapted to these groups without labels; the last iteration of a run.",
    ),
}


class _Step(NamedTuple):
    """From one rung to the next; of several `before` the one with the least GroupMatch."""

    before: tuple[str, ...]
    after: str
    where: str


_STEPS: dict[str, _Step] = {
    "image-pooling": _Step(("image-tokens",), "image-pooled", "pooling in the image tower"),
    "caption-pooling": _Step(("caption-tokens",), "caption-pooled", "pooling in the caption tower"),
    "map": _Step(
        ("image-pooled", "caption-pooled"),
        "map",
        "between the towers, where no linear map joins what each of them has",
    ),
    "alignment": _Step(("map",), "own", "the alignment of the towers, which one linear map would mend"),
}


@dataclass(frozen=True)
class Ladder:
    """The rungs of a model on a set, bottom first.

    attribute : what the objects of a group exchange. rungs : by name, those that there are. controls : by name
    ("shuffled", "untrained") and rung. missing : why there is no rung, by its name. recovered : both metrics after
    test-time matching.
    """

    benchmark: str
    model: str
    attribute: str
    rungs: Mapping[str, Evaluation]
    controls: Mapping[str, Mapping[str, Evaluation]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    recovered: Mapping[str, Estimate] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def measure(
        cls,
        benchmark: str,
        model: str,
        device: str = "auto",
        seed: int = 0,
        progress: _Progress = lambda what, share: None,
    ) -> Self:
        """Train and judge every rung; under a minute for a built-in model on two quiet cores.

        Raises InputError for a set whose pictures have no known scenes, or that differ by no exchange.
        """
        test = datasets.load(benchmark, "test")
        Questions.of(test)
        scorer: Any = load_scorer(model, device)
        train = sets.build(benchmark, "train", _TRAINED_ON, _FRESH)
        own = score_groups(scorer, test, ScoreCache())
        towers, controls = {}, {}
        for name, each in {"": scorer, **cls._twin(scorer, seed)}.items():
            what = "encoding by an untrained model" if name else "encoding"
            parts = [Towers.of(each, groups, partial(progress, what)) for groups in (train, test)]
            towers[name] = (parts[0], parts[1])
        scale = _scale(scorer)
        progress("training probes", 0.0)
        found = _climb(train, test, *towers[""], scale, seed)
        if found:
            controls["shuffled"] = _climb(train, test, *towers[""], scale, seed, shuffle=True)
        if "untrained" in towers:
            controls["untrained"] = _climb(train, test, *towers["untrained"], scale, seed)
        progress("training probes", 1.0)
        return cls(
            benchmark,
            model,
            Questions.of(test).attribute,
            {**found, "own": _judged(own, test)},
            controls,
            towers[""][0].missing,
            _recovered(benchmark, model, *test.shape),
            seed,
        )

    @staticmethod
    def _twin(scorer: Any, seed: int) -> dict[str, Any]:
        return {"untrained": untrained(scorer, seed)} if has_tokens(scorer) else {}

    def steps(self) -> dict[str, Comparison]:
        """GroupMatch of every rung minus that of the one before, corrected for each other."""
        found = {}
        for name, (before, after, _) in _STEPS.items():
            if after in self.rungs and all(each in self.rungs for each in before):
                first, second = self.rungs[self.weaker(before)], self.rungs[after]
                a, b = (e.outcomes[GROUP_MATCH].value for e in (first, second))
                found[name] = compare(a, b, second.clusters)
        return Comparison.holm(found)

    def weaker(self, names: tuple[str, ...]) -> str:
        """The rung with the least GroupMatch."""
        return min(names, key=lambda name: self.rungs[name].metrics[GROUP_MATCH].value)

    def record(self) -> dict[str, Any]:
        """JSON-safe: `rungs`, bottom first, each with both metrics, on seen and unseen combinations and under the
        controls, or why there is none; `steps`, points of GroupMatch with paired 95 % intervals; the verdict."""
        own = self.rungs["own"]
        return {
            "benchmark": self.benchmark,
            "model": self.model,
            "attribute": self.attribute,
            "n_groups": len(own.ids),
            "shape": "x".join(map(str, own.shape)),
            "trained_on": _TRAINED_ON,
            "seed": self.seed,
            "rungs": [self._written(name) for name in RUNGS],
            "steps": [
                {"name": name, "where": _STEPS[name].where, "before": self.weaker(_STEPS[name].before)}
                | {"after": _STEPS[name].after, "lost": _lost(change), **change.record()}
                for name, change in self.steps().items()
            ],
            "verdict": self.verdict(),
        }

    def _written(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {"name": name, "label": RUNGS[name].label, "meaning": RUNGS[name].meaning}
        if name == "ttm" and self.recovered:
            return row | {metric: e.record() for metric, e in self.recovered.items()}
        if name not in self.rungs:
            return row | {"missing": self.missing.get(name, _NO_RUN)}
        row |= _metrics(self.rungs[name])
        row["combinations"] = {
            {"no": "seen", "yes": "unseen"}[value]: {"n_groups": len(part.ids), **_metrics(part)}
            for value, part in self.rungs[name].slices("unseen").get("unseen", {}).items()
        }
        row["controls"] = {c: _metrics(of[name]) for c, of in self.controls.items() if name in of}
        return row

    def verdict(self) -> list[str]:
        """What the rungs and steps say, and what they cannot."""
        values = {name: e.metrics[GROUP_MATCH] for name, e in self.rungs.items()}
        there = [name for name, e in values.items() if e.bounds[0] > e.chance]
        parts = [
            f"{'in' if name in there else 'not shown to be in'} {RUNGS[name].within} ({e.value:.1f} %)"
            for name, e in values.items()
        ]
        found = [
            f"Binding is {'; '.join(parts)}; chance is {values['own'].chance:.1f} %.",
            *self._unlearned(),
        ]
        steps = self.steps()
        lost = {name: change for name, change in steps.items() if _lost(change)}
        if lost:
            first, most = next(iter(lost)), min(lost, key=lambda name: lost[name].difference)
            found.append(f"What is lost first is lost in {_STEPS[first].where}: {_points(lost[first])}.")
            if most != first:
                found.append(f"Most is lost in {_STEPS[most].where}: {_points(lost[most])}.")
        elif steps:
            least = max(change.detectable or 100.0 for change in steps.values())
            found.append(
                "Cannot tell where anything is lost: no step loses what these groups could show, and less than "
                f"{least:.0f} points they might miss."
            )
        else:
            found.append("Cannot tell where anything is lost: this model has no two rungs to compare.")
        return [*found, *self._metric_and_rest(values)]

    def _unlearned(self) -> list[str]:
        """What a probe finds in an untrained model, above chance."""
        control = {name: e.metrics[GROUP_MATCH] for name, e in self.controls.get("untrained", {}).items()}
        parts = [
            f"{e.value:.1f} % in {RUNGS[n].within}" for n, e in control.items() if e.bounds[0] > e.chance
        ]
        return [f"That much takes no learning: an untrained model has {', '.join(parts)}."] if parts else []

    def _metric_and_rest(self, values: Mapping[str, Estimate]) -> list[str]:
        """What is said of the metric, of the weaker tower's limit and of test-time matching."""
        own, score = values["own"], self.rungs["own"].metrics[GROUP_SCORE]
        found = []
        if own.bounds[0] > own.chance and score.value < own.value:
            found.append(
                f"The metric hides more: by GroupScore the same scores have {score.value:.1f} % (chance "
                f"{score.chance:.1f} %)."
            )
        after = self.recovered.get(GROUP_MATCH)
        if after is not None:
            if after.low > own.high:
                said = "recovers some of it"
            elif after.high < own.low:
                said = "loses more"
            else:
                said = "cannot be told from the model as it is: the intervals overlap"
            found.append(f"Test-time matching {said}: GroupMatch {after.value:.1f} %.")
        return found

    @classmethod
    def measured(
        cls,
        benchmark: str,
        model: str,
        device: str = "auto",
        seed: int = 0,
        progress: _Progress = lambda what, share: None,
    ) -> dict[str, Any]:
        """The record of a ladder: measured now, or by an earlier call with the same model, set and seed."""
        path = _cached(benchmark, model, seed)
        if path is not None and path.is_file():
            return json.loads(path.read_text())
        record = {**cls.measure(benchmark, model, device, seed, progress).record(), "key": scorer_key(model)}
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, record)
        return record

    @classmethod
    def stored(cls, benchmark: str, model: str) -> dict[str, Any] | None:
        """The record of an earlier measurement of this very model: the shipped one, or this machine's; else None."""
        for record in cls.shipped():
            if (record["benchmark"], record["model"]) == (benchmark, model) and record["key"] == scorer_key(
                model
            ):
                return record
        path = _cached(benchmark, model, 0)
        return json.loads(path.read_text()) if path is not None and path.is_file() else None

    @staticmethod
    def shipped() -> list[dict[str, Any]]:
        """The records that ship with Crossmatch."""
        path = paths.assets() / "results" / "ladder.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _climb(
    train: GroupSet,
    test: GroupSet,
    seen: Towers,
    held_out: Towers,
    scale: float,
    seed: int = 0,
    shuffle: bool = False,
) -> dict[str, Evaluation]:
    """The rungs that these features have, below the model's own scores: trained on one set, judged on another.

    shuffle : with labels of the training groups that know nothing.
    """
    questions = Questions.of(train), Questions.of(test)
    known = vocabulary(*questions)
    problem, asked = (Problem.of(each.encoded(known), each.captions) for each in questions)
    if shuffle:
        problem = problem.shuffled(seed)
    found: dict[str, np.ndarray] = {}
    masks: Any
    for side in ("image", "caption"):
        for part in ("tokens", "pooled"):
            first, second = (getattr(towers, f"{side}_{part}") for towers in (seen, held_out))
            if first is not None:
                masks = None if (side, part) != ("caption", "tokens") else (seen.mask, held_out.mask)
                found[f"{side}-{part}"] = probe(side, problem, asked, first, second, masks, seed)
    vectors: list[Any] = [(towers.image_pooled, towers.caption_pooled) for towers in (seen, held_out)]
    if None not in vectors[0]:
        found["map"] = linear_map(problem, asked, vectors[0], vectors[1], scale, seed)
    return {name: _judged(scores, test) for name, scores in found.items()}


def _judged(scores: np.ndarray, test: GroupSet) -> Evaluation:
    tags = pd.DataFrame({"unseen": [group.tags.get("unseen", "no") for group in test]})
    return Evaluation.of(scores, test.truth, test.ids, tags=tags, clusters=Clusters.of_groups(test))


def _scale(scorer: Any) -> float:
    """The factor on the model's cosines, where it has one."""
    own: Any = getattr(scorer, "scale", None)
    return float(own.detach().exp()) if hasattr(own, "detach") else 1.0


def _metrics(evaluation: Evaluation) -> dict[str, Any]:
    return {name: evaluation.metrics[name].record() for name in _BOTH}


def _lost(change: Comparison) -> bool:
    """Whether something is lost in this step: fewer groups are right, by clusters too, after correction."""
    c = change.clustered
    p = change.p_holm if c is None else max(change.p_holm or 0.0, c.p_holm or 0.0)
    return change.difference < 0 and (p or 0.0) < 0.05


def _points(change: Comparison) -> str:
    interval = f"95 % interval {change.low:+.1f} to {change.high:+.1f}"
    return (
        f"{change.difference:+.1f} points of GroupMatch ({interval}, p {p_digits(change.p_holm)} after Holm)"
    )


_NO_RUN = "No run of test-time matching ships for this model and set; start one on its page, or with `crossmatch ttm`."


def _recovered(benchmark: str, model: str, m: int, k: int) -> dict[str, Estimate]:
    """Both metrics after the last iteration of the shipped run of seed 0 with the preset; none where there is none."""
    path = paths.assets() / "results" / "ttm_ablations.csv"
    if not path.is_file():
        return {}
    table = pd.read_csv(path)
    asked = {
        "kind": "ttm",
        "model": model,
        "benchmark": benchmark,
        "setting": "preset",
        "seed": 0,
        "part": "all",
    }
    for column, value in asked.items():
        table = table[table[column] == value]
    if table.empty:
        return {}
    last: Any = table.sort_values("iteration").iloc[-1]
    n = int(last.groups)
    return {
        name: estimate(np.arange(n) < round(last[name] * n / 100), 100 * chance(name, m, k), None)
        for name in _BOTH
    }


def _cached(benchmark: str, model: str, seed: int) -> Any:
    """Where this machine's measurement lies: named after the model's weights, the test groups and the seed."""
    key = scorer_key(model)
    if key is None:
        return None
    groups = datasets.load(benchmark, "test")
    content = [[image.key for image in g.images] + list(g.captions) for g in groups]
    name = hashlib.sha256(json.dumps([_VERSION, key, benchmark, seed, content]).encode()).hexdigest()[:24]
    return paths.home() / "cache" / "ladder" / f"{name}.json"
