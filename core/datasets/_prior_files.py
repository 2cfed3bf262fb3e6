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

_NAMED = 4  # of several mistakes, besides the first
MOST_LOG_PROB = 1e-6  # that a log-likelihood may be, for the sake of rounding
_LEAST_LOG_PROB = -1e30  # below it are the lowest numbers of float32 and float64, which some write for none
PRIOR_ENDINGS = (".csv", ".parquet", ".npz", ".jsonl")
_COLUMNS = ("group", "caption", "sample", "log_prob")  # that are read, beside those of null images
_ARRAYS = ("prior", "samples", "ids", "captions")  # that are read of an NPZ file
# What else log P(t) is called in tables; an NPZ file calls its array `prior`.
_LOG_PROB_NAMES = ("log_p", "logp", "logprob", "log_probability")
_DECIMAL_COMMA = re.compile(r"\s*[-+−]?\d*,\d+\s*")
_NULL_IMAGE = re.compile(r"log_prob_[0-9]+")  # a column of one null image


class _PriorFile(NamedTuple):
    """values : float64 (samples, n, k). notes : what was not read, and what was matched by its order, a phrase each."""

    values: np.ndarray
    notes: tuple[str, ...] = ()


# (sample, group, caption) -> how the file calls that place.
_Place = Callable[[int, int, int], str]


def _not_log_probs(values: np.ndarray) -> np.ndarray:
    """Which numbers are no log-likelihoods, bool of their shape.

    Where none of several is below 0, all above it: likelihoods may be as small as what rounding leaves of 0.
    """
    wrong = ~np.isfinite(values) | (values > MOST_LOG_PROB) | (values < _LEAST_LOG_PROB)
    return wrong | (values > 0) & (values.size > 1 and bool((values >= 0).all()))


def _advice(value: float, what: str) -> str:
    """Why a number is no log-likelihood, and what to do. what : of which it was to be one, such as "caption"."""
    if value > 0 and np.isfinite(value):
        return "a log-likelihood is at most 0: give logarithms of likelihoods, not probabilities or losses"
    rule = "so low a number stands for none" if np.isfinite(value) else "it is a finite number, at most 0"
    return f"{rule}: score that {what} again"


def read_prior(
    path: Path | str,
    ids: Sequence[str],
    k: int,
    data: bytes | None = None,
    captions: np.ndarray | None = None,
) -> np.ndarray:
    """log P(t) of every caption of these groups, float64 (samples, n, k), finite and at most 0.

    path : NPZ with an array `prior` (n, k), or `samples` (samples, n, k), in the order of the groups, or of its own
    arrays `ids` (n,) and `captions` (n, k); or CSV or Parquet with a row per caption: `group`, `caption`, `log_prob`
    (or `log_p`, `logp`, `logprob`, `log_probability`, `prior`). A further column `sample` names the null image that a
    row is of, or columns `log_prob_1`, ... are of one each; else there is one sample. Or JSONL: a sample log of lm-eval
    or lmms-eval, of choices without context or of null images, each image of a group one sample. captions : what the
    scores call them, text (n, k): a prior that calls them by name is put into their order. `data` : the file's bytes,
    where it is an upload.

    Groups, captions and columns that are not needed are left out (`_read_prior_file` names them). Raises InputError
    for a caption without a log-likelihood, and for captions that the scores do not have where one of theirs is missing.
    """
    return _read_prior_file(path, ids, k, data, captions).values


class _FitsInPart(InputError):
    """Of a prior that has some of the scores' groups or captions and lacks others: it may well be theirs."""


class _OfOtherGroups(InputError):
    """Of a prior that has none of the scores' groups, so that nothing says that it is theirs."""


