"""What a run can be: every kind by its name, each a `core.runs.description.RunDescription`."""

from __future__ import annotations

# As words, because with numpy, torch and the rest a kind is imported once a run's turn has come: a worker that waits in
# the queue is 20 MB, not 400.
RUN_KINDS = {
    "ttm": "core.ttm.run:TTMRun",
    "simplematch": "core.ttm.run:SimpleMatchRun",
    "ledger": "core.ttm.run:LedgerRun",
    "adapt": "core.cola.run:StrategyRun",
    "evaluate": "core.sweeps.evaluate:EvaluationRun",
    "measure": "core.papers.measurement_run:MeasurementRun",
}

# How long a run of a kind is expected to take in all: a function of the store, its description and the record of an
# iteration; by the pace alone of a kind that has none.
_FORETOLD = {
    "ttm": "core.ttm.time_left:_foretold",
    "simplematch": "core.ttm.time_left:_foretold",
    "adapt": "core.cola.run_time:_foretold",
}
