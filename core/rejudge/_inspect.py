"""Inspect's logs, `.eval` and `.json`: answers to questions of choices.

Source: `inspect_ai/log/_log.py` (`EvalLog`, version 2) of UKGovernmentBEIS/inspect_ai 0.3.285. A `.eval` is a zip whose
members are compressed with Zstandard, which Arrow decompresses; of it `header.json` and `summaries.json` are read.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.table_formats import ZipMember, check_unfolded, parse_json
from core.rejudge._answers import answers, choice_of
from core.rejudge._submission import INSPECT, Submission, UnfinishedError, check_version

_ZSTANDARD = 93  # the number of its method in a zip
_LOCAL_HEADER = 30  # bytes before the name of a member


def is_log(value: Any) -> bool:
    """Whether a JSON value is a log of Inspect."""
    return isinstance(value, dict) and isinstance(value.get("eval"), dict) and "status" in value


def read_json(path: Path, value: dict[str, Any]) -> Submission:
    """A log in one JSON file."""
    return _read(path, value, value.get("samples"))


def read_zip(path: Path, content: bytes) -> Submission:
    """A log in a zip, `.eval`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {entry.filename: entry for entry in archive.infolist()}
    except zipfile.BadZipFile as error:
        raise InputError(f"{path} is no complete log of Inspect ({error}); copy it again.") from None
    if "header.json" not in members:
        raise UnfinishedError(
            f"{path} is half a log: Inspect has not finished it; finish it with `inspect eval-retry`."
        )
    header = parse_json(_member(path, content, members["header.json"]), path)
    if not is_log(header):
        raise InputError(
            f"{path} is no log of Inspect of version 2 or later; write it again with a newer Inspect."
        )
    samples = members.get("summaries.json")
    return _read(path, header, None if samples is None else parse_json(_member(path, content, samples), path))


def _member(path: Path, content: bytes, entry: zipfile.ZipInfo) -> bytes:
    """A member's bytes, no more than its directory says and the limits allow."""
    import pyarrow as pa

    check_unfolded(path, content, entry.file_size)
    try:
        if entry.compress_type != _ZSTANDARD:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return ZipMember(path, archive, entry).whole()
        at = entry.header_offset
        name, extra = (int.from_bytes(content[at + i : at + i + 2], "little") for i in (26, 28))
        start = at + _LOCAL_HEADER + name + extra
        packed = content[start : start + entry.compress_size]
        with pa.input_stream(pa.py_buffer(packed), compression="zstd") as stream:
            return stream.read(entry.file_size)
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        raise InputError(f"{path} is damaged ({error}); copy it again.") from None


def _read(path: Path, log: dict[str, Any], samples: Any) -> Submission:
    check_version(path, f"{INSPECT}'s log", log.get("version", ""))
    told = log["eval"]
    total, found = told.get("dataset", {}).get("samples"), samples if isinstance(samples, list) else []
    if log["status"] != "success":
        raise UnfinishedError(
            f"{path} is half a log: Inspect ended with status {log['status']!r} after {len(found)} of {total} samples; "
            "finish it with `inspect eval-retry`."
        )
    epochs = {sample.get("epoch", 1) for sample in found}
    first = [sample for sample in found if sample.get("epoch", 1) == min(epochs)]
    rows = [_answer(path, sample) for sample in first]
    groups = [str(g) for sample in first if (g := (sample.get("metadata") or {}).get("group")) is not None]
    choices = [tuple(map(str, sample["choices"])) for sample in first]
    findings = (f"Only the first of {len(epochs)} epochs is judged.",) if len(epochs) > 1 else ()
    results = log.get("results") or {}
    return Submission(
        path,
        INSPECT,
        str(told.get("model") or ""),
        str(told.get("task") or ""),
        answers=answers(
            path,
            [str(sample["id"]) for sample in first],
            [row[0] for row in rows],
            [row[1] for row in rows],
            [row[2] for row in rows],
            groups if len(groups) == len(first) else None,
            choices,
        ),
        reported=_reported(results),
        count=None if len(epochs) > 1 else results.get("completed_samples"),
        version=str((told.get("packages") or {}).get("inspect_ai", "")),
        findings=findings,
    )


def _answer(path: Path, sample: dict[str, Any]) -> tuple[int, int, int]:
    """The choice taken, the right one, and how many there are."""
    choices, scores = sample.get("choices"), sample.get("scores")
    if not isinstance(choices, list) or not isinstance(scores, dict) or not scores:
        raise InputError(
            f"{path}: sample {sample.get('id')!r} is no question of choices; use `multiple_choice` and `choice`."
        )
    letters = [chr(ord("A") + i) for i in range(len(choices))]
    own = choice_of(sample.get("target"), letters)
    if own < 0:
        raise InputError(
            f"{path}: sample {sample.get('id')!r} has the target {sample.get('target')!r}; one letter is judged."
        )
    return choice_of(next(iter(scores.values())).get("answer"), letters), own, len(choices)


def _reported(results: dict[str, Any]) -> dict[str, float]:
    return {
        name: 100 * float(metric["value"])
        for score in (results.get("scores") or [])[:1]
        for name, metric in score["metrics"].items()
        if name != "stderr" and isinstance(metric.get("value"), float | int)
    }