def _read_prior_file(
    path: Path | str, ids: Sequence[str], k: int, data: bytes | None, captions: np.ndarray | None
) -> _PriorFile:
    """`read_prior`, and what of the file was not read or matched by its order."""
    suffix = Path(path).suffix.lower()
    read = {".npz": _prior_arrays, ".csv": _prior_table, ".parquet": _prior_table, ".jsonl": _prior_log}
    if suffix not in read:
        raise InputError(f"{path} is not a prior file; its name must end in {', '.join(PRIOR_ENDINGS)}.")
    prior, place, notes = read[suffix](path, data, ids, k, captions)
    wrong = np.argwhere(_not_log_probs(prior))
    if len(wrong):
        at, *others = [tuple(map(int, each)) for each in wrong[: _NAMED + 1]]
        more = "" if not others else f" Wrong likewise: {'; '.join(place(*each) for each in others)}"
        if len(wrong) > _NAMED + 1:
            more += f", and {len(wrong) - _NAMED - 1} more"
        more += "." if more else ""
        if np.isnan(prior[at]) and suffix in (
            ".csv",
            ".parquet",
        ):  # cells that are no number are refused before
            raise _FitsInPart(f"{path} has no finite log P(t) for {place(*at)}; add it.{more}")
        advice = _advice(prior[at], "caption")
        leave = "" if prior[at] > 0 and np.isfinite(prior[at]) else ", or leave its group out of both files"
        raise InputError(f"{path} has {prior[at]:.4g} as log P(t) of {place(*at)}; {advice}{leave}.{more}")
    return _PriorFile(prior, tuple(notes))


# --- arrays


def _prior_arrays(
    path: Path | str, data: bytes | None, ids: Sequence[str], k: int, captions: np.ndarray | None
) -> tuple[np.ndarray, _Place, list[str]]:
    """The prior in the order of the scores, how the file calls a place, and what of it was not read."""
    arrays = read_arrays(path, data)
    name = name_of_prior(path, arrays)
    row, notes = np.arange(len(ids)), list[str]()
    if "ids" in arrays:
        row, notes = _positions(path, arrays, "ids", "group", ids)
    n = len(arrays["ids"]) if "ids" in arrays else len(ids)
    values = _samples_of(path, arrays, name, (n, k))[:, row]
    column = np.tile(np.arange(k), (len(ids), 1))
    read = set(_ARRAYS)
    if "captions" not in arrays or captions is None:
        read.discard("captions")  # the scores number theirs
    else:
        column = _caption_positions(path, arrays["captions"], (n, k), row, ids, captions)
        values = np.take_along_axis(values, np.broadcast_to(column, values.shape), axis=2)
    notes += _more_arrays(arrays, read)

    def place(sample: int, group: int, caption: int) -> str:
        there = [int(row[group]), int(column[group, caption])]
        cell = [sample, *there] if name == "samples" else there
        return f"caption {caption} (counted from 0) of group {ids[group]!r}, {name}{cell}"

    return values, place, notes


def _samples_of(
    path: Path | str, arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...], of: str = "numbers"
) -> np.ndarray:
    """An array `prior` of this shape, or `samples` with one axis before it, as float64 (samples, *shape)."""
    values = arrays.get(name)
    if values is None:
        has = ", ".join(arrays) or "none"
        raise InputError(f"{path} has no array 'prior' or 'samples' among: {has}; name log P(t) so.")
    count = len(values) if name == "samples" and values.ndim else 1
    needed = (max(count, 1), *shape) if name == "samples" else shape
    if values.shape != needed or values.dtype.kind not in "iuf":
        raise InputError(
            f"{path} needs an array {name!r} of {of}, of shape {needed}, and has {values.dtype} of shape "
            f"{values.shape}."
        )
    return values.astype(np.float64).reshape(-1, *shape)


