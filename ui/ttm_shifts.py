"""Where test-time matching helps and where it does not: shipped runs of the built-in models on shifted pictures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.base.paths import assets
from core.base.text import _pct, _signed
from core.datasets import SHIFTS
from core.figures.ablations import ablations
from core.figures.text import escape_markdown
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from ui.export import csv_button
from ui.formatting import exact_differences_once, true_minus, wide_table

FILE, SIGNALS, BEFORE = "ttm_shifts.csv", "ttm_signals.csv", "builtin.csv"
_KEY = ["model", "benchmark", "shift"]


TITLE = "Where it helps and where it harms"


COUNTED = "how-lines-are-counted"  # the place on Papers that says how its counts fit the one below
TO_COUNTED = f"Papers#{COUNTED}"


def of_all() -> str:
    """In how many measurements GroupMatch rises and falls by single intervals, with the way to how they are counted; ""
    where none is shipped. Those with shifted pictures are on Papers, `both_counts`: two populations in a sentence could
    not be read aloud."""
    if not both_counts():
        return ""
    of, up, down = _clear_ones()
    return (
        f"**It does not always help.** In {of} measurements here, a model on a set each, GroupMatch [rises in {up} and "
        f"falls in {down}]({TO_COUNTED}) by single 95 % intervals, not corrected."
    )


def every_rise() -> str:
    """`61 of 108`, in how many measurements of the page on test-time matching GroupMatch rises, however little; ""
    where none is shipped."""
    rises, _, measured = _rise_and_fall() if both_counts() else (0, 0, 0)
    return f"{rises} of {measured}" if measured else ""


def both_counts() -> str:
    """In how many of the measurements of this page, with pictures as they are or shifted, GroupMatch rises and falls by
    the mean, beside how many of the papers' page do by single intervals; "" where none is shipped. The two counts stood
    on two pages and seemed to contradict each other."""
    table, kinds = _table(), (record_of_claims() or {}).get("lines", ())
    if table.empty or not kinds:
        return ""
    rises, falls, measured = _rise_and_fall()
    shifted = int((table["shift"] != "none").sum())
    of, up, down = _clear_ones()
    return (
        f"By the mean over seeds, GroupMatch rises in {rises} of {measured} measurements on Test-time matching and "
        f"falls in {falls}, however little; {shifted} of them have shifted pictures. The other {measured - shifted} "
        f"are among the {of} measurements of all sets and models on Papers: of those {of}, {up} rise and {down} fall "
        "by single 95 % intervals."
    )


def _clear_ones() -> tuple[int, int, int]:
    """Of how many measurements on Papers, how many rise and fall by single intervals."""
    kinds = (record_of_claims() or {}).get("lines", ())
    of, up, down = (sum(kind[name] for kind in kinds) for name in ("lines", "rises", "falls"))
    return of, up, down


def _rise_and_fall() -> tuple[int, int, int]:
    """In how many measurements GroupMatch rises and falls by the mean over seeds, and of how many."""
    gain = _table().gain
    return int((gain > 0).sum()), int((gain < 0).sum()), len(gain)


def record_of_claims() -> dict[str, Any] | None:
    """What `benchmarks.results.paper_claims` wrote; None where it is not shipped."""
    path = assets() / "results" / "paper_claims.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def section() -> None:
    """A model's runs, a line per set and shift; nothing where none is shipped."""
    table = _table()
    if table.empty:
        return
    shifted = table[table["shift"] != "none"]
    ends = true_minus(f"{shifted.gain.min():+.0f} to {shifted.gain.max():+.0f}")
    label = f"{TITLE}: {int(table.seeds.sum())} runs; on shifted pictures {ends} points"
    expander = st.expander(label, key="shifts", bind="query-params")
    if not expander.open:
        return
    with expander:
        models = list(dict.fromkeys(table.model))
        model = models[0]
        if len(models) > 1:
            model = st.segmented_control(
                "Model of these runs",
                models,
                default=model,
                required=True,
                key="shifts_model",
                bind="query-params",
            )
        else:
            st.markdown(f"Runs of {escape_markdown(model)}.")
        own = table[table.model == model].drop(columns="model")
        wide_table(_styled(own), height=min(38 + 35 * len(own), 390))
        st.caption(
            "GroupMatch in percent of 300 test groups: before with its exact 95 % interval (low, high), after the last "
            "iteration, with mean and standard deviation (±) over seeds. One seed has no deviation; its interval over "
            "groups is as wide as the one before. Unseen: compositions that no training scene holds. –: not measured."
            f"{exact_differences_once('shifts')}"
        )
        csv_button("All runs", _rows, "ttm-shifts")


