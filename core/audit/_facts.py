"""What is in a set: counts of its groups, which need no test. Most are true or false; some are true of a share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import comb, perm
from typing import NamedTuple

import numpy as np
from PIL import Image

from core.audit import _near_images
from core.audit._near_images import Likeness
from core.audit._rules import CANNOT_TELL, EVIDENCE, FAULT, LIMIT, SOUND, Finding, _capital
from core.audit._words import looks_of, words_of
from core.base.text import _pct, counted
from core.groups import BytesImage, FileImage, Group, GroupSet, ImageRef
from core.metrics.statistics import Clusters, Comparison, estimate
from core.scenes.captions import Statement
from core.scenes.render import SceneImage

_SOLVED, _NOWHERE = 0.8, 0.2  # of the way from chance to 100 %, as in `core.debiasing.blind`
_INDEPENDENT = 0.8  # below so many independent groups for each one, plain intervals are an eighth too narrow
_FEW = 1.0  # percent of groups
_DIFFER = 13.0  # percent of groups on which two systems of one table differ, say
_COARSE = 10.0  # points
_IDLE = 0.8  # of groups
_ENOUGH_SCORES = 4  # of a group, which no other one has by chance
_BY_CHANCE = 0.01  # pairs of groups that would have the same scores if each were drawn from those of the file
_REPEATS = "Is any group there twice?"
_JPEG = b"\xff\xd8"  # how its file begins
_OPENING = 0.6  # of the time that images take
_DETAILS_AT_ONCE = 2_000  # 49 KB each
# By what groups share.
ARTICLES = {"image": "an image", "caption": "a caption", "image and caption": "an image or a caption"}
_NO_IMAGE = {"image": "", "caption": ", and none an image", "image and caption": ""}
_ALIKE = {
    "image": "Use the intervals by image.",
    "caption": "Whether a model treats groups with a caption in common alike, a set alone cannot say: the intervals by "
    "caption hold either way.",
    "image and caption": "Use the intervals by image and caption.",
}


def _ids(groups: GroupSet, which: np.ndarray) -> tuple[str, ...]:
    """The first ids of a mask (n,)."""
    return tuple(groups[int(i)].id for i in np.flatnonzero(which)[:EVIDENCE])


def _have(count: int, n: int) -> str:
    """`1 of 300 groups has`, `2 of 300 groups have`."""
    return f"{count:,} of {n:,} groups {'has' if count == 1 else 'have'}"


# --- captions


def word_order(groups: GroupSet, clusters: Clusters | None = None) -> Finding:
    """The ceiling of a bag of words: a model that is blind to order has to guess among captions of the same words."""
    question = "Does the set need word order?"
    (m, k), n = groups.shape, len(groups)
    ways = comb if m == 1 else perm  # the captions of one image have no order
    reach, same = np.empty(n), np.zeros(n, dtype=bool)
    for i, group in enumerate(groups):
        bags = [frozenset(Counter(words_of(c)).items()) for c in group.captions]
        size, right = Counter(bags), Counter(bags[j] for j in group.truth or ())
        reach[i] = 1 / np.prod([ways(size[bag], count) for bag, count in right.items()])
        same[i] = any(size[bag] > right[bag] if m == 1 else size[bag] > 1 for bag in right)
    found = estimate(reach, 100 / ways(k, len(groups[0].truth or (0,))), int(same.sum()), clusters=clusters)
    low, high = ((bound - found.chance) / (100 - found.chance) for bound in found.bounds)
    verdict = LIMIT if low >= _SOLVED else SOUND if high <= _NOWHERE else CANNOT_TELL
    says = (
        f"{int(same.sum()):,} of {n:,} groups have another caption of the same words as the right one: a model that "
        f"is blind to word order reaches at most {_pct(found.value, 2)} % by guessing among them ({found.interval}, "
        f"chance {_pct(found.chance)} %), and {_pct(100 * (1 - same.mean()), 2)} % where a "
        "tie is wrong."
    )
    if verdict == LIMIT:
        says += (
            " Sets that replace or add words are like this by design: a high score there says that a model finds the "
            "words, not how they are bound."
        )
    subject = "a model that is blind to word order reaches up to"
    return Finding(
        "order",
        question,
        verdict,
        says,
        found,
        evidence=_ids(groups, ~same),
        brief=f"{subject} {found.value:.0f} % (chance {found.chance:.0f} %)",
        groups=int(same.sum()),
        subject=subject,
    )


def equal_captions(groups: GroupSet, clusters: Clusters | None = None) -> Finding:
    """Captions of one group that are the same but for case, punctuation and how letters are written, or that look the
    same, with letters of another alphabet or signs that nobody sees."""
    question = "Are the captions of a group different?"
    written = _twice(groups, words_of)
    looks = _twice(groups, looks_of) & ~written
    twice = written | looks
    says = (
        f"{int(twice.sum()):,} of {len(groups):,} groups have two captions that are the same but for case and "
        "punctuation"
    )
    says += f", {int(looks.sum()):,} of them but for letters of another alphabet." if looks.any() else "."
    verdict = FAULT if twice.any() else SOUND
    return Finding(
        "captions",
        question,
        verdict,
        says,
        estimate(twice, 0.0, clusters=clusters),
        evidence=_ids(groups, twice),
        brief=f"{_have(int(twice.sum()), len(groups))} a caption twice",
    )


def _twice(groups: GroupSet, form: Callable[[str], tuple[str, ...]]) -> np.ndarray:
    """Groups of which two captions have one form, bool (n,)."""
    return np.array([len({form(c) for c in g.captions}) < len(g.captions) for g in groups])


def contradictions(
    groups: GroupSet, names: Sequence[Sequence[str]], is_global: bool, clusters: Clusters | None = None
) -> Finding:
    """Captions that are false here and true of the same image elsewhere, and, where the set is matched as a whole,
    captions that are right of several images. In the built-in world the drawn scenes are asked too.

    names : of the images of every group, equal for equal images and for those that are nearly the same.
    """
    question = "Is a wrong caption true of the image after all?"
    right: dict[str, set[str]] = {}
    texts = [[" ".join(words_of(c)) for c in g.captions] for g in groups]
    for group, found, captions in zip(groups, names, texts, strict=True):
        for image, j in group.truth_pairs:
            right.setdefault(found[image], set()).add(captions[j])
    bad = np.zeros(len(groups), dtype=bool)
    for i, (group, found, captions) in enumerate(zip(groups, names, texts, strict=True)):
        for image, j in group.truth_pairs:
            bad[i] |= any(
                captions[o] in right[found[image]] and captions[o] != captions[j]
                for o in range(len(captions))
                if (image, o) not in group.truth_pairs
            )
    drawn = _against_scenes(groups, is_global)
    bad |= drawn
    uses = Counter(image for found in names for image in {*found})
    known = any(isinstance(image, SceneImage) for group in groups for image in group.images)
    images = Counter(caption for said in right.values() for caption in said)
    shared = np.array(
        [any(images[t[j]] > 1 for j in g.truth or ()) for g, t in zip(groups, texts, strict=True)]
    )
    several = (
        "so that matching all images with all captions has several answers"
        if is_global
        else "which matters only where all images are matched with all captions"
    )
    says = (
        f"In {int(bad.sum()):,} of {len(groups):,} groups a wrong caption is the right one of the same image in "
        f"another group. {int(shared.sum()):,} groups have a right caption that is right of another image "
        f"too, {several}."
    )
    if known:
        says += f" In {int(drawn.sum()):,} groups the scene that was drawn says otherwise than the set."
    wrong = bad | shared if is_global else bad
    looked = known or max(uses.values()) > 1
    if not looked:
        says += " No two groups have an image in common, so that nothing here says what else is true of one."
    return Finding(
        "contradictions",
        question,
        FAULT if wrong.any() else SOUND if looked else CANNOT_TELL,
        says,
        estimate(wrong, 0.0, clusters=clusters)
        if looked or wrong.any()
        else None,  # nobody looked: no number
        evidence=_ids(groups, wrong if wrong.any() else shared),
        brief=f"{_have(int(wrong.sum()), len(groups))} a caption that contradicts another group or the picture"
        if looked or wrong.any()
        else "",
    )


def _against_scenes(groups: GroupSet, is_global: bool) -> np.ndarray:
    """Groups of the built-in world in which a right caption is false of the drawn scene, or another one true of it,
    bool (n,); of a set that is matched as a whole also one that is true of another group's scene."""
    wrong = np.zeros(len(groups), dtype=bool)
    said = [[Statement.of_caption(caption) for caption in group.captions] for group in groups]
    for i, group in enumerate(groups):
        for place, right in group.truth_pairs:
            image = group.images[place]
            if not isinstance(image, SceneImage):
                continue
            for other in range(len(groups)) if is_global else (i,):
                wrong[i] |= any(
                    found is not None and found.is_true_of(image.scene) is not (other == i and j == right)
                    for j, found in enumerate(said[other])
                )
    return wrong


