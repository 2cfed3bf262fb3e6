"""All findings of a set, corrected together: as text, as JSON, as a page that one can cite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from core.audit import _facts, _rules
from core.audit._rules import CANNOT_TELL, FAULT, LIMIT, SOUND, Finding
from core.audit._words import words_of
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.public_mode import MAX_SETTINGS, check_benchmark, is_public
from core.base.text import _pct, counted
from core.datasets.embeddings import RowImage
from core.debiasing.blind import check_blind
from core.exchange.layouts import _with_raised_powers
from core.exchange.report import report_page, write_page
from core.groups import GroupSet, ImageRef
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH
from core.metrics.statistics import Clusters, Comparison, _typical
from core.scorers.score_kinds import KINDS
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer, scorer_key, scorer_names
from core.scoring.pairs import Pairs
from core.scoring.scores import score_groups

_HEAD = [
    "set",
    "groups",
    "independent",
    "same words",
    "blind to order, at most % (95 % interval, by cluster)",
    "faults",
]
_WRONG = 5.0  # percent of groups
_SAID = 2  # faults that the answer names
_MOST_IMAGES = 20_000  # that are opened and compared: two minutes, and half a gigabyte
_Progress = Callable[[str, float], None]
_Names = list[list[str]]


@dataclass(frozen=True)
class Audit:
    """Whether a set is sound, check by check.

    independent : how many groups there are where those that share an image, or else a caption, count as one; rules are
    tested by these clusters, on all groups, and the size on so many. by : what others share. parts : of a benchmark of
    several files, each of them by itself.
    """

    VERDICTS: ClassVar = (FAULT, LIMIT, CANNOT_TELL, SOUND)
    HOW_TO_READ: ClassVar = (
        "A fault: a rule that looks at no image does better than guessing, or groups are wrong as they are.",
        "A limit: something that a score on a set of this kind or size cannot show, however well the set was made.",
        "Cannot tell: it takes more groups to decide, or data that are not here.",
        "Sound: nothing was found; for a rule, its whole 95 % interval lies within a fifth of the way from chance to "
        "100 %.",
        "Intervals: groups that share an image or a caption are not independent. An interval “by image” or “by "
        "caption” is the wider the more alike such groups turn out.",
        "p values are corrected for all rules together (Holm): the rules find a fault in at most 5 % of sound sets. "
        "“Audits” in the documentation simulates each check.",
    )

    name: str
    title: str
    split: str
    shape: tuple[int, int]
    n: int
    independent: int
    by: str
    findings: tuple[Finding, ...]
    parts: tuple[Audit, ...] = ()
    _fewest: int = 0  # groups that an interval is worth where no group or every group is counted

    @classmethod
    def of_files(
        cls,
        name: str,
        files: Sequence[GroupSet],
        split: str = "test",
        blind: Sequence[str] = (),
        training: Path | None = None,
        progress: _Progress | None = None,
    ) -> Audit:
        """A benchmark of several files as one set, and each of them; the rest as for `of`.

        name : of the whole, as `sugarcrepe`. Raises InputError for files of several shapes.
        """
        shapes = sorted({"x".join(map(str, shape)) for file in files for shape in file.shapes})
        if len(shapes) > 1:
            raise InputError(
                f"The sets of {name} have groups of {', '.join(shapes)}, which are no one set; audit one of them, such "
                f"as {files[0].name}."
            )
        parts = tuple(cls.of(file, split, blind, training, progress) for file in files)
        title = (files[0].title or name).partition(":")[0]
        groups = tuple(group for file in files for group in file)
        whole = cls.of(
            replace(files[0], name=name, title=title, groups=groups),
            split,
            blind,
            training,
            progress,
            in_file_order=len(files) == 1,
        )
        return replace(whole, parts=parts)

    @classmethod
    def of(
        cls,
        groups: GroupSet,
        split: str = "test",
        blind: Sequence[str] = (),
        training: Path | None = None,
        progress: _Progress | None = None,
        in_file_order: bool = True,
    ) -> Audit:
        """Every check of groups of one shape.

        blind : text-only models to score the captions with, beside those whose scores are at hand; they are loaded.
        training : a text file with the captions of a training set, one a line. progress : called with what is done and
        the share of it. in_file_order : whether the order of the groups is the set's own, so that a pattern in it
        is looked for; of several files it is not. Raises InputError for groups without truth or of several shapes, and
        in public mode for a set that is not built in or too large.
        """
        _check_allowed(groups)
        m, k = groups.shape
        if groups.truth is None:
            raise InputError(
                f"{groups.name} has no ground truth, so nothing can say whether its groups are sound."
            )
        names, here = _image_names(groups)
        say = progress or (lambda what, share: None)
        pixels, unseen = _opened(groups, here, say)
        alike = names if pixels is None else pixels.named(names)
        named = groups if here else _with_names(groups, names)
        clusters = Clusters.of_groups(_in_one_form(groups, alike))
        sample = _rules.Sample(groups, clusters, in_file_order)
        blind_scores = _blind_scores(named, blind, say) if m < k else {}
        right = _systems(groups) if here else {}
        found = []
        for done, rule in enumerate(_rules.RULES):
            say("rules", done / len(_rules.RULES))
            found.append(rule(sample))
        say("rules", 1.0)
        found += [_rules.blind_model(sample, name, scores) for name, scores in blind_scores.items()]
        found += [] if blind_scores or m == k else [_NO_BLIND]
        found.append(_rules.pictures(sample, None if pixels is None else pixels.statistics, unseen))
        found += [] if training is None else [_rules.seen_pairs(sample, _captions(training))]
        found += [
            _facts.word_order(groups, clusters),
            _facts.equal_captions(groups, clusters),
            _facts.repeats(groups, alike, clusters),
            _facts.contradictions(groups, alike, groups.name.endswith("@global"), clusters),
            _facts.equal_images(groups, names, pixels, clusters, unseen),
            _facts.shared_parts(groups, clusters),
            _facts.detectable(*_independent(groups, clusters)),
            _facts.agreement(groups, right, clusters),
        ]
        by = "" if clusters is None else clusters.by
        return cls(
            groups.name,
            groups.title or groups.name,
            split,
            (m, k),
            len(groups),
            len(groups) if clusters is None else clusters.count,
            by,
            _corrected(found),
            _fewest=len(groups) if clusters is None else _of_typical_size(clusters),
        )

    @property
    def answer(self) -> str:
        """What the set is good for, and what is wrong with it.

        `Sound enough to compare models that differ by 5.2 points or more. One fault: ...`
        """
        return f"{self.headline} {self.problems}"

    @property
    def headline(self) -> str:
        """In one sentence what the set is good for: `Not sound: it can be solved without its images.`"""
        faults, limits = (self._of(verdict) for verdict in (FAULT, LIMIT))
        least = _facts.least_difference(self.independent)
        if any(found.solves for found in faults):
            return "Not sound: it can be solved without its images."
        many = [f.key for f in faults if f.p_value is None and f.found and f.found.value > _WRONG]
        if many:
            what = "are there more than once" if many == ["repeats"] else "are wrong as they are"
            return f"Not sound: too many of its groups {what}."
        if least is None:
            return "Too small to tell any two models apart."
        if any(found.key == "size" for found in limits):
            return f"Too small to compare models that differ by less than {_pct(least)} points."
        good = "Not sound as it is, but large" if faults else "Sound"
        return (
            f"{good} enough to compare models that differ by {_facts.points(least)}; by more if they disagree on many "
            "groups."
        )

    @property
    def problems(self) -> str:
        """The faults and limits, a sentence each kind: `4 faults: ..., and 2 more.`; `No fault found.`"""
        limits = [found for found in self._of(LIMIT) if found.key != "size"]
        # Where the headline says the size, which is a limit, the summary counts one more than stand here.
        which = "limit" if len(limits) == len(self._of(LIMIT)) else "other limit"
        said = [_listed(self._of(FAULT), "fault") or "No fault found.", _listed(limits, which)]
        return " ".join(filter(None, said))

    @property
    def summary(self) -> str:
        """`14 checks: 2 faults, 1 limit, 8 sound, 3 cannot tell`."""
        count = Counter(found.verdict for found in self.findings)
        told = (
            (FAULT, counted(count[FAULT], "fault")),
            (LIMIT, counted(count[LIMIT], "limit")),
            (SOUND, f"{count[SOUND]} sound"),
            (CANNOT_TELL, f"{count[CANNOT_TELL]} cannot tell"),
        )
        said = ", ".join(text for verdict, text in told if count[verdict])
        return f"{counted(len(self.findings), 'check')}: {said}"

    def _of(self, verdict: str) -> list[Finding]:
        return [found for found in self.findings if found.verdict == verdict]

    @staticmethod
    def size(groups: GroupSet) -> Finding:
        """The check of a set's size alone, which needs neither truth nor what captions say nor pixels."""
        clusters = Clusters.of_groups(groups)
        return _facts.detectable(*_independent(groups, clusters))

    @staticmethod
    def repeats(groups: GroupSet, scores: np.ndarray) -> Finding | None:
        """Whether groups of a file have the scores of another one, float (n, m, k), to the last digit; None where that
        may be by chance."""
        return _facts.repeated_scores(groups, scores)

    @property
    def about(self) -> str:
        """Set, size, and how many groups are independent."""
        m, k = self.shape
        line = f"{self.name}, split {self.split}: {counted(self.n, 'group')} of {m}x{k}"
        return f"{line}. {self.dependence}" if self.dependence else line

    @property
    def dependence(self) -> str:
        """How many groups are independent, and how many each interval is worth; "" where all are."""
        if self.independent == self.n:
            return ""
        worth = counted(self.independent, "independent group")
        why = ", as large clusters weigh most" if self._fewest < self.independent else ""
        return (
            f"Groups that share {_facts.ARTICLES[self.by]} count as one, which leaves {worth} of {self.n:,}. The "
            f"more alike such groups turn out, the wider an interval: at best it is that of {self.n:,} groups, at "
            f"worst that of {self._fewest:,}{why}. Where a check counts none or all, it is the widest"
        )

    def text(self) -> str:
        """For a terminal: a line, then a paragraph for every check, faults first."""
        blocks = [f"{self.answer}\n{self.about}. {self.summary}."]
        if self.parts:
            blocks.append(pd.DataFrame(self._rows(), columns=_HEAD).to_string(index=False))
        for found in self.in_order():
            ids = (
                f"\n  see {', '.join(found.evidence[:4])}"
                if found.evidence and found.verdict != SOUND
                else ""
            )
            blocks.append(f"{found.verdict.upper():<12}{_answered(found)}\n  {found.says}{ids}")
        return "\n\n".join([*blocks, "\n".join(self.HOW_TO_READ)])

    def _rows(self) -> list[list[str]]:
        """Of each part and of the whole, as `_HEAD` has it."""
        rows = []
        for audit in (*self.parts, self):
            order = next(found for found in audit.findings if found.key == "order")
            assert order.found is not None
            low, high = order.found.bounds
            reached = f"{_pct(order.found.value, 2)} ({_pct(low)}–{_pct(high)})"
            faults = ", ".join(found.key for found in audit._of(FAULT)) or "none"
            numbers = (audit.n, audit.independent, order.groups)
            rows.append([audit.name, *(f"{number:,}" for number in numbers), reached, faults])
        return rows

    def in_order(self) -> list[Finding]:
        """Faults first, then what nobody can tell; rules that are sound by design as one."""
        return sorted(_rules._folded(self.findings), key=lambda found: self.VERDICTS.index(found.verdict))

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        return {
            "benchmark": self.name,
            "title": self.title,
            "split": self.split,
            "shape": "x".join(map(str, self.shape)),
            "groups": self.n,
            "independent": self.independent,
            "by": self.by,
            "answer": self.answer,
            "summary": self.summary,
            "crossmatch": version("crossmatch"),
            "findings": [_record(found) for found in self.findings],
        } | ({"parts": [part.record() for part in self.parts]} if self.parts else {})

    def html(self) -> str:
        """One page that opens without network."""
        rows = "".join(
            f"<details><summary><b>{escape(found.verdict)}</b> {escape(_answered(found))}{_number(found)}</summary>"
            f"<p>{_with_raised_powers(escape(found.says))}{_ids(found)}</p></details>"
            for found in self.in_order()
        )
        how = "".join(f"<p>{escape(line)}</p>" for line in self.HOW_TO_READ)
        body = (
            f"<p><b>{escape(self.answer)}</b></p><p>{escape(f'{self.about}. {self.summary}.')}</p>"
            f"{self._table()}{rows}"
            f"<section><h2>How to read this</h2>{how}</section>"
        )
        return report_page(f"Audit of {self.title}", body, self.record())

    def _table(self) -> str:
        """HTML; "" without parts."""
        if not self.parts:
            return ""
        head, *rows = (
            "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
            for tag, row in [("th", _HEAD), *(("td", row) for row in self._rows())]
        )
        return f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'

    def write(self, out: Path) -> Path:
        """Write `.json` or `.html`, by its ending; returns `out`."""
        ending = out.suffix.lower()
        if ending not in (".json", ".html", ".htm"):
            raise InputError(
                f"{out} cannot be written; an audit is a .json or a .html file, so name it like that."
            )
        text = json.dumps(self.record(), indent=1) if ending == ".json" else self.html()
        return write_page(out, text)


