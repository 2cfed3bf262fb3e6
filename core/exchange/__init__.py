"""What comes in and what leaves: your own sets, groups, scores, metrics, curves, runs, models, figures, reports.

| file | one job |
| --- | --- |
| `importing.py` | a user's folder, zip or table: staged, previewed, added as `mine/NAME` |
| `columns.py` | what the columns of its table mean |
| `_import_rows.py` | its rows as groups, every fault with row and column |
| `_import_images.py` | its images: found, verified, stored by content |
| `import_hub.py`, `fetch.py` | data sets of the Hugging Face hub; public benchmarks |
| `frames.py` | matchings, metrics and curves as tables |
| `groups.py` | groups with their images as a folder, zip or Parquet file that `crossmatch add` reads |
| `runs.py`, `model.py` | a whole run that another machine opens; its adapted model |
| `_packing.py` | a folder or zip, whole or not at all |
| `figures.py`, `_kaleido_render.py` | a figure as SVG, PNG, HTML or JSON; the browser that draws it, without network |
| `layouts.py`, `report.py` | results in the layout of the papers' tables; as one page |
| `seeds.py` | several seeds as one result, for both |

Tables are read and written in `core/base/table_formats.py`.
"""
