"""A sweep on this machine: its cells through the run store's queue, a few at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from core.base.errors import InputError
from core.runs.store import RunStore, launch, resume
from core.sweeps.driver_store import set_queue
from core.sweeps.plan import SweepPlan
from core.sweeps.store import CellState, is_active, new_run, save_plan, states


def run_locally(
    store: RunStore,
    plan: SweepPlan,
    at_once: int = 2,
    tell: Callable[[str], None] | None = None,
    pause: float = 0.5,
    look: Callable[[], None] | None = None,
) -> list[CellState]:
    """Run every cell that is not finished and wait for it; the states as they stand then.

    A finished cell is never repeated, one at work is waited for, one that was cut short or failed goes on after its
    last iteration, once. Runs are processes of their own: whoever is interrupted here leaves those that were launched
    at work. at_once : runs that are launched at a time; how many of them work is the device queue's business.
    tell : called with a line of text for every run that is launched or ends. look : called after every pause.
    """
    say = tell or (lambda text: None)
    save_plan(store, plan)
    found = states(store, plan)
    waiting = [state for state in found if not state.done and not (state.run and state.run.live)]
    working = {state.run.id for state in found if state.run and state.run.live}
    say(f"{sum(s.done for s in found)} of {len(found)} cells are done, {len(working)} at work")
    while waiting or working:
        while waiting and len(working) < at_once:
            working.add(_start(store, waiting.pop(0), plan.name, say))
        for run_id in [run_id for run_id in working if not is_active(store, run_id)]:
            working.discard(run_id)
            with suppress(InputError):  # it was deleted
                run = store.get(run_id)
                say(f"{run.status} {run.id}  {run.title}" + (f": {run.error}" if run.error else ""))
        if working:
            time.sleep(pause)
        if look is not None:
            look()
    return states(store, plan)


def _start(store: RunStore, state: CellState, sweep: str, say: Callable[[str], None]) -> str:
    """Launch a cell's run, new or where it was cut short; its id."""
    if state.run is None:
        run = launch(store, new_run(store, state.cell, sweep).id)
        say(f"started {run.id}  {run.title}")
    else:
        # It may have been on a cluster: here it waits for its device, as every run.
        set_queue(store, state.run.id, state.cell.job.device)
        run = resume(store, state.run.id)
        say(f"resumed {run.id}  {run.title}")
    return run.id
