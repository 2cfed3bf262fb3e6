"""A retrieval set of the visitor's own on the Debias page: log P(t | image) of all pairs and log P(t), in two files."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.base.errors import InputError
from core.base.text import _change_in_points, _signed, _signed_end
from core.datasets.packed_tables import _unpacked
from core.datasets.retrieval_files import RetrievalFile
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import Prior
from core.debiasing.retrieval import RetrievalStudy
from core.debiasing.study import TUNED_ON_TEST
from core.figures.text import escape_markdown
from core.metrics.groups import IMAGE_TO_TEXT, TEXT_TO_IMAGE
from ui.compute_queue import READING
from ui.formatting import exact_differences_once, interval_text, true_minus
from ui.page import show_errors
from ui.uploads import show_form, upload_limit

# Of each field its label, what its file holds, and the first lines of one.
_FIELDS = {
    "scores": (
        "Scores: log P(t | image) of all pairs",
        "CSV or Parquet `image,caption,score,match`, a row for each pair of an image and a caption; or NPZ `scores` "
        "(images, captions) and `match`. Such as:",
        "image,caption,score,match\n0.jpg,a red cube,-4.1,1\n0.jpg,a blue ball,-9.8,0\n1.jpg,a red cube,-7.5,0",
    ),
    "prior": (
        "Language prior: log P(t) of every caption",
        "CSV or Parquet `caption,log_prob`; or NPZ `prior` (captions) or `samples` (null images, captions). Such as:",
        "caption,log_prob\na red cube,-6.2\na blue ball,-8.4",
    ),
}


def own_retrieval_set() -> None:
    """The two fields, closed at first, and recall at alpha 0, at 1 and at its best."""
    box = st.expander("Your own set, from two files", key="own-set", on_change="rerun")
    if not box.open:
        return
    with box, show_errors():
        given = []
        for column, (name, (label, holds, example)) in zip(st.columns(2), _FIELDS.items(), strict=True):
            kinds, key = ["csv", "parquet", "npz", "zip"], f"own-{name}"
            given.append(column.file_uploader(label, kinds, key=key, max_upload_size=upload_limit()))
            show_form(holds, example, column)
        if not all(given):
            return
        (scores, prior), contents = given, [file.getvalue() for file in given if file is not None]
        assert scores is not None and prior is not None
        names = (scores.name, prior.name)
        record = _measure((*names, *(hashlib.sha256(c).hexdigest() for c in contents)), *contents)
        st.markdown(f"{record['images']} images, {record['captions']} captions.")
        st.caption(escape_markdown(f"log P(t): {record['prior']}."))
        st.markdown(true_minus(_verdict(record)))
        st.dataframe(_table(record), hide_index=True)
        st.caption(
            "Percent with 95 % intervals; held out: mean ± standard deviation (n − 1) over ten halvings, which is no "
            "interval. log P(t) of several null images is averaged as probabilities."
            f"{exact_differences_once('file')}"
        )
        st.code(
            shlex.join(["crossmatch", "debias", "--scores", names[0], "--prior", names[1]]), language="bash"
        )


@st.cache_data(max_entries=16, show_spinner=False)
def _measure(key: tuple[str, ...], _scores: bytes, _prior: bytes) -> dict[str, Any]:
    """key : names and hashes of the two files."""
    with st.spinner("Reading the files …"), READING.one():
        (name, scores), (beside, prior) = (
            _unpacked(Path(given), content) for given, content in zip(key[:2], (_scores, _prior), strict=True)
        )
        found = RetrievalFile.read(name, scores)
        if found is None:
            raise InputError(f"{name} holds groups; upload it on Your data and select it as the benchmark.")
        samples, notes = found.prior(beside, prior)
        study = RetrievalStudy(found.scores, found.relevant, prior_from_samples(samples), found.images)
        return {**study.record(), "prior": Prior.line_of(key[1], len(samples), notes)}


def _table(record: dict[str, Any]) -> pd.DataFrame:
    """A row per alpha."""
    labels = {"alpha_0": "α = 0", "alpha_1": "α = 1", "best": f"best α ({TUNED_ON_TEST})"}
    columns = {
        "image to text R@1": IMAGE_TO_TEXT,
        "R@5": "image_to_text_r5",
        "text to image R@1": TEXT_TO_IMAGE,
        "R@5 ": "text_to_image_r5",
    }
    rows = []
    for name, label in labels.items():
        found = record[name]["metrics"]
        cells = {title: interval_text(found[metric]) for title, metric in columns.items() if metric in found}
        rows.append({"": label, "α": f"{record[name]['alpha']:.3f}", **cells})
    if (held := record["validated"]) is not None:
        value, alpha = (
            f"{held[name]['mean']:.{d}f} ± {held[name]['std']:.{d}f}"
            for name, d in (("value", 1), ("alpha", 2))
        )
        rows.append({"": "held out (half/half × 10)", "α": alpha, "image to text R@1": value})
    return pd.DataFrame(rows).fillna("")


def _verdict(record: dict[str, Any]) -> str:
    """Whether some alpha is better than 0 for R@1 from image to text, as the command says it; Markdown."""
    best, gain = record["best"], record["best"]["gain"]
    points = _change_in_points(
        *(record[name]["metrics"][IMAGE_TO_TEXT]["value"] for name in ("alpha_0", "best"))
    )
    known = {
        True: "On this set alpha helps",
        False: "Over all alphas tried this may be luck",
        None: "These images cannot tell whether alpha helps",
    }
    return (
        f"**{known[best['better_than_0']]}:** the most that R@1 from image to text changes is "
        f"{_signed(points)} points at α = {best['alpha']:.3f}, 95 % interval {_signed_end(gain['low'])} to "
        f"{_signed_end(gain['high'])}, {TUNED_ON_TEST}; {best['says']}."
    )
