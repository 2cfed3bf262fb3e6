"""Images and captions found by score among all of a set: ranks and recall both ways, classification.

A member of the metrics family: it reads what belongs together, any number of captions per image. Scores are (images,
captions) as scorers give them, a numpy array, a torch tensor or `AllPairs`. A tie with something irrelevant counts as
ranked behind it. Source: [TTM] 3.2.1; [VGPT] section 5, Tables 3, 5, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from core.base.arrays import Array, like, to_numpy
from core.base.errors import InputError
from core.base.text import _pct
from core.matching.global_match import AllPairs
from core.metrics.statistics import Clusters, Estimate, estimate

TOPS = (1, 5, 10)
# bool (M, N), or the pairs that belong together as `np.nonzero` gives them: captions and images, int (p,) each.
_Relevant = Array | tuple[Array, Array]


class Ranks(NamedTuple):
    """Rank (1 = best) of the best-ranked relevant item of every query, int64 (q,), and where a tie decides it.

    Another item with the same score counts as ranked before the relevant one (a tie is lost). `tied`, bool (q,), marks
    queries whose rank would be better if ties were won.
    """

    rank: np.ndarray
    tied: np.ndarray


class _Side(NamedTuple):
    """The queries of one side: images that ask for captions, or captions that ask for images.

    asked : int (q,), ascending, which have something relevant. best : float64 (q,), its highest score. own : int (q,),
    how many relevant items have that score; they are no rivals. relevant : int (q,), how many there are.
    """

    asked: np.ndarray
    best: np.ndarray
    own: np.ndarray
    relevant: np.ndarray

    @classmethod
    def of(cls, query: np.ndarray, scores: np.ndarray, rounding: np.ndarray | None = None) -> _Side:
        """From every relevant pair: its query, int (p,), and its score, float64 (p,).

        rounding : of every query how far two equal scores may differ, (queries,).
        """
        order = np.argsort(query, kind="stable")
        query, scores = query[order], scores[order]
        asked, starts, relevant = np.unique(query, return_index=True, return_counts=True)
        best = np.maximum.reduceat(scores, starts)
        level = best if rounding is None else best - rounding[asked]
        own = np.add.reduceat((scores >= np.repeat(level, relevant)).astype(np.int64), starts)
        return cls(asked, best, own, relevant)

    def ranks(self, above: np.ndarray, reached: np.ndarray) -> Ranks:
        """above, reached : int (q,), how many items have more than the best score, and how many that or more."""
        beside = reached - above - self.own
        return Ranks(1 + above + beside, beside > 0)


def rank_both_ways(scores: Array | AllPairs, relevant: _Relevant) -> tuple[Ranks, Ranks]:
    """For every image that has a caption the rank of its best one among all, and for every caption that of its image.

    Arguments and errors as of `recall`. The ranks follow the images, and the captions, in ascending order, without
    those that belong to nothing.
    """
    (_, to_text), (_, to_image) = _rank(AllPairs.of(scores), relevant)
    return to_text, to_image


def _rank(
    pairs: AllPairs, relevant: _Relevant, rounding: np.ndarray | None = None
) -> list[tuple[_Side, Ranks]]:
    """Both sides with their ranks, image to text first. Every block of scores is asked for twice."""
    image, caption = _related(relevant, pairs)
    true = np.empty(len(image))
    for part, block in pairs.blocks():
        mine = slice(*np.searchsorted(image, (part.start, part.stop)))
        true[mine] = to_numpy(block[like(image[mine] - part.start, block), like(caption[mine], block)])
    sides = _Side.of(image, true, rounding), _Side.of(caption, true)
    counts = _count_rivals(pairs, *sides, rounding)
    return [(side, side.ranks(*count)) for side, count in zip(sides, counts, strict=True)]


def _related(relevant: _Relevant, pairs: AllPairs) -> tuple[np.ndarray, np.ndarray]:
    """The image and the caption of every pair that belongs together, int (p,) each, once and by image."""
    if not isinstance(relevant, tuple):
        mask = to_numpy(relevant)
        if mask.shape != (pairs.captions, pairs.images):
            raise InputError(
                f"Scores of shape {(pairs.images, pairs.captions)} (images, captions) and what belongs together of "
                f"shape {mask.shape} (captions, images) do not fit."
            )
        relevant = np.nonzero(mask)
    caption, image = (to_numpy(side) for side in relevant)
    if not len(image):
        raise InputError("No caption belongs to any image, so there is nothing to retrieve; check the set.")
    for what, named, count in (("an image", image, pairs.images), ("a caption", caption, pairs.captions)):
        if named.min() < 0 or named.max() >= count:
            raise InputError(
                f"What belongs together names {what} that is none of the {count}; check the set."
            )
    return np.divmod(np.unique(image * pairs.captions + caption), pairs.captions)


def _count_rivals(
    pairs: AllPairs, of_image: _Side, of_caption: _Side, rounding: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """How many captions are above each image's best one and how many reach it, int (2, q); and of captions likewise."""
    rows, columns = np.zeros((2, pairs.images), np.int64), np.zeros((2, len(of_caption.asked)), np.int64)
    best = np.zeros(pairs.images)
    best[of_image.asked] = of_image.best
    for part, block in pairs.blocks():
        xp = array_namespace(block)
        asked = block if len(of_caption.asked) == pairs.captions else block[:, like(of_caption.asked, block)]
        levels = (xp.astype(like(x, block), block.dtype) for x in (best[part, None], of_caption.best))
        hair = 0.0 if rounding is None else like(rounding[part, None], block)
        for counts, values, level, near, axis in zip(
            (rows[:, part], columns), (block, asked), levels, (hair, 0.0), (1, 0), strict=True
        ):
            counts[0] += to_numpy(xp.count_nonzero(values > level + near, axis=axis))
            counts[1] += to_numpy(xp.count_nonzero(values >= level - near, axis=axis))
    return rows[:, of_image.asked], columns