# --- groups that are there twice


def repeats(groups: GroupSet, names: Sequence[Sequence[str]], clusters: Clusters | None = None) -> Finding:
    """Groups with the images and the captions of an earlier group, in any order; captions but for case and punctuation.

    names : of the images of every group, equal for equal images and for those that are nearly the same.
    """
    keys = [
        (*sorted(found), *sorted(" ".join(words_of(c)) or c for c in group.captions))
        for group, found in zip(groups, names, strict=True)
    ]
    what = "the same images and captions" if groups.shape[0] > 1 else "the same image and captions"
    return _repeating(groups, keys, f"{what}, in any order", clusters)


def repeated_scores(groups: GroupSet, scores: np.ndarray) -> Finding | None:
    """Groups of a file whose scores are those of an earlier group, to the last digit; None where scores are so coarse
    or so few that groups have the same by chance.

    scores : float (n, m, k).
    """
    flat = scores.reshape(len(scores), -1)
    if flat.shape[1] < _ENOUGH_SCORES:
        return None
    shares = np.unique(flat, return_counts=True)[1] / flat.size
    if comb(len(flat), 2) * float((shares**2).sum()) ** flat.shape[1] > _BY_CHANCE:
        return None
    flat = flat + 0.0  # -0.0 is 0.0
    keys = [row.tobytes() if np.ptp(row) > 0 else i for i, row in enumerate(flat)]
    return _repeating(groups, keys, "the same scores, to the last digit", None)