def _positions(
    path: Path | str, arrays: Mapping[str, np.ndarray], axis: str, what: str, wanted: Sequence[str]
) -> tuple[np.ndarray, list[str]]:
    """Where the array of names `axis` has each of the scores' groups or captions, int64, and which more it has.

    what : which of the two, in the singular.
    """
    named = arrays[axis]
    if named.ndim != 1 or not len(named):
        raise InputError(f"{path}: {axis!r} has shape {named.shape}; it needs one name per {what}.")
    names = pd.Index([str(each).strip() for each in named.tolist()])
    if not names.is_unique:
        twice = str(names[names.duplicated()][0])
        raise InputError(f"{path} has the {what} {twice!r} twice in `{axis}`; leave one out.")
    found = names.get_indexer(pd.Index(list(wanted)))
    if (found < 0).all():
        kind = _OfOtherGroups if what == "group" else InputError
        raise kind(
            f"{path} has none of the scores' {_all(wanted, what)}: `{axis}` begins with {str(names[0])!r}, the "
            f"scores with {wanted[0]!r}; name them as the scores do, or leave `{axis}` out where both files have one "
            "order."
        )
    if (found < 0).any():
        raise _lacks(path, wanted, found < 0, what, f" in `{axis}`")
    return found, _more_names([name for name in names if name not in set(wanted)], what)


def _all(names: Sequence[str], what: str) -> str:
    """`300 groups`; of a single one `group`, as it needs no number."""
    return what if len(names) == 1 else counted(len(names), what)


def _lacks(
    path: Path | str, wanted: Sequence[str], missing: np.ndarray, what: str, where: str = "", advice: str = ""
) -> InputError:
    """The error of a prior without some of the scores' groups or captions: how many, so that another set is told from a
    slip, and the first. missing : bool, of each of `wanted`."""
    count, first = int(missing.sum()), wanted[int(missing.argmax())]
    named = repr(first) if count == 1 else f"the first is {first!r}"
    add = advice or f"add {'its' if count == 1 else 'their'} log P(t)"
    kind = InputError if count == len(wanted) else _FitsInPart
    return kind(f"{path} lacks {count} of the scores' {_all(wanted, what)}{where}: {named}; {add}.")


def _caption_positions(
    path: Path | str,
    texts: np.ndarray,
    shape: tuple[int, int],
    row: np.ndarray,
    ids: Sequence[str],
    captions: np.ndarray,
) -> np.ndarray:
    """Where each group has the scores' captions, int64 (n, k). row : of the groups in the file."""
    if texts.shape != shape:
        raise InputError(f"{path}: 'captions' has shape {texts.shape}; it needs {shape}, names of captions.")
    labels = pd.Series([str(text).strip() for text in texts[row].ravel().tolist()])
    group = np.repeat(np.arange(len(ids)), shape[1])
    twice = np.flatnonzero(pd.DataFrame({"group": group, "label": labels}).duplicated())
    if len(twice):
        text, name = labels.iloc[twice[0]], ids[group[twice[0]]]
        raise InputError(f"{path} has the caption {text!r} of group {name!r} twice; name its captions apart.")
    return np.argsort(_by_name(path, ids, group, labels, captions).reshape(len(ids), -1), axis=1)


def _more_arrays(arrays: Mapping[str, np.ndarray], read: set[str]) -> list[str]:
    """Which arrays of a file are not read."""
    return _listed([name for name in arrays if name not in read], "array")


def name_of_prior(path: Path | str, arrays: Mapping[str, np.ndarray]) -> str:
    """Which array of an NPZ file is the prior: `prior`, or `samples`; InputError where it has both."""
    if "prior" in arrays and "samples" in arrays:
        raise InputError(f"{path} has the arrays 'prior' and 'samples', which may differ; leave one out.")
    return "samples" if "samples" in arrays else "prior"


# --- tables


