"""`crossmatch alpha` and `crossmatch blind`."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from core import datasets
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.table_formats import _result_csv
from core.cli._alpha_files import is_prior_file, prior_head, refuse_same, study_of_files
from core.cli._alpha_text import format_groups, format_recall
from core.cli._evaluation import check_slices, tags_beside
from core.cli._files import _is_file_and_no_benchmark, _refuse_file, _refuse_missing
from core.cli._given_options import refuse_unused, require_benchmark
from core.cli._output import count_progress, format_metrics, print_note, show_json, writing
from core.cli._score_options import (
    Batch,
    Device,
    EndToken,
    NullMean,
    NullStd,
    Prompt,
    takes_score_options,
    with_options,
)
from core.cli.options import Json, PlainShape, Positional, Seed, Tag, _SetOrFile, named
from core.datasets.score_files import _tags_without_captions
from core.datasets.shapes import of_shape
from core.debiasing.blind import blind_baseline, check_blind
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import Prior, check_kind, check_log_prob, default_kind, estimate_prior, null_sample
from core.debiasing.retrieval import RetrievalStudy, score_table
from core.debiasing.study import AlphaStudy, _BestGain
from core.exchange.run_table import _software_version
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.group_filters import with_tags
from core.metrics.groups import IMAGE_TO_TEXT, metrics_of_shape
from core.metrics.paired import _interval_named
from core.metrics.statistics import Clusters
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer
from core.scoring.scores import score_groups, score_matrix

if TYPE_CHECKING:
    from core.groups import GroupSet

_Study = AlphaStudy | RetrievalStudy
_Parts = Mapping[str, Mapping[str, _Study]]  # tag -> value -> the study of its groups, or of its images
Benchmark = Annotated[str | None, typer.Option(help="A benchmark by name, such as scenes/word-order.")]
Model = Annotated[
    str,
    typer.Option(
        help="A captioner: a built-in or hub name, or a folder; vgpt:NAME for a chat model.", **named
    ),
]
Split = Annotated[str, typer.Option(help="Split of the benchmark.")]
_TagFile = Annotated[
    Path | None,
    typer.Option(
        help="CSV with a column `group` (or `id`) and one column per tag; also measures by their values."
    ),
]
_PriorName = Annotated[
    str | None,
    typer.Option(
        help="log P(t) from: gaussian (default), test (default of retrieval sets but ImageNet), train or lm; or a "
        "file of it, which --scores needs: CSV or Parquet with `group,caption,log_prob` (and `sample`, or columns "
        "`log_prob_1`, ..., where it is of several null images), NPZ with `prior` (groups, captions) or `samples` "
        "(images, groups, captions), or a sample log of lm-eval or lmms-eval (JSONL). A retrieval set has no groups: "
        "`caption,log_prob`."
    ),
]
_LogProbs = Annotated[
    Path | None,
    typer.Option(
        help="File of log P(t | image) in place of a model's own scores: CSV, Parquet, NPZ or JSONL of groups, a "
        "sample log of lm-eval or lmms-eval, or a retrieval set: `image,caption,score,match` of all pairs, no `group`."
    ),
]
Images = Annotated[
    int | None, typer.Option(help="Images that the prior is sampled from (default: the paper's).")
]
_PriorModel = Annotated[str, typer.Option(help="Language model of --prior lm.", **named)]
Folder = Annotated[Path | None, typer.Option("--images", help="Folder of training images for --prior train.")]
_TuneOn = Annotated[
    str | None,
    typer.Option(
        help="Also choose alpha on another split, such as validation, and measure it on --split; with --scores: on "
        "another file of scores, whose prior --tune-prior names."
    ),
]
_TunePrior = Annotated[str | None, typer.Option(help="File of log P(t) of the scores of --tune-on.")]
_NUMBERS = ("value", "low", "high", "chance", "ties")  # of a metric, in a table
# What is said before the study, the study, its parts by tag, and the one that --tune-on took alpha from.
_Found = tuple[dict[str, Any], _Study, _Parts, _Study | None]
Count = Annotated[
    int | None, typer.Option("--items", help="Use only this many images of a retrieval set, the first ones.")
]


def alpha(
    name: _SetOrFile = None,
    benchmark: Benchmark = None,
    model: Model = "builtin/blip-caption",
    split: Split = "test",
    shape: PlainShape = None,
    scores: _LogProbs = None,
    prior: _PriorName = None,
    samples: Images = None,
    prior_model: _PriorModel = "builtin/blind-lm",
    images: Folder = None,
    null_mean: NullMean = None,
    null_std: NullStd = None,
    prompt: Prompt = None,
    end_token: EndToken = None,
    device: Device = None,
    batch: Batch = None,
    tune_on: _TuneOn = None,
    tune_prior: _TunePrior = None,
    items: Count = None,
    tag: Tag = None,
    tags: _TagFile = None,
    by: Annotated[str | None, typer.Option(help="Also measure by the values of this tag.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for alpha.json and curves.csv, and metrics.csv of a set of groups."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Remove a language prior from a captioner's scores: every metric at alpha 0, at 1, at its best, and validated."""
    chosen = _Slicing(tag or [], tags, by)
    unused: tuple[str, ...] = ("name",)
    if scores is None and name is not None and _is_file_and_no_benchmark(name):
        _refuse_missing(name)
        scores, unused = Path(name), ()
    if scores is not None:
        refuse_unused("with --scores", *unused, "benchmark", "model", "split", "shape", "samples")
        refuse_unused("with --scores", "prior_model", "images", "items", "null_mean", "null_std")
        refuse_unused("with --scores", "prompt", "end_token", "device", "batch")
        _report(*_of_files(scores, prior, chosen, tune_on, tune_prior, seed), out, as_json)
        return
    refuse_unused("without --scores", "tune_prior")
    benchmark = require_benchmark(name, benchmark)
    _refuse_file(benchmark, "--benchmark takes a set by name (scores of a file: --scores)")
    if tune_on == split:
        raise InputError(f"--tune-on names {split!r}, the split that is measured; choose another one.")
    kind = prior or default_kind(benchmark)
    how: dict[str, Any] = {"kind": kind, "count": samples, "seed": seed, "model": prior_model}
    how |= {"folder": images, "pixels": (null_mean, null_std)}
    model = with_options(model, prompt=prompt, end_token=end_token, device=device, batch=batch)
    source = _Source(benchmark, split, model, how, tune_on)
    found = _of_retrieval(source, items) if source.is_retrieval else _of_groups(source, shape, chosen)
    _report(*found, out, as_json)


