"""Audits of the built-in sets, of SugarCrepe's seven files and of Winoground: `python -m benchmarks.results.audits`.

Rewrites benchmarks/AUDITS.md, or of it the parts that are named (`findings`, `planted`, `sound`, `copies`), whose
others stay as they are. SugarCrepe and Winoground are read where `CROSSMATCH_DATA` has them, by their captions where
their images are not there; without them their rows stay out. `--repeats N` draws N sound sets of each kind (default
200) and counts how many of them are said to have a fault, by which check; `--planted N` plants every fault in N sets of
each shape and size (default 3). `--photos FOLDER` measures which copies of its photographs are found (default: pictures
of noise of all sizes).
"""

from __future__ import annotations

import argparse
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance

from core import datasets
from core.audit import Audit, Finding, _facts, _near_images
from core.base.errors import InputError
from core.datasets.embeddings import RowImage
from core.datasets.sugarcrepe import SUBSETS
from core.groups import BytesImage, Group, GroupSet
from core.metrics.statistics import estimate

FAULT, LIMIT, CANNOT_TELL, _ = Audit.VERDICTS
PAGE = Path(__file__).resolve().parents[1] / "AUDITS.md"
_FAMILY = [f"sugarcrepe/{subset}" for subset in SUBSETS]
_NOUNS = ("cat", "dog", "cup", "tree", "lamp", "ball", "bird", "book", "fish", "door", "shoe", "boat")
_VERBS = ("above", "near", "behind", "under")
_ORDERS = ("a {} {} a {}", "there is a {} {} a {}")


def audits() -> Iterator[tuple[GroupSet, Audit]]:
    for name in [*(n for n in datasets.names() if n.startswith("scenes/")), *_FAMILY, "winoground"]:
        try:
            groups = datasets.load(name, images=False)
        except InputError:
            continue
        yield groups, Audit.of(groups)


def sound_set(rng: np.random.Generator, n: int, captions: int) -> GroupSet:
    """One image and captions of the same words in several orders; the right one is drawn at random."""
    groups = []
    for i in range(n):
        *nouns, verb = [*rng.choice(_NOUNS, 2, replace=False), rng.choice(_VERBS)]
        sentences = [frame.format(a, verb, b) for frame in _ORDERS for a, b in (nouns, nouns[::-1])]
        texts = tuple(rng.permutation(sentences[:captions]).tolist())
        groups.append(Group(str(i), (RowImage(str(i)),), texts, (int(rng.integers(captions)),)))
    return GroupSet("sound", tuple(groups))


def _encoded(image: Image.Image) -> BytesImage:
    data = io.BytesIO()
    image.save(data, "PNG")
    return BytesImage(data.getvalue())


def with_noise(rng: np.random.Generator, n: int, captions: int) -> GroupSet:
    """As `sound_set`, each with a picture of coarse noise."""
    groups = sound_set(rng, n, captions)
    return replace(groups, groups=tuple(replace(g, images=(_noise(rng),)) for g in groups))


def _noise(rng: np.random.Generator, side: int = 32) -> BytesImage:
    return _encoded(Image.fromarray(rng.integers(0, 256, (4, 4, 3)).astype(np.uint8)).resize((side, side)))


_COLOURS = ("red", "green", "blue", "orange")
_SIZES = {"small": 9, "large": 16}


def exchanged(rng: np.random.Generator, n: int, what: str) -> GroupSet:
    """2x2: two shapes that exchange their colours, or their sizes; images and captions in any order."""
    groups = []
    for i in range(n):
        shapes = rng.choice(("circle", "square", "triangle"), 2, replace=False).tolist()
        marks = rng.choice(_COLOURS if what == "colours" else [*_SIZES], 2, replace=False).tolist()
        other = rng.choice(_COLOURS, 2, replace=False).tolist()
        places = [(int(rng.integers(x, x + 30)), int(rng.integers(20, 108))) for x in (20, 76)]
        images, texts = [], []
        for pair in (marks, marks[::-1]):
            looks = (
                zip(pair, (14, 14), strict=True)
                if what == "colours"
                else zip(other, (_SIZES[p] for p in pair), strict=True)
            )
            images.append(_drawn(shapes, list(looks), places))
            texts.append(f"a {pair[0]} {shapes[0]} and a {pair[1]} {shapes[1]}")
        first, order = rng.permutation(2), rng.permutation(2)
        truth = tuple(int(np.flatnonzero(order == j)[0]) for j in first)
        groups.append(Group(str(i), tuple(images[j] for j in first), tuple(texts[j] for j in order), truth))
    return GroupSet("sound", tuple(groups))


