"""One evaluation of scores against truth, the same for command line, pages and runs: metrics, slices, table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from core.base.arrays import Array, to_numpy
from core.base.errors import InputError, unknown_name
from core.base.lazy import pandas as pd
from core.base.limits import refusal
from core.base.text import _pct, counted
from core.groups import GroupSet, _pairs_said, check_truth
from core.matching.global_match import AllPairs, match_global
from core.matching.groups import Matches, check_form, check_scores
from core.metrics import groups as metrics
from core.metrics import statistics
from core.metrics._by_name import ByName
from core.metrics.group_metrics import GroupData, _usual_decimals, headline_metrics
from core.metrics.recall import Ranks, rank_both_ways
from core.metrics.statistics import Clusters, Estimate

# A tag column with more values than this names groups rather than slicing them.
MAX_SLICES = 30


@dataclass
class Evaluation:
    """Scores (n, m, k) with the truth (n, m) they are measured against, ids, tags and, where they exist, the
    scores of all n*m images with all n*k captions; `clusters` where groups share something.

    Of groups of one image the truth may be (n, t): t captions are true of it. The matching is right with any of them,
    every other metric asks for all of them.
    """

    scores: np.ndarray
    truth: np.ndarray
    ids: Sequence[str]
    tags: pd.DataFrame | None = None  # one row per group
    truth_given: bool = True
    global_scores: Array | AllPairs | None = None
    seed: int = 0  # of the order in which the global matching sees tied columns
    clusters: Clusters | None = None  # groups that hang together; None where each is its own
    rounding: np.ndarray | None = (
        None  # float64 (n,): how far equal ones differ in a group of debiased scores
    )
    truth_of: str = ""  # the set that the truth was taken from, where the file gives none
    names: Sequence[str] | None = None  # of the metrics of groups; None: all that the shape has
    ids_given: bool = True  # False where a file does not name its groups: the ids are its rows' numbers

    def __post_init__(self) -> None:
        self.scores = to_numpy(check_scores(self.scores, list(self.ids)))
        n, m, k = self.scores.shape
        self.truth = check_truth(self.truth, n, m, k, ids=self.ids)

    @classmethod
    def of(
        cls, scores: Array, truth: Array | None, ids: Sequence[str] | None = None, **more: Any
    ) -> Evaluation:
        """Of numpy arrays or torch tensors; held in numpy.

        Truth defaults to the identity (image i belongs to caption i), and the record says so.
        """
        n, m, _ = check_form(scores).shape
        names = [str(i) for i in range(n)] if ids is None else list(ids)
        default = np.tile(np.arange(m), (n, 1))
        more = {"ids_given": ids is not None, **more}
        return cls(scores, default if truth is None else truth, names, truth_given=truth is not None, **more)

    @classmethod
    def of_text_only(cls, scores: Array, groups: GroupSet) -> Evaluation:
        """SugarCrepe++'s text-only test as TextScore, the only metric that says what the paper's number says.

        scores : float (n, 1, 3), of captions by each other (`core/scoring/text_only.py`). Groups that share a caption
        or an image are a cluster. Raises InputError where not two of the captions are true.
        """
        truth = groups.truth
        if truth is None or truth.shape[1] != 2:
            raise InputError(
                f"The text-only test asks which two of three captions are true, and one is in {groups.name}; choose a "
                "set with two true captions, such as sugarcrepe-pp/swap_obj."
            )
        tags, clusters = tags_frame([g.tags for g in groups]), Clusters.of_blind(groups)
        return cls.of(scores, truth, groups.ids, tags=tags, clusters=clusters, names=(metrics.TEXT_SCORE,))

    def __repr__(self) -> str:
        """One line for a notebook: the groups, and the metrics to show where there is room for few."""
        m, k = self.shape
        shown = "; ".join(f"{name} {self._of_groups[name]!r}" for name in headline_metrics(self.outcomes))
        return f"<{len(self.scores)} groups of {m}x{k}: {shown}>"

    @property
    def shape(self) -> tuple[int, int]:
        """(m, k)."""
        return self.scores.shape[1], self.scores.shape[2]

    @cached_property
    def _solved(self) -> tuple[Matches, dict[str, metrics.Outcome]]:
        return metrics.match_and_evaluate(self.scores, self.truth, self.names, self.rounding)

    @property
    def matches(self) -> Matches:
        return self._solved[0]

    @property
    def outcomes(self) -> dict[str, metrics.Outcome]:
        return self._solved[1]

    @cached_property
    def metrics(self) -> dict[str, Estimate]:
        """Every metric with interval, chance level and ties; the global ones where global scores exist.

        Asked for with brackets, a name may be spelt as it is printed (`GroupMatch`); one that is not there raises an
        InputError, a KeyError too, that lists them.
        """
        everywhere = {} if self._pairs is None else self._global_metrics(self._pairs)
        return ByName({**self._of_groups, **everywhere})

    @cached_property
    def _of_groups(self) -> dict[str, Estimate]:
        m, k = self.shape
        return {
            name: statistics.estimate(
                o.value,
                100 * metrics.chance(name, m, k, self.truth.shape[1]),
                int(o.tied.sum()),
                metrics.METRICS[name].parts(m),
                self.clusters,
            )
            for name, o in self.outcomes.items()
        }

    @property
    def _pairs(self) -> AllPairs | None:
        return None if self.global_scores is None else AllPairs.of(self.global_scores)

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Metrics over all images with all captions that are too much work here, and why, in one sentence each."""
        if self._pairs is None:
            return {}
        names = (metrics.GLOBAL_MATCH, metrics.IMAGE_TO_TEXT, metrics.TEXT_TO_IMAGE)
        if self.truth.shape[1] > self.shape[0]:
            return dict.fromkeys(
                names,
                "Several captions are true of an image; these are measured where one is; look at the groups.",
            )
        what, (_, n, m, d) = "All images with all captions", self._pairs
        everything = refusal(what, pairs=n * m, multiplications=n * m * d)
        assigned = everything or refusal(f"Matching {n:,} images with {m:,} captions", steps=n * n * m)
        recalls = dict.fromkeys((metrics.IMAGE_TO_TEXT, metrics.TEXT_TO_IMAGE), everything)
        return {name: why for name, why in {metrics.GLOBAL_MATCH: assigned, **recalls}.items() if why}

    def _global_metrics(self, pairs: AllPairs) -> dict[str, Estimate]:
        if self.truth.shape[1] > self.shape[0]:
            return {}
        n, m, k = self.scores.shape
        own = (self.truth + k * np.arange(n)[:, None]).ravel()  # the column of each image's caption
        found = {}
        if metrics.GLOBAL_MATCH not in self.left_out:
            found[metrics.GLOBAL_MATCH] = metrics.global_match(pairs, own, m, self.seed, self.clusters)
        if metrics.IMAGE_TO_TEXT not in self.left_out:
            to_text, to_image = rank_both_ways(pairs, (own, np.arange(n * m)))
            # Ranks from captions to images come in the order of the captions; an image may have any of them.
            order = np.argsort(np.argsort(own))
            found[metrics.IMAGE_TO_TEXT] = self._recall(to_text, 100 / (n * k))
            found[metrics.TEXT_TO_IMAGE] = self._recall(Ranks(*(x[order] for x in to_image)), 100 / (n * m))
        return found

    def _recall(self, found: Any, chance: float) -> Estimate:
        n, m, _ = self.scores.shape
        per_group = (found.rank == 1).reshape(n, m).mean(axis=1)
        tied = int(found.tied.reshape(n, m).any(axis=1).sum())
        return statistics.estimate(per_group, chance, tied, m, self.clusters)

    def group(self, index: int) -> GroupData:
        """One group as it is drawn, with each metric's verdict."""
        scores, own = np.asarray(self.scores[index], dtype=np.float64), self.truth[index]
        matching, margin = self.matches.matching[index].tolist(), float(self.matches.margin[index])
        images = np.arange(len(scores))
        true, rows, columns = scores[images, own], scores.copy(), scores[:, own]
        rows[images, own] = -np.inf
        rivals, several = rows.max(axis=1), len(own) > len(scores)
        columns[images, images] = -np.inf
        assigned = match_global(scores)
        best = float(scores[images, assigned].sum())
        other = best - margin if matching == own.tolist() else best
        total = float(true.max() if several else true.sum())
        if self.rounding is not None:  # what ties is shown as equal
            hair = float(self.rounding[index])
            rivals = np.where(abs(true - rivals) <= hair, true, rivals)
            other = total if abs(total - other) <= len(scores) * hair else other
        return GroupData(
            scores,
            None if matching[0] < 0 else matching,
            own.tolist(),
            true,
            np.repeat(rivals, len(own)) if several else rivals,
            columns.max(axis=0) if len(scores) > 1 else np.full(len(own), np.nan),
            total,
            float(rivals[0]) if several else other,
            margin,
            {name: outcome.kind(index) for name, outcome in self.outcomes.items()},
            [int(rows.argmax())] if len(scores) == 1 else _best_other(scores, own, assigned),
            {name: float(outcome.value[index]) for name, outcome in self.outcomes.items()},
            usual=self._usual_decimals,
        )

    @cached_property
    def _usual_decimals(self) -> int | None:
        """Decimals of the scores of every group, but for one that takes more."""
        return _usual_decimals(self.scores, self.matches.margin)

    def select(self, mask: np.ndarray) -> Evaluation:
        """The same evaluation on some of the groups (bool (n,)); group metrics only."""
        ids = [name for name, keep in zip(self.ids, mask, strict=True) if keep]
        tags = None if self.tags is None else self.tags[mask].reset_index(drop=True)
        clusters = None if self.clusters is None else self.clusters.select(mask)
        rounding = None if self.rounding is None else self.rounding[mask]
        return Evaluation(
            self.scores[mask],
            self.truth[mask],
            ids,
            tags,
            self.truth_given,
            None,
            self.seed,
            clusters,
            rounding,
            self.truth_of,
            self.names,
            self.ids_given,
        )

    def _at_threshold(self, tau: float) -> _Selected:
        """The groups whose margin is at least `tau`, on which test-time matching would train, and how many of them are
        matched right. Tied groups are never selected."""
        mask = (self.matches.margin >= tau) & ~self.matches.tied
        right = self.outcomes[metrics.GROUP_MATCH].value[mask]
        chance = self._of_groups[metrics.GROUP_MATCH].chance
        found = statistics.estimate(right, chance) if len(right) else None
        return _Selected(tau, len(mask), right, found, int(self.matches.tied.sum()))

    def slices(self, column: str | None = None) -> dict[str, dict[str, Evaluation]]:
        """One evaluation per value of a tag column (all columns with 2 to MAX_SLICES values if none is named)."""
        found = self.slice_masks(self.tags, column)
        return {name: {v: self.select(mask) for v, mask in values.items()} for name, values in found.items()}

    @staticmethod
    def slice_masks(tags: pd.DataFrame | None, column: str | None = None) -> dict[str, dict[str, np.ndarray]]:
        """Tag column -> its values -> which rows have them, bool (rows,).

        Columns with 2 to MAX_SLICES values, or the one that is named; InputError for one that is not there.
        """
        if tags is None:
            return {}
        if column is not None and column not in tags.columns:
            raise unknown_name("tag column", column, map(str, tags.columns))
        counts = {name: tags[name].nunique() for name in tags.columns}
        chosen = [column] if column else [name for name, count in counts.items() if 2 <= count <= MAX_SLICES]
        return {str(name): _masks_by_value(tags[name]) for name in chosen}

    def _totals(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Totals of the true pairs and of the best other matching of some groups, float (s,) each, as `group` has
        them."""
        scores = self.scores[indices].astype(np.float64)
        own, matching = self.truth[indices], self.matches.matching[indices]
        if scores.shape[1] == 1:
            true = np.take_along_axis(scores[:, 0], own, axis=1).max(axis=1)
            others = scores[:, 0].copy()
            np.put_along_axis(others, own, -np.inf, axis=1)
            return true, others.max(axis=1)
        of = lambda pairs: np.take_along_axis(scores, pairs[:, :, None], axis=2).sum(axis=(1, 2))  # noqa: E731
        true, best = of(own), of(np.maximum(matching, 0))
        right = (matching == own).all(axis=1)
        other = np.where(right, true - self.matches.margin[indices], best)
        # Where two matchings tie none is the model's, and with debiased scores what ties differs by rounding.
        one_by_one = range(len(indices)) if self.rounding is not None else np.flatnonzero(matching[:, 0] < 0)
        for row in one_by_one:
            other[row] = self.group(int(indices[row])).rival_total
        return true, other

    def table(self) -> pd.DataFrame:
        """One row per group: id, tags, each metric's outcome (1, 0 or a share), whether a tie made it less
        (`NAME_tied`), induced matching, the true one, margin, and whether two matchings tie (`matching_tied`); yes is
        1 and no is 0.

        A matching gives every image its caption, such as `A–2, B–1`; the induced one is empty where two matchings tie.
        """
        matching = [_pairs_said(row) if row[0] >= 0 else "" for row in self.matches.matching.tolist()]
        table = pd.DataFrame({"id": list(self.ids)})
        if self.tags is not None:
            table = pd.concat([table, self.tags.reset_index(drop=True)], axis=1)
        for name, outcome in self.outcomes.items():
            table[name] = outcome.value.astype(float if metrics.METRICS[name].share else int)
        # One column for all read as that of every metric: a tie in TextScore alone looked like a miss.
        ties = {f"{name}_tied": outcome.tied.astype(int) for name, outcome in self.outcomes.items()}
        true = [_pairs_said(row, self.shape[0]) for row in self.truth.tolist()]
        margin, tied = self.matches.margin, self.matches.tied
        return table.assign(
            **ties, matching=matching, true_matching=true, margin=margin, matching_tied=tied.astype(int)
        )

    def record(self, by: str | None = None) -> dict[str, Any]:
        """A JSON-safe summary: n_groups, shape, truth, metrics in percent, and slices where there are tags."""
        record: dict[str, Any] = {
            "n_groups": len(self.scores),
            "shape": "x".join(map(str, self.shape)),
            "truth": f"of {self.truth_of}"
            if self.truth_of
            else "given"
            if self.truth_given
            else "identity (the file names none: image i belongs to caption i)",
            "metrics": {name: e.record() for name, e in self.metrics.items()},
        }
        if self.left_out:
            record["left_out"] = self.left_out
        slices = self.slices(by)
        if slices:
            record["slices"] = {c: {v: _slice_record(e) for v, e in s.items()} for c, s in slices.items()}
        return record


class _Selected(NamedTuple):
    """What a threshold selects. right : float (s,), 1 of each selected group that is matched right; precision : None
    where none is selected. tied : how many groups no threshold selects."""

    tau: float
    n_groups: int
    right: np.ndarray
    precision: Estimate | None
    tied: int = 0

    def __str__(self) -> str:
        """A sentence in Markdown, the same on the page and, without its stars, of the command."""
        chosen = len(self.right)
        start = f"**{chosen} of {counted(self.n_groups, 'group')}** selected"
        start += f" (coverage {_pct(100 * chosen / self.n_groups)} %)"
        if self.precision is None:
            return f"{start}; no group would be trained on."
        said = str(self.precision)
        if self.tied:  # "no ties" would be of the selected groups alone, of which none can be tied
            said = said.removesuffix(self.precision.tied) + f"{counted(self.tied, 'tied group')} left out"
        return f"{start}; **{int(self.right.sum())} of them matched correctly**: precision {said}."

    def record(self) -> dict[str, Any]:
        """JSON-safe; precision with its interval and chance level, in percent."""
        found = {
            "threshold": self.tau,
            "selected": len(self.right),
            "matched_correctly": int(self.right.sum()),
        }
        return {**found, "precision": None if self.precision is None else self.precision.record()}


def _slice_record(part: Evaluation) -> dict[str, Any]:
    return {
        "n_groups": len(part.scores),
        "metrics": {name: e.record() for name, e in part.metrics.items()},
    }


_NO_VALUE = "(none)"  # what a tag is called in groups that do not have it


def _masks_by_value(tag: pd.Series) -> dict[str, np.ndarray]:
    """The values of a tag column in order, that of groups without one last, and the groups of each, bool (n,)."""
    text = tag.fillna("").astype(str).replace("", _NO_VALUE)
    values = sorted(text.unique(), key=lambda value: (value == _NO_VALUE, value))
    return {value: (text == value).to_numpy() for value in values}


def tags_frame(tags: Sequence[Mapping[str, str]]) -> pd.DataFrame | None:
    """Tags of groups as a table, one row per group; None where no group has any."""
    names = dict.fromkeys(name for row in tags for name in row)
    frame = pd.DataFrame({name: [row.get(name) for row in tags] for name in names})
    return None if frame.empty else frame


def _best_other(scores: np.ndarray, own: np.ndarray, assigned: np.ndarray) -> list[int]:
    """The matching with the highest total of all but one: scores (m, k), the one `own` and the best of all `assigned`,
    int (m,)."""
    if assigned.tolist() != own.tolist():
        return assigned.tolist()
    images = np.arange(len(scores))
    forbidden = scores.min() - np.ptp(scores) * len(scores) - 1.0
    others = []
    for i, j in enumerate(own):  # another matching gives one image another caption
        without = scores.copy()
        without[i, j] = forbidden
        others.append(match_global(without))
    return max(others, key=lambda other: scores[images, other].sum()).tolist()
