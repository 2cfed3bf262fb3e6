"""Files of image and caption embeddings: unit rows in group order, scored by cosine."""

from __future__ import annotations

import hashlib
import math
import re
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from core.base.errors import InputError
from core.base.interrupt import between_blocks
from core.base.limits import check, check_memory, check_shape
from core.base.table_formats import READ, read_arrays
from core.base.text import counted
from core.groups import Group, GroupSet
from core.matching.global_match import AllPairs

_HELD = 1_048_576  # numbers of a block of rows, in float64

# Names under which people store the two arrays; the first is ours.
_IMAGE_NAMES = (
    "img",
    "imgs",
    "image",
    "images",
    "image_embeddings",
    "image_features",
    "image_embeds",
    "img_emb",
)
_CAPTION_NAMES = (
    "cap",
    "caps",
    "caption",
    "captions",
    "caption_embeddings",
    "txt",
    "text",
    "texts",
    "text_embeddings",
    "text_features",
    "text_embeds",
    "txt_emb",
)


@dataclass(frozen=True)
class RowImage:
    """An image of which only its row in a file is known: it has a key, perhaps a name to show, and no pixels."""

    key: str
    name: str = ""
    _is_row = True  # what `Clusters.of_groups` looks at

    @property
    def label(self) -> str:
        return self.name or self.key

    def open(self, size: int | None = None) -> Image.Image:
        """Always an InputError: the file holds no pixels."""
        raise InputError(f"The image {self.key!r} is a row of an embeddings file; it has no pixels to show.")


@dataclass(frozen=True)
class EmbeddingFile:
    """Embeddings of n groups of m images and k captions.

    images : float32 (n*m, d), rows of length 1, group after group. captions : float32 (n*k, d), likewise.
    """

    images: np.ndarray
    captions: np.ndarray
    m: int
    k: int

    @classmethod
    def of(
        cls,
        image_rows: np.ndarray,
        caption_rows: np.ndarray,
        shape: str | tuple[int, int],
        path: Path | str,
        shape_of: str = "",
    ) -> EmbeddingFile:
        """Embeddings (n*m, d) and (n*k, d) as `read_embeddings` reads them; errors say they are from `path`."""
        m, k = parse_shape(shape) if isinstance(shape, str) else parse_shape("x".join(map(str, shape)))
        given = (
            _in_rows(np.asarray(image_rows), m, "image", path, shape_of),
            _in_rows(np.asarray(caption_rows), k, "caption", path, shape_of),
        )
        check(path, numbers=max(array.size for array in given))
        images, captions = (
            _unit_rows(a, kind, path) for a, kind in zip(given, ("image", "caption"), strict=True)
        )
        if images.shape[1] != captions.shape[1]:
            raise InputError(
                f"{path} has image embeddings of {images.shape[1]} numbers and caption embeddings of "
                f"{captions.shape[1]}; both must come from the same model."
            )
        if len(images) % m or len(captions) % k or len(images) // m != len(captions) // k:
            raise InputError(
                f"{path} has {len(images)} images and {len(captions)} captions, which cannot form groups of "
                f"{counted(m, 'image')} and {k} captions{_right_shape(shape_of, len(images), len(captions))} or "
                "complete the file."
            )
        check_shape(path, len(images) // m, m, k)
        check(path, multiplications=len(images) * k * images.shape[1])
        return cls(images, captions, m, k)

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.images) // self.m

    def group_scores(self, scale: float = 1.0) -> np.ndarray:
        """Scaled cosines within each group, float32 (n, m, k). Metrics do not depend on a positive `scale`."""
        images = self.images.reshape(self.n, self.m, -1)
        captions = self.captions.reshape(self.n, self.k, -1)
        return np.float32(scale) * np.einsum("nmd,nkd->nmk", images, captions)

    @cached_property
    def image_keys(self) -> list[str]:
        """A name per image row, from its content: equal rows, equal names."""
        return _row_keys(self.images, "image")

    @cached_property
    def caption_keys(self) -> list[str]:
        """A name per caption row, from its content: nothing of a row's place in the file is in it."""
        return _row_keys(self.captions, "caption")

    def groups(self, name: str = "embeddings") -> GroupSet:
        """The groups as a set, with `RowImage`s, names for captions, and the file's order as the truth.

        Truth is the convention of such files: caption i of a group belongs to its image i. Groups are numbered from 0.
        """
        images = [RowImage(key) for key in self.image_keys]
        diagonal = _by_order(self.m)
        groups = (
            Group(
                str(g),
                tuple(images[g * self.m : (g + 1) * self.m]),
                tuple(self.caption_keys[g * self.k : (g + 1) * self.k]),
                diagonal,
            )
            for g in range(self.n)
        )
        return GroupSet(name, tuple(groups))

    def all_pairs(self) -> AllPairs:
        """Cosines of all images with all captions by blocks of images, float32 (b, n*k).

        Products are summed in float64 and rounded once: equal rows tie, and a score is the same in whichever block.
        """
        captions = self.captions.astype(np.float64).T

        def rows(part: slice) -> np.ndarray:
            return (self.images[part].astype(np.float64) @ captions).astype(np.float32)

        return AllPairs(rows, len(self.images), len(self.captions), self.images.shape[1])

    def global_scores(self) -> np.ndarray:
        """Cosines of all images with all captions as one matrix, float32 (n*m, n*k).

        Raises InputError where it does not fit into memory.
        """
        return self.all_pairs().whole()


