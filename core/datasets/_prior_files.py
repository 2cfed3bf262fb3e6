"""Files of log P(t), the language prior of captions: beside scores of groups, or of a retrieval set."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.limits import check
from core.base.table_formats import open_table, read_arrays, read_bytes
from core.base.text import counted
from core.datasets._sample_logs import read_sample_log

MOST_LOG_PROB = 1e-6  # that a log-likelihood may be, for the sake of rounding
PRIOR_ENDINGS = (".csv", ".parquet", ".npz", ".jsonl")
_COLUMNS = ("group", "caption", "sample", "log_prob")  # that are read, beside those of null images
_NULL_IMAGE = re.compile(r"log_prob_[0-9]+")  # a column of one null image


class _PriorFile(NamedTuple):
    """values : float64 (samples, n, k). unused : what the file has beside them that was not read, a phrase each."""

    values: np.ndarray
    unused: tuple[str, ...] = ()


def read_prior(
    path: Path | str,
    ids: Sequence[str],
    k: int,
    data: bytes | None = None,
    captions: np.ndarray | None = None,
) -> np.ndarray:
    """log P(t) of every caption of these groups, float64 (samples, n, k), finite and at most 0.

    path : NPZ with an array `prior` (n, k), or `samples` (samples, n, k), in the order of the groups; or CSV or Parquet
    with a row per caption: `group`, `caption`, `log_prob`. A further column `sample` names the null image that a row is
    of, or columns `log_prob_1`, ... are of one each; else there is one sample. Or JSONL: a sample log of lm-eval
    or lmms-eval, of choices without context or of null images, each image of a group one sample. captions : what the
    scores call them, text (n, k): a prior that calls them by name is put into their order. `data` : the file's bytes,
    where it is an upload.

    Groups, captions and columns that are not needed are left out (`_read_prior_file` names them). Raises InputError
    for a caption without a log-likelihood, and for captions that the scores do not have where one of theirs is missing.
    """
    return _read_prior_file(path, ids, k, data, captions).values


def _read_prior_file(
    path: Path | str, ids: Sequence[str], k: int, data: bytes | None, captions: np.ndarray | None
) -> _PriorFile:
    """`read_prior`, and what the file has that was not read."""
    suffix = Path(path).suffix.lower()
    unused: list[str] = []
    if suffix == ".npz":
        prior, place = _prior_arrays(path, data, (len(ids), k), ids)
    elif suffix in (".csv", ".parquet"):
        prior, place, unused = _prior_table(path, data, ids, k, captions)
    elif suffix == ".jsonl":
        prior, place, unused = _prior_log(path, data, ids, k, captions)
    else:
        raise InputError(f"{path} is not a prior file; its name must end in {', '.join(PRIOR_ENDINGS)}.")
    wrong = np.argwhere(~np.isfinite(prior) | (prior > MOST_LOG_PROB))
    if len(wrong):
        at = int(wrong[0][0]), int(wrong[0][1]), int(wrong[0][2])
        if np.isfinite(prior[at]):
            what = f"{prior[at]:.4g} as log P(t) of {place(*at)}; a log-likelihood is at most 0"
            raise InputError(f"{path} has {what}.")
        if suffix in (".csv", ".parquet"):
            raise InputError(f"{path} has no finite log P(t) for {place(*at)}; add it.")
        raise InputError(
            f"{path} has {prior[at]} as log P(t) of {place(*at)}; it is a finite number, at most 0: score that caption "
            "again, or leave its group out of both files."
        )
    return _PriorFile(prior, tuple(unused))


# (sample, group, caption) -> how the file calls that place.
_Place = Callable[[int, int, int], str]


def _prior_arrays(
    path: Path | str, data: bytes | None, shape: tuple[int, int], ids: Sequence[str]
) -> tuple[np.ndarray, _Place]:
    arrays = read_arrays(path, data)
    name = name_of_prior(path, arrays)
    values = arrays.get(name)
    count = len(values) if name == "samples" and values is not None and values.ndim else 1
    needed = (max(count, 1), *shape) if name == "samples" else shape
    if values is None or values.shape != needed or values.dtype.kind not in "iuf":
        actual = "none" if values is None else f"{values.dtype} of shape {values.shape}"
        raise InputError(f"{path} needs an array {name!r} of numbers of shape {needed} and has {actual}.")

    def place(sample: int, group: int, caption: int) -> str:
        cell = [sample, group, caption] if name == "samples" else [group, caption]
        return f"caption {caption} (from 0) of group {ids[group]!r}, {name}{cell}"

    return values.astype(np.float64).reshape(-1, *shape), place


def name_of_prior(path: Path | str, arrays: Mapping[str, np.ndarray]) -> str:
    """Which array of an NPZ file is the prior: `prior`, or `samples`; InputError where it has both."""
    if "prior" in arrays and "samples" in arrays:
        raise InputError(f"{path} has the arrays 'prior' and 'samples', which may differ; leave one out.")
    return "samples" if "samples" in arrays else "prior"


def _prior_table(
    path: Path | str, data: bytes | None, ids: Sequence[str], k: int, captions: np.ndarray | None
) -> tuple[np.ndarray, _Place, list[str]]:
    """The prior, and how the table calls what is at a place: a caption that it leaves out by the number that follows
    from its others, or as the scores do. And what of the table is not needed."""
    whole = open_table(path, read_bytes(path, data)).frame(("group", "caption"))
    table = samples_in_rows(whole, path)
    named = table["group"].astype(str).str.strip()
    row = pd.Index(list(ids)).get_indexer(pd.Index(named))
    unused = _more_names(named[row < 0], "group") + _more_columns(whole, _COLUMNS)
    table, row = table[row >= 0], row[row >= 0]
    if not len(table):
        raise InputError(
            f"{path} has none of the scores' groups, such as {ids[0]!r}; name them as the scores do."
        )
    labels = table["caption"].astype(str).str.strip()
    column, _, names = numbered(row, labels)
    if names is not None and captions is not None:
        column = _by_name(path, ids, row, labels, captions)
        unused = _more_names(labels[column < 0], "caption") + unused
        kept = column >= 0
        table, row, labels, column = table[kept], row[kept], labels[kept], column[kept]
    beyond = np.flatnonzero(column >= k)
    if len(beyond):
        name = ids[row[beyond[0]]]
        raise InputError(f"{path} has more than {k} captions of group {name!r}, where the scores have {k}.")
    sample, known = pd.factorize(
        table["sample"].astype(str).str.strip() if "sample" in table else pd.Series("", table.index)
    )
    samples = len(known)

    def place(sample: int, group: int, caption: int) -> str:
        here = np.flatnonzero((row == group) & (column == caption))
        if len(here):
            name = labels.iloc[here[0]]
        elif names is None:
            name = str(caption + labels.astype(int).min())
        else:
            name = str(caption if captions is None else captions[group, caption])
        of_sample = f", sample {str(known[sample])!r}" * (samples > 1)
        return f"caption {name!r} of group {ids[group]!r}{of_sample}"

    check(path, scores=samples * len(ids) * k)
    cells = (sample * len(ids) + row) * k + column
    twice = np.flatnonzero(pd.Series(cells).duplicated())
    if len(twice):
        name = ids[row[twice[0]]]
        raise InputError(
            f"{path} has caption {labels.iloc[twice[0]]!r} of group {name!r} twice; leave one out, or say in a column "
            "`sample` which null image each row is of."
        )
    prior = np.full(samples * len(ids) * k, np.nan)
    prior[cells] = pd.to_numeric(table["log_prob"], errors="coerce").to_numpy()
    unread = np.flatnonzero(~np.isfinite(prior[cells]))
    if len(unread):
        at, value = unread[0], table["log_prob"].iloc[unread[0]]
        shown = "an empty cell" if pd.isna(value) or not str(value).strip() else repr(str(value).strip())
        if isinstance(value, float) and np.isnan(value):
            shown = "NaN, or an empty cell,"
        raise InputError(
            f"{path} has {shown} as log P(t) of caption {labels.iloc[at]!r} of group {ids[row[at]]!r}; it is a finite "
            "number, at most 0."
        )
    return prior.reshape(samples, len(ids), k), place, unused


def _more_names(names: pd.Series | Sequence[str], what: str) -> list[str]:
    """That a prior has groups or captions which the scores lack, by name. what : which of the two, in the singular."""
    distinct = list(dict.fromkeys(names))
    if not distinct:
        return []
    return [f"{counted(len(distinct), what)} that the scores lack, {distinct[0]!r} first"]


def _more_columns(table: pd.DataFrame, known: Sequence[str]) -> list[str]:
    """Which of a table's columns are not read. known : those that are, beside the ones of null images."""
    names = [str(c) for c in table.columns if c not in known and not _NULL_IMAGE.fullmatch(str(c))]
    if not names:
        return []
    rest = f" and {len(names) - 3} more" * (len(names) > 3)
    return [f"the column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:3]))}{rest}"]