class _Slicing(NamedTuple):
    """Which groups are measured, and by which tag they are once more measured apart."""

    only: Sequence[str]
    file: Path | None
    by: str | None

    @property
    def head(self) -> dict[str, Any]:
        """The wanted tags, in JSON, where there are any."""
        return {"tags": list(self.only)} if self.only else {}

    def apply(self, study: AlphaStudy, tags: pd.DataFrame | None) -> tuple[AlphaStudy, _Parts]:
        """The study of the wanted groups, and of those with each value of a tag. tags : one row per group."""
        if self.file is not None:
            tags = tags_beside(tags, _tags_without_captions(self.file, ids=study.ids))
        whole = Evaluation(study.scores, study.truth, study.ids, tags)
        wanted = with_tags(whole, self.only)
        if self.by is None and self.file is None:
            parts = {}
        else:
            check_slices(whole, self.by, self.file)
            parts = _apart(wanted.slices(self.by))
        select = lambda part: study.select(np.isin(study.ids, part.ids))  # noqa: E731
        return select(wanted), {c: {v: select(p) for v, p in values.items()} for c, values in parts.items()}

    def apply_to_images(self, study: RetrievalStudy) -> tuple[RetrievalStudy, _Parts]:
        """The same for the images of a retrieval set; each part has the captions that belong to one of its images."""
        if self.file is not None:
            own, table = study.tags, _tags_without_captions(self.file, ids=study.ids)
            study = replace(study, tags=tags_beside(own, table))
        wanted = with_tags(study, self.only)
        if self.by is None and self.file is None:
            return wanted, {}
        check_slices(study, self.by, self.file)
        return wanted, _apart(wanted.slices(self.by))