def _drawn(shapes: list[str], looks: list[tuple[str, int]], places: list[tuple[int, int]]) -> BytesImage:
    image = Image.new("RGB", (128, 128), "white")
    draw = ImageDraw.Draw(image)
    for shape, (colour, size), (x, y) in zip(shapes, looks, places, strict=True):
        box = (x - size, y - size, x + size, y + size)
        if shape == "triangle":
            draw.polygon([(x, y - size), (x - size, y + size), (x + size, y + size)], fill=colour)
        else:
            {"circle": draw.ellipse, "square": draw.rectangle}[shape](box, fill=colour)
    return _encoded(image)


SOUND_SETS: dict[str, Callable[[np.random.Generator], GroupSet]] = {
    "1x2, 30 groups, no pictures": lambda rng: sound_set(rng, 30, 2),
    "1x2, 120 groups, no pictures": lambda rng: sound_set(rng, 120, 2),
    "1x2, 400 groups, no pictures": lambda rng: sound_set(rng, 400, 2),
    "1x4, 120 groups, no pictures": lambda rng: sound_set(rng, 120, 4),
    "1x2, 120 groups, pictures of noise": lambda rng: with_noise(rng, 120, 2),
    "2x2, 100 groups, colours exchanged": lambda rng: exchanged(rng, 100, "colours"),
    "2x2, 100 groups, sizes exchanged": lambda rng: exchanged(rng, 100, "sizes"),
}


def flagged(repeats: int) -> Iterator[str]:
    """Of each kind of sound set: how many are said to have a fault, and by which checks; which have limits."""
    for number, (kind, draw) in enumerate(SOUND_SETS.items()):
        rng = np.random.default_rng(number)
        found = [Audit.of(draw(rng)).findings for _ in range(repeats)]
        by = {v: Counter(f.key for each in found for f in each if f.verdict == v) for v in (FAULT, LIMIT)}
        wrong = estimate(np.array([any(f.verdict == FAULT for f in each) for each in found]), 5.0)
        listed = [
            ", ".join(f"{key} {100 * count / repeats:.1f}" for key, count in by[v].most_common()) or "none"
            for v in (FAULT, LIMIT)
        ]
        cells = [kind, str(repeats), f"{wrong.value:.1f} ({wrong.low:.1f}–{wrong.high:.1f})", *listed]
        yield f"| {' | '.join(cells)} |"


# --- planted faults

_SHAPES = ((1, 2), (1, 4), (2, 2), (2, 4))
_PLANTED_SIZES = (20, 60, 300)
_Change = Callable[[Group, int, np.random.Generator], Group]


def shaped(rng: np.random.Generator, n: int, m: int, k: int, pictures: bool) -> GroupSet:
    """Sound groups of m images and k captions, the right ones drawn at random."""

    def group(each: Group) -> Group:
        images = tuple(_noise(rng, 96) if pictures else RowImage(f"{each.id}-{i}") for i in range(m))
        return replace(each, images=images, truth=tuple(rng.permutation(k)[:m].tolist()))

    groups = sound_set(rng, n, k)
    return replace(groups, groups=tuple(group(each) for each in groups))


def _marked(right: str, wrong: str, share: float = 1.0) -> _Change:
    """`{}` stands for the caption, `{i}` for the group's number. share : of groups; in the others it is reversed."""

    def change(group: Group, i: int, rng: np.random.Generator) -> Group:
        forms = (right, wrong) if rng.random() < share else (wrong, right)
        texts = (forms[j not in (group.truth or ())].format(c, i=i) for j, c in enumerate(group.captions))
        return replace(group, captions=tuple(texts))

    return change


def _right_first(group: Group, i: int, rng: np.random.Generator) -> Group:
    right = group.truth or ()
    order = [*right, *(j for j in range(len(group.captions)) if j not in right)]
    captions = tuple(group.captions[j] for j in order)
    return replace(group, captions=captions, truth=tuple(range(len(right))))


def _wrong_shuffled(group: Group, i: int, rng: np.random.Generator) -> Group:
    texts = (
        c if j in (group.truth or ()) else " ".join(rng.permutation(c.split()))
        for j, c in enumerate(group.captions)
    )
    return replace(group, captions=tuple(texts))


