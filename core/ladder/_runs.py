"""One run of a ladder: a training draw of its own, probes and a map trained on it, the scores of every rung.

A run is kept on this machine, so that a ladder that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core import datasets
from core.base import paths
from core.base.files import write_arrays
from core.groups import GroupSet
from core.ladder._facts import Questions, vocabulary
from core.ladder._probes import Problem, linear_map, probe
from core.ladder._towers import Towers, has_tokens, untrained
from core.scenes import sets
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key
from core.scoring.scores import score_groups

TRAINED_ON = 1700  # groups; with the test groups so many pictures as stay drawn for the next model
_FRESH = 22  # seed of those groups in the run of seed 0
_VERSION = "crossmatch-ladder-3"  # change it whenever a number changes
Progress = Callable[[str, float], None]
_Scores = Mapping[str, np.ndarray]


class Run(NamedTuple):
    """Scores float32 (n, m, m) of the test groups, by rung.

    own : the model's. rungs, shuffled, untrained : of probes and map; with labels dealt at random; of an untrained
    model, which is drawn once, in the run of seed 0. missing : why there is no rung, by its name.
    """

    own: np.ndarray
    rungs: _Scores
    shuffled: _Scores
    untrained: _Scores
    missing: Mapping[str, str]

    @classmethod
    def of(cls, benchmark: str, model: str, device: str, seed: int, progress: Progress) -> Run:
        """Measured now, or read from an earlier measurement of the same weights on the same groups."""
        place = cache_path(benchmark, model, f"run {seed}", "npz")
        if place is not None and place.is_file():
            return cls._read(place)
        found = cls._measured(benchmark, model, device, seed, progress)
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(place, found._arrays())
        return found

    @classmethod
    def _measured(cls, benchmark: str, model: str, device: str, seed: int, progress: Progress) -> Run:
        train, test = _groups(benchmark, seed)
        scorer: Any = load_scorer(model, device)
        own, scale = score_groups(scorer, test, ScoreCache()), _scale(scorer)
        towers = _encoded(scorer, train, test, partial(progress, "encoding pictures and captions"), 0.0, 0.4)
        progress("training the linear probes", 0.4)
        rungs = climb(train, test, *towers, scale, seed)
        shuffled = climb(train, test, *towers, scale, seed, shuffle=True) if rungs else {}
        blank: _Scores = {}
        if seed == 0 and has_tokens(scorer):
            what = "encoding by an untrained model, a control"
            twin = _encoded(untrained(scorer, seed), train, test, partial(progress, what), 0.6, 0.9)
            blank = climb(train, test, *twin, scale, seed)
        progress("training the linear probes", 1.0)
        return cls(own, rungs, shuffled, blank, towers[0].missing)

    @classmethod
    def _read(cls, place: Path) -> Run:
        with np.load(place) as file:
            parts: dict[str, dict[str, Any]] = {"rungs": {}, "shuffled": {}, "untrained": {}, "missing": {}}
            for name in file.files:
                part, _, rung = name.partition("/")
                if rung:
                    parts[part][rung] = str(file[name]) if part == "missing" else file[name]
            return cls(file["own"], **parts)

    def _arrays(self) -> dict[str, np.ndarray]:
        parts = {name: getattr(self, name) for name in self._fields[1:]}
        named = {
            f"{part}/{rung}": np.asarray(v) for part, found in parts.items() for rung, v in found.items()
        }
        return {"own": self.own, **named}


def climb(
    train: GroupSet,
    test: GroupSet,
    seen: Towers,
    held_out: Towers,
    scale: float,
    seed: int = 0,
    shuffle: bool = False,
) -> dict[str, np.ndarray]:
    """Scores of the rungs that these features have, below the model's own: trained on one set, read on another.

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
    return found


@lru_cache(maxsize=1)  # one model after another reads the same groups
def _groups(benchmark: str, seed: int) -> tuple[GroupSet, GroupSet]:
    """The training groups of a run, and the test groups."""
    train = sets.build(benchmark, "train", TRAINED_ON, _FRESH + seed)
    return train, datasets.load(benchmark, "test")


def _encoded(
    scorer: Any, train: GroupSet, test: GroupSet, progress: Callable[[float], None], start: float, end: float
) -> tuple[Towers, Towers]:
    """Both sets through the towers; start, end : which part of the run that is, of which training groups are most."""
    middle = start + 0.75 * (end - start)

    def told(low: float, high: float) -> Callable[[float], None]:
        return lambda share: progress(low + share * (high - low))

    return Towers.of(scorer, train, told(start, middle)), Towers.of(scorer, test, told(middle, end))


def _scale(scorer: Any) -> float:
    """The factor on the model's cosines, where it has one."""
    own: Any = getattr(scorer, "scale", None)
    return float(own.detach().exp()) if hasattr(own, "detach") else 1.0


def cache_path(benchmark: str, model: str, what: str, ending: str) -> Path | None:
    """Where this machine's measurement lies: named after the model's weights, the test groups and what it is of."""
    key = scorer_key(model)
    if key is None:
        return None
    groups = datasets.load(benchmark, "test")
    content = [[image.key for image in g.images] + list(g.captions) for g in groups]
    name = hashlib.sha256(json.dumps([_VERSION, key, benchmark, what, content]).encode()).hexdigest()[:24]
    return paths.home() / "cache" / "ladder" / f"{name}.{ending}"
