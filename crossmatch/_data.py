"""Benchmarks, your own groups, and files of scores."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.image_files import _on_white
from core.datasets.score_files import ScoreFile
from core.datasets.score_files import read_scores as _read_scores
from core.datasets.sets import Retrieval
from core.groups import BytesImage, FileImage, Group, GroupSet, ImageRef
from crossmatch._arguments import check_name

__all__ = ["InputError", "benchmarks", "load_benchmark", "load_retrieval", "make_groups", "read_scores"]

KINDS = ("groups", "retrieval")


def benchmarks(kind: str = "groups") -> dict[str, str]:
    """Every benchmark that Crossmatch can read, and whether its data are here. Nothing is downloaded.

    Parameters
    ----------
    kind : "groups", for `load_benchmark`, or "retrieval", for `load_retrieval`.

    Returns
    -------
    dict from name to state: "built in", "found at PATH", or "needs: " with the exact next step. Your own sets,
        "mine/NAME", come last.

    Raises
    ------
    InputError : another kind.

    Examples
    --------
    >>> import crossmatch as cm
    >>> cm.benchmarks()["scenes/left-right"]
    'built in'
    >>> cm.benchmarks("retrieval")["scenes/retrieval"]
    'built in'
    """
    if kind not in KINDS:
        raise unknown_name("kind of benchmark", kind, KINDS)
    return {name: datasets.state(name) for name in datasets.names(kind)}


def load_benchmark(
    name: str, split: str = "test", folder: str | Path | None = None, *, images: bool = True
) -> GroupSet:
    """The groups of a benchmark: images, captions, and which belong together.

    Parameters
    ----------
    name : one of `benchmarks()`. The built-in sets, "scenes/...", need no data.
    split : the built-in sets have "train", "validation" and "test", most others "test" alone.
    folder : the data in the benchmark's own layout; by default the usual places, which `benchmarks()` names.
    images : False accepts that image files are not here, for `score(..., text_only=True)` and whatever else reads
        captions alone; an image that is missing fails when it is opened.

    Returns
    -------
    A set of n groups of m images and k captions.
        len(groups), groups.shape : n and (m, k).
        groups.truth : int64 (n, m), the caption of each image; None where nobody knows. Where several captions are
            true of a group's one image (SugarCrepe++, BLA), all t of them, (n, t).
        groups.ids : n names.
        groups[i] : a group, with `id`, `images`, `captions`, `truth` and `tags`; `groups[i].images[j].open()` is
            a Pillow image.
        groups.select(indices), groups.where(tag="value"), groups.split(share, seed) : parts of the set.
        groups.blind() : the same set without truth.
        groups.buckets() : a set for each shape, where shapes are mixed.

    Raises
    ------
    InputError : an unknown name or split (the nearest known one is named); data that are missing or damaged (the
        first missing file is named).

    Examples
    --------
    >>> import crossmatch as cm
    >>> groups = cm.load_benchmark("scenes/left-right")
    >>> len(groups), groups.shape, groups.truth.shape
    (300, (2, 2), (300, 2))
    >>> groups[0].images[0].open().mode
    'RGB'
    """
    check_name(name)
    return datasets.load(name, split, None if folder is None else Path(folder), images)


def load_retrieval(name: str, split: str = "test", folder: str | Path | None = None) -> Retrieval:
    """A retrieval set: q captions (queries) over n images, and which belong together.

    Parameters
    ----------
    name : one of `benchmarks("retrieval")`.
    split, folder : as for `load_benchmark`.

    Returns
    -------
    A set with these; the last four are None where nobody knows them. Of ImageCoDe, SVO-Probes and SPEC's text to
    image `choices` is int (q, c), the images that each query chooses among (-1 where it has fewer); else None.
        images, queries : n images, and q texts.
        relevant : bool (q, n).
        any_word, all_words : bool (q, n), the images with any, and with all, of a query's words, however attached.
        unseen : bool (q,), the query's combination of words occurs in no training object.
        attributes : int (q,), how many attributes a query names.

    Raises
    ------
    InputError : as `load_benchmark`.

    Source: [Cola] sections 3 and 5.1 for the lists.

    Examples
    --------
    >>> import crossmatch as cm
    >>> found = cm.load_retrieval("scenes/retrieval")
    >>> len(found.queries), len(found.images), found.relevant.shape
    (240, 2000, (240, 2000))
    """
    check_name(name)
    return datasets.load_retrieval(name, split, None if folder is None else Path(folder))


def make_groups(
    images: Sequence[Sequence[str | Path | Image.Image | np.ndarray | ImageRef]],
    captions: Sequence[Sequence[str]],
    truth: Sequence[Sequence[int]] | np.ndarray | None = None,
    *,
    ids: Sequence[str] | None = None,
    tags: Sequence[Mapping[str, str]] | None = None,
    name: str = "own",
) -> GroupSet:
    """A set of groups from your own images and captions, to be scored, measured and adapted to like any benchmark.

    Parameters
    ----------
    images : for each of n groups its m images: paths, Pillow images, or uint8 arrays (height, width, 3). A file is
        opened when somebody needs its pixels.
    captions : for each group its k captions, 1 <= m <= k, k >= 2.
    truth : int (n, m), the caption of each image, distinct within a group; None where nobody knows it. Of groups of
        one image also (n, t), t < k: every caption that is true of it.
    ids : n distinct names; by default "0", "1", ...
    tags : for each group its tags, name to value, to slice results by.
    name : of the set.

    Returns
    -------
    A set of n groups, as `load_benchmark` returns it.

    Raises
    ------
    InputError : lengths that do not fit, an empty caption, a truth that names no caption or one twice, an array that
        is no image (the group is named); later, a file that does not open.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> red, blue = np.zeros((2, 8, 8, 3), np.uint8)
    >>> red[..., 0], blue[..., 2] = 255, 255
    >>> groups = cm.make_groups([[red, blue]], [["a red square", "a blue square"]], truth=[[0, 1]])
    >>> groups.shape, groups.truth.tolist(), groups[0].images[1].open().getpixel((0, 0))
    ((2, 2), [[0, 1]], (0, 0, 255))
    """
    count = len(images)
    for column, values in {"captions": captions, "truth": truth, "ids": ids, "tags": tags}.items():
        if values is not None and len(values) != count:
            raise InputError(
                f"There are images of {count} groups and {column} of {len(values)}; give them for each group."
            )
    groups = (
        Group(
            str(i) if ids is None else str(ids[i]),
            tuple(_image(item, i) for item in images[i]),
            tuple(captions[i]),
            None if truth is None else tuple(int(j) for j in truth[i]),
            {} if tags is None else dict(tags[i]),
        )
        for i in range(count)
    )
    return GroupSet(name, tuple(groups))


def _image(item: str | Path | Image.Image | np.ndarray | ImageRef, group: int) -> ImageRef:
    """An image of a group from whatever somebody has it as."""
    if isinstance(item, str | Path):
        return FileImage(Path(item))
    if isinstance(item, ImageRef) and not isinstance(item, Image.Image):
        return item
    if isinstance(item, np.ndarray):
        item = _picture(item, group)
    if not isinstance(item, Image.Image):
        raise InputError(
            f"An image of group {group} is a {type(item).__name__}; give a path, a Pillow image or a uint8 array."
        )
    data = io.BytesIO()
    _on_white(item).save(data, "PNG")
    return BytesImage(data.getvalue(), f"of group {group}")


def _picture(pixels: np.ndarray, group: int) -> Image.Image:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise InputError(
            f"An image of group {group} is an array of {pixels.dtype} of shape {pixels.shape}; it needs uint8 values "
            "of shape (height, width, 3)."
        )
    return Image.fromarray(pixels)


def read_scores(path: str | Path) -> ScoreFile:
    """Scores of groups from a file: CSV, Parquet, NPZ, NPY or JSONL, by the ending of its name.

    Parameters
    ----------
    path : the file.
        .csv, .parquet : a row per cell, with columns `group`, `image`, `caption`, `score`, optional `match` (1 where
            the caption belongs to the image, 0 elsewhere); further columns are tags.
        .npz : `scores` (n, m, k), optional `truth` (n, m), `ids` (n,) and `tag_NAME` (n,).
        .npy : one array of scores (n, m, k), or (n, m*m) of groups with as many captions as images.
        .jsonl : an object per group, with `c0_i0`, `c1_i0`, ... (caption, image), optional `id` and `truth`; others
            are tags.

    Returns
    -------
    scores : float32 or float64 (n, m, k).
    truth : int64 (n, m), the caption of each image; of groups of one image also (n, t), where the file marks t
        captions as true; None where the file names none.
    ids : n names.
    tags : a data frame with a row per group, or None.

    Raises
    ------
    InputError : whatever is wrong in the file, and where.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "scores.npz")
    >>> np.savez(path, scores=np.array([[[2.0, 1.9], [1.5, 1.6]]]), truth=np.array([[0, 1]]))
    >>> found = cm.read_scores(path)
    >>> found.scores.shape, found.truth.tolist(), found.ids
    ((1, 2, 2), [[0, 1]], ['0'])
    """
    return _read_scores(path)
