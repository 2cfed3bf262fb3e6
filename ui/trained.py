"""The shipped models of Cola's strategies, for the fields of the page that asks for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.base.errors import unknown_name
from core.scorers.cola_config import STRATEGIES
from core.scorers.hub import _trained_strategies
from core.scorers.model_folder import read_config
from core.scoring.load import scorer_names
from ui.selection import model_said


def trained_name(strategy: str) -> str:
    """What `load_scorer` finds a strategy's shipped model by."""
    return f"builtin/cola/{strategy}"


def trained_models() -> dict[str, str]:
    """Name -> what it is called, as short as a field of the sidebar needs it, in the order of the table of strategies:
    `MM-Pred, trained`."""
    folders = _trained_strategies()
    return {
        name: f"{strategy.label}, trained"
        for key, strategy in STRATEGIES.items()
        if (name := trained_name(key)) in folders
    }


def base_of(model: str) -> str:
    """The model that a shipped strategy was trained from."""
    return str(read_config(_trained_strategies()[model])["base"])


def in_words(model: str) -> str:
    """What a model is called; of any that is no strategy's and no run's its name."""
    return trained_models().get(model) or model_said(model)


def check_listed(model: str, models: Sequence[str]) -> None:
    """InputError, in the names that the list shows, of a word that is none of them and can be neither a folder nor
    USER/NAME of the hub. models : the other pages'."""
    if is_unlisted_word(model, models):
        raise unknown_name("model", model, [*models, *trained_models().values()])


def is_unlisted_word(model: str, models: Sequence[str]) -> bool:
    """Whether a model's name is of one word, which few names of the hub are, and in no list."""
    is_word = not {*"/:\\~."} & {*model} and not Path(model).exists()
    return is_word and model not in (*models, *trained_models())


def known_models() -> set[str]:
    """The models that a visitor of this page may name in public mode."""
    return {*scorer_names(), *trained_models()}
