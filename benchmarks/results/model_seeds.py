"""Does a behaviour of a built-in model come from its recipe or its seed?

    python -m benchmarks.results.model_seeds NAME ...

Trains each model again with another seed (minutes; kept in --out), measures both on the validation and test groups of
the relation sets, and writes `assets/results/seeds.csv`. Nothing that is trained here is shipped.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from core.datasets import load
from core.metrics import groups as metrics
from core.pretrain._recipes import RELATION_SETS
from core.pretrain.model_folder import pretrain
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups

OUT = Path(__file__).resolve().parents[2] / "assets" / "results" / "seeds.csv"
SPLITS = ("validation", "test")


def rows(model: str, seed: int, source: str) -> list[dict[str, Any]]:
    """GroupScore and GroupMatch of one model on every set and split, in percent."""
    scorer, found = load_scorer(source), []
    for split in SPLITS:
        for name in RELATION_SETS:
            groups = load(name, split)
            measured = metrics.evaluate(
                score_groups(scorer, groups), groups.truth, ("group_score", "group_match")
            )
            for metric, e in measured.items():
                numbers = {key: round(getattr(e, key), 2) for key in ("value", "low", "high", "chance")}
                facts = {"model": model, "seed": seed, "split": split, "set": name, "metric": metric}
                found.append({**facts, **numbers, "ties": e.ties, "groups": len(groups)})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["clip", "siglip"], help="built-in models")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--out", type=Path, default=Path("build/seeds"), help="where the trained models are kept"
    )
    options = parser.parse_args()
    found = []
    for name in options.names:
        folder = options.out / f"{name}-{options.seed}"
        if not (folder / "model.safetensors").is_file():
            pretrain(name, folder, seed=options.seed)
        found += rows(name, 0, f"builtin/{name}") + rows(name, options.seed, str(folder))
    with OUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    print(f"{len(found)} rows in {OUT}")


if __name__ == "__main__":
    main()
