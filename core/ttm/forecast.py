"""Will test-time matching help? A forecast of the change of GroupMatch from the scores before it, which reads no label.

A ridge regression on a few shares that anybody can look at (`_signals.py`), fitted to measured runs and judged on sets,
shifts and models that were left out: `python -m benchmarks.results.forecast` writes assets/results/ttm_forecast.json
and says how good it is. It speaks only of what it was measured on, the built-in models with their preset, and says
"cannot tell" of all else and wherever its interval holds no change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from core.base.paths import assets
from core.base.text import _signed, _signed_range, counted
from core.ttm._signals import first_signals
from core.ttm.config import PRESETS
from core.ttm.run import AdaptationRun, TTMRun

_FILE = "ttm_forecast.json"
_WIDER = 0.1  # of a signal's range, by which it may leave that range
_CANNOT = "cannot tell"


class Forecast(NamedTuple):
    """What a run is likely to change GroupMatch by, in points; NaN where nothing is known, `why` then says it."""

    gain: float = nan
    low: float = nan
    high: float = nan
    level: float = nan  # share of left-out runs whose change was inside such an interval
    why: str = ""  # goes on after "No forecast for this run: "
    measured: float = nan  # what measured runs of this model on this set changed it by, their mean
    runs: int = 0  # how many those are

    @property
    def verdict(self) -> str:
        """In words: `likely +5 to +15`, `likely to harm (-8 to -2)`, `cannot tell`."""
        if isnan(self.gain) or self.low <= 0 <= self.high:
            return _CANNOT
        return f"likely {self.span}" if self.low > 0 else f"likely to harm ({self.span})"

    @property
    def span(self) -> str:
        """The interval: `+5 to +15`."""
        return f"{_signed_range(self.low, self.high, 0)}"

    @property
    def _direction(self) -> str:
        return "rise" if self.low > 0 else "fall"

    def numbers(self) -> dict[str, float]:
        """Change and interval in points, and the level."""
        return {"gain": self.gain, "low": self.low, "high": self.high, "level": self.level}

    def sentence(self, change: float | None = None) -> str:
        """One line for people; change : what a finished run changed GroupMatch by, where truth is known."""
        if isnan(self.gain):
            return f"No forecast for this run: {self.why}"
        change_is = "may rise or fall" if self.low <= 0 <= self.high else f"will likely {self._direction}"
        line = f"Forecast from the scores before the run, without labels: GroupMatch {change_is}, {self.span} points."
        if change is None:
            tested = f"In tests on other sets the mean of a few runs ended inside in {100 * self.level:.0f} % of cases."
            return f"{self._here}{line} {tested}"
        inside = "inside" if self.low <= change <= self.high else "outside"
        return f"{line} It changed by {_signed(change)}, {inside} of the interval {self.span}."

    @property
    def _here(self) -> str:
        """How measured runs on this very set ended, which is known better than any forecast."""
        if not self.runs:
            return ""
        held = "inside" if self.low <= self.measured <= self.high else "outside"
        mean = " on average" if self.runs > 1 else ""
        runs = f"{counted(self.runs, 'run')} of this model on this set changed GroupMatch"
        return f"Measured: {runs} by {_signed(self.measured)} points{mean}, {held} the forecast. "

    @staticmethod
    def partner(model: str) -> str:
        """The model that a built-in model is compared with."""
        return "builtin/siglip" if model == "builtin/clip" else "builtin/clip"

    @classmethod
    def of(cls, run: AdaptationRun, scores_of: Callable[[str], np.ndarray]) -> Forecast:
        """Of a run. scores_of : gives the scores (n, m, k) of its groups by a model's name; asked only where it counts,
        for the run's own model and for its `partner`."""
        fitted = _fitted()
        why = _outside(run, fitted)
        if fitted is None or why:
            return cls(why=why)
        signals = first_signals(scores_of(run.model), None, {"other": scores_of(cls.partner(run.model))})
        for name in fitted["signals"]:
            low, high = fitted["range"][name]
            spare = _WIDER * (high - low)
            if not low - spare <= signals[name] <= high + spare:
                seen = f"{low:.2f} to {high:.2f}"
                had = f"{_WORDS[name]} of {signals[name]:.2f}, and the runs that forecasts are based on had {seen}"
                return cls(why=f"it has {had}.")
        gain = _predicted(fitted, signals)
        here = fitted.get("measured", {}).get(run.model, {}).get(run.benchmark, {})
        known = {"measured": here["change"], "runs": here["runs"]} if here else {}
        return cls(gain, gain + fitted["below"], gain + fitted["above"], fitted["coverage"], **known)


_WORDS = {
    "consistency": "a self-consistency",
    "other": "an agreement with a second model",
    "other_sure": "an agreement of the surest fifth with a second model",
    "margin_low": "a smallest margin",
    "margin": "a median margin",
    "margin_high": "a largest margin",
    "chance": "a chance level",
}


def _predicted(fitted: Mapping[str, Any], signals: Mapping[str, float]) -> float:
    """Points of GroupMatch: intercept and weights times standardised signals."""
    return fitted["intercept"] + sum(
        fitted["weights"][name] * (signals[name] - fitted["centre"][name]) / fitted["scale"][name]
        for name in fitted["signals"]
    )


def _outside(run: AdaptationRun, fitted: Mapping[str, Any] | None) -> str:
    """Why a run is of no kind that was measured; "" where it is."""
    if fitted is None:
        return "no forecast has been fitted."
    if run.model not in fitted["models"] or not run.benchmark.startswith("scenes/"):
        models = " and ".join(fitted["models"])
        return f"forecasts are based on runs of {models} on the built-in sets, and made for such runs alone."
    own = {**run.settings.to_dict(), "seed": 0}
    other = {
        "test-time matching": not isinstance(run, TTMRun),
        "the unchanged preset 'builtin'": own != PRESETS["builtin"].config.to_dict() or bool(run.oracle),
        "all groups": bool(run.groups or run.tags),
        "one part, without a transfer check": run.adapt_on is not None,
    }
    missed = [what for what, is_other in other.items() if is_other]
    if other["test-time matching"]:  # whose settings are others anyway
        missed = missed[:1]
    if missed:
        return f"forecasts are based on runs with {' and '.join(missed)} alone, and this run is another."
    return ""


@lru_cache(maxsize=1)
def _fitted() -> dict[str, Any] | None:
    path = assets() / "results" / _FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