class RecallResult(NamedTuple):
    """Recall at K both ways in percent, mean and median rank; `left_out` queries have nothing relevant.

    classes : how many classes the captions name, where every image has one caption and captions are fewer; else None.
    """

    recall: dict[str, Estimate]  # image_to_text_r1, ..., text_to_image_r10; or image_choice (`of_choices`)
    mean_rank: dict[str, float]  # image_to_text, text_to_image
    median_rank: dict[str, float]
    left_out: dict[str, int]
    classes: int | None

    def __repr__(self) -> str:
        return f"<recall: {', '.join(f'{name} {_pct(e.value)}' for name, e in self.recall.items())}>"

    @classmethod
    def of_choices(
        cls, scores: np.ndarray, right: np.ndarray, offered: np.ndarray, clusters: Clusters | None = None
    ) -> RecallResult:
        """Queries that choose among few images of their own each: ImageCoDe, SPEC's text to image, SVO-Probes.

        scores : float (q, c). right, offered : bool (q, c), which images are right and which are there at all. A query
        is a hit if its best right image is above all others; a tie is lost, and counted. Chance is that of a random
        order. clusters : queries that share images (`Clusters.of_choices`), for a second interval.
        """
        ranks, tied = cls.choice_ranks(scores, right, offered)
        chance = 100 * float((right.sum(axis=1) / offered.sum(axis=1)).mean())
        found = estimate(ranks == 1, chance, int(tied.sum()), clusters=clusters)
        middle = {"text_to_image": float(np.median(ranks))}
        return cls({"image_choice": found}, {"text_to_image": float(ranks.mean())}, middle, {}, None)

    @staticmethod
    def choice_ranks(
        scores: np.ndarray, right: np.ndarray, offered: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rank of each query's best right image among its own, int (q,), wrong ones of the same score before it;
        and bool (q,), where only a tie keeps it from the first. Arguments as of `of_choices`.
        """
        best = np.where(right, scores, -np.inf).max(axis=1)
        wrong = np.where(offered & ~right, scores, -np.inf)
        return 1 + (wrong >= best[:, None]).sum(axis=1), wrong.max(axis=1) == best

    @property
    def metrics(self) -> dict[str, Estimate]:
        """Recall; where captions name classes also top-1 and top-5 accuracy, which is the recall of their captions."""
        tops = [top for top in (1, 5) if self.classes is not None and top <= self.classes]
        return self.recall | {f"accuracy_top{top}": self.recall[f"image_to_text_r{top}"] for top in tops}

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        return {
            "metrics": {name: e.record() for name, e in self.metrics.items()},
            "mean_rank": self.mean_rank,
            "median_rank": self.median_rank,
            "left_out": self.left_out,
        }


def recall(
    scores: Array | AllPairs,
    relevant: _Relevant,
    tops: Sequence[int] = TOPS,
    rounding: np.ndarray | None = None,
) -> RecallResult:
    """Recall at K from image to text and from text to image.

    Parameters
    ----------
    scores : float (N, M), images x captions, finite, or `AllPairs`, of which the whole matrix is never held.
    relevant : bool (M, N), or the pairs that belong together: captions and images, int (p,) each.
    tops : the K; a query is a hit if any relevant item is among the first K. Intervals are over queries; the chance
        level is that of a random order, averaged over queries. Queries with nothing relevant are left out and counted.
    rounding : float64 (N,), of debiased scores how far two equal ones of an image may differ.

    Raises InputError for shapes that do not fit, pairs that there are not, none at all, or a score that is not finite.
    """
    pairs = AllPairs.of(scores)
    to_text, to_image = _rank(pairs, relevant, rounding)
    single = len(to_text[0].asked) == pairs.images > pairs.captions and (to_text[0].relevant == 1).all()
    found = RecallResult({}, {}, {}, {}, pairs.captions if single else None)
    for name, (side, ranks), queries, items in (
        ("image_to_text", to_text, pairs.images, pairs.captions),
        ("text_to_image", to_image, pairs.captions, pairs.images),
    ):
        for top in tops:
            found.recall[f"{name}_r{top}"] = _among_first(ranks, top, _chance(side.relevant, items, top))
        found.mean_rank[name], found.median_rank[name] = (
            float(ranks.rank.mean()),
            float(np.median(ranks.rank)),
        )
        found.left_out[name] = queries - len(side.asked)
    return found


def _among_first(found: Ranks, top: int, chance_percent: float) -> Estimate:
    """Recall at `top`. A tie is counted where winning it would bring the query among the first `top`."""
    hits = found.rank <= top
    return estimate(hits, chance_percent, int((found.tied & ~hits).sum()))


def _chance(relevant: np.ndarray, candidates: int, top: int) -> float:
    """Percent of queries with one of their relevant items (q,) among the first `top` candidates in random order."""
    others = candidates - np.asarray(relevant, dtype=float)
    miss = np.ones_like(others)  # each of the first `top` is another one
    for place in range(min(top, candidates)):
        miss *= np.maximum(others - place, 0) / (candidates - place)
    return 100 * float((1 - miss).mean())