def _repeating(groups: GroupSet, keys: Sequence[Hashable], what: str, clusters: Clusters | None) -> Finding:
    """keys : equal for groups that are the same. what : they have in common."""
    first: dict[Hashable, int] = {}
    earlier = np.array([first.setdefault(key, i) for i, key in enumerate(keys)])
    again = earlier != np.arange(len(keys))
    count, n = int(again.sum()), len(keys)
    if not count:
        return Finding(
            "repeats",
            _REPEATS,
            SOUND,
            f"No two of the {n:,} groups have {what}.",
            brief=f"none of {n:,} groups repeats another",
        )
    pairs = [(groups[int(earlier[i])].id, groups[int(i)].id) for i in np.flatnonzero(again)]
    named = ", ".join(f"group {copy} repeats {group}" for group, copy in pairs[:EVIDENCE])
    more = f", and {count - EVIDENCE:,} more" if count > EVIDENCE else ""
    brief = f"{count:,} of {n:,} groups {'repeats' if count == 1 else 'repeat'} another group"
    says = (
        f"{brief}: {what}. Each counts twice in every accuracy; without {'it' if count == 1 else 'them'} the set has "
        f"{n - count:,}. {_capital(named)}{more}."
    )
    beside = dict.fromkeys(name for pair in pairs for name in pair)  # a group and its copy side by side
    found = estimate(again, 0.0, clusters=clusters)
    return Finding("repeats", _REPEATS, FAULT, says, found, evidence=(*beside,)[:EVIDENCE], brief=brief)


