"""The app, whose runs wait at the gate of a test: `python tests/gated_app.py OPTIONS`, for `streamlit run app.py`."""

import sys

from streamlit.web.cli import main

from core.runs import engine, standby

if __name__ == "__main__":
    engine.launch.__defaults__ = ("gated_worker",)
    standby.prepare = lambda: (
        None
    )  # one of `core.worker` would take ten seconds of a processor and be of no use here
    sys.argv[1:1] = ["run", "app.py"]
    main()
