"""`crossmatch alpha` of two files: log P(t | image) and log P(t), of groups or of a retrieval set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.errors import InputError
from core.cli._output import print_note
from core.datasets.retrieval_files import RetrievalFile
from core.datasets.score_files import PRIOR_ENDINGS, read_scores
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import Prior
from core.debiasing.retrieval import RetrievalStudy
from core.debiasing.study import AlphaStudy
from core.metrics.evaluation import Evaluation
from core.metrics.statistics import Clusters

if TYPE_CHECKING:
    import pandas as pd


def is_prior_file(name: str) -> bool:
    """Whether --prior names a file, not a kind of prior."""
    return Path(name).suffix.lower() in PRIOR_ENDINGS


def study_of_files(
    scores: Path, prior: str | None, flag: str = "--prior", seed: int = 0
) -> tuple[AlphaStudy | RetrievalStudy, dict[str, Any], pd.DataFrame | None]:
    """The study of a file of scores with its prior, what the prior is in JSON, and the tags of groups.

    flag : the option that named the prior. Raises InputError for anything wrong in either file.
    """
    if prior is None or not is_prior_file(prior):
        raise InputError(
            f"With --scores, {flag} names a file of log P(t): CSV, Parquet, NPZ or a sample log (JSONL); give one."
        )
    found = RetrievalFile.read(scores)
    if found is not None:
        samples = found.prior(prior)
        values = prior_from_samples(samples)
        study = RetrievalStudy(found.scores, found.relevant, values, found.images, found.tags)
        kept = samples if len(samples) > 1 else None
        made = Prior(values, "file", Prior.line_of(prior, len(samples)), kept, np.arange(len(values)))
        return study, prior_head(made), None
    table = read_scores(scores)
    known = Prior.from_file(prior, table.scores, table.ids, table.captions)
    if table.truth is None:
        print_note("the scores name no truth: image i is taken to belong to caption i")
    own = Evaluation.of(table.scores, table.truth, table.ids).truth
    clusters = known.clusters(Clusters.of_image_names(table.images))
    study = AlphaStudy(table.scores, known.values, own, table.ids, seed, clusters)
    return study, prior_head(known), table.tags


def prior_head(found: Prior) -> dict[str, Any]:
    """What a prior is, in JSON."""
    count = None if found.samples is None else len(found.samples)
    return {"prior": {"kind": found.kind, "line": found.line, "images": count}}