# --- images


class Pixels(NamedTuple):
    """What is known of the pixels of every image.

    copies : int (p, 2), pairs of images that are nearly the same; image i of group g is number g * m + i. alike : int
    (q, 2), pairs that may be copies, cut at the edges, or pictures that differ in little. turned : int (r, 2), pairs
    of which one is the other mirrored or turned.
    statistics : float (n, m, d), standardised: log width, log height, mean red, green and blue, contrast, log file
    size, whether the file is a JPEG; without those that never vary.
    """

    copies: np.ndarray
    alike: np.ndarray
    turned: np.ndarray
    statistics: np.ndarray

    @classmethod
    def of(cls, groups: GroupSet, progress: Callable[[float], None] | None = None) -> Pixels:
        """Raises InputError for an image that does not open."""
        say = progress or (lambda share: None)
        small, middle, numbers, shapes = [], [], [], []
        for i, group in enumerate(groups):
            for image in group.images:
                picture = image.open()
                small.append(_near_images.thumbnail(picture))
                middle.append(_near_images.thumbnail(_near_images.centre(picture)))
                shapes.append(np.log(picture.width / picture.height))
                numbers.append([*_statistics(picture), *_of_file(image)])
            say(_OPENING * (i + 1) / len(groups))
        values = np.array(numbers)
        values = values[:, np.ptp(values, axis=0) > 1e-9]
        values = (values - values.mean(axis=0)) / values.std(axis=0) if values.size else values
        near = near_pairs(
            groups, np.array(small), np.array(middle), np.array(shapes),
            lambda share: say(_OPENING + (1 - _OPENING) * share),
        )  # fmt: skip
        return cls(*near, values.reshape(len(groups), groups.shape[0], -1))

    def named(self, names: Sequence[Sequence[str]]) -> list[list[str]]:
        """Names of images with one name for all that are nearly the same."""
        flat = [name for found in names for name in found]
        place = {name: i for i, name in reversed([*enumerate(flat)])}
        equal = np.array([[i, place[name]] for i, name in enumerate(flat)])
        labels = _near_images.clusters(len(flat), np.concatenate([equal, self.copies]))
        first = np.unique(labels, return_index=True)[1]
        alike = [flat[first[label]] for label in labels]
        m = len(names[0])
        return [alike[i : i + m] for i in range(0, len(alike), m)]


