"""`crossmatch alpha` of two files: log P(t | image) and log P(t), of groups or of a retrieval set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.errors import InputError
from core.cli._evaluation import read_score_file
from core.cli._files import _measuring
from core.datasets.packed_tables import _unpacked
from core.datasets.retrieval_files import RetrievalFile
from core.datasets.score_files import PRIOR_ENDINGS, ScoreFile
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
) -> tuple[AlphaStudy | RetrievalStudy, dict[str, Any], pd.DataFrame | None, list[set[Hashable]]]:
    """The study of a file of scores with its prior, what the prior is in JSON, the tags of groups, and by what each
    group or image is known in another file (`refuse_same`).

    flag : the option that named the prior. Raises InputError for anything wrong in either file.
    """
    if prior is None or not is_prior_file(prior):
        alone = (
            ""
            if prior is not None or flag != "--prior"
            else f", or measure the scores alone: `{_measuring(str(scores))}`"
        )
        raise InputError(
            f"Scores of a file need a file of log P(t) beside them: CSV, Parquet, NPZ or a sample log (JSONL); name it "
            f"with {flag}{alone}."
        )
    scores, data = _unpacked(scores)
    found = RetrievalFile.read(scores, data)
    if found is not None:
        samples, notes = found.prior(prior)
        values = prior_from_samples(samples)
        _refuse_equal(scores, prior, found.scores, values)
        study = RetrievalStudy(found.scores, found.relevant, values, found.images, found.tags, seed)
        kept = samples if len(samples) > 1 else None
        made = Prior(values, "file", Prior.line_of(prior, len(samples), notes), kept, np.arange(len(values)))
        return study, prior_head(made), None, list(_of_images(found, values))
    table = read_score_file(scores, data=data)
    known = Prior.from_file(prior, table.scores, table.ids, table.captions)
    _refuse_equal(scores, prior, table.scores, known.values[:, None])
    own = Evaluation.of(table.scores, table.truth, table.ids).truth
    clusters = known.clusters(Clusters.of_image_names(table.images))
    of_groups = AlphaStudy(table.scores, known.values, own, table.ids, seed, clusters)
    about = prior_head(known)
    if table.truth is None:
        about["truth"] = "not named: image i is taken to belong to caption i"
    return of_groups, about, table.tags, list(_of_groups(table, known.values))


def _refuse_equal(path: Path, prior_path: str, scores: np.ndarray, prior: np.ndarray) -> None:
    if np.allclose(scores, prior, rtol=1e-6, atol=0):
        raise InputError(
            f"{prior_path} has the numbers of {path} as log P(t), so that nothing would be left at alpha 1; give log "
            "P(t) from a model without the image, or from null images."
        )


def _of_groups(table: ScoreFile, prior: np.ndarray) -> Iterator[set[Hashable]]:
    """Of every group its numbers in any order, its name with captions that say something, and those alone."""
    texts = [] if table.captions is None else [frozenset(row.tolist()) for row in table.captions]
    alone = Counter(texts)
    for i, name in enumerate(table.ids):
        found: set[Hashable] = {(np.sort(table.scores[i].ravel()).tobytes(), np.sort(prior[i]).tobytes())}
        if table.captions is not None and _are_texts(table.captions[i]):
            found.add((name, texts[i]))
            if alone[texts[i]] == 1:
                found.add(texts[i])
        yield found


def _of_images(found: RetrievalFile, prior: np.ndarray) -> Iterator[set[Hashable]]:
    """The same of every image and its own captions, where they are of no other image."""
    of_one = found.relevant.sum(axis=1) == 1
    for i, name in enumerate(found.images):
        own = found.relevant[:, i]
        captions = np.array(found.captions)[own]
        known: set[Hashable] = {(np.sort(found.scores[i, own]).tobytes(), np.sort(prior[own]).tobytes())}
        if _are_texts(captions):
            known.add((name, frozenset(captions.tolist())))
            if of_one[own].all():
                known.add(frozenset(captions.tolist()))
        yield known if own.any() else set()


def _are_texts(captions: Iterable[str]) -> bool:
    """Whether captions are texts of three words or more, not names such as "caption 3", which any file may use."""
    return any(len(str(caption).split()) > 2 for caption in captions)


def refuse_same(
    measured: Sequence[set[Hashable]], chosen_on: Sequence[set[Hashable]], where: str, there: str
) -> None:
    """Raise InputError where alpha would be chosen on what it is measured on.

    measured, chosen_on : of each group or image all that it is known by. where, there : what the two are called.
    Captions alone, in frozen sets, say it where most groups have them: renamed copies, scored by any model. Single ones
    may be true of two pictures.
    """
    known = set().union(*measured)
    same = sum(any(not isinstance(key, frozenset) and key in known for key in each) for each in chosen_on)
    if not same:
        copies = sum(not known.isdisjoint(each) for each in chosen_on)
        same = copies if 2 * copies > min(len(chosen_on), len(measured)) else 0
    if same:
        raise InputError(
            f"{same} of {len(chosen_on)} groups or images of {where} are in {there}, too, where alpha is measured; "
            "tune it on others, or leave --tune-on out: random halves are held out without it."
        )


def prior_head(found: Prior) -> dict[str, Any]:
    """What a prior is, in JSON."""
    count = None if found.samples is None else len(found.samples)
    return {"prior": {"kind": found.kind, "line": found.line, "images": count}}