def _apart(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Without tags of one value, such as the one that --tag names: that part is the whole."""
    return {column: values for column, values in parts.items() if len(values) > 1}


def _of_files(
    scores: Path, prior: str | None, chosen: _Slicing, tune_on: str | None, tune_prior: str | None, seed: int
) -> _Found:
    """The study of a pair of files, and of another pair that alpha is from where one is given."""
    if (tune_on is None) != (tune_prior is None):
        raise InputError("With --scores, --tune-on and --tune-prior name a pair of files; give both or none.")
    whole, about, tags, names = study_of_files(scores, prior, seed=seed)
    head: dict[str, Any] = {"scores": str(scores), **about, **chosen.head}
    study: _Study
    other: _Study | None = None
    unnamed = [str(scores)] if "truth" in about else []
    if isinstance(whole, RetrievalStudy):
        study, parts = chosen.apply_to_images(whole)
    else:
        study, parts = chosen.apply(whole, tags)
    if tune_on is not None:
        other, of_other, _, others = study_of_files(Path(tune_on), tune_prior, "--tune-prior", seed)
        if getattr(other, "shape", None) != getattr(
            study, "shape", None
        ):  # images of a retrieval set have none
            raise InputError(
                f"{tune_on} holds groups of another shape than {scores}; tune on scores of the same."
            )
        refuse_same(names, others, f"{tune_on}", str(scores))
        head["tuned_on"] = _transferred(other, study, tune_on)
        unnamed += [tune_on] * ("truth" in of_other)
    if unnamed:
        print_note(f"no truth is named in {' or '.join(unnamed)}: image i is taken to belong to caption i")
    return head, study, parts, other


class _Source(NamedTuple):
    """What a model is measured on, and the prior: its kind and options by the names of `estimate_prior`."""

    benchmark: str
    split: str
    model: str
    how: dict[str, Any]
    tune_on: str | None

    @property
    def is_retrieval(self) -> bool:
        return self.benchmark in datasets.names("retrieval")

    def check(self) -> None:
        """What is not there, or does not go together, is said before anything is scored."""
        _check_prior(self.how["kind"], self.is_retrieval)
        if self.tune_on is not None:
            load = datasets.load_retrieval if self.is_retrieval else datasets.load
            load(self.benchmark, self.tune_on, images=False)
        check_log_prob(self.model)


def _of_groups(source: _Source, shape: str | None, chosen: _Slicing) -> _Found:
    """The study of a set of groups by name, and of the split that alpha is from where one is given."""
    refuse_unused("on a set of groups", "items")
    source.check()
    measured = _groups(source.benchmark, shape, source.split)
    whole, prior = _study(measured, source.model, source.how)
    study, parts = chosen.apply(whole, tags_frame([g.tags for g in measured]))
    head: dict[str, Any] = {
        "benchmark": source.benchmark,
        "split": source.split,
        "model": source.model,
        **prior_head(prior),
        **chosen.head,
    }
    if source.tune_on is None:
        return head, study, parts, None
    chosen_on = _groups(source.benchmark, shape, source.tune_on)
    refuse_same(_contents(measured), _contents(chosen_on), source.tune_on, source.split)
    other = _study(chosen_on, source.model, source.how)[0]
    head["tuned_on"] = _transferred(other, study, source.tune_on)
    return head, study, parts, other


def _transferred(other: Any, study: _Study, where: str) -> dict[str, Any]:
    """alpha of other groups or images, measured on these, with where they are from."""
    if isinstance(study, RetrievalStudy):
        return {**other.transfer_alpha(study), "split": where}
    names = filter(study.depends, metrics_of_shape(*study.shape))
    return {"split": where, "metrics": {name: other.transfer_alpha(study, name) for name in names}}


def _report(
    head: Mapping[str, Any],
    study: _Study,
    parts: _Parts,
    tuned: _Study | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the study, and write it where that is asked for. tuned : the study that --tune-on took alpha from."""
    gains = _corrected(study, parts)
    own = study.record(gains=gains[None])
    apart = sum(len(found) for where, found in gains.items() if where is not None)
    record = {**head, "verdicts": len(gains[None]), "slice_verdicts": apart, **own, "curves": _curves(study)}
    form = format_recall if isinstance(study, RetrievalStudy) else format_groups
    if parts:  # each at the one alpha of the whole, and at its own
        record["slices"] = {
            c: {v: p.record(study.alpha, gains[c, v]) for v, p in values.items()}
            for c, values in parts.items()
        }
    if out is not None:
        tables = {"curves.csv": study.curve_table()}
        if isinstance(study, AlphaStudy):
            tables["metrics.csv"] = _metrics_table(record)
        if tuned is not None:
            tables["curves_tune_on.csv"] = tuned.curve_table()
        _write(out, {"alpha.json": record, **tables})
    show_json(record) if as_json else print(form(record))


def _corrected(study: _Study, parts: _Parts) -> dict[tuple[str, str] | None, dict[str, _BestGain]]:
    """The verdicts of one output after Holm: under None those of the whole, else by tag and value.

    The whole has a family of its own: to look at its slices, too, does not change what was found of it. The slices are
    corrected together.
    """
    studies = {(c, v): part for c, values in parts.items() for v, part in values.items()}
    found = {(where, name): gain for where, each in studies.items() for name, gain in each.gains.items()}
    gains: dict[tuple[str, str] | None, dict[str, _BestGain]] = {where: {} for where in (None, *studies)}
    gains[None] = _BestGain.holm(study.gains)
    for (where, name), gain in _BestGain.holm(found).items():
        gains[where][name] = gain
    return gains


def _curves(study: _Study) -> dict[str, Any]:
    """The exact curves: metric -> `AlphaCurve.record`."""
    if isinstance(study, RetrievalStudy):
        return {IMAGE_TO_TEXT: study.curve.record()}
    return {name: study.curve(name).record() for name in metrics_of_shape(*study.shape)}


def _write(out: Path, files: Mapping[str, Any]) -> None:
    """A folder of JSON files and of tables, whose last column is the version of Crossmatch that writes them."""
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            if name.endswith(".json"):
                (out / name).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n")
            else:
                version = _software_version()
                (out / name).write_bytes(_result_csv(content.assign(crossmatch_version=version)))
    *most, last = (str(out / name) for name in files)
    print_note(f"wrote {', '.join(most)} and {last}")


def _metrics_table(record: Mapping[str, Any]) -> pd.DataFrame:
    """Every metric at every choice of alpha, of all groups and of those with each value of a tag: a row each.

    `chosen` says how the alpha was: held-out rows have a standard deviation in place of an interval and ties.
    `interval` names how `low` and `high` are made.
    """
    images = int(str(record["shape"]).partition("x")[0])
    slices = record.get("slices", {}).items()
    parts = [("", "", record)] + [(tag, v, part) for tag, values in slices for v, part in values.items()]
    rows = []
    for tag, value, part in parts:
        for metric, row in part["metrics"].items():
            base = {"tag": tag, "tag_value": value, "n_groups": part["n_groups"], "metric": metric}
            for name, alpha in (("alpha_0", 0.0), ("alpha_1", 1.0), ("one_alpha", None), ("best", None)):
                found = row[name]
                chosen = {"chosen": found.get("label", "fixed"), "alpha": found.get("alpha", alpha)}
                numbers = {k: found[k] for k in _NUMBERS}
                rows.append({**base, **chosen, **numbers, "interval": _interval_named(metric, images)})
            if (held := row["validated"]) is not None:
                alpha = None if held["alpha"] is None else held["alpha"]["mean"]
                spread = {"value": held["value"]["mean"], "std": held["value"]["std"]}
                chance = {"chance": row["alpha_0"]["chance"]}
                zero = {"value": held["alpha_0"]["mean"], "std": held["alpha_0"]["std"]}
                rows.append({**base, "chosen": "held out, alpha 0", "alpha": 0.0, **zero, **chance})
                rows.append({**base, "chosen": "held out, per row", "alpha": alpha, **spread, **chance})
    return pd.DataFrame(rows).astype({"ties": "Int64"})


def _check_prior(kind: str, is_retrieval: bool) -> None:
    """Refuse the options of another kind of prior. is_retrieval : its own prior takes all its images."""
    if is_prior_file(kind):
        if is_retrieval:
            raise InputError(
                "On a retrieval set the prior is test or gaussian, not a file; choose one of them."
            )
        refuse_unused("with a file as prior", "samples", "prior_model", "images", "tune_on")
        refuse_unused("with a file as prior", "null_mean", "null_std")
        return
    check_kind(kind)
    if kind != "lm":
        refuse_unused(f"with the prior {kind}", "prior_model")
    if kind != "train":
        refuse_unused(f"with the prior {kind}", "images")
    if kind != "gaussian":
        refuse_unused(f"with the prior {kind}", "null_mean", "null_std")
    if kind == "lm":
        refuse_unused("with the prior lm, which uses no image", "samples")
    elif kind == "test" and is_retrieval:
        refuse_unused("with the prior test, which takes all images of a retrieval set", "samples")


def _groups(benchmark: str, shape: str | None, split: str) -> GroupSet:
    groups = of_shape(datasets.load(benchmark, split), shape)
    if groups.truth is None:
        raise InputError(f"{benchmark} has no ground truth, so alpha cannot be evaluated on it.")
    return groups


def _contents(groups: GroupSet) -> list[set[Hashable]]:
    """What makes a group the same one in another split: its images, by content, and its captions."""
    return [{(frozenset(image.key for image in g.images), frozenset(g.captions))} for g in groups]


def _study(groups: GroupSet, model: str, how: dict[str, Any]) -> tuple[AlphaStudy, Prior]:
    """Scores, prior and truth of one set, with progress on standard error."""
    scorer, cache = lazy_scorer(model), ScoreCache()
    scores = score_groups(scorer, groups, cache, count_progress("scoring"))
    if is_prior_file(how["kind"]):
        texts = np.array([group.captions for group in groups])
        prior = Prior.from_file(how["kind"], scores, groups.ids, texts)
    else:
        note = count_progress("sampling the prior")
        prior = estimate_prior(scorer, groups, **how, cache=cache, progress=note)
    assert groups.truth is not None  # `_groups` has looked
    clusters = prior.clusters(Clusters.of_groups(groups))
    return AlphaStudy(scores, prior.values, groups.truth, groups.ids, how["seed"], clusters), prior


def _of_retrieval(source: _Source, items: int | None) -> _Found:
    """The study of a retrieval set by name, and of the split that alpha is from where one is given."""
    refuse_unused("on a retrieval set", "shape", "tag", "tags", "by")
    kind = source.how["kind"]
    source.check()
    if kind not in ("test", "gaussian"):
        raise InputError(f"On a retrieval set the prior is test or gaussian, not {kind}; choose one of them.")
    study, line = _with_prior(source, source.split, items)
    head: dict[str, Any] = {"benchmark": source.benchmark, "split": source.split, "model": source.model}
    head |= {"prior": {"kind": kind, "line": line}}
    if source.tune_on is None:
        return head, study, {}, None
    here, there = (_images(source.benchmark, each, items) for each in (source.split, source.tune_on))
    refuse_same(here, there, source.tune_on, source.split)
    other = _with_prior(source, source.tune_on, items)[0]
    head["tuned_on"] = _transferred(other, study, source.tune_on)
    return head, study, {}, other


def _images(benchmark: str, split: str, items: int | None) -> list[set[Hashable]]:
    """The images of a split by their content."""
    return [{image.key} for image in datasets.load_retrieval(benchmark, split).images[:items]]


def _with_prior(source: _Source, split: str, items: int | None) -> tuple[RetrievalStudy, str]:
    """A split's study, and what its prior is from."""
    scores, relevant, captions = score_table(
        source.benchmark, split, source.model, items, ScoreCache(), count_progress("scoring")
    )
    ids, halves = list(map(str, range(len(scores)))), source.how["seed"]
    if source.how["kind"] == "test":
        prior = prior_from_samples(scores)
        return RetrievalStudy(
            scores, relevant, prior, ids, seed=halves
        ), f"the set's own {len(scores)} images"
    count, seed, pixels = (source.how[name] for name in ("count", "seed", "pixels"))
    nulls = null_sample(source.model, source.benchmark, count, seed, pixels)
    prior = prior_from_samples(score_matrix(lazy_scorer(source.model), nulls, captions, ScoreCache()))
    line = f"{len(nulls)} Gaussian noise image{'s' * (len(nulls) > 1)}"
    return RetrievalStudy(scores, relevant, prior, ids, seed=halves), line


@takes_score_options
def blind(
    name: Positional = None,
    benchmark: Benchmark = None,
    model: Annotated[
        str, typer.Option(help="A model that sees no image: builtin/blind-lm, lm:NAME, blind:NAME.", **named)
    ] = "builtin/blind-lm",
    split: Split = "test",
    shape: PlainShape = None,
    tag: Tag = None,
    as_json: Json = False,
) -> None:
    """How far a model gets on a benchmark without seeing any image."""
    benchmark = require_benchmark(name, benchmark)
    _refuse_file(benchmark, "blind scores the captions of a set, which it takes by name")
    check_blind(model)
    groups = with_tags(of_shape(datasets.load(benchmark, split, images=False), shape), tag or ())
    if groups.truth is None:
        raise InputError(f"{benchmark} has no ground truth, so no model can be evaluated on it.")
    scores = score_groups(lazy_scorer(model), groups, ScoreCache(), count_progress("scoring"))
    check = blind_baseline(scores, groups.truth, Clusters.of_blind(groups))
    says = check.explain(model, groups.shape)
    head = {"benchmark": benchmark, "split": split, "model": model, "n_groups": len(groups)}
    if as_json:
        show_json({**head, **check.record(), "explanation": says})
        return
    print(f"{says}\n\n{format_metrics(check.record())}")
