"""Scores of every built-in model on every built-in test set, into assets/scores, and into assets/scores_shifted those
of the sets whose pictures are shifted in middle strength.

    python -m benchmarks.results.shipped_scores [shifted]    all, or of the shifted sets alone

With them, for the scores that are log-probabilities, those of every caption with the noise images that the prior takes
by default, so that alpha can be moved at once; and of the models that the Retrieval page and its lesson begin with, all
queries with the first 500 images, so that they open without a model.

What is current is skipped, so it may run again after each new model; files of models that are gone are removed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.results.shifts import CORE, FIRST_MODELS, MIDDLE
from core.datasets import load, load_retrieval, names
from core.debiasing.priors import null_sample
from core.groups import GroupSet
from core.scenes.sets import SETS
from core.scorers.cola_config import PROTOCOL_BASE
from core.scorers.score_kinds import KINDS
from core.scoring import _shipped
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key, scorer_kind, scorer_names
from core.scoring.pairs import Pairs
from core.scoring.scores import score_groups, score_matrix

# What the Retrieval page and the lesson that leads there begin with.
SEARCHED = (PROTOCOL_BASE, "builtin/clip")
RETRIEVAL, IMAGES = "scenes/retrieval", 500


def sets() -> dict[str, GroupSet]:
    """The built-in test sets; flattened variants are parts of them."""
    return {name: load(name, "test").blind() for name in names() if name in SETS}


def keys_of(groups: GroupSet) -> list[tuple[str, str]]:
    """(image key, caption) of every score in (n, m, k), in order."""
    return [(image.key, caption) for g in groups for image in g.images for caption in g.captions]


def noise_keys(name: str, tests: dict[str, GroupSet]) -> list[tuple[str, str]]:
    """(image key, caption) of a scorer's noise images and all captions, image by image; none without a prior."""
    kind = KINDS[scorer_kind(name)]
    if not (kind.log_prob and kind.reads_image):
        return []
    images = null_sample(name, next(iter(tests)))
    return [(image.key, caption) for image in images for caption in captions_of(tests)]


def search_keys(name: str) -> list[tuple[str, str]]:
    """(image key, query) of the built-in retrieval set's first images and all queries; for these models alone."""
    if name not in SEARCHED:
        return []
    found = load_retrieval(RETRIEVAL)
    return [(image.key, query) for image in found.images[:IMAGES] for query in found.queries]


def captions_of(tests: dict[str, GroupSet]) -> list[str]:
    """The distinct captions of all sets."""
    return list(
        dict.fromkeys(caption for groups in tests.values() for caption in groups.unique_captions()[0])
    )


def shifted_sets() -> dict[str, GroupSet]:
    """The core sets with each shift in middle strength."""
    names = [f"scenes/{name}~{shift}" for shift in MIDDLE if shift for name in CORE]
    return {name: load(name, "test").blind() for name in names}


def ship_shifted() -> None:
    """Scores of the shifted sets by the models that are adapted first: of the groups alone, no prior and no retrieval.

    Models that read pair by pair would take an hour: pages score with them when somebody asks. Scores that were needed
    before, in the runs of `benchmarks.results.shifts`, come from the cache.
    """
    tests = shifted_sets()
    keys = [key for groups in tests.values() for key in keys_of(groups)]
    pairs = _shipped.ShippedPairs.of(Pairs.of(keys))
    kept = [write_pairs(pairs, shifted=True)]
    for name in FIRST_MODELS:
        known = scorer_key(name)
        if known is None or not is_current(known, pairs, shifted=True):
            started, scorer = time.perf_counter(), load_scorer(name, "cpu")
            cache = ScoreCache()
            grouped = np.concatenate([score_groups(scorer, own, cache).ravel() for own in tests.values()])
            values = np.empty(len(pairs.codes), dtype=np.float32)
            values[pairs.places(Pairs.of(keys))] = grouped
            known = scorer.key
            write_scores(known, name, pairs, values, shifted=True)
            print(f"{name}: {len(values)} scores in {time.perf_counter() - started:.0f} s", flush=True)
        kept.append(_shipped.score_path(known, shifted=True))
    remove_others(kept, shifted=True)