def _by_order(m: int) -> tuple[int, ...]:
    """The caption of each of a group's m images, as the order of such a file says it: the first that of the first."""
    return tuple(range(m))


def parse_shape(text: str) -> tuple[int, int]:
    """(m, k) from `2x2`, `1x4`, `2 x 4`.

    >>> parse_shape("1x4")
    (1, 4)
    """
    match = re.fullmatch(r"\s*(\d{1,4})\s*[xX×]\s*(\d{1,4})\s*", text)
    m, k = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= m <= k or k < 2:
        raise InputError(
            f"{text!r} is not a group shape; write images x captions, such as 2x2 or 1x4, with no more images than "
            "captions and two captions or more."
        )
    return m, k


def read_embeddings(
    path: Path | str,
    shape: str | tuple[int, int] = "2x2",
    data: bytes | None = None,
    shape_of: str = "",
) -> EmbeddingFile:
    """Image and caption embeddings from an NPZ file.

    Parameters
    ----------
    path : holds `img` (n*m, d) and `cap` (n*k, d), float or integer, rows in group order: the m images of group 0, of
        group 1, ..., and likewise the captions; or (n, m, d) and (n, k, d). Common other names of the two are
        understood (`_IMAGE_NAMES`, ...).
    shape : (m, k) of the groups, as text or numbers. data : the file's bytes, where it is an upload. shape_of : the set
        whose shape that is, where nobody gives one.

    Rows are scaled to length 1. Raises InputError for a file that is no NPZ, an array that is missing or of a wrong
    shape, and for a row that is zero or not finite, naming it.
    """
    if Path(path).suffix.lower() == ".npy":
        raise InputError(
            f"{path} is one array; embeddings are two in an NPZ: numpy.savez('my.npz', img=..., cap=...), a row for "
            "each image and each caption, in group order."
        )
    if Path(path).suffix.lower() in READ:
        raise InputError(
            f"{path} is a table; embeddings are read from an NPZ: numpy.savez('my.npz', img=..., cap=...), a row for "
            "each image and each caption, in group order."
        )
    arrays = read_arrays(path, data)
    if not {name.lower() for name in arrays} & {*_IMAGE_NAMES, *_CAPTION_NAMES}:
        raise InputError(
            f"{path} has neither scores nor embeddings: it needs an array named 'scores' of shape (groups, images, "
            f"captions), or two named 'img' and 'cap', a row for each; it has: {', '.join(arrays) or 'no arrays'}."
        )
    given = _find(arrays, _IMAGE_NAMES, "img", path), _find(arrays, _CAPTION_NAMES, "cap", path)
    return EmbeddingFile.of(*given, shape, path, shape_of)