def near_pairs(
    groups: Iterable[Group],
    small: np.ndarray,
    middle: np.ndarray,
    shapes: np.ndarray,
    progress: Callable[[float], None] = lambda share: None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of images (p, 2) that are the same, that are alike, and that are the same mirrored or turned.

    small, middle : thumbnails of the whole images, and of their middles cut to a square. shapes : logarithms of their
    widths by their heights.
    """
    detail = _Details(groups)
    told = {
        (a, b): Likeness.of(detail.whole(a), detail.whole(b)) for a, b in _near_images.copies(small).tolist()
    }
    if _near_images.differ_in_shape(shapes.max(), shapes.min()):
        cut = _near_images.copies(middle)
        for a, b in cut[_near_images.differ_in_shape(*shapes[cut].T)].tolist():
            if told.get((a, b)) != Likeness.SAME:
                told[a, b] = Likeness.of(detail.middle(a), detail.middle(b))
    for a, b in _near_images.toned_copies(small).tolist():
        other = told.get((a, b), Likeness.OTHER) == Likeness.OTHER
        if other and _near_images.differ_in_tones_alone(detail.whole(a), detail.whole(b)):
            told[a, b] = Likeness.ALIKE
    progress(1 / 4)
    turned = {
        (a, b)
        for a, b, turn in _near_images.turned_copies(
            small, lambda share: progress((1 + 3 * share) / 4)
        ).tolist()
        if told.get((a, b), Likeness.OTHER) == Likeness.OTHER
        and Likeness.of(detail.whole(a), _near_images.TURNS[turn](detail.whole(b))) == Likeness.SAME
    }
    same = sorted(pair for pair, how in told.items() if how == Likeness.SAME)
    alike = sorted(pair for pair, how in told.items() if how == Likeness.ALIKE)
    return _as_array(same), _as_array(alike), _as_array(sorted(turned))


def _as_array(pairs: list[tuple[int, int]]) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


class _Details:
    """Details of images, which are opened again for pairs alone."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self._images = [image for group in groups for image in group.images]
        self._of = lru_cache(_DETAILS_AT_ONCE)(self._opened)

    def whole(self, i: int) -> np.ndarray:
        return self._of(i, False)

    def middle(self, i: int) -> np.ndarray:
        return self._of(i, True)

    def _opened(self, i: int, cut: bool) -> np.ndarray:
        picture = self._images[i].open()
        return _near_images.detail(_near_images.centre(picture) if cut else picture)


def _statistics(picture: Image.Image) -> list[float]:
    colours = np.asarray(picture.resize((16, 16), Image.Resampling.BOX), dtype=np.float64)
    return [*np.log(picture.size), *colours.mean(axis=(0, 1)), float(colours.std())]


def _of_file(image: ImageRef) -> tuple[float, float]:
    """Logarithm of its file's size, and whether that is a JPEG; 0 where it is no file."""
    if isinstance(image, BytesImage):
        size, start = len(image.data), image.data[: len(_JPEG)]
    elif isinstance(image, FileImage):
        with image.path.open("rb") as file:
            size, start = image.path.stat().st_size, file.read(len(_JPEG))
    else:
        return 0.0, 0.0
    return float(np.log(1 + size)), float(start == _JPEG)


# Captions with one of them may make an image and its mirror image two different pictures.
_PLACES = frozenset(
    words_of(
        "left right leftmost rightmost leftward rightward leftwards rightwards above below under underneath beneath "
        "over top bottom up down upper lower upside upright upwards downwards upward downward upturned overturned "
        "clockwise counterclockwise anticlockwise north south east west vertical horizontal vertically "
        "horizontally diagonal diagonally mirrored flipped rotated reversed backwards sideways"
    )
)


def equal_images(
    groups: GroupSet,
    names: Sequence[Sequence[str]],
    pixels: Pixels | None,
    clusters: Clusters | None = None,
    unseen: str = "",
) -> Finding:
    """Images of one group that are the same, or nearly, and images of different groups that are nearly the same.

    An image that is another one mirrored or turned is no fault by itself, as captions may be about just that. It is
    said where no caption of the two groups has an English word of place or direction. unseen : why there are no pixels.
    """
    question, n = "Are the images different?", len(groups)
    twice = np.array([len(set(found)) < len(found) for found in names])
    if pixels is None:
        says = (
            f"{int(twice.sum()):,} of {n:,} groups have the same image twice; whether images are nearly the same is "
            f"not known. {unseen}"
        )
        return Finding(
            "images",
            question,
            FAULT if twice.any() else CANNOT_TELL,
            says.rstrip(),
            estimate(twice, 0.0, clusters=clusters) if twice.any() else None,  # nobody looked: no number
            evidence=_ids(groups, twice),
            brief=f"{_have(int(twice.sum()), n)} an image twice" if twice.any() else "",
        )
    copies = _Copies.of(groups, names, pixels)
    wrong = twice | copies.inside
    many = estimate(copies.across, 0.0, clusters=clusters).bounds[0] > _FEW
    verdict = FAULT if wrong.any() or many else CANNOT_TELL if copies.pairs.size else SOUND
    # Beside “12 of 12 share an image” the count of copies, 0 of 12, seemed to contradict it.
    apart = (
        "; that groups share an image is no copy" if clusters is not None and "image" in clusters.by else ""
    )
    beside = dict.fromkeys(copies.pairs.ravel().tolist())  # what is alike side by side
    return Finding(
        "images",
        question,
        verdict,
        copies.told(int(wrong.sum())),
        estimate(wrong | copies.across, 0.0, clusters=clusters),
        brief=f"{_have(int((wrong | copies.across).sum()), n)} an image that is a near copy of another one{apart}",
        evidence=_ids(groups, wrong) if wrong.any() else tuple(groups[i].id for i in [*beside][:EVIDENCE]),
    )


class _Copies(NamedTuple):
    """Groups with images that are nearly the same, bool (n,): inside the group; of another group; perhaps, as they are
    alike; mirrored or turned; mirrored or turned where captions are about places, which is as it should be.

    pairs : int (p, 2), the groups to look at, those across, alike and mirrored.
    """

    inside: np.ndarray
    across: np.ndarray
    alike: np.ndarray
    mirrored: np.ndarray
    placed: np.ndarray
    pairs: np.ndarray

    @classmethod
    def of(cls, groups: GroupSet, names: Sequence[Sequence[str]], pixels: Pixels) -> _Copies:
        n, m = len(groups), groups.shape[0]
        keys = [name for found in names for name in found]
        different = [(a, b) for a, b in pixels.copies.tolist() if keys[a] != keys[b]]
        same, turned = np.array(different, dtype=np.int64).reshape(-1, 2) // m, pixels.turned // m
        within = same[:, 0] == same[:, 1]
        about_places = np.array([any(_PLACES & {*words_of(c)} for c in g.captions) for g in groups])
        placed = about_places[turned].any(axis=1)
        alike, mirrored = pixels.alike // m, turned[~placed]

        def among(pairs: np.ndarray) -> np.ndarray:
            return np.isin(np.arange(n), pairs)

        return cls(
            among(same[within]),
            among(same[~within]),
            among(alike),
            among(mirrored),
            among(turned[placed]),
            np.concatenate([same[~within], alike, mirrored]),
        )

    def told(self, wrong: int) -> str:
        """In sentences. wrong : how many groups have an image twice, or nearly."""
        across, alike, mirrored, placed = (
            int(which.sum()) for which in (self.across, self.alike, self.mirrored, self.placed)
        )
        parts = [
            f"{wrong:,} of {len(self.across):,} groups have two images that are the same or nearly so; "
            f"{across:,} have an image that is nearly that of another group, without being the same file."
        ]
        if across:
            parts.append(
                "Look at them: copies make groups hang together, and small worlds repeat themselves by chance."
            )
        if alike:
            parts.append(
                f"{counted(alike, 'group')} with images that are alike, perhaps copies that are cut at the edges, "
                "in grey or of another brightness, perhaps pictures that differ in little: look."
            )
        if mirrored:
            parts.append(
                f"{counted(mirrored, 'group')} with an image that is another one mirrored or turned, and no word of "
                "place or direction in the captions: look."
            )
        if placed:
            parts.append(
                f"{counted(placed, 'group')} with an image that is another one mirrored or turned, and captions about "
                "places, as in sets of left and right."
            )
        return " ".join([*parts, _NOT_LOOKED_FOR])


_NOT_LOOKED_FOR = (
    "Copies that are drawn upon, cut by more than a tenth or turned by other angles than quarters are not looked for, "
    "nor, of drawings on a plain ground, those in grey or of another brightness; of small pictures a JPEG of quality "
    "20 or less may be missed."
)


def shared_parts(groups: GroupSet, clusters: Clusters | None) -> Finding:
    """How many independent groups the set is worth, where those that share an image or a caption count as one."""
    question, n = "Are the groups independent of each other?", len(groups)
    if clusters is None:
        return Finding(
            "shared",
            question,
            SOUND,
            f"No two of the {n:,} groups share an image." if n > 1 else "There is one group.",
            brief=f"no two of the {n:,} groups share an image" if n > 1 else "there is one group",
        )
    sizes, by = np.bincount(clusters.labels), clusters.by
    shared = sizes[clusters.labels] > 1
    says = (
        f"{int(shared.sum()):,} of {n:,} groups share {ARTICLES[by]} with another one{_NO_IMAGE[by]}. Those that share "
        f"count as one, which leaves {clusters.count:,} independent groups. {_ALIKE[by]}"
    )
    few = clusters.count < _INDEPENDENT * n
    verdict = SOUND if not few else LIMIT if by != "caption" else CANNOT_TELL
    largest = np.argsort(-sizes[clusters.labels], kind="stable")[: min(EVIDENCE, int(shared.sum()))]
    ids = tuple(groups[int(i)].id for i in largest)
    brief = f"{int(shared.sum()):,} of {n:,} groups share {ARTICLES[by]} with another group"
    # Whether a group shares is a fact of its cluster.
    found = estimate(shared, 0.0, clusters=clusters)
    return Finding("shared", question, verdict, says, found, evidence=ids, brief=brief)


# --- size


def detectable(independent: int, n: int) -> Finding:
    """The smallest difference that McNemar's exact test finds with 80 % power on so many independent groups.

    n : all of them, where a set alone cannot say whether those that share are alike.
    """
    worst, best = (_gap(count) for count in (independent, n))
    verdict = LIMIT if best > _COARSE else SOUND if worst <= _COARSE else CANNOT_TELL
    says = _shows(independent)
    if n > independent:
        result = "the same" if _pct(best) == _pct(worst) else points(best)
        says += (
            f" If groups that share a caption are not alike, all {n:,} groups count, which gives {result}."
        )
    says += " Two models that disagree on more groups need more, which the page Compare computes."
    says += f" More than {_COARSE:.0f} points is too coarse for most comparisons."
    least = least_difference(independent)
    brief = (
        "no difference between two models shows"
        if least is None
        else f"{'only ' * (verdict == LIMIT)}models that differ by {points(least)} are told apart, if "
        "they disagree on few groups"
    )
    return Finding("size", "Is the set large enough?", verdict, says, brief=brief)


def least_difference(n: int) -> float | None:
    """In points, between two systems on n independent groups; None where no difference shows."""
    return Comparison.detectable_difference(n, _DIFFER)


def points(difference: float) -> str:
    """`5.2 points or more`."""
    return f"{_pct(difference)} points or more"


def _gap(n: int) -> float:
    least = least_difference(n)
    return 100.0 if least is None else least


def _shows(n: int) -> str:
    """In a sentence what n independent groups show."""
    least, on = least_difference(n), counted(n, "independent group")
    if least is None:
        return f"No difference between two models shows on {on}."
    says = (
        f"On {on} a test tells two models apart in 80 % of cases if they differ by {points(least)}, and exactly one of "
        f"the two is right on {max(_DIFFER, least):.3g} % of the groups."
    )
    more = Comparison.detectable_difference(
        n, 2 * _DIFFER
    )  # as models of unlike kinds do: Compare counts theirs
    if least > _DIFFER or more is None:
        return says
    return f"{says} If one alone is right on {2 * _DIFFER:.3g} %, it takes {points(more)}."


def agreement(groups: GroupSet, right: Mapping[str, np.ndarray], clusters: Clusters | None = None) -> Finding:
    """Groups on which no two models differ. right : bool (n,) of each model."""
    question = "Do models differ on this set?"
    if len(right) < 2:
        return Finding("agreement", question, CANNOT_TELL, "It takes stored scores of two models or more.")
    hits = np.array([*right.values()])
    none, everyone = np.asarray(~hits.any(axis=0)), np.asarray(hits.all(axis=0))
    found = estimate(none | everyone, 0.0, clusters=clusters)
    low, high = found.bounds
    verdict = LIMIT if low >= 100 * _IDLE else SOUND if high < 100 * _IDLE else CANNOT_TELL
    says = (
        f"On {_pct(found.value)} % of groups ({found.interval}) the {len(right)} models with stored scores never "
        f"differ: all of them solve {counted(int(everyone.sum()), 'group')}, and none solves {int(none.sum()):,} "
        f"({', '.join(right)})."
    )
    agreed = f"{int((none | everyone).sum()):,} of {len(none):,} groups"
    brief = f"the {len(right)} models with stored scores agree on {agreed}"
    return Finding("agreement", question, verdict, says, found, evidence=_ids(groups, none), brief=brief)