def remove_others(kept: list[Path], shifted: bool = False) -> None:
    """Remove the files of models that are gone, and say how large the others are."""
    for path in set(_shipped.folder(shifted).glob("*.npz")) - set(kept):
        path.unlink()
        print(f"removed {path.name}")
    print(f"{len(kept) - 1} scorers, {sum(path.stat().st_size for path in kept) / 1e6:.2f} MB")


def main() -> None:
    if sys.argv[1:] != ["shifted"]:
        ship()
    ship_shifted()


def ship() -> None:
    """Scores of the sets as they are, with the prior's and the Retrieval page's."""
    tests = sets()
    keys = [key for groups in tests.values() for key in keys_of(groups)]
    noise = [key for name in scorer_names() for key in noise_keys(name, tests)]
    pairs = _shipped.ShippedPairs.of(Pairs.of([*keys, *noise, *search_keys(SEARCHED[0])]))
    kept = [write_pairs(pairs)]
    for name in scorer_names():
        known = scorer_key(name)
        if known is None or not is_current(known, pairs, asked=search_keys(name)):
            known = measure(name, tests, keys, pairs)
        kept.append(_shipped.score_path(known))
    remove_others(kept)


def write_pairs(pairs: _shipped.ShippedPairs, shifted: bool = False) -> Path:
    """The file with the pairs, written only where it changes."""
    path = _shipped.folder(shifted) / _shipped.PAIRS
    path.parent.mkdir(parents=True, exist_ok=True)
    found = _shipped.read_pairs(path, (0, time.time_ns())) if path.is_file() else None
    if found is None or found.key != pairs.key:
        pairs.write(path)
    return path


def is_current(
    scorer: str, pairs: _shipped.ShippedPairs, shifted: bool = False, asked: Sequence[tuple[str, str]] = ()
) -> bool:
    """Whether the shipped scores of a scorer are there, and of these pairs. asked : pairs of which none is unknown."""
    path = _shipped.score_path(scorer, shifted)
    found = _shipped._scores(path, _shipped._stamp(path), scorer) if path.is_file() else None
    if found is None or found[1] != pairs.key:
        return False
    return not (asked and np.isnan(found[0][pairs.places(Pairs.of(asked))]).any())


def write_scores(
    scorer: str, name: str, pairs: _shipped.ShippedPairs, values: np.ndarray, shifted: bool = False
) -> Path:
    """Write a scorer's scores (p,) float32 of all pairs; `name` is for people, the key is what counts."""
    path = _shipped.score_path(scorer, shifted)
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = json.dumps({"scorer": scorer, "name": name, "pairs": pairs.key})
    np.savez_compressed(path, facts=np.array(facts), values=np.asarray(values, dtype=np.float32))
    return path


def measure(
    name: str, tests: dict[str, GroupSet], keys: list[tuple[str, str]], pairs: _shipped.ShippedPairs
) -> str:
    """Score all sets without any cache and write the file; the scorer's key."""
    started = time.perf_counter()
    scorer = load_scorer(name, "cpu")
    grouped = np.concatenate([score_groups(scorer, groups).ravel() for groups in tests.values()])
    values = np.full(len(pairs.codes), np.nan, dtype=np.float32)  # unknown: other models' noise images
    values[pairs.places(Pairs.of(keys))] = grouped
    noise = noise_keys(name, tests)
    if noise:
        samples = score_matrix(scorer, null_sample(name, next(iter(tests))), captions_of(tests))
        values[pairs.places(Pairs.of(noise))] = samples.ravel()
    searched = search_keys(name)
    if searched:
        found = load_retrieval(RETRIEVAL)
        values[pairs.places(Pairs.of(searched))] = score_matrix(
            scorer, found.images[:IMAGES], found.queries
        ).ravel()
    write_scores(scorer.key, name, pairs, values)
    print(f"{name}: {len(values)} scores in {time.perf_counter() - started:.0f} s", flush=True)
    return scorer.key


if __name__ == "__main__":
    main()
