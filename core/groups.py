"""Groups of images and captions, and named sets of them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from string import ascii_uppercase
from typing import Protocol, overload, runtime_checkable

import numpy as np
from PIL import Image

from core.base.arrays import Array, to_numpy
from core.base.errors import InputError
from core.base.image_files import _HEAD, _TAIL, ImageFile, _may_be_cut


@runtime_checkable
class ImageRef(Protocol):
    """An image that is opened only when somebody needs its pixels."""

    @property
    def key(self) -> str:
        """Content hash (hex): equal keys mean equal pixels. The cache's key."""
        ...

    def open(self, size: int | None = None) -> Image.Image:
        """RGB pixels. `size` is the wanted side in pixels; only images that are rendered on demand heed it."""
        ...


@dataclass(frozen=True)
class FileImage:
    """An image in a file."""

    path: Path
    _is_image_file = True  # what `_check_whole` looks at

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(self._read()).hexdigest()

    def open(self, size: int | None = None) -> Image.Image:
        return ImageFile(self._read()).decode(str(self.path))

    def _read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InputError(
                f"The image {self.path} cannot be read ({error.strerror}); check the path."
            ) from None


@dataclass(frozen=True)
class BytesImage:
    """An image held in memory as an encoded file, such as an upload."""

    data: bytes = field(repr=False)
    name: str = "upload"

    @cached_property
    def key(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def open(self, size: int | None = None) -> Image.Image:
        return ImageFile(self.data).decode(self.name)


def _check_whole(images: Iterable[ImageRef]) -> None:
    """Raise InputError for image files that do not open, before anybody works on the others: those alone are decoded
    here whose first and last bytes say that the end may be missing."""
    faults: list[InputError] = []
    places: list[Path] = []
    files = {getattr(image, "path"): image for image in images if hasattr(image, "_is_image_file")}  # noqa: B009
    for path, image in files.items():
        if _file_may_be_cut(path):
            try:
                image.open()
            except InputError as error:
                faults.append(error)
                places.append(path)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        names = ", ".join(map(str, places[:_NAMED])) + (", …" if len(places) > _NAMED else "")
        raise InputError(
            f"{len(faults)} images do not open: {names}; replace them or leave their groups out. Of the first: "
            f"{faults[0]}"
        )


_NAMED = 5  # damaged images that a sentence names


def _file_may_be_cut(path: Path) -> bool:
    """By a file's first and last bytes; also where it cannot be read, which opening it says."""
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(_HEAD)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            return _may_be_cut(head, file.read(_TAIL), size)
    except OSError:
        return True


@dataclass(frozen=True)
class Group:
    """m images and k captions that belong together, 1 <= m <= k, k >= 2.

    `truth[i]` is the index of the caption that belongs to image i (distinct entries); of a group of one image it lists
    every caption that is true of it, one or several, but not all. None where it is hidden or unknown. It is there to
    measure: what scores, matches and trains gets `GroupSet.blind()`.
    """

    id: str
    images: tuple[ImageRef, ...]
    captions: tuple[str, ...]
    truth: tuple[int, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        m, k = self.shape
        return f"<group {self.id}: {m}x{k}, {self.captions[0]!r}, ...>"

    def __post_init__(self) -> None:
        m, k = self.shape
        if not 1 <= m <= k or k < 2:
            raise InputError(
                f"Group {self.id!r} has {m} images and {k} captions; a group needs at least one image, at least "
                "two captions, and no more images than captions."
            )
        for j, caption in enumerate(self.captions):
            if not isinstance(caption, str) or not caption.strip():
                raise InputError(f"Caption {j} of group {self.id!r} is empty; give it some text.")
        if self.truth is not None and not _is_plain_truth(self.truth, m, k):
            check_truth(np.asarray([self.truth]), 1, m, k, ids=[self.id])

    @property
    def truth_pairs(self) -> list[tuple[int, int]]:
        """Images with the captions that are true of them, by index; nothing where truth is unknown."""
        images = range(len(self.images)) if len(self.images) > 1 else repeat(0)
        return list(zip(images, self.truth or (), strict=False))

    @property
    def shape(self) -> tuple[int, int]:
        """(m, k): number of images, number of captions."""
        return len(self.images), len(self.captions)


def _is_plain_truth(truth: tuple[int, ...], m: int, k: int) -> bool:
    """Whether a group's truth is sound beyond doubt: a caption of its own for each image. A set has 250,000 groups."""
    return (
        len(truth) == m
        and all(type(j) is int and 0 <= j < k for j in truth)
        and (m == 1 or len(set(truth)) == m)
    )


def check_truth(truth: Array, n: int, m: int, k: int, ids: Sequence[str] | None = None) -> np.ndarray:
    """Validate caption indices of shape (n, m): integers in [0, k), distinct within a group.

    Of groups of one image it may be (n, t), t < k: all captions that are true of the image, as many in every group.
    """
    array = to_numpy(truth)
    several = m == 1 and array.ndim == 2 and len(array) == n and 1 < array.shape[1] < k
    if array.shape != (n, m) and not several:
        more = f", or up to {k - 1} of them" if m == 1 and k > 2 else ""
        raise InputError(
            f"Truth has shape {array.shape}; the scores need ({n}, {m}), one caption index per image{more}."
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"Truth holds {array.dtype} values; it needs integer caption indices.")
    ordered = np.sort(array, axis=1)
    bad = (ordered[:, 0] < 0) | (ordered[:, -1] >= k) | (np.diff(ordered, axis=1) == 0).any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        name = ids[row] if ids is not None else row
        raise InputError(
            f"Truth of group {name!r} is {array[row].tolist()}; it needs distinct caption indices from 0 to {k - 1}."
        )
    return array.astype(np.int64)


@dataclass(frozen=True)
class GroupSet:
    """A benchmark: a named list of groups with its source, licence and citation."""

    name: str
    groups: tuple[Group, ...]
    title: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if not self.groups:
            raise InputError(f"The set {self.name!r} holds no groups; check the file or the filter.")
        repeated = [name for name, count in Counter(g.id for g in self.groups).items() if count > 1]
        if repeated:
            raise InputError(
                f"The set {self.name!r} has several groups with id {repeated[0]!r}; make ids distinct."
            )

    def __repr__(self) -> str:
        return f"<{len(self)} groups of {self.name}: {self.groups[0].id}, ...>"  # a notebook prints it

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> GroupSet: ...
    def __getitem__(self, index: int | slice) -> Group | GroupSet:
        """A group, or of a slice (`groups[:10]`) a set of these."""
        if isinstance(index, slice):
            return replace(self, groups=self.groups[index])
        return self.groups[index]

    @cached_property
    def ids(self) -> list[str]:
        return [g.id for g in self.groups]

    @cached_property
    def shapes(self) -> Counter[tuple[int, int]]:
        """How many groups have each shape (m, k)."""
        return Counter(g.shape for g in self.groups)

    @property
    def shape(self) -> tuple[int, int]:
        """The one shape (m, k) of all groups; an error if they differ (use `buckets`)."""
        if len(self.shapes) > 1:
            raise InputError(
                f"The set {self.name!r} mixes the shapes {sorted(self.shapes)}; evaluate one shape at a time (buckets)."
            )
        return next(iter(self.shapes))

    def buckets(self) -> dict[tuple[int, int], GroupSet]:
        """One set per shape, groups in their original order."""
        return {
            s: self.select([i for i, g in enumerate(self.groups) if g.shape == s])
            for s in sorted(self.shapes)
        }

    @property
    def truth(self) -> np.ndarray | None:
        """Caption index of every image, int64 (n, m); None unless every group has one. For metrics alone.

        Where one image has t captions that are true, (n, t). An error where t differs between groups.
        """
        named = [g.truth for g in self.groups if g.truth is not None]
        if len(named) < len(self):
            return None
        counts = sorted({len(truth) for truth in named})
        if len(counts) > 1 and self.shape:  # the shape's own error comes first
            raise InputError(
                f"The groups of {self.name!r} name {counts[0]} to {counts[-1]} captions as true of an image; evaluate "
                "those with the same number together."
            )
        return np.array(named, dtype=np.int64)

    def blind(self) -> GroupSet:
        """The same set with every truth removed: what scorers, matching and adaptation get to see."""
        return replace(self, groups=tuple(replace(g, truth=None) for g in self.groups))

    def select(self, which: Sequence[int] | np.ndarray) -> GroupSet:
        """The groups at these indices, or where this boolean mask is true."""
        array = np.asarray(which)
        indices = np.flatnonzero(array) if array.dtype == bool else array.astype(int)
        return replace(self, groups=tuple(self.groups[i] for i in indices))

    def where(self, **tags: str) -> GroupSet:
        """The groups that carry all of these tags."""
        return self.select(
            [i for i, g in enumerate(self.groups) if all(g.tags.get(t) == v for t, v in tags.items())]
        )

    def tag_values(self) -> dict[str, list[str]]:
        """Every tag name with its sorted distinct values."""
        found: dict[str, set[str]] = {}
        for group in self.groups:
            for tag, value in group.tags.items():
                found.setdefault(tag, set()).add(value)
        return {tag: sorted(values) for tag, values in sorted(found.items())}

    def split(self, share: float, seed: int = 0) -> tuple[GroupSet, GroupSet]:
        """Two random disjoint parts; the first holds `share` (0 < share < 1) of the groups."""
        count = round(share * len(self))
        if not 0 < count < len(self):
            raise InputError(
                f"A share of {share} of {len(self)} groups leaves a part empty; choose another share."
            )
        order = np.random.default_rng(seed).permutation(len(self))
        return self.select(np.sort(order[:count])), self.select(np.sort(order[count:]))

    def permute_captions(self, seed: int = 0) -> GroupSet:
        """Every group with its captions (and truth) in another order: nothing that is measured may change."""
        rng = np.random.default_rng(seed)
        return replace(
            self, groups=tuple(_permute_captions(g, rng.permutation(len(g.captions))) for g in self.groups)
        )

    def unique_images(self) -> tuple[list[ImageRef], np.ndarray]:
        """Distinct images by content, and the index of each group's images into them, int (n, m)."""
        keys, index = _distinct(image.key for g in self.groups for image in g.images)
        first = {image.key: image for g in reversed(self.groups) for image in g.images}
        return [first[key] for key in keys], index.reshape(len(self), self.shape[0])

    def unique_captions(self) -> tuple[list[str], np.ndarray]:
        """Distinct captions, and the index of each group's captions into them, int (n, k)."""
        captions, index = _distinct(caption for g in self.groups for caption in g.captions)
        return captions, index.reshape(len(self), self.shape[1])


def _distinct(items: Iterable[str]) -> tuple[list[str], np.ndarray]:
    place: dict[str, int] = {}
    index = np.array([place.setdefault(item, len(place)) for item in items], dtype=np.int64)
    return list(place), index


def _permute_captions(group: Group, order: np.ndarray) -> Group:
    captions = tuple(group.captions[j] for j in order)
    truth = None if group.truth is None else tuple(int(np.flatnonzero(order == j)[0]) for j in group.truth)
    return replace(group, captions=captions, truth=truth)


def image_name(i: int) -> str:
    """A, B, ..., Z, A1, B1, ..."""
    return ascii_uppercase[i % 26] + (str(i // 26) if i > 25 else "")


def _pairs_said(captions: Sequence[int], images: int | None = None) -> str:
    """`A–2, B–1`: images in letters and their captions counted from 1, as pages name them.

    images : how many the group has; one may have several captions, `A–1, A–2`. None: each has one.
    """
    return ", ".join(f"{image_name(0 if images == 1 else i)}–{j + 1}" for i, j in enumerate(captions))