def _in_one_group(change: Callable[[Group], Group]) -> _Change:
    return lambda group, i, rng: change(group) if i == 3 else group


def _caption_again(group: Group, again: Callable[[str], str]) -> Group:
    return replace(group, captions=(group.captions[0], again(group.captions[0]), *group.captions[2:]))


def _contradicting(group: Group, i: int, rng: np.random.Generator) -> Group:
    """One image with one wrong and one right caption in the fourth group, and the other way round in the fifth."""
    if i not in (3, 4):
        return group
    texts = tuple(f"caption {j}" for j in range(len(group.captions)))
    truth = tuple((j + i - 3) % len(texts) for j in range(len(group.truth or ())))
    images = tuple(RowImage(f"both {j}") for j in range(len(group.images)))
    return replace(group, images=images, captions=texts, truth=truth)


def _there_twice(group: Group, i: int, rng: np.random.Generator) -> Group:
    """The fifth group has the images and captions of the fourth, in another order."""
    if i not in (3, 4):
        return group
    m, k = len(group.images), len(group.captions)
    images, texts = [RowImage(f"both {j}") for j in range(m)], [f"caption {j}" for j in range(k)]
    if i == 3:
        return replace(group, images=tuple(images), captions=tuple(texts), truth=tuple(range(m)))
    right = tuple(k - 1 - j for j in reversed(range(m)))
    return replace(group, images=tuple(images[::-1]), captions=tuple(texts[::-1]), truth=right)


def _saved(save: Callable[[Image.Image, bool], BytesImage]) -> _Change:
    """Every image anew, by whether it is that of the first caption."""

    def change(group: Group, i: int, rng: np.random.Generator) -> Group:
        images = (
            save(image.open(), j == 0) for image, j in zip(group.images, group.truth or (), strict=False)
        )
        return replace(group, images=tuple(images))

    return change


def _as_jpeg(image: Image.Image) -> BytesImage:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=75)
    return BytesImage(data.getvalue())


def _of_one_size(image: Image.Image, as_jpeg: bool) -> BytesImage:
    data = (_as_jpeg(image) if as_jpeg else _encoded(image)).data
    return BytesImage(data.ljust(40_000, b"\0"))


class _Planted(NamedTuple):
    """key : of the check that has to find it. shapes : in which it can be planted."""

    key: str
    change: _Change
    shapes: tuple[tuple[int, int], ...] = _SHAPES
    pictures: bool = False


_SOME_WRONG = ((1, 2), (1, 4), (2, 4))  # shapes with captions that are wrong of every image
PLANTED: dict[str, _Planted] = {
    "right captions first": _Planted("position", _right_first),
    "right captions first in 80 %": _Planted(
        "position", lambda g, i, rng: _right_first(g, i, rng) if rng.random() < 0.8 else g
    ),
    "the right one a word longer": _Planted("length", _marked("{} again", "{}"), _SOME_WRONG),
    "a word longer in 80 %, shorter in 20 %": _Planted("length", _marked("{} again", "{}", 0.8), _SOME_WRONG),
    "as many words, more letters": _Planted("length", _marked("{} so", "{} extraordinarily"), _SOME_WRONG),
    "the right one with a full stop": _Planted("writing", _marked("{}.", "{}"), _SOME_WRONG),
    "a Cyrillic letter in the wrong ones": _Planted("writing", _marked("a {}", "\u0430 {}"), _SOME_WRONG),
    "one word of all right ones": _Planted("words", _marked("{} now", "{} not"), _SOME_WRONG),
    "a word in the wrong ones that comes once": _Planted(
        "frequency", _marked("{} today", "{} x{i}x"), _SOME_WRONG
    ),
    "the wrong ones as salads of their words": _Planted("grammar", _wrong_shuffled, _SOME_WRONG),
    "one group with a caption twice": _Planted(
        "captions", _in_one_group(lambda g: _caption_again(g, lambda c: c.upper() + "."))
    ),
    "one group with a look-alike caption": _Planted(
        "captions", _in_one_group(lambda g: _caption_again(g, lambda c: c.replace("a", "\u0430")))
    ),
    "one group twice, in another order": _Planted("repeats", _there_twice),
    "two groups that contradict each other": _Planted("contradictions", _contradicting),
    "images of the first caption darker": _Planted(
        "pictures",
        _saved(lambda p, first: _encoded(ImageEnhance.Brightness(p).enhance(0.6 if first else 1.0))),
        pictures=True,
    ),
    "images of the first caption JPEG, others PNG": _Planted(
        "pictures", _saved(lambda p, first: _as_jpeg(p) if first else _encoded(p)), pictures=True
    ),
    "the same, files of one size": _Planted("pictures", _saved(_of_one_size), pictures=True),
    "one group with an image twice, once as JPEG": _Planted(
        "images",
        _in_one_group(lambda g: replace(g, images=(g.images[0], _as_jpeg(g.images[0].open())))),
        ((2, 2), (2, 4)),
        pictures=True,
    ),
}