def _styled(table: pd.DataFrame) -> Styler:
    """Numbers as they are read; the columns still sort as numbers."""
    numbers: dict[str, Any] = {name: _pct for name in table.columns if table[name].dtype == float}
    gains = {name: lambda x: true_minus(_signed(x)) for name in table.columns if name.startswith("gain")}
    return table.style.format({**numbers, **gains})


def measured_runs(model: str, benchmark: str, shape: tuple[int, int]) -> list[list[dict[str, Any]]]:
    """The shipped runs of a model on a set, with its shift where its name has one: per seed the records of its
    iterations, as `core.ttm.seeds.summary` takes them. All 300 test groups, the preset "builtin"; [] where none ship.

    shape : m images and k captions of its groups, whose chance levels the records have.
    """
    steps = _iterations()
    own = steps[(steps.model == model) & (steps.set == benchmark)].sort_values(["seed", "iteration"])
    chance = {name: 100 * METRICS[name].chance(*shape) for name in (GROUP_SCORE, GROUP_MATCH)}
    return [
        [
            {
                "seed": int(row["seed"]),
                "iteration": int(row["iteration"]),
                "metrics": {name: {"value": row[name], "chance": level} for name, level in chance.items()},
            }
            for row in seed.to_dict("records")
        ]
        for _, seed in own.groupby("seed")
    ]


def measured_before(model: str, benchmark: str) -> tuple[Estimate, int] | None:
    """GroupMatch of such runs before training with its exact interval, and their number of groups; None of none."""
    name, _, shift = benchmark.partition("~")
    rows = _rows() if shift else _as_they_are()
    own = rows[(rows.model == model) & (rows.benchmark == name) & (rows.part == "all")]
    if shift:
        own = own[(own["shift"] == shift) & (own.when == "before")]
    if own.empty:
        return None
    row = own.iloc[0]
    value, low, high, chance = (float(row[f"{GROUP_MATCH}{end}"]) for end in ("", "_low", "_high", "_chance"))
    return Estimate(value, low, high, chance, int(row[f"{GROUP_MATCH}_ties"])), int(row["groups"])


@st.cache_resource(max_entries=1, show_spinner=False)
def _as_they_are() -> pd.DataFrame:
    """GroupMatch of every built-in model on the sets as they are, under the names of columns that runs have."""
    rows = pd.read_csv(assets() / "results" / BEFORE)
    own = rows[rows.metric == GROUP_MATCH]
    return own.rename(
        columns={"value": GROUP_MATCH}
        | {end: f"{GROUP_MATCH}_{end}" for end in ("low", "high", "chance", "ties")}
    )


@st.cache_resource(max_entries=1, show_spinner=False)
def _iterations() -> pd.DataFrame:
    """Both metrics of every iteration of every run with the unchanged preset, of sets as they are and shifted ones."""
    columns = ["model", "set", "seed", "iteration", GROUP_SCORE, GROUP_MATCH]
    plain = _study()
    found = [plain.assign(set=plain.benchmark)]
    path = assets() / "results" / SIGNALS
    if path.is_file():
        steps = pd.read_csv(path, keep_default_na=False)
        found.append(
            steps.assign(set=steps.benchmark + np.where(steps["shift"] == "", "", "~" + steps["shift"]))
        )
    return pd.concat([rows[columns] for rows in found], ignore_index=True)