def _prior_table(
    path: Path | str, data: bytes | None, ids: Sequence[str], k: int, captions: np.ndarray | None
) -> tuple[np.ndarray, _Place, list[str]]:
    """The prior, and how the table calls what is at a place: a caption that it leaves out by the number that follows
    from its others, or as the scores do. And what of the table is not needed, or matched by its order."""
    rows, notes = _rows_of(path, data, ids, k, captions)
    sample, known = pd.factorize(rows.sample)
    samples = len(known)
    check(path, scores=samples * len(ids) * k)
    cells = (sample * len(ids) + rows.group) * k + rows.column
    twice = np.flatnonzero(pd.Series(cells).duplicated())
    if len(twice):
        raise InputError(
            f"{path} has {rows.called(ids, twice[0])} twice; leave one out, or say in a column `sample` which null "
            "image each row is of."
        )
    prior = np.full(samples * len(ids) * k, np.nan)
    prior[cells] = _numbers_in(path, rows.log_prob, lambda at: rows.called(ids, at))

    def place(sample: int, group: int, caption: int) -> str:
        of_sample = f", sample {str(known[sample])!r}" * (samples > 1)
        return f"caption {rows.name_at(group, caption, captions)!r} of group {ids[group]!r}{of_sample}"

    return prior.reshape(samples, len(ids), k), place, notes


class _Rows(NamedTuple):
    """The rows of a prior's table that the scores need: numbers of group and caption, int64 (rows,); the caption's
    label, the null image and log P(t) as the table has them. by_name : whether the labels are names, not numbers.
    """

    group: np.ndarray
    column: np.ndarray
    label: pd.Series
    sample: pd.Series
    log_prob: pd.Series
    by_name: bool

    def called(self, ids: Sequence[str], at: int) -> str:
        """A row's caption and group, for people."""
        return f"caption {self.label.iloc[at]!r} of group {ids[self.group[at]]!r}"

    def name_at(self, group: int, caption: int, captions: np.ndarray | None) -> str:
        """What a caption is called here, or where it is missing would be."""
        here = np.flatnonzero((self.group == group) & (self.column == caption))
        if len(here):
            return str(self.label.iloc[here[0]])
        if not self.by_name:
            return str(caption + self.label.astype(int).min())
        return str(caption if captions is None else captions[group, caption])


def _rows_of(
    path: Path | str, data: bytes | None, ids: Sequence[str], k: int, captions: np.ndarray | None
) -> tuple[_Rows, list[str]]:
    """The rows of the scores' groups and captions, and what is said of the others and of how these were matched."""
    whole = _by_its_name(open_table(path, read_bytes(path, data)).frame(("group", "caption")), path)
    table = samples_in_rows(whole, path)
    named = table["group"].astype(str).str.strip()
    row = pd.Index(list(ids)).get_indexer(pd.Index(named))
    if (row < 0).all():
        raise _OfOtherGroups(
            f"{path} has none of the scores' {_all(ids, 'group')}: it has {named.iloc[0]!r}, the scores have "
            f"{ids[0]!r}; name them as the scores do."
        )
    missing = ~np.isin(np.arange(len(ids)), row)
    if missing.any():
        raise _lacks(path, ids, missing, "group")
    notes = _more_names(named[row < 0], "group") + _more_columns(whole, _COLUMNS)
    table, row = table[row >= 0], row[row >= 0]
    labels = table["caption"].astype(str).str.strip()
    column, _, names = numbered(row, labels)
    if names is not None and captions is not None:
        column = _by_name(path, ids, row, labels, captions)
        notes = _more_names(labels[column < 0], "caption") + notes
    elif names is not None:
        notes.append("captions matched in the order of the file, as the scores only number theirs")
    elif captions is not None:
        notes.append("captions matched by number, in the order in which the scores name theirs")
    beyond = np.flatnonzero(column >= k)
    if len(beyond):
        name = ids[row[beyond[0]]]
        raise InputError(f"{path} has more than {k} captions of group {name!r}, where the scores have {k}.")
    needed = column >= 0
    sample = table["sample"].astype(str).str.strip() if "sample" in table else pd.Series("", table.index)
    parts = (labels[needed], sample[needed], table["log_prob"][needed])
    return _Rows(row[needed], column[needed], *parts, names is not None), notes


