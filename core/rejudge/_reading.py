"""Files, folders and uploads as submissions: which tool wrote what, and which of them belong together."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.base.errors import InputError
from core.base.table_formats import open_table, parse_json, read_bytes
from core.datasets.packed_tables import _unpacked
from core.datasets.score_files import read_scores
from core.rejudge import _inspect, _logs, _mteb, _reports, _results, _vlmeval
from core.rejudge._submission import SCORES, VLM_EVAL_KIT, Submission, UnfinishedError, check_count, grouped

_TABLES = (".csv", ".tsv", ".parquet", ".arrow")
_ENDINGS = (".json", ".jsonl", ".eval", *_TABLES, ".npz", ".yaml", ".yml", ".md")
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".joblib", ".ckpt")
_PICKLED = re.compile(rb"\x80[\x02-\x05]")  # how pickles of protocols 2 to 5 begin
_BESIDE = ("model_meta.json", "config.json")  # about a model, never results
# lm-eval's sample log and the report of the same time beside it; then lmms-eval's
_REPORTS = (
    (r"samples_.+_(\d{4}-\d\d-\d\dT[\d.-]+)", r"results_\1.json"),
    (r"(\d{8}_\d{6})_samples_.+", r"\1_results.json"),
)
_MOST_FILES = 1000


def read_submissions(paths: Sequence[Path]) -> tuple[list[Submission], list[str]]:
    """What all these files and folders hold, reports joined with the scores or answers that they are of; and a sentence
    for each unfinished log of a folder, which is left out.

    Raises InputError, in one sentence, for the first thing that is wrong; nothing is loaded from a pickle.
    """
    files = dict.fromkeys(file for path in paths for file in _files(path))
    reports = [beside for file in files if (beside := _report_beside(file)) and beside not in files]
    found: list[Submission] = []
    left_out: list[UnfinishedError] = []
    for file in (*files, *dict.fromkeys(reports)):
        try:
            found += read_file(file)
        except UnfinishedError as error:
            if file in paths:  # named itself, not by its folder
                raise
            left_out.append(error)
    if left_out and not found:
        raise left_out[0]
    if not found:
        raise InputError(
            "None of these files holds results; name files or folders of MTEB, lm-eval, Inspect, ..."
        )
    # A report that nobody named also tells of tasks whose logs nobody named.
    kept = [s for s in _joined(found) if s.ids is not None or s.source not in reports]
    return kept, [str(error) for error in left_out]


def _files(path: Path) -> list[Path]:
    """The files to read: a path's own, those of a folder, and MTEB's result beside its predictions."""
    if path.is_dir():
        inside = sorted(
            p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in (*_ENDINGS, *_PICKLES)
        )
        if len(inside) > _MOST_FILES:
            raise InputError(f"{path} holds {len(inside)} files; name the folder of one run.")
        readable = [p for p in inside if p.suffix.lower() in _ENDINGS and p.name not in _BESIDE]
        if not readable:
            pickles = (
                f"pickles alone ({inside[0].name}, ...), which are never loaded" if inside else "no results"
            )
            raise InputError(f"{path} holds {pickles}; name another folder.")
        return readable
    result = path.with_name(path.name.replace("_predictions.json", ".json"))
    return [path, result] if result != path and result.is_file() else [path]


def _report_beside(path: Path) -> Path | None:
    """The report that a sample log's tool wrote at the same time into the same folder; None where there is none."""
    if path.suffix.lower() != ".jsonl":
        return None
    names = [re.sub(log, report, path.stem) for log, report in _REPORTS if re.fullmatch(log, path.stem)]
    return next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)


def read_file(path: Path, data: bytes | None = None) -> list[Submission]:
    """What one file holds, or the one in a zip. data : its bytes, where it is an upload."""
    if path.suffix.lower() == ".zip" and (data is not None or path.is_file()):
        path, data = _unpacked(path, data)
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise _pickled(path)
    if suffix in (".xlsx", ".xls"):
        raise InputError(f"{path} is a spreadsheet; save it as CSV, or run VLMEvalKit with PRED_FORMAT=tsv.")
    if data is None and not path.exists():
        raise InputError(f"{path} does not exist; check its name and folder.")
    if suffix not in _ENDINGS:
        raise InputError(f"{path} is no file of results; its name must end in {', '.join(_ENDINGS)}.")
    content = read_bytes(path, data)
    if _PICKLED.match(content):
        raise _pickled(path)
    try:
        found = [grouped(submission) for submission in _read(path, suffix, content)]
        if not all(math.isfinite(value) for s in found for value in s.reported.values()):
            raise InputError(f"{path} reports a value that is no finite number; run its tool again.")
        if not all(s.count is None or (isinstance(s.count, int) and s.count > 0) for s in found):
            raise InputError(f"{path} tells no sound number of items; run its tool again.")
        return found
    except InputError:
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        NotImplementedError,
    ) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{path} is not as its tool writes it today ({' '.join(what.split())[:100]}); it may be of another "
            "version, or changed by hand."
        ) from None


def _pickled(path: Path) -> InputError:
    return InputError(
        f"{path} is a pickle; pickles can run code and are never loaded: export it as JSON or CSV."
    )


