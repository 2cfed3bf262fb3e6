"""Sweeps: models x benchmarks x seeds x settings, on this machine or on a Ray cluster.

    reading.py    the YAML file, checked: one sentence for every mistake
    plan.py       its cells: each a job of `core/ttm/run.py` or an evaluation, with a key of its content
    store.py      which runs of the store are a cell's; what is finished is never repeated
    local.py      the cells through the run store's own queue
    evaluate.py   scoring as a run, in shards of groups
    keeper.py     the run store as seen from a cluster; files arrive whole or not at all
    remote.py     the run store's interface on a node without it
    tasks.py      what runs on a node
    cluster.py    the driver: cells as Ray tasks that ask for GPUs, are retried and resume
    table.py      cells and results as data frames

Imports neither torch nor ray until something runs.
"""

from __future__ import annotations

from core.sweeps.plan import SweepCell, SweepPlan, read_plan

__all__ = ["SweepCell", "SweepPlan", "read_plan"]
