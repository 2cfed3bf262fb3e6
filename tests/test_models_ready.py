"""A model that is loaded in the background: once, where memory allows it, and only while a server runs."""

from threading import Event

import pytest

from core.base import limits
from ui import models_ready
from ui.models_ready import _ModelsReady

MODEL = "builtin/clip"


@pytest.fixture
def loaded(monkeypatch):
    """The models that were loaded, in order, and how to wait for the next one."""
    names, done = [], Event()

    def load(name):
        names.append(name)
        done.set()

    monkeypatch.setattr(models_ready, "load_scorer", load)

    def wait():
        assert done.wait(10)
        done.clear()
        return names

    return wait


def test_a_model_is_loaded_once_in_the_background_while_a_server_runs(loaded):
    with models_ready.models_ready(_ModelsReady(0)):
        models_ready.prepare([MODEL])
        models_ready.prepare([MODEL, "openai/clip-vit-base-patch32"])  # what does not ship is left alone
        assert loaded() == [MODEL]
        models_ready.prepare([MODEL, "builtin/siglip"])
        assert loaded() == [MODEL, "builtin/siglip"]


def test_without_a_server_no_model_is_loaded(monkeypatch):
    monkeypatch.setattr(models_ready, "load_scorer", lambda name: pytest.fail("loaded"))
    monkeypatch.setattr(models_ready, "Timer", lambda *_: pytest.fail("begun"))
    models_ready.prepare([MODEL])


@pytest.mark.parametrize(("public", "left"), [("", (2 << 30) - 1), ("1", (3 << 30) - 1)])
def test_none_is_loaded_where_memory_is_short_and_it_is_where_there_is_more(
    loaded, monkeypatch, public, left
):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", public)
    monkeypatch.setattr(limits, "memory_left", lambda: left)
    ready = _ModelsReady(0)
    ready.prepare([MODEL])
    assert not ready._asked
    monkeypatch.setattr(limits, "memory_left", lambda: left + 1)
    ready.prepare([MODEL])
    assert loaded() == [MODEL]


def test_a_model_that_cannot_be_loaded_is_logged_and_leaves_the_next_one_alone(monkeypatch):
    done, names, logged = Event(), [], []

    def load(name):
        names.append(name)
        if len(names) == 2:
            done.set()
        raise OSError("no such file")

    monkeypatch.setattr(models_ready, "load_scorer", load)
    monkeypatch.setattr(models_ready.log, "exception", lambda said, name: logged.append(said % name))
    _ModelsReady(0).prepare([MODEL, "builtin/siglip"])
    assert done.wait(10) and names == [MODEL, "builtin/siglip"]
    assert logged[0] == f"{MODEL} could not be loaded before it was asked for"
