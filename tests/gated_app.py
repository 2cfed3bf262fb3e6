"""The app, whose runs wait at the gate of a test: `python tests/gated_app.py OPTIONS`, for `streamlit run app.py`."""

import sys

from streamlit.web.cli import main

from core.runs import engine

if __name__ == "__main__":
    engine.launch.__defaults__ = ("gated_worker",)
    sys.argv[1:1] = ["run", "app.py"]
    main()