def planted_found(repeats: int) -> Iterator[str]:
    """A row for each fault: how many of the sets that have it are said to; what is said of the others."""
    for kind, fault in PLANTED.items():
        cells = [
            _caught(
                fault,
                [_with_fault(fault, shape, n, seed) for shape in fault.shapes for seed in range(repeats)],
            )
            for n in _PLANTED_SIZES
        ]
        shapes = ", ".join(f"{m}x{k}" for m, k in fault.shapes)
        yield f"| {kind} | {fault.key} | {shapes} | {' | '.join(cells)} |"


def _with_fault(fault: _Planted, shape: tuple[int, int], n: int, seed: int) -> GroupSet:
    rng = np.random.default_rng([n, *shape, seed])
    groups = shaped(rng, n, *shape, fault.pictures)
    return replace(groups, groups=tuple(fault.change(g, i, rng) for i, g in enumerate(groups)))


def _caught(fault: _Planted, sets: list[GroupSet]) -> str:
    """`11 of 12; 1 cannot tell`."""
    said = Counter(f.verdict for groups in sets for f in Audit.of(groups).findings if f.key == fault.key)
    missed = [f"{count} {verdict}" for verdict, count in said.items() if verdict != FAULT]
    return "; ".join([f"{said[FAULT]} of {len(sets)}", *missed])


# --- copies of pictures


def _jpeg(image: Image.Image, quality: int) -> Image.Image:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=quality)
    return Image.open(data)


def _cut(image: Image.Image, *percent: float) -> Image.Image:
    """By so many percent at the left, top, right, bottom."""
    (w, h), (left, top, right, bottom) = image.size, (p / 100 for p in percent)
    return image.crop((round(left * w), round(top * h), round(w - right * w), round(h - bottom * h)))


def _written_on(image: Image.Image) -> Image.Image:
    found = image.copy()
    ImageDraw.Draw(found).text(
        (0.1 * image.width, 0.8 * image.height), "a line of text", "white", font_size=30
    )
    return found


