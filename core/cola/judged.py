"""What a strategy's run is judged by: the test queries where they have been measured, else the validation queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.metrics.retrieval import COLA_MAP


def _judged_by(steps: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[str, list[list[dict[str, Any]]]]:
    """Which queries the Cola mAP of some runs of one strategy is of, `test` or `validation`, and the first and the last
    record of each run with the metrics of these alone.

    steps : the records of every run. Test queries count where every run has measured them after training: a run does
    so before its first and after its last epoch, and on validation queries after every epoch, where it has some.
    """
    ends = [[*records[:1], *records[1:][-1:]] for records in steps]
    if all(len(records) == 2 and records[-1].get("test") for records in ends):
        return "test", [[_of_test(record) for record in records] for records in ends]
    return "validation", [[dict(record) for record in records] for records in ends]


def _of_test(record: Mapping[str, Any]) -> dict[str, Any]:
    found = (record.get("test") or {}).get("retrieval", {}).get(COLA_MAP, {})
    return {**record, "metrics": {COLA_MAP: found["all"]} if "all" in found else {}}