def _read(path: Path, suffix: str, content: bytes) -> list[Submission]:
    if suffix == ".eval":
        return [_inspect.read_zip(path, content)]
    if suffix in (".yaml", ".yml", ".md"):
        return _results.read_yaml_results(path, content.decode("utf-8", "replace"))
    if suffix == ".json":
        return _read_json(path, content)
    if suffix == ".jsonl":
        cells = next(open_table(path, content).sound_rows()).cells
        if _logs.is_log(cells):
            return [_logs.read_log(path, content)]
    if suffix in _TABLES:
        table = open_table(path, content)
        if _vlmeval.is_table(table.columns):
            return [_vlmeval.read_table(path, table.frame())]
        if _vlmeval.is_accuracy(table.columns):
            return [_vlmeval.read_accuracy(path, table.frame())]
        if _reports.is_report(table.columns):
            return list(_reports.read_report(path, table.frame()))
        if suffix in (".tsv", ".arrow"):
            raise InputError(
                f"{path} has no columns of results ({', '.join(table.columns)[:80]}); choose another file."
            )
        if _reports._names_systems(table.columns):
            return [_scores_of_systems(path, content, table.columns)]
    return [Submission(path, SCORES, path.stem, "", read_scores(path, content))]


def _scores_of_systems(path: Path, content: bytes, columns: Sequence[str]) -> Submission:
    """A score file with a tag named `model`; otherwise it is a paper's table whose metrics have other names."""
    try:
        return Submission(path, SCORES, path.stem, "", read_scores(path, content))
    except InputError:
        raise InputError(
            f"{path} names systems, and none of its columns is a metric by its name here ({', '.join(columns)[:80]}); "
            "call them text_score, image_score, group_score, group_match, or have the columns metric and value."
        ) from None


def _read_json(path: Path, content: bytes) -> list[Submission]:
    value = parse_json(content, path)
    if isinstance(value, dict) and isinstance(value.get("mteb_model_meta"), dict):
        return _mteb.read_predictions(path, value, content)
    results = _results.read_json_results(path, value, _model_beside(path))
    if results is not None:
        return results
    if _inspect.is_log(value):
        return [_inspect.read_json(path, value)]
    if _logs.is_result(value):
        return list(_logs.read_result(path, value))
    if _reports.is_clip_benchmark(value):
        return [_reports.read_clip_benchmark(path, value)]
    if isinstance(value, list):
        is_table = value and isinstance(value[0], dict) and _vlmeval.is_table(value[0])
        del value  # parsed again: never twice in memory
        if is_table:
            return [_vlmeval.read_table(path, open_table(path, content).frame())]
        return [Submission(path, SCORES, path.stem, "", read_scores(path, content))]
    known = ", ".join(list(value)[:4]) if isinstance(value, dict) else type(value).__name__
    raise InputError(
        f"{path} holds no results that are known here (it has {known}); give predictions or results of MTEB, lm-eval, "
        "lmms-eval, Inspect or CLIP_benchmark."
    )


def _model_beside(path: Path) -> str:
    """The model of a result of MTEB, whose file does not name it: `model_meta.json` lies beside it."""
    try:
        return str(json.loads((path.parent / _BESIDE[0]).read_text("utf-8"))["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _joined(found: Sequence[Submission]) -> list[Submission]:
    """Reports of numbers alone go to the submission of their folder, tool and benchmark that has each item's."""
    full = [s for s in found if s.ids is not None and not _judged_beside(s, found)]
    joined, used = [], set()
    for submission in full:
        for i, report in enumerate(found):
            if report.ids is None and report.reported and _belongs(report, submission):
                check_count(replace(submission, count=report.count), _measured(submission))
                submission = replace(
                    submission,
                    model=submission.model or report.model,
                    reported={**report.reported, **submission.reported},
                    version=submission.version or report.version,
                    revision=submission.revision or report.revision,
                    findings=(*submission.findings, *report.findings),
                )
                used.add(i)
        check_count(submission, _measured(submission))
        joined.append(submission)
    return joined + [s for i, s in enumerate(found) if s.ids is None and i not in used]


def _judged_beside(s: Submission, found: Sequence[Submission]) -> bool:
    """Whether VLMEvalKit's table of predictions lies beside the same one with what it counted as right."""
    same = (other for other in found if (other.model, other.benchmark) == (s.model, s.benchmark))
    plain = s.tool == VLM_EVAL_KIT and "hit" not in s.reported
    return plain and any("hit" in other.reported and other.source.parent == s.source.parent for other in same)


def _belongs(report: Submission, full: Submission) -> bool:
    same_model = report.model == full.model if report.model and full.model else False
    beside = report.source.parent == full.source.parent
    return (report.tool, report.benchmark) == (full.tool, full.benchmark) and (same_model or beside)


def _measured(submission: Submission) -> int:
    """Items as a tool counts them: questions, or groups where it scores whole groups."""
    if submission.answers is not None:
        return len(submission.answers.ids)
    assert submission.scores is not None
    n, m, _ = submission.scores.scores.shape
    return n * m if submission.tool.startswith("lm") else n