COPIES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "JPEG, quality 50": lambda p: _jpeg(p, 50),
    "JPEG, quality 10": lambda p: _jpeg(p, 10),
    "half the size": lambda p: p.resize((p.width // 2, p.height // 2), Image.Resampling.BICUBIC),
    "128 x 128": lambda p: p.resize((128, 128), Image.Resampling.BILINEAR),
    "5 % brighter": lambda p: ImageEnhance.Brightness(p).enhance(1.05),
    "1 % cut at every side": lambda p: _cut(p, 1, 1, 1, 1),
    "3 % cut at the left": lambda p: _cut(p, 3, 0, 0, 0),
    "5 % cut at every side": lambda p: _cut(p, 5, 5, 5, 5),
    "10 % cut at every side": lambda p: _cut(p, 10, 10, 10, 10),
    "half the size, JPEG 60, 2 % cut": lambda p: _cut(_jpeg(p.resize((p.width // 2, p.height // 2)), 60), 2, 2, 2, 2),
    "cut to a square": _near_images.centre,
    "cut to a square, 224 x 224, JPEG 60": lambda p: _jpeg(_near_images.centre(p).resize((224, 224)), 60),
    "middle 224 x 224 of a square of 256": lambda p: _near_images.centre(p).resize((256, 256)).crop((16, 16, 240, 240)),
    "mirrored": lambda p: p.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "turned by a quarter": lambda p: p.transpose(Image.Transpose.ROTATE_90),
    "turned by a half": lambda p: p.transpose(Image.Transpose.ROTATE_180),
    "mirrored, half the size, JPEG 60": lambda p: _jpeg(
        p.transpose(Image.Transpose.FLIP_LEFT_RIGHT).resize((p.width // 2, p.height // 2)), 60
    ),
    "grey": lambda p: p.convert("L"),
    "20 % brighter": lambda p: ImageEnhance.Brightness(p).enhance(1.2),
    "20 % darker, JPEG 50": lambda p: _jpeg(ImageEnhance.Brightness(p).enhance(0.8), 50),
    "20 % more contrast": lambda p: ImageEnhance.Contrast(p).enhance(1.2),
    "turned by 5 degrees": lambda p: p.rotate(5, Image.Resampling.BICUBIC),
    "a line of text drawn on it": lambda p: _written_on(p),
    "a quarter cut at every side": lambda p: _cut(p, 25, 25, 25, 25),
    "160 x 120, JPEG 20": lambda p: _jpeg(p.resize((160, 120)), 20),
}  # fmt: skip


def photographs(folder: Path | None) -> list[Image.Image]:
    """Those of a folder, 500 pixels long; else pictures of noise of all sizes, as photographs have structure."""
    if folder is not None:
        found = []
        for file in sorted(folder.iterdir()):
            with Image.open(file) as image:
                picture = image.convert("RGB")
            picture.thumbnail((500, 500))
            found.append(picture)
        return found
    return [_of_all_sizes(np.random.default_rng(seed)) for seed in range(100)]


def _of_all_sizes(rng: np.random.Generator) -> Image.Image:
    found = np.zeros((400, 500, 3))
    for cells in (3, 6, 12, 25, 50, 100):
        noise = Image.fromarray(rng.integers(0, 256, (cells, cells, 3)).astype(np.uint8))
        found += np.asarray(noise.resize((500, 400), Image.Resampling.BICUBIC), dtype=float) / cells**0.7
    return Image.fromarray((255 * (found - found.min()) / np.ptp(found)).astype(np.uint8))


class _Picture(NamedTuple):
    picture: Image.Image

    def open(self) -> Image.Image:
        return self.picture


class _Alone(NamedTuple):
    images: tuple[_Picture, ...]


def _pairs(pictures: list[Image.Image]) -> list[int]:
    """How many pairs are the same, alike, and the same mirrored or turned."""
    small, middle = (
        np.array([_near_images.thumbnail(change(p)) for p in pictures])
        for change in (lambda p: p, _near_images.centre)
    )
    shapes = np.log([p.width / p.height for p in pictures])
    groups: Any = [_Alone((_Picture(p),)) for p in pictures]
    return [len(found) for found in _facts.near_pairs(groups, small, middle, shapes)]


def copies_found(folder: Path | None) -> Iterator[str]:
    """A row for each kind of copy, and one for pictures that are none."""
    pictures = photographs(folder)
    n = len(pictures)
    for kind, copy in COPIES.items():
        said = np.array([_pairs([p, copy(p)]) for p in pictures]) > 0
        found = estimate(said.any(axis=1), 0.0)
        missed = f"{100 - found.value:.1f} ({100 - found.high:.1f}–{100 - found.low:.1f})"
        how = (f"{share:.1f}" for share in 100 * said.mean(axis=0))
        yield f"| {kind} | {n} | {' | '.join(how)} | {missed} |"
    false = " | ".join(map(str, _pairs(pictures)))
    yield f"| no copy: of all pairs of the {n} | {n * (n - 1) // 2:,} | {false} | |"


def _row(audit: Audit) -> str:
    faults = [f.key for f in audit.findings if f.verdict == FAULT]
    limits = [f.key for f in audit.findings if f.verdict == LIMIT]
    open_ = [f.key for f in audit.findings if f.verdict == CANNOT_TELL]
    cells = (
        audit.name,
        f"{audit.n:,}",
        f"{audit.independent:,}",
        ", ".join(faults) or "none",
        ", ".join(limits) or "none",
        ", ".join(open_) or "none",
    )
    return f"| {' | '.join(cells)} |"


def _details(audit: Audit) -> str:
    lines = [f"- **{f.key}**: {_plain(f.says)}" for f in audit.findings if f.verdict == FAULT]
    return f"### Each fault of {audit.name}\n\n" + "\n".join(lines)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def findings() -> str:
    found = list(audits())
    parts = [groups for groups, _ in found if groups.name in _FAMILY]
    lines = [
        "| set | groups | independent | faults | limits | cannot tell |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [_row(audit) for _, audit in found]
    if len(parts) == len(_FAMILY):
        whole = Audit.of_files("sugarcrepe", parts)
        order, repeats = (next(f for f in whole.findings if f.key == key) for key in ("order", "repeats"))
        lines += [
            _row(whole),
            "",
            f"SugarCrepe's seven files together: {_plain(order.says)} ({_words(parts)})",
            "",
            f"And across the files: {_plain(repeats.says)}",
        ]
    faulty = [_details(audit) for _, audit in found if any(f.verdict == FAULT for f in audit.findings)]
    reading = _reading([audit for _, audit in found])
    return "\n".join([*lines, "", "### How we read it", "", reading, "", "\n\n".join(faulty)])


def _words(parts: list[GroupSet]) -> str:
    """How many pairs have the same words by other rules for what a word is."""
    texts = [[c.lower() for c in group.captions] for groups in parts for group in groups]

    def same(words: Callable[[str], list[str]]) -> int:
        return sum(len({tuple(sorted(words(c))) for c in captions}) < len(captions) for captions in texts)

    regular = (partial(re.findall, pattern) for pattern in (r"[\w']+", r"\w+"))
    some, plain = (same(find) for find in regular)
    return (
        "words: NFKC, casefold, one apostrophe, kept inside words; hyphens part words. By `[\\w']+` of the lower-case "
        f"text it is {some}, by `\\w+` {plain}, parted at white space {same(str.split)}"
    )


def _reading(found: list[Audit]) -> str:
    """In words, with the numbers of these audits."""
    scenes = [audit for audit in found if audit.name.startswith("scenes/")]
    family = [audit for audit in found if audit.name in _FAMILY]
    faulty = [audit.name for audit in scenes if _finding(audit, FAULT)]
    small = [f"`{audit.name}` ({audit.n})" for audit in scenes if "size" in _finding(audit, LIMIT)]
    full = [_facts.least_difference(audit.independent) or 100.0 for audit in scenes if audit.n >= 300]
    lines = [
        f"- A fault is found in {len(faulty)} of {len(scenes)} built-in sets: {', '.join(faulty) or 'none'}. "
        "`scenes/word-order` is made to be solved by a language prior alone, to show that; a score on it says nothing "
        'about images. Where the table says "cannot tell", the set is too small to know, or nothing in it says '
        "(`crossmatch audit SET` has the reason).",
        _ON_ORDER,
        f"- Built-in sets of 300 groups show differences of {min(full):.1f} to {max(full):.1f} points and more, by how "
        f"many of their groups are independent. Too small for most comparisons: {', '.join(small) or 'none'}.",
    ]
    return "\n".join([*lines, *(_of_family(family) if family else []), _ON_PLACES])


def _of_family(family: list[Audit]) -> Iterator[str]:
    """What gives SugarCrepe's captions away."""
    faulty = [audit for audit in family if {*_finding(audit, FAULT)} - {"position"}]
    yield (
        f"- In {len(faulty)} of SugarCrepe's {len(family)} files the right caption can be told without an image, and "
        "not only by its place. Its adversarial refinement balanced the scores of two text models, not these rules."
    )
    for key in ("length", "writing"):
        said = [
            f"`{a.name.partition('/')[2]}` {f.brief}" for a in faulty if (f := _finding(a, FAULT).get(key))
        ]
        if said:
            yield f"- By {key}: {'; '.join(said)}."
    apart = [_without_ties(f, a.n) for a in faulty if (f := _finding(a, FAULT).get("writing"))]
    if apart:
        yield (
            f"- Of the pairs that differ in their writing, the others tied, {min(apart):.0f} to {max(apart):.0f} % are "
            "told apart by it."
        )


def _finding(audit: Audit, verdict: str) -> dict[str, Finding]:
    return {f.key: f for f in audit.findings if f.verdict == verdict}


def _without_ties(found: Finding, n: int) -> float:
    """Percent that a rule has right of the groups that it does not tie."""
    assert found.found is not None
    ties = found.found.ties or 0
    return 100 * (found.found.value / 100 * n - found.found.chance / 100 * ties) / (n - ties)


def _table(head: str, rows: Iterable[str]) -> str:
    return "\n".join([head, "|" + " --- |" * (head.count("|") - 1), *rows])


class _Part(NamedTuple):
    heading: str
    text: str
    made: Callable[[argparse.Namespace], str]


def page(parts: Sequence[str], before: str, given: argparse.Namespace) -> str:
    """The page with these parts made anew, and the others as they were before."""
    kept = {text.partition("\n")[0]: text.rstrip() for text in re.split(r"^## ", before, flags=re.M)[1:]}
    lines = [_INTRODUCTION.rstrip()]
    for name, part in PARTS.items():
        if name in parts or part.heading not in kept:
            lines.append(f"## {part.heading}\n\n{part.text}{part.made(given)}".rstrip())
        else:
            lines.append(f"## {kept[part.heading]}")
    return "\n\n".join(lines) + "\n"


_INTRODUCTION = """# Audits

Written by `python -m benchmarks.results.audits`. What `crossmatch audit SET` says of every built-in test set, of
SugarCrepe and of Winoground. Of the last two the captions alone are here, so that what needs their images cannot tell.
*independent*: clusters of groups that share no image (built-in sets: no caption); rules are tested by cluster.
p values are corrected for all rules of a set (Holm), not for the number of sets on this page.
"""
_ON_ORDER = """\
- Sets with the limit "order" need no word order in the sense that their captions differ in words. The ceiling is a
  bound, not a result: of "left of", "right of", "in front of" and "behind" between the same two objects a model that
  is blind to order cannot know which one is where. That is a limit, not a fault: a score is no evidence of word
  order."""
_ON_PLACES = """\
- Files that list the right caption first, as SugarCrepe's do, or pairs in one order, as Winoground's, are harmless
  where a tie is wrong, as here, and not for a chat model that is shown the captions in the file's order.
- Of a set with the limit "shared" intervals that take groups for independent are too narrow; use those by image."""
_FAULTS = """\
Sets that are sound but for one fault: captions of the same words, right ones drawn at random, and, where pictures
matter, pictures of noise. So many of those that have the fault are said by its own check to have it, of as many of
each shape; what the check says of the others stands behind. Not planted here: faults that need a model's scores or a
training list (blind models, agreement, unseen pairs), which `tests/test_audit.py` plants. Nothing finds swapped
answers where no image comes twice and no scene is known: the check of contradictions then says that it cannot tell.

"""
_RATE = """\
Sets whose right captions are drawn at random among captions of the same words. The statement, at most 5 %, is of
rules alone; captions, contradictions and images are counts without a test, and what they say of a sound set has no
bound. A limit is no fault: of few words many captions come twice, and 30 groups are few.

"""
_COPIES = """\
Each picture and a copy of it, whole photographs of the folder that was given, at 500 pixels; else, as in this
repository, **pictures of noise of all sizes, which no camera took**: rates of photographs differ. What is the same
counts as one image; what is alike, perhaps a copy that is cut, in grey or of another brightness, and what is mirrored
or turned is shown to be looked at, and is no fault. Missed: none of the three. Not looked for: what is mirrored or
turned and cut as well, turned by other angles, drawn upon, or cut by more than a tenth.

"""
PARTS = {
    "findings": _Part("Findings", "", lambda given: findings()),
    "planted": _Part(
        "Which planted faults are caught",
        _FAULTS,
        lambda given: _table(
            f"| fault | check | shapes | {' | '.join(f'{n} groups' for n in _PLANTED_SIZES)} |",
            planted_found(given.planted),
        ),
    ),
    "sound": _Part(
        "How often a sound set is said to have a fault",
        _RATE,
        lambda given: _table(
            "| sound sets | drawn | said to have a fault, % (95 % interval) | by check, % | limits, % |",
            flagged(given.repeats),
        ),
    ),
    "copies": _Part(
        "Which copies of a picture are found",
        _COPIES,
        lambda given: _table(
            "| copy | pictures | the same, % | alike, % | mirrored or turned, % | missed, % (95 % interval) |",
            copies_found(given.photos),
        ),
    ),
}

if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parts", nargs="*", help=", ".join(PARTS))
    arguments.add_argument("--repeats", type=int, default=200)
    arguments.add_argument("--planted", type=int, default=3)
    arguments.add_argument("--photos", type=Path)
    options = arguments.parse_args()
    if unknown := {*options.parts} - {*PARTS}:
        arguments.error(f"{', '.join(unknown)} is no part; the parts are {', '.join(PARTS)}.")
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(options.parts or [*PARTS], old, options), encoding="utf-8")