def _study() -> pd.DataFrame:
    """What the study of the settings has of test-time matching with the unchanged preset, on sets as they are."""
    study = ablations()
    return study[(study.kind == "ttm") & (study.setting == "preset") & (study.part == "all")]


@st.cache_resource(max_entries=1, show_spinner=False)
def _rows() -> pd.DataFrame:
    """A row per run, end (before, after) and part; of sets as they are the study's runs with the same preset."""
    path = assets() / "results" / FILE
    if not path.is_file():
        return pd.DataFrame()
    rows = pd.read_csv(path, keep_default_na=False)
    plain = _study()
    plain = plain[plain.model.isin(rows.model) & plain.benchmark.isin(rows.benchmark)]
    last = plain.groupby(["model", "benchmark", "seed"]).iteration.transform("max")
    ends = {"before": plain[plain.iteration == 0], "after": plain[plain.iteration == last]}
    found = pd.concat([own.assign(when=when, shift="") for when, own in ends.items()])
    chance = found[["chance"]].rename(columns={"chance": f"{GROUP_MATCH}_chance"})
    return _with_exact_intervals(
        pd.concat([found.join(chance).reindex(columns=rows.columns), rows], ignore_index=True)
    )


def _with_exact_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """The intervals that evaluate and Matching give for the same numbers: exact ones, of how many groups are right. The
    files were written when a bootstrap gave them."""
    found = rows.copy()
    for metric in (GROUP_MATCH, GROUP_SCORE):
        for groups, own in rows.groupby("groups"):
            count = int(str(groups))
            share = (own[metric] * count / 100).round() / count
            low, high = Estimate.interval_of_moments(share.to_numpy(), share.to_numpy(), count)
            found.loc[own.index, f"{metric}_low"], found.loc[own.index, f"{metric}_high"] = (
                100 * low,
                100 * high,
            )
    return found


@st.cache_resource(max_entries=1, show_spinner=False)
def _table() -> pd.DataFrame:
    """A line per model, set and shift: both ends and the gains of all, seen and unseen compositions."""
    rows = _rows()
    if rows.empty:
        return rows
    ends = dict(iter(rows.groupby("when")))
    before, after = (ends[when].groupby([*_KEY, "part"], sort=False) for when in ("before", "after"))
    first, last = before.first(), after[GROUP_MATCH].agg(["mean", "std", "count"])
    gain = (last["mean"] - first[GROUP_MATCH]).unstack("part")
    whole = first.xs("all", level="part")
    done = last.xs("all", level="part")
    found = pd.DataFrame(
        {
            "gain": done["mean"] - whole[GROUP_MATCH],
            "before": whole[GROUP_MATCH],
            "low": whole[f"{GROUP_MATCH}_low"],
            "high": whole[f"{GROUP_MATCH}_high"],
            "after": done["mean"],
            "±": done["std"],
            "seeds": done["count"],
            "chance": whole[f"{GROUP_MATCH}_chance"],
            "gain, seen": gain["seen"],
            "gain, unseen": gain["unseen"],
            "GroupScore before": whole[GROUP_SCORE],
            "GroupScore after": after[GROUP_SCORE].mean().xs("all", level="part"),
        }
    ).reset_index()
    # Sets as they are first, then the shifts in the order of every list.
    order = found["shift"].map({name: i for i, name in enumerate(("", *SHIFTS))})
    found = found.assign(order=order).sort_values(["model", "benchmark", "order"]).drop(columns="order")
    found["shift"] = found["shift"].replace("", "none")
    found["benchmark"] = found["benchmark"].str.removeprefix("scenes/")
    return found.rename(columns={"benchmark": "set"})
