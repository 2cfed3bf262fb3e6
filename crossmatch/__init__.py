"""Crossmatch: a workbench for compositional image-text matching."""
