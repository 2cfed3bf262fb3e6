"""Crossmatch: everything that computes. Imports neither streamlit nor gradio."""

import os

# Torch's threads spin while they wait. Beside an app, a browser or a second run on a few cores that costs up to seven
# times the run's own time (measured: one TTM iteration 120 s spinning, 17 s asleep, load 6 on two cores). Read by the
# OpenMP runtime when torch is first imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