def _holds_embeddings(name: str, content: bytes) -> bool:
    """Whether a file is an NPZ without an array named `scores`; a damaged one is left to its reader to refuse."""
    return name.lower().endswith(".npz") and b"scores.npy" not in content


def _groups_in_file(path: Path, shape: str) -> int | None:
    """How many groups of a shape a file of embeddings has, from the heads of its arrays alone; None of one that is not
    here, or is none."""
    try:
        with zipfile.ZipFile(path) as file:
            (name,) = (n for n in file.namelist() if n.removesuffix(".npy").lower() in _IMAGE_NAMES)
            with file.open(name) as array:
                old = np.lib.format.read_magic(array) == (1, 0)
                read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
                rows = read(array)[0]
        return rows[0] if len(rows) == 3 else rows[0] // parse_shape(shape)[0]
    except (OSError, ValueError, IndexError, zipfile.BadZipFile):
        return None


def _find(
    arrays: dict[str, np.ndarray], names: tuple[str, ...], expected: str, path: Path | str
) -> np.ndarray:
    matching = [name for name in arrays if name.lower() in names]
    if len(matching) != 1:
        what = f"several candidates ({', '.join(matching)})" if matching else "none"
        raise InputError(
            f"{path} needs one array named {expected!r} and has {what} among: {', '.join(arrays) or 'no arrays'}; "
            "scores are read from one named 'scores'."
        )
    return arrays[matching[0]]


def _right_shape(of: str, images: int, captions: int) -> str:
    """What to do about embeddings that do not fit a shape. of : the set whose shape it is, "" where it was given.
    images, captions : how many there are, whose ratio is a shape that is named where it makes several groups."""
    if of:
        return f", those of {of}; choose the set that the file is of"
    groups = math.gcd(images, captions)
    if groups < 2 or images >= captions:  # as many of both fit too many shapes
        return "; give the right shape (in commands --shape)"
    shape = f"{images // groups}x{captions // groups}"
    return f"; give the right shape, such as {shape} (in commands --shape {shape}),"


def _in_rows(array: np.ndarray, count: int, kind: str, path: Path | str, shape_of: str = "") -> np.ndarray:
    """Embeddings by group, (n, m, d), as rows (n*m, d); rows stay as they are."""
    if array.ndim != 3:
        return array
    if array.shape[1] != count:
        to_do = "choose the set that the file is of" if shape_of else "give the shape of the file's groups"
        raise InputError(
            f"The {kind} embeddings in {path} are of shape {array.shape}: {counted(array.shape[1], kind)} in each "
            f"group, where {shape_of or 'the shape that was asked for'} has {count}; {to_do}."
        )
    return array.reshape(-1, array.shape[2])


def _unit_rows(array: np.ndarray, kind: str, path: Path | str) -> np.ndarray:
    """Rows of length 1, float32."""
    number = np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)
    if array.ndim != 2 or not array.size or not number:
        raise InputError(
            f"The {kind} embeddings in {path} are {array.dtype} of shape {array.shape}; they need to be numbers of "
            "shape (rows, dimensions), or (groups, rows in each, dimensions)."
        )
    check_memory(path, 4 * array.size)
    rows, size = np.empty(array.shape, dtype=np.float32), max(1, _HELD // array.shape[1])
    for start in range(0, len(array), size):
        between_blocks()
        part = array[start : start + size].astype(np.float64)
        length = np.linalg.norm(part, axis=1, keepdims=True)
        for bad, what in ((~np.isfinite(length), "not finite"), (length == 0, "zero")):
            if bad.any():
                raise InputError(
                    f"Row {start + int(bad.argmax())} of the {kind} embeddings in {path} is {what}; compute it again "
                    "or leave its group out."
                )
        rows[start : start + size] = part / length
    return rows


def _row_keys(rows: np.ndarray, kind: str) -> list[str]:
    return [f"{kind} {hashlib.sha256(row.tobytes()).hexdigest()[:16]}" for row in np.ascontiguousarray(rows)]