def _independent(groups: GroupSet, clusters: Clusters | None) -> tuple[int, int]:
    """How many groups are independent for sure, and at most: whether a caption in common ties two a set cannot say."""
    n = len(groups)
    least = n if clusters is None else clusters.count
    return least, n if clusters is not None and clusters.by == "caption" else least


def _of_typical_size(clusters: Clusters) -> int:
    """How many clusters there would be if all were as large as the one that a group is in, by mean square."""
    sizes = np.bincount(clusters.labels)
    return round(sizes.sum() / _typical(sizes))


_NO_BLIND = Finding(
    "blind",
    "Does a model that sees no image find the right caption?",
    CANNOT_TELL,
    "No scores of a text-only model are stored here; `crossmatch audit SET --blind NAME` makes them, with NAME such as "
    "lm:openai-community/gpt2.",
)


def _check_allowed(groups: GroupSet) -> None:
    """In public mode only built-in sets, and of a size that keeps nobody waiting."""
    if not is_public():
        return
    check_benchmark(groups.name)
    if len(groups) > MAX_SETTINGS["groups"]:
        raise InputError(
            f"On this server sets of at most {MAX_SETTINGS['groups']} groups are audited, this one has {len(groups)}; "
            "run Crossmatch yourself."
        )


def _corrected(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    tests = [found for found in findings if found.p_value is not None]
    holm = dict(
        zip((t.key for t in tests), Comparison.corrected([t.p_value or 0.0 for t in tests]), strict=True)
    )
    return tuple(_rules.judged(found._replace(p_holm=holm.get(found.key))) for found in findings)


def _record(found: Finding) -> dict[str, Any]:
    plain = {name: getattr(found, name) for name in found._fields} | {"evidence": list(found.evidence)}
    return plain | {"found": None if found.found is None else found.found.record()}


def _answered(found: Finding) -> str:
    """`Does the set need word order? Yes.`"""
    return f"{found.question} {found.reply}." if found.reply else found.question


def _number(found: Finding) -> str:
    return f'<br><span class="quiet">{escape(found.number)}</span>' if found.number else ""


def _listed(findings: Sequence[Finding], kind: str) -> str:
    """`One fault: the longest caption is right in 70 % (chance 50 %).`; `3 limits: ..., ..., and 1 more.`"""
    if not findings:
        return ""
    count = f"One {kind}" if len(findings) == 1 else counted(len(findings), kind)
    said = [found.brief for found in findings[:_SAID]]
    more = f", and {len(findings) - _SAID} more" if len(findings) > _SAID else ""
    return f"{count}: {', '.join(said)}{more}."


def _ids(found: Finding) -> str:
    return f"<br>Groups: {escape(', '.join(found.evidence))}" if found.evidence else ""


# --- what the checks are given


def _image_names(groups: GroupSet) -> tuple[_Names, bool]:
    """What every image is called, equal for equal images, and whether all images are here.

    By content; one whose file is not on this machine by what the set calls it.
    """
    here = True

    def name(image: ImageRef) -> str:
        nonlocal here
        try:
            return image.key
        except InputError:
            here = False
            return repr(image)

    return [[name(image) for image in g.images] for g in groups], here


def _with_names(groups: GroupSet, names: _Names) -> GroupSet:
    """The set with images that are names alone."""
    return replace(
        groups,
        groups=tuple(
            replace(g, images=tuple(map(RowImage, found))) for g, found in zip(groups, names, strict=True)
        ),
    )


class _SeenImage(RowImage):
    """An image under the name of all that look like it. Unlike one of which only a row's name is known, it is the same
    where the name is, however many groups have it."""

    _is_row = False


def _in_one_form(groups: GroupSet, names: _Names) -> GroupSet:
    """The set with names for its images, and captions by their words: what is nearly the same counts as the same."""
    made = []
    for group, found in zip(groups, names, strict=True):
        kind = RowImage if all(getattr(image, "_is_row", False) for image in group.images) else _SeenImage
        texts = tuple(" ".join(words_of(c)) or c for c in group.captions)
        made.append(replace(group, images=tuple(map(kind, found)), captions=texts))
    return replace(groups, groups=tuple(made))


def _captions(path: Path) -> list[str]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The training list {path} cannot be read ({error}); give a text file, a caption a line."
        ) from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"The training list {path} is empty; give a text file, a caption a line.")
    return found


