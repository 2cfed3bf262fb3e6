"""Drives the pages from app.py without a browser: the fixture `app` (everywhere, by conftest.py) and its readers."""

import functools
import os
import shutil
import sys
from pathlib import Path

import drawn_once
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from core.scenes import render

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 600.0  # seconds that one run of a page may take on a busy machine

# A server does these once; AppTest does them at every click: it looks for components in every installed distribution
# (a fifth of a second) and compiles the page.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)
app_test.ScriptCache = local_script_runner.ScriptCache = functools.cache(ScriptCache)


def whole_app():
    """The app before its first run."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)


@pytest.fixture(scope="session")
def scored_home(tmp_path_factory):
    """A home whose score cache the first page has filled: every test starts from a copy of it."""
    home = tmp_path_factory.mktemp("scored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSMATCH_HOME", str(home))
        whole_app().run()
    return home


@pytest.fixture
def fresh_pages():
    """For a test that changes what pages load: they have kept nothing from before, and keep nothing for others."""
    forget_pages()
    yield
    forget_pages()


def forget_pages():
    """Nothing that pages have kept is there any more, the files that they have measured among it."""
    for kept in (st.cache_data, st.cache_resource):
        kept.clear()
    if files := sys.modules.get("ui.uploads"):
        files._measured.__init__(files._measured._budget)


@pytest.fixture(scope="session", autouse=True)
def drawn_folder(tmp_path_factory):
    """The folder of drawn scenes: one for all workers, and for the servers that they start."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "drawn"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(drawn_once.VARIABLE, str(folder))
        yield


@pytest.fixture
def open_page(scored_home, tmp_path, monkeypatch):
    """Opens a page with query parameters, on a home of its own."""
    monkeypatch.setattr(render, "_render", drawn_once.drawn)
    home = tmp_path / "home"
    shutil.copytree(scored_home, home, dirs_exist_ok=True)
    monkeypatch.setenv("CROSSMATCH_HOME", str(home))

    def start(page=None, /, **query):
        test = whole_app()
        for name, value in query.items():
            test.query_params[name] = value
        if page:
            test.switch_page(page)
        return test.run()

    return start


@pytest.fixture
def app(open_page):
    """Opens a page; the answer is checked for exceptions and error boxes."""
    return lambda page=None, /, **query: fine(open_page(page, **query))


def fine(test):
    assert not test.exception
    assert not test.error, [e.value for e in test.error]
    return test


def text(test):
    """Everything a reader sees as text."""
    kinds = ("title", "header", "subheader", "markdown", "caption", "text", "info", "success", "warning")
    shown = "\n".join(str(e.value) for kind in kinds for e in getattr(test, kind))
    return shown.replace("\u00a0", " ").replace("\u2060", "")  # where no line ends


def html(test):
    """What is written as HTML, without the style and the scripts of every page."""
    bodies = (e.proto.body for e in test.get("html"))
    return "\n".join(body for body in bodies if "<style>" not in body and "<script>" not in body)


def button(test, label):
    found = [b for b in test.button if b.label == label]
    assert found, f"{label} is not among {[b.label for b in test.button]}"
    return found[0]
