"""A retrieval set of the user's own in two files: log P(t | image) of all images with all captions, and log P(t).

| format | scores | prior |
| --- | --- | --- |
| .csv, .parquet | a row per cell: `image`, `caption`, `score`, `match`; further columns are tags | a row per caption: \
`caption`, `log_prob`; `sample` or columns `log_prob_1`, `log_prob_2`, ... for several null images |
| .npz | `scores` (images, captions), `match` of the same shape; optional `images`, `captions` (names) | `prior` \
(captions,) or `samples` (samples, captions); optional `captions` (names) |

`match` is 1 where a caption belongs to an image; an image may have several, and a caption several images. Scores of
groups have a column `group`, or three axes (`core.datasets.score_files`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.limits import check
from core.base.table_formats import open_table, read_arrays, read_bytes
from core.datasets._prior_files import (
    _advice,
    _by_its_name,
    _more_arrays,
    _more_columns,
    _more_names,
    _not_log_probs,
    _numbers_in,
    _positions,
    _PriorFile,
    _samples_of,
    name_of_prior,
    samples_in_rows,
)

_YES = {
    "1": True,
    "1.0": True,
    "true": True,
    "yes": True,
    "0": False,
    "0.0": False,
    "false": False,
    "no": False,
}


class RetrievalFile(NamedTuple):
    """scores : float64 (images, captions), log P(t | image), finite and at most 0. relevant : bool (captions, images).
    images, captions : their names. tags : text, a row per image; None where the file has none.
    """

    scores: np.ndarray
    relevant: np.ndarray
    images: list[str]
    captions: list[str]
    tags: pd.DataFrame | None

    @classmethod
    def read(cls, path: Path | str, data: bytes | None = None) -> RetrievalFile | None:
        """The set in a file of scores; None where the file holds groups, or has another ending.

        data : the file's bytes, where it is an upload. Raises InputError for anything wrong in it, in one sentence.
        """
        suffix = Path(path).suffix.lower()
        content = read_bytes(path, data) if suffix in (".csv", ".parquet", ".npz") else b""
        if suffix == ".npz":
            found = _of_arrays(path, content)
        elif content and "group" not in open_table(path, content).columns:
            found = _of_table(path, content)
        else:
            return None
        return found if found is None else found._checked(path)

    def _checked(self, path: Path | str) -> RetrievalFile:
        wrong = np.argwhere(_not_log_probs(self.scores))
        if len(wrong):
            image, caption = wrong[0]
            value = self.scores[image, caption]
            rule = "log P(t | image) is a number, at most 0: a logarithm, no probability or similarity"
            if value < 0 and np.isfinite(value):
                rule = _advice(value, "pair")
            raise InputError(
                f"{path} has {value:.4g} for image {self.images[image]!r} with caption {self.captions[caption]!r}; "
                f"{rule}."
            )
        alone = np.flatnonzero(~self.relevant.any(axis=0))
        if len(alone):
            raise InputError(
                f"{path} has no caption with match = 1 for image {self.images[alone[0]]!r}; mark those of it."
            )
        return self

    def prior(self, path: Path | str, data: bytes | None = None) -> _PriorFile:
        """log P(t) of every caption by null image, float64 (samples, captions), from the file beside the scores, and
        what the file has that was not read. An NPZ file is in the order of the scores, or of its own array `captions`.

        Captions that the scores lack are left out. Raises InputError for a caption without a log-likelihood, naming it.
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".npz":
            found, notes = self._prior_of_arrays(path, data)
        elif suffix in (".csv", ".parquet"):
            found, notes = self._prior_of_table(path, data)
        else:
            raise InputError(
                f"{path} is not a prior of a retrieval set; its name must end in .csv, .parquet or .npz."
            )
        wrong = np.argwhere(_not_log_probs(found))
        if len(wrong):
            value, text = found[tuple(wrong[0])], self.captions[wrong[0][1]]
            raise InputError(
                f"{path} has {value:.4g} as log P(t) of caption {text!r}; {_advice(value, 'caption')}."
            )
        return _PriorFile(found, tuple(notes))

    def _prior_of_arrays(self, path: Path | str, data: bytes | None) -> tuple[np.ndarray, list[str]]:
        arrays = read_arrays(path, data)
        name = name_of_prior(path, arrays)
        order, notes = np.arange(len(self.captions)), list[str]()
        if "captions" in arrays:
            self._check_distinct(path, "`prior` without `captions`")
            order, notes = _positions(path, arrays, "captions", "caption", self.captions)
        count = len(arrays["captions"]) if "captions" in arrays else len(self.captions)
        found = _samples_of(path, arrays, name, (count,), f"log P(t) for the {count} captions")
        return found[:, order], notes + _more_arrays(arrays, {"prior", "samples", "captions"})

    def _check_distinct(self, path: Path | str, instead: str) -> None:
        """Raise InputError where captions share a name. instead : of names, what NPZ may hold in their order."""
        names = pd.Index(self.captions)
        if not names.is_unique:
            raise InputError(
                f"{path} cannot be matched by name: the scores have the caption {str(names[names.duplicated()][0])!r} "
                f"twice; name their captions apart, or give NPZ with {instead} in their order."
            )

    def _prior_of_table(self, path: Path | str, data: bytes | None) -> tuple[np.ndarray, list[str]]:
        whole = _by_its_name(open_table(path, read_bytes(path, data)).frame(("caption",)), path)
        table = samples_in_rows(whole, path)
        labels = table["caption"].astype(str).str.strip()
        self._check_distinct(path, "`prior`")
        caption = pd.Index(self.captions).get_indexer(pd.Index(labels))
        if (caption < 0).all():
            raise InputError(
                f"{path} has none of the scores' captions: it has {labels.iloc[0]!r}, the scores have "
                f"{self.captions[0]!r}; name them as the scores do."
            )
        strange = labels[caption < 0]
        notes = _more_names(strange, "caption") + _more_columns(whole, ("caption", "sample", "log_prob"))
        table, caption = table[caption >= 0], caption[caption >= 0]
        sample = np.zeros(len(table), dtype=np.int64)
        if "sample" in table:
            sample = pd.factorize(table["sample"].astype(str).str.strip())[0]
        cells = sample * len(self.captions) + caption
        if pd.Series(cells).duplicated().any():
            twice = self.captions[caption[int(pd.Series(cells).duplicated().to_numpy().argmax())]]
            raise InputError(
                f"{path} has the caption {twice!r} twice; leave one out, or say in a column `sample` which null image "
                "each row is of."
            )
        check(path, scores=(sample.max() + 1) * len(self.captions))
        found = np.full((sample.max() + 1, len(self.captions)), np.nan)
        missing = np.setdiff1d(np.arange(found.size), cells)
        if len(missing):
            other = ""
            if len(strange):
                other = f", or name it as the scores do: the file has {strange.iloc[0]!r}, which they lack"
            raise InputError(
                f"{path} has no row of caption {self.captions[missing[0] % len(self.captions)]!r}"
                + " for every null image" * (len(found) > 1)
                + f"; add its log P(t){other}."
            )
        found.flat[cells] = _numbers_in(
            path, table["log_prob"], lambda at: f"caption {self.captions[caption[at]]!r}"
        )
        return found, notes


