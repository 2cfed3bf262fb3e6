"""Written tables and reports as others read them: pandas, NumPy and json."""

import json
import re

import numpy as np
import pandas as pd


def read_written(path, like=None):
    """A table in any format that is written. like : a table whose columns of text are texts here too."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return pd.DataFrame({name: arrays[name] for name in arrays.files})
    if path.suffix == ".jsonl":
        lines = (json.loads(line) for line in path.read_text("utf-8").splitlines())
        return pd.DataFrame([{k: np.nan if v is None else v for k, v in line.items()} for line in lines])
    texts = [] if like is None else [name for name in like if like[name].dtype.kind not in "iufb"]
    numbers = [name for name in pd.read_csv(path, nrows=0).columns if name not in texts]
    return pd.read_csv(
        path,
        dtype=dict.fromkeys(texts, str),
        keep_default_na=False,
        na_values={name: [""] for name in numbers},
        float_precision="round_trip",
    )


def read_report(path):
    """The numbers that lie in a report: one record per section."""
    (data,) = re.findall(
        r'<script type="application/json" id="crossmatch">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    return json.loads(data)["sections"]


def read_latex(latex):
    """What a small reader of LaTeX makes of a table: its columns and rows, an interval in the cell of its value.

    It fails where a table is not whole, where braces are not closed, and where a row or the remarks below it begin as
    an option of the line above.
    """
    assert r"\usepackage{booktabs}" in latex.splitlines()[0]
    lines = [line for line in latex.splitlines() if not line.startswith("%")]
    bare = re.sub(r"\\[{}\\]", "", "\n".join(lines))
    depth = np.cumsum([(c == "{") - (c == "}") for c in bare])
    assert depth.min() >= 0 and depth[-1] == 0
    if lines[0].startswith("{"):  # wider than the text of a paper otherwise
        assert lines.pop(lines.index(r"\end{tabular}") + 1) == "}"
        assert re.fullmatch(r"\{(\\small|\\footnotesize)?\\setlength\{\\tabcolsep\}\{[34]pt\}", lines.pop(0))
    end = lines.index(r"\end{tabular}")
    assert lines[end + 1 :] == [] or (
        lines[end + 1] == r"\par\smallskip" and re.fullmatch(r"\{\\footnotesize .*\\par\}", lines[end + 2])
    )
    lines = lines[: end + 1]
    columns = re.sub(r"p\{\d+pt\}", "p", lines[0].removeprefix(r"\begin{tabular}{").removesuffix("}"))
    assert lines[1] == r"\toprule" and lines[3] == r"\midrule"
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = [line.removesuffix(r" \\") for line in (lines[2], *lines[4:-2]) if line != r"\midrule"]
    assert not any(row[0] in "[*" for row in rows)
    cells = [row.split(" & ") for row in rows]
    assert all(len(row) == len(columns) for row in cells)
    found: list[list[str]] = []
    for row in cells:  # intervals stand below their values
        if row[0].strip() or not all(cell == "" or cell.startswith(r"{\scriptsize [") for cell in row[1:]):
            found.append(row)
        else:
            found[-1] = [" ".join(filter(None, both)) for both in zip(found[-1], row, strict=True)]
    return found
