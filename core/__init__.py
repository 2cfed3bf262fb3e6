"""Crossmatch: everything that computes. Imports neither streamlit nor gradio."""
