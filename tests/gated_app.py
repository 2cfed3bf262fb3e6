"""The app, whose runs wait at the gate of a test: `python tests/gated_app.py OPTIONS`, for `streamlit run app.py`."""

import os
import sys

import drawn_once
from streamlit.web.cli import main

from core.runs import engine, standby
from core.scenes import render

if __name__ == "__main__":
    if drawn_once.VARIABLE in os.environ:
        render._render = drawn_once.drawn
    engine.launch.__defaults__ = ("gated_worker",)
    standby.prepare = lambda: (
        None
    )  # one of `core.worker` would take ten seconds of a processor and be of no use here
    sys.argv[1:1] = ["run", "app.py"]
    main()