def samples_in_rows(table: pd.DataFrame, path: Path | str) -> pd.DataFrame:
    """A prior's table with one column `log_prob`; several, `log_prob_1`, ..., become rows of a `sample` each.

    Other names, such as `log_prob_mean`, are of no null image.
    """
    columns = [name for name in table.columns if _NULL_IMAGE.fullmatch(name)]
    if columns and "log_prob" in table:
        raise InputError(
            f"{path} has the columns 'log_prob' and {columns[0]!r}, which may differ; leave one out, or name all of "
            "them `log_prob_1`, `log_prob_2`, ... where each is of a null image."
        )
    if not columns:
        if "log_prob" not in table:
            raise InputError(
                f"{path} has no column 'log_prob' among: {', '.join(table.columns)}; name log P(t) so, or "
                "`log_prob_1`, `log_prob_2`, ... where each column is of a null image."
            )
        return table
    labels = [name for name in ("group", "caption", "sample") if name in table]
    rows = table.melt(labels, columns, "column", "log_prob")
    if "sample" in table:
        rows["column"] += " " + rows["sample"].astype(str)
    return rows.drop(columns="sample", errors="ignore").rename(columns={"column": "sample"})


def _prior_log(
    path: Path | str, data: bytes | None, ids: Sequence[str], k: int, captions: np.ndarray | None
) -> tuple[np.ndarray, _Place, list[str]]:
    log = read_sample_log(path, read_bytes(path, data))
    found = log.log_probs if log.prior is None else log.prior
    if found.shape[2] != k:
        raise InputError(
            f"{path} has {found.shape[2]} captions of group {log.ids[0]!r}, where the scores have {k}."
        )
    place = pd.Index(log.ids).get_indexer(pd.Index(list(ids)))
    if (place < 0).any():
        raise InputError(
            f"{path} has no document of the scores' group {ids[int((place < 0).argmax())]!r}; log the same task."
        )
    if captions is not None and log.captions is not None:
        other = np.argwhere(log.captions[place] != captions)
        if len(other):
            group, caption = other[0]
            there, here = str(log.captions[place][group, caption]), str(captions[group, caption])
            raise InputError(
                f"{path} has the caption {there!r} in group {ids[group]!r}, where the scores have {here!r}; log the "
                "same task."
            )

    def name_of(image: int, group: int, caption: int) -> str:
        text = caption if log.captions is None else repr(str(log.captions[place[group], caption]))
        of_image = f", image {image} (from 0)" * (found.shape[1] > 1)
        return f"caption {text} of group {ids[group]!r}{of_image}"

    known = set(ids)
    unused = _more_names([name for name in log.ids if name not in known], "group")
    return (
        found[place].transpose(1, 0, 2),
        name_of,
        unused,
    )  # (images, n, k): the images of a group are samples


