"""Results of ours in the formats by which others exchange them, and read back.

| name | written as | source |
| --- | --- | --- |
| every-eval-ever | JSON, schema 0.3.0 | evaleval/every_eval_ever 0.3.0, `eval.schema.json` |
| eval-results | YAML for a model's `.eval_results/` | huggingface_hub 2.4, `_eval_results.py` |
| mteb | JSON as MTEB's `TASK.json` | mteb 2.26.24, `results/task_result.py` |
| model-index | YAML, the front matter of a model card | huggingface_hub 2.4, `repocard_data.py` |

All hold the metrics in percent but MTEB's and Every Eval Ever's, which take shares of 1. What a format has no place for
(interval, chance, ties) is in its free fields where it has any, and otherwise not there.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from itertools import accumulate
from pathlib import Path
from typing import Any

from core.base.errors import InputError, unknown_name
from core.base.files import storage_errors, write_bytes
from core.base.text import counted
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_SCORE, IMAGE_SCORE, METRICS, TEXT_SCORE, headline_metrics
from core.metrics.statistics import Estimate
from core.rejudge._submission import MTEB, Submission, check_version, name_of_part

_EEE, _HUB, _CARD = "Every Eval Ever", "eval_results", "model-index"
_MOST_YAML = 1_000_000  # characters; a model card's front matter has some thousand
_MOST_DEPTH = 100
_SCHEMA = "0.3.0"
_NO_REVISION = "unknown"  # what a result of ours says of its data set
_TYPE = "image-text-matching"
_OURS = "crossmatch"


def write_results(
    path: Path, form: str, evaluation: Evaluation, model: str, benchmark: str, split: str
) -> None:
    """Every metric of an evaluation in one of `RESULT_FORMATS`, whole or not at all."""
    if form not in RESULT_FORMATS:
        raise unknown_name("format of results", form, RESULT_FORMATS)
    write, ending = RESULT_FORMATS[form]
    if path.suffix.lower() not in ending:
        raise InputError(
            f"{path} cannot be written; results as {form} are a file that ends in {' or '.join(ending)}."
        )
    text = write(evaluation, model, benchmark, split)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, text.encode())


def _version() -> str:
    try:
        return version(_OURS)
    except PackageNotFoundError:  # a checkout on the path
        return "unknown"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def _yaml(value: Any) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


# --- Every Eval Ever


def _every_eval_ever(evaluation: Evaluation, model: str, benchmark: str, split: str) -> str:
    now = f"{time.time():.3f}"
    m, k = evaluation.shape
    return _json(
        {
            "schema_version": _SCHEMA,
            "evaluation_id": f"{benchmark}/{model}/{now}",
            "retrieved_timestamp": now,
            "source_metadata": {
                "source_name": "Crossmatch",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": _OURS, "version": _version()},
            "model_info": {
                "name": model,
                "id": model,
                "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
            },
            "evaluation_results": [
                {
                    "evaluation_result_id": f"{benchmark}/{name}",
                    "evaluation_name": benchmark,
                    "source_data": {
                        "dataset_name": benchmark,
                        "source_type": "other",
                        "additional_details": {"split": split, "shape": f"{m}x{k}"},
                    },
                    "metric_config": {
                        "metric_id": f"crossmatch.{name}",
                        "metric_name": METRICS[name].label if name in METRICS else name,
                        "metric_kind": "accuracy",
                        "metric_unit": "proportion",
                        "lower_is_better": False,
                        "score_type": "continuous",
                        "min_score": 0.0,
                        "max_score": 1.0,
                    },
                    "score_details": _details(found, len(evaluation.scores)),
                }
                for name, found in evaluation.metrics.items()
            ],
        }
    )


def _details(found: Estimate, groups: int) -> dict[str, Any]:
    interval = {"lower": found.low / 100, "upper": found.high / 100, "confidence_level": 0.95}
    details = {"chance": f"{found.chance / 100:.6f}"}
    if found.ties is not None:
        details["tied_groups"] = str(found.ties)
    uncertainty = {"confidence_interval": interval, "num_samples": groups}
    return {"score": found.value / 100, "details": details, "uncertainty": uncertainty}


def _read_every_eval_ever(path: Path, value: dict[str, Any]) -> Iterator[Submission]:
    if str(value["schema_version"]).split(".")[:2] != _SCHEMA.split(".")[:2]:
        raise InputError(
            f"{path} follows Every Eval Ever's schema {value['schema_version']}, and {_SCHEMA} is read here; convert "
            "it with every_eval_ever."
        )
    found: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for row in value["evaluation_results"]:
        name, metric, details = str(row["evaluation_name"]), row["metric_config"], row["score_details"]
        factor = 1 if metric.get("metric_unit") == "percent" else 100
        key = str(metric.get("metric_id") or metric.get("metric_name") or "score").removeprefix(f"{_OURS}.")
        found.setdefault(name, {})[key] = factor * float(details["score"])
        if "num_samples" in details.get("uncertainty", {}):
            counts[name] = int(details["uncertainty"]["num_samples"])
    model, library = str(value["model_info"]["name"]), value["eval_library"]
    for name, reported in found.items():
        tool = f"{_EEE}, {library['name']}"
        yield Submission(
            path,
            tool,
            model,
            name,
            reported=reported,
            count=counts.get(name),
            version=str(library["version"]),
        )


# --- Hugging Face


def _eval_results(evaluation: Evaluation, model: str, benchmark: str, split: str) -> str:
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return _yaml(
        [
            {
                "dataset": {"id": benchmark, "task_id": name},
                "value": round(found.value, 4),
                "date": today,
                "notes": f"{model}, split {split}: {found}; {counted(len(evaluation.scores), 'group')}",
            }
            for name, found in evaluation.metrics.items()
        ]
    )


def _read_eval_results(path: Path, value: list[dict[str, Any]]) -> Iterator[Submission]:
    found: dict[str, dict[str, float]] = {}
    for row in value:
        found.setdefault(str(row["dataset"]["id"]), {})[str(row["dataset"]["task_id"])] = float(row["value"])
    for name, reported in found.items():
        yield Submission(path, _HUB, "", name, reported=reported)


def _model_index(evaluation: Evaluation, model: str, benchmark: str, split: str) -> str:
    metrics = [
        {
            "type": name,
            "name": METRICS[name].label if name in METRICS else name,
            "value": round(found.value, 4),
        }
        for name, found in evaluation.metrics.items()
    ]
    result = {
        "task": {"type": _TYPE, "name": "Compositional image-text matching"},
        "dataset": {"name": benchmark, "type": benchmark, "split": split},
        "metrics": metrics,
    }
    return f"---\n{_yaml({'model-index': [{'name': model, 'results': [result]}]})}---\n"


def _read_model_index(path: Path, value: dict[str, Any]) -> Iterator[Submission]:
    for entry in value["model-index"]:
        for result in entry["results"]:
            reported = {str(m["type"]): float(m["value"]) for m in result["metrics"]}
            yield Submission(
                path, _CARD, str(entry["name"]), str(result["dataset"]["name"]), reported=reported
            )


# --- MTEB


def _mteb(evaluation: Evaluation, model: str, benchmark: str, split: str) -> str:
    shares = {name: found.value / 100 for name, found in evaluation.metrics.items()}
    main = next(name for name in headline_metrics() if name in shares)
    named = {"text_acc": TEXT_SCORE, "image_acc": IMAGE_SCORE, "accuracy": GROUP_SCORE}
    theirs = {name: shares[ours] for name, ours in named.items() if ours in shares}
    row = {**theirs, **shares, "main_score": shares[main], "hf_subset": "default", "languages": ["eng-Latn"]}
    return _json(
        {
            "dataset_revision": _NO_REVISION,
            "task_name": benchmark,
            "mteb_version": None,
            "scores": {split: [row]},
            "evaluation_time": None,
            "kg_co2_emissions": None,
        }
    )


def _read_mteb(path: Path, value: dict[str, Any], model: str) -> Iterator[Submission]:
    """The numbers of each subset and split."""
    told = str(value.get("mteb_version") or "")
    check_version(path, MTEB, told)
    rows = [(split, row) for split, found in value["scores"].items() for row in found]
    if not rows:
        raise InputError(f"{path} holds no numbers; run its task again.")
    known = ("text_acc", "image_acc", "accuracy", *METRICS)
    task, revision = str(value["task_name"]), str(value.get("dataset_revision") or "")
    for split, row in rows:
        reported = {name: 100 * float(row[name]) for name in known if isinstance(row.get(name), int | float)}
        if not reported:
            raise InputError(
                f"{path} reports no accuracy of pairs (text_acc, image_acc, accuracy); choose a task of MTEB's type "
                "Compositionality."
            )
        yield Submission(
            path,
            MTEB,
            model,
            task if len(rows) == 1 else name_of_part(task, str(row.get("hf_subset", "default")), str(split)),
            reported=reported,
            version=told,
            revision="" if revision == _NO_REVISION else revision,
        )


# Name -> writer to text, and how the file's name ends.
RESULT_FORMATS: dict[str, tuple[Callable[[Evaluation, str, str, str], str], tuple[str, ...]]] = {
    "every-eval-ever": (_every_eval_ever, (".json",)),
    "eval-results": (_eval_results, (".yaml", ".yml")),
    "mteb": (_mteb, (".json",)),
    "model-index": (_model_index, (".md", ".yaml", ".yml")),
}


def read_json_results(path: Path, value: Any, model: str) -> list[Submission] | None:
    """The numbers of a JSON file of results; None where it is none of these formats. model : where a file beside it
    names one."""
    if not isinstance(value, dict):
        return None
    if {"schema_version", "evaluation_results"} <= value.keys():
        return list(_read_every_eval_ever(path, value))
    if {"task_name", "scores", "mteb_version"} <= value.keys():
        return list(_read_mteb(path, value, model))
    if "mteb_dataset_name" in value:
        raise InputError(
            f"{path} is a result of MTEB 1.0 or older; convert it with MTEB 2, or run the task again."
        )
    return None


def _check_yaml(path: Path, text: str) -> None:
    """Raises InputError for YAML that would unfold, or take time that grows with the square of its length."""
    import yaml

    too_deep = f"{path} is nested too deeply; results are tables."
    if len(text) > _MOST_YAML:
        raise InputError(f"{path} has more than {_MOST_YAML:,} characters of YAML; results are short.")
    # The scanner looks through all open brackets at every further one, before it reports the first.
    steps = (1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", text))
    if max(accumulate(steps), default=0) > _MOST_DEPTH:
        raise InputError(too_deep)
    depth = 0
    for event in yaml.parse(text):
        if isinstance(event, yaml.AliasEvent):
            raise InputError(f"{path} has aliases (*name), which are not read; write the values out.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_DEPTH:
            raise InputError(too_deep)


def read_yaml_results(path: Path, text: str) -> list[Submission]:
    """The numbers of `.eval_results` and of a model card's front matter. InputError for any other YAML."""
    import yaml

    if text.startswith("---"):  # the front matter alone; the card's text follows it
        text = text.split("\n---", 1)[0]
    try:
        _check_yaml(path, text)
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(
            f"{path} is not YAML ({' '.join(str(error).split())[:120]}); save it again."
        ) from None
    if isinstance(value, list) and value and all(isinstance(row, dict) and "dataset" in row for row in value):
        return list(_read_eval_results(path, value))
    if isinstance(value, dict) and isinstance(value.get("model-index"), list):
        return list(_read_model_index(path, value))
    raise InputError(
        f"{path} has neither `model-index` nor results as in `.eval_results`; choose another file."
    )
