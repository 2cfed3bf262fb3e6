"""The card of a model that was adapted at test time: what it was adapted to, how, and what it measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.base.text import _pct
from core.runs.models import public

_METHODS = {"ttm": "test-time matching", "simplematch": "SimpleMatch"}


def card(config: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], library: str = "crossmatch") -> str:
    """A model card in the hub's format: what was adapted to what, how, and what it measured before and after.

    steps : records of all iterations, from 0 on. library : what loads the folder by itself.
    """
    shown, first, last = public(config), steps[0], steps[-1]
    kind = next((kind for kind in _METHODS if kind in config), "ttm")
    oracle = "\n\n**Oracle run: it was trained with knowledge of the truth.**" if config.get("oracle") else ""
    settings = json.dumps(shown, indent=1, ensure_ascii=False)
    return f"""{_front_matter(config, library)}
# {shown["model"]} adapted to {shown["benchmark"]} by {_METHODS[kind]}{oracle}

- base model: `{shown["model"]}`
- groups: {last["n_groups"]} of {last["shape"]} from `{shown["benchmark"]}`, split `{config.get("split") or "test"}`
- {"iterations" if kind == "ttm" else "rounds"}: {last["iteration"]}; the last one is the result
- no label was used{", but for the oracle's selection" if config.get("oracle") else ""}

{_results(first, last)}

```json
{settings}
```
"""


def _front_matter(config: Mapping[str, Any], library: str) -> str:
    lines = ["---", f"library_name: {library}", "pipeline_tag: zero-shot-image-classification"]
    model = str(config["model"])
    if model.count("/") == 1 and not model.startswith(("builtin/", "/", ".")) and ":" not in model:
        lines.append(f"base_model: {model}")
    return "\n".join([*lines, "tags: [crossmatch, test-time-matching]", "---"])


def _results(first: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """Tables of metrics before and after; of a transfer check one for each part."""
    interval = "percent, with 95 % intervals over groups."
    if "parts" not in last:
        text = f"The model was adapted to the very groups it is measured on; {interval}"
        return f"{text}\n\n{_table(first['metrics'], last['metrics'])}"
    told = {"adapted": "groups it was adapted to", "untouched": "groups it never trained on"}
    return "\n\n".join(
        f"On the {last['parts'][name]['n_groups']} {what}; {interval}\n\n"
        + _table(first["parts"][name]["metrics"], last["parts"][name]["metrics"])
        for name, what in told.items()
    )


def _table(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    rows = ["| metric | before | after | chance | ties after |", "| --- | --- | --- | --- | --- |"]
    for name, now in after.items():
        cells = [
            f"{_pct(e['value'], 2)} [{_pct(e['low'], 2)}, {_pct(e['high'], 2)}]" for e in (before[name], now)
        ]
        ties = "–" if now["ties"] is None else now["ties"]
        rows.append(f"| {name} | {cells[0]} | {cells[1]} | {_pct(now['chance'], 2)} | {ties} |")
    return "\n".join(rows)


def library_of(folder: Path) -> str:
    """What loads a model folder without Crossmatch; Crossmatch where nothing does."""
    if (folder / "open_clip_config.json").is_file():
        return "open_clip"
    known = ("processor_config.json", "preprocessor_config.json")
    return "transformers" if any((folder / name).is_file() for name in known) else "crossmatch"