def _of_arrays(path: Path | str, content: bytes) -> RetrievalFile | None:
    arrays = read_arrays(path, content)
    scores, match = arrays.get("scores"), arrays.get("match")
    if scores is None or scores.ndim != 2:
        return None
    check(path, scores=scores.size)
    if scores.dtype.kind not in "iuf":
        raise InputError(
            f"{path} needs an array 'scores' of numbers and has {scores.dtype}; save it as float64."
        )
    if match is None or match.shape != scores.shape or match.dtype.kind not in "biuf":
        has = "none" if match is None else f"{match.dtype} of shape {match.shape}"
        raise InputError(f"{path} needs an array 'match' of 0 and 1 of shape {scores.shape} and has {has}.")
    strange = match[(match != 0) & (match != 1)]
    if len(strange):
        raise InputError(f"{path} has {strange[0]} as `match`; write 1 or 0.")
    names = []
    for axis, name in enumerate(("images", "captions")):
        given = arrays.get(name)
        if given is not None and given.shape != scores.shape[axis : axis + 1]:
            raise InputError(
                f"{path}: {name!r} has shape {given.shape}; it needs {scores.shape[axis]} names."
            )
        names.append(
            [str(i) for i in range(scores.shape[axis])] if given is None else [str(n) for n in given]
        )
    return RetrievalFile(scores.astype(np.float64), match.astype(bool).T, names[0], names[1], None)


def _of_table(path: Path | str, content: bytes) -> RetrievalFile:
    table = open_table(path, content).frame(("image", "caption", "score", "match"))
    labels = {name: table[name].astype(str).str.strip() for name in ("image", "caption")}
    (row, images), (column, captions) = (pd.factorize(labels[name]) for name in ("image", "caption"))
    count = len(images) * len(captions)
    check(path, scores=count)
    cells = row * len(captions) + column
    if len(np.unique(cells)) < len(cells):
        at = int(pd.Series(cells).duplicated().to_numpy().argmax())
        raise InputError(
            f"{path} has image {images[row[at]]!r} with caption {captions[column[at]]!r} twice; leave one out."
        )
    if len(cells) < count:
        at = int(np.setdiff1d(np.arange(count), cells)[0])
        image, caption = images[at // len(captions)], captions[at % len(captions)]
        raise InputError(
            f"{path} has no score for image {image!r} with caption {caption!r}; a retrieval set needs all pairs "
            "(groups have a column 'group')."
        )
    known = table["match"].astype(str).str.strip().str.lower().map(_YES)
    if known.isna().any():
        raise InputError(
            f"{path} has {str(table['match'][known.isna()].iloc[0])!r} as `match`; write 1 or 0."
        )
    scores, match = np.empty(count), np.zeros(count, dtype=bool)
    scores[cells], match[cells] = pd.to_numeric(table["score"], errors="coerce"), known.to_numpy(dtype=bool)
    shape = (len(images), len(captions))
    more = [c for c in table.columns if c not in ("image", "caption", "score", "match")]
    tags = table[more].astype(str).groupby(row)
    single = [name for name in more if (tags[name].nunique() == 1).all()]
    return RetrievalFile(
        scores.reshape(shape),
        match.reshape(shape).T,
        list(map(str, images)),
        list(map(str, captions)),
        tags[single].first().reset_index(drop=True) if single else None,
    )
