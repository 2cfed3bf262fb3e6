"""Scorers: anything that turns images and captions into scores (METHODS 4)."""
