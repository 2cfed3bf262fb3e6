"""What leaves Crossmatch and comes back: groups, scores, matchings, metrics, curves, runs, figures, table rows.

| file | one job |
| --- | --- |
| `tables.py` | a table as CSV, Parquet, JSON lines or NPZ, and back with the same numbers |
| `frames.py` | matchings, metrics and curves as tables |
| `groups.py` | groups with their images as a folder, zip or Parquet file that `crossmatch add` reads |
| `runs.py` | a whole run as a folder or zip that another machine opens |
| `figures.py` | a figure as SVG, PNG, HTML or JSON |
| `pictures.py` | the browser that draws SVG and PNG, without network |
| `layouts.py` | results as rows in the layout of the papers' tables: Markdown, LaTeX |
"""
