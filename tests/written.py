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