def _by_name(
    path: Path | str, ids: Sequence[str], row: np.ndarray, labels: pd.Series, captions: np.ndarray
) -> np.ndarray:
    """The number of each row's caption among those of its group, by its text; -1 for one that the scores do not have
    there, of a group whose captions are all here. Raises InputError where one of them is missing."""
    known = {(g, text.strip()): j for g, texts in enumerate(captions) for j, text in enumerate(texts)}
    column = np.array([known.get((int(g), text), -1) for g, text in zip(row, labels, strict=True)])
    own = pd.DataFrame({"group": row, "column": column})[column >= 0].groupby("group")["column"].nunique()
    complete = own.reindex(row, fill_value=0).to_numpy() == captions.shape[1]
    strange = np.flatnonzero((column < 0) & ~complete)
    if len(strange):
        text, name = labels.iloc[strange[0]], ids[row[strange[0]]]
        raise InputError(
            f"{path} has the caption {text!r} in group {name!r}, which the scores do not have there."
        )
    return column


def numbered(group: np.ndarray, labels: pd.Series) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Each row's label as a number within its group, how many labels each group has, and all of these labels, the first
    group's first.

    Labels that are 0, 1, ... or 1, 2, ... in every group are those numbers, and no names: None. Others count as they
    first appear.
    """
    frame = pd.DataFrame({"group": group, "label": labels.to_numpy()})
    first = frame.drop_duplicates()
    groups = first.groupby("group")["label"]
    counts = groups.size().to_numpy()
    number, is_number = groups.cumcount(), False
    if first["label"].str.fullmatch(r"\d{1,6}").all():
        value = first["label"].astype(int)
        spread = value.groupby(first["group"]).agg(["min", "max", "nunique"])
        start = spread["min"].iloc[0]
        full = (
            (spread["nunique"] == counts) & (spread["max"] - start + 1 == counts) & (spread["min"] == start)
        )
        if start in (0, 1) and full.all():
            number, is_number = value - start, True
    first = first.assign(number=number)
    whole = frame.merge(first, on=["group", "label"], how="left")
    names = None if is_number else first.sort_values(["group", "number"])["label"].to_numpy(dtype=str)
    return whole["number"].to_numpy(), counts, names
