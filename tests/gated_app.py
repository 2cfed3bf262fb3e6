"""The app, whose runs wait at the test's gate: `python tests/gated_app.py OPTIONS`, as `streamlit run app.py OPTIONS`."""

import sys

from streamlit.web.cli import main

from core import runs

if __name__ == "__main__":
    runs.launch.__defaults__ = ("gated_worker",)
    sys.argv[1:1] = ["run", "app.py"]
    main()