def _numbers_in(path: Path | str, cells: pd.Series, called: Callable[[int], str]) -> np.ndarray:
    """A column of log P(t), float64; InputError for a cell that is no finite number. called : a row, for people."""
    values = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    unread = np.flatnonzero(~np.isfinite(values))
    if len(unread):
        at, value = int(unread[0]), cells.iloc[unread[0]]
        shown = "an empty cell" if pd.isna(value) or not str(value).strip() else repr(str(value).strip())
        if isinstance(value, float) and np.isnan(value):
            shown = "NaN, or an empty cell,"
        rule = "it is a finite number, at most 0"
        if _DECIMAL_COMMA.fullmatch(str(value)):
            rule = "write the decimal comma as a point"
        raise InputError(f"{path} has {shown} as log P(t) of {called(at)}; {rule}.")
    return values


def _more_names(names: pd.Series | Sequence[str], what: str) -> list[str]:
    """That a prior has groups or captions which the scores lack, by name. what : which of the two, in the singular."""
    distinct = list(dict.fromkeys(names))
    if not distinct:
        return []
    return [f"not used: {counted(len(distinct), what)} that the scores lack, {distinct[0]!r} first"]


def _more_columns(table: pd.DataFrame, known: Sequence[str]) -> list[str]:
    """Which of a table's columns are not read. known : those that are, beside the ones of null images."""
    names = [str(c) for c in table.columns if c not in known and not _NULL_IMAGE.fullmatch(str(c))]
    return _listed(names, "column")


def _listed(names: Sequence[str], what: str) -> list[str]:
    if not names:
        return []
    rest = f" and {len(names) - 3} more" * (len(names) > 3)
    return [f"not used: the {what}{'s' * (len(names) > 1)} {', '.join(map(repr, names[:3]))}{rest}"]


def _by_its_name(table: pd.DataFrame, path: Path | str) -> pd.DataFrame:
    """A prior's table with `log_prob` for its column of another name. Raises InputError where two may be meant; a
    `prior` beside `log_prob` stays what it is."""
    own = [str(name) for name in table if name == "log_prob" or _NULL_IMAGE.fullmatch(str(name))]
    others = [str(name) for name in table if name in _LOG_PROB_NAMES]
    if "prior" in table and not own:
        others.append("prior")
    if others and len(own + others) > 1:
        first, second = (own + others)[:2] if not own else (own[0], others[0])
        raise InputError(f"{path} has the columns {first!r} and {second!r}, which may differ; leave one out.")
    return table.rename(columns=dict.fromkeys(others, "log_prob"))


def samples_in_rows(table: pd.DataFrame, path: Path | str) -> pd.DataFrame:
    """A prior's table with one column `log_prob`; several, `log_prob_1`, ..., become rows of a `sample` each.

    Other names, such as `log_prob_mean`, are of no null image.
    """
    columns = [name for name in table.columns if _NULL_IMAGE.fullmatch(name)]
    for name in [*columns, "log_prob"]:
        if name in table and table[name].dtype.kind in "bmM":
            raise InputError(
                f"{path}: column {name!r} holds {table[name].dtype}; log P(t) is a number, at most 0."
            )
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


# --- sample logs


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
        raise _lacks(path, ids, place < 0, "group", advice="log the same task")
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
        of_image = f", image {image} (counted from 0)" * (found.shape[1] > 1)
        return f"caption {text} of group {ids[group]!r}{of_image}"

    known = set(ids)
    notes = _more_names([name for name in log.ids if name not in known], "group")
    return (
        found[place].transpose(1, 0, 2),
        name_of,
        notes,
    )  # (images, n, k): the images of a group are samples


# --- captions by name, captions by number


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
            f"{path} has the caption {text!r} in group {name!r}, which the scores do not have there; name captions as "
            "they do."
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