def _pairs_of(groups: GroupSet) -> Pairs:
    return Pairs.of((image.key, caption) for g in groups for image in g.images for caption in g.captions)


def _at_hand(name: str, groups: GroupSet, pairs: Pairs, cache: ScoreCache) -> np.ndarray | None:
    """Scores (n, m, k) where all of them are shipped or cached, without loading the model; pairs : of the groups."""
    key = scorer_key(name)
    if key is None:
        return None
    if np.isnan(cache.get(key, pairs.take(np.arange(1)))).any():
        return None
    values = cache.get(key, pairs).reshape(len(groups), *groups.shape)
    return None if np.isnan(values).any() else values


def _blind_scores(groups: GroupSet, names: Sequence[str], say: _Progress) -> dict[str, np.ndarray]:
    cache, found = ScoreCache(), {}
    for name in names:
        check_blind(name)
        tell = lambda done, total, name=name: say(name, done / total)  # noqa: E731
        found[name] = score_groups(lazy_scorer(name), groups, cache, tell)
    pairs = _pairs_of(groups)
    for name, kind in scorer_names().items():
        if name not in found and not KINDS[kind].reads_image:
            values = _at_hand(name, groups, pairs, cache)
            found |= {} if values is None else {name: values}
    return found


def _systems(groups: GroupSet) -> dict[str, np.ndarray]:
    """Which groups each built-in model matches right, bool (n,), where its scores are at hand."""
    cache, pairs, right = ScoreCache(), _pairs_of(groups), {}
    for name, kind in scorer_names().items():
        if KINDS[kind].reads_image and (values := _at_hand(name, groups, pairs, cache)) is not None:
            right[name] = Evaluation.of(values, groups.truth, groups.ids).outcomes[GROUP_MATCH].value == 1
    return right


def _opened(groups: GroupSet, here: bool, say: _Progress) -> tuple[_facts.Pixels | None, str]:
    """What is known of the pixels, or why nothing is."""
    if len(groups) * groups.shape[0] > _MOST_IMAGES:
        return None, f"The images are not opened of a set of more than {_MOST_IMAGES:,} images."
    if not here:
        return None, "Images of the set are not on this machine."
    try:
        return _facts.Pixels.of(groups, partial(say, "images")), ""
    except InputError as error:
        return None, str(error)
