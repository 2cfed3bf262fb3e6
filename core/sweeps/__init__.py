"""Sweeps: models x benchmarks x seeds x settings, on this machine or on a Ray cluster.

    _yaml_file.py     a YAML file as plain data
    _plan.py          what it says, checked, and its cells: each a description of a run, with a key of its content
    cells.py          which runs of the store are a cell's, and carrying out the others
    table.py          cells and results as data frames
    evaluate.py       scoring as a run, in shards of groups
    ray.py            the cluster: cells as Ray tasks that ask for GPUs, are retried and resume
    _node.py          what runs on a node
    _remote_store.py  the run store's interface on a node without it
    _driver_store.py  the run store as seen from a cluster; files arrive whole or not at all

Imports neither torch nor ray until something runs.
"""

from __future__ import annotations

from core.sweeps._plan import SweepPlan, read_plan

__all__ = ["SweepPlan", "read_plan"]
