"""How the built-in models are made: `pretrain(name, out)` writes a model folder from a seed (DESIGN 1).

    RECIPES                        name -> Recipe: every choice behind a model
    pretrain(name, out, seed, ...) train one and write it: weights, configuration, processor, log, card
    pretrain_recipe(recipe, ...)   the same for a recipe of one's own

Data: data.py. Architectures: families.py. Loop: loop.py. What is written: folder.py, card.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.base.errors import unknown_name
from core.pretrain.recipes import RECIPES, Recipe

if TYPE_CHECKING:
    from core.pretrain.loop import Progress

__all__ = ["RECIPES", "Recipe", "pretrain", "pretrain_recipe"]


def pretrain(
    name: str,
    out: Path,
    seed: int = 0,
    steps: int | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Path:
    """Train the built-in model `name` from scratch and write its folder to `out`, which is returned.

    steps : fewer (or more) than the recipe's own. device : as torch names it. progress : called with what is being
    done and the share done. The weights depend on recipe, seed and steps alone, never on the clock (on one machine
    and device; another processor rounds differently). Raises InputError for an unknown name or a bad setting.
    """
    if name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    return pretrain_recipe(name, RECIPES[name], out, seed, steps, device, progress)


def pretrain_recipe(
    name: str,
    recipe: Recipe,
    out: Path,
    seed: int = 0,
    steps: int | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Path:
    """As `pretrain`, with a recipe of one's own; `name` appears in the card."""
    from core.pretrain.model_folder import pretrain_to_folder  # imports torch and transformers

    return pretrain_to_folder(
        name, recipe, Path(out), seed, steps, device, progress or (lambda what, share: None)
    )
