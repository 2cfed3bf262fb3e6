"""`crossmatch alpha` and `crossmatch blind`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core import datasets
from core.base.errors import InputError
from core.cli._given_options import refuse_unused, require_benchmark
from core.cli._output import count_progress, format_metrics, print_note, show_json
from core.cli.options import Json, OldSeed, Positional, Seed, named
from core.debiasing.blind import blind_baseline, check_blind
from core.debiasing.debias import prior_from_samples
from core.debiasing.priors import check_kind, check_log_prob, estimate_prior, null_sample
from core.debiasing.retrieval import alpha_record, score_table, transferred_alpha_record
from core.debiasing.study import AlphaStudy
from core.metrics.groups import metrics_of_shape
from core.metrics.statistics import Clusters
from core.scoring.load import lazy_scorer
from core.scoring.scores import ScoreCache, score_groups, score_matrix

if TYPE_CHECKING:
    import numpy as np

    from core.debiasing.priors import Prior
    from core.debiasing.study import AlphaStudy
    from core.groups import GroupSet

Benchmark = Annotated[str | None, typer.Option(help="A benchmark by name, such as scenes/word-order.")]
Model = Annotated[
    str,
    typer.Option(
        help="A captioner: a built-in or hub name, or a folder; vgpt:NAME for a chat model.", **named
    ),
]
Split = Annotated[str, typer.Option(help="Split of the benchmark.")]
_PriorName = Annotated[
    str | None,
    typer.Option(help="log P(t) from: gaussian (default), test (default of retrieval sets), train or lm."),
]
Images = Annotated[
    int | None, typer.Option(help="Images that the prior is sampled from (default: the paper's).")
]
_PriorModel = Annotated[str, typer.Option(help="Language model of --prior lm.", **named)]
Folder = Annotated[Path | None, typer.Option("--images", help="Folder of training images for --prior train.")]
_TuneOn = Annotated[
    str | None,
    typer.Option(help="Also choose alpha on another split, such as validation, and measure it on --split."),
]
Count = Annotated[
    int | None, typer.Option("--items", help="Use only the first so many images of a retrieval set.")
]


def alpha(
    name: Positional = None,
    benchmark: Benchmark = None,
    model: Model = "builtin/blip-caption",
    split: Split = "test",
    prior: _PriorName = None,
    samples: Images = None,
    prior_model: _PriorModel = "builtin/blind-lm",
    images: Folder = None,
    tune_on: _TuneOn = None,
    items: Count = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Remove a language prior from a captioner's scores: every metric at alpha 0, at 1, at its best, and validated."""
    benchmark = require_benchmark(name, benchmark)
    wide = benchmark in datasets.names("retrieval")
    kind = prior or ("test" if wide else "gaussian")
    how = {"kind": kind, "count": samples, "seed": seed, "model": prior_model, "folder": images}
    _check_prior(kind, wide)
    if tune_on == split:
        raise InputError(f"--tune-on names {split!r}, the split that is measured; choose another one.")
    if tune_on is not None:  # one that is not there is told before anything is scored
        (datasets.load_retrieval if wide else datasets.load)(benchmark, tune_on, images=False)
    if wide:
        record = _retrieval(benchmark, split, model, how, items, tune_on)
        show_json(record) if as_json else print(_format_retrieval(record))
        return
    refuse_unused("on a set of groups", "items")
    study, prior_estimate = _study(benchmark, split, model, how)
    record = {**_head(benchmark, split, model, prior_estimate), **study.record()}
    if tune_on is not None:
        record["tuned_on"] = {"split": tune_on, "metrics": _carried(benchmark, tune_on, model, how, study)}
    show_json(record) if as_json else print(_format_alpha(record))


def _check_prior(kind: str, wide: bool) -> None:
    """Refuse the options of another kind of prior. wide : of a retrieval set, whose own prior takes all its images."""
    check_kind(kind)
    if kind != "lm":
        refuse_unused(f"with the prior {kind}", "prior_model")
    if kind != "train":
        refuse_unused(f"with the prior {kind}", "images")
    if kind == "lm":
        refuse_unused("with the prior lm, which uses no image", "samples")
    elif kind == "test" and wide:
        refuse_unused("with the prior test, which takes all images of a retrieval set", "samples", "seed")


def _head(benchmark: str, split: str, model: str, prior_estimate: Prior) -> dict[str, Any]:
    count = None if prior_estimate.samples is None else len(prior_estimate.samples)
    prior = {"kind": prior_estimate.kind, "line": prior_estimate.line, "images": count}
    return {"benchmark": benchmark, "split": split, "model": model, "prior": prior}


def _study(benchmark: str, split: str, model: str, how: dict[str, Any]) -> tuple[AlphaStudy, Prior]:
    """Scores, prior and truth of one set, with progress on standard error."""
    check_kind(how["kind"])
    groups = datasets.load(benchmark, split)
    if groups.truth is None:
        raise InputError(f"{benchmark} has no ground truth, so alpha cannot be evaluated on it.")
    check_log_prob(model)
    scorer, cache = lazy_scorer(model), ScoreCache()
    scores = score_groups(scorer, groups, cache, count_progress("scoring"))
    prior_estimate = estimate_prior(
        scorer, groups, **how, cache=cache, progress=count_progress("sampling the prior")
    )
    return AlphaStudy(
        scores, prior_estimate.values, groups.truth, groups.ids, how["seed"], Clusters.of_groups(groups)
    ), prior_estimate


def _carried(
    benchmark: str, split: str, model: str, how: dict[str, Any], study: AlphaStudy
) -> dict[str, Any]:
    """alpha of another split, measured here."""
    other, _ = _study(benchmark, split, model, how)
    names = filter(study.depends, metrics_of_shape(*study.shape))
    return {name: other.transfer_alpha(study, name) for name in names}


def _format_alpha(record: dict[str, Any]) -> str:
    """A study as an aligned text table."""
    lines = [
        f"{record['n_groups']} groups of {record['shape']}; {record['model']}; log P(t): {record['prior']['line']}",
        "",
        f"{'metric':<17}{'alpha = 0':>21}{'alpha = 1':>21}{'best (tuned on test)':>36}"
        f"{'held out (half/half x 10)':>36}{'chance':>8}",
    ]
    for name, row in record["metrics"].items():
        best, validated = row["best"], row["validated"]
        tuned = f"{_accuracy(best)} at {best['alpha_low']:.3f}–{best['alpha_high']:.3f}"
        if not row["depends_on_alpha"]:
            tuned = f"{_accuracy(best)} at any alpha"
        out = "-" if validated is None else _spread(validated["value"], 1)
        if validated is not None and validated["alpha"] is not None:
            out += f" at {_spread(validated['alpha'], 2)}"
        lines.append(
            f"{name:<17}{_accuracy(row['alpha_0']):>21}{_accuracy(row['alpha_1']):>21}{tuned:>36}{out:>36}"
            f"{row['alpha_0']['chance']:>8.1f}"
        )
        ties = [row[key]["ties"] for key in ("alpha_0", "alpha_1", "best")]
        if any(ties):
            lines.append(f"{'':<17}tied groups: {ties[0]}, {ties[1]}, {ties[2]}")
    likelier = record["language"]["true_caption_likelier"]
    if likelier is not None:
        lines += ["", f"true captions are the likelier text in {_accuracy(likelier)} % of pairs, chance 50"]
    for name, row in record.get("tuned_on", {}).get("metrics", {}).items():
        gain = row["gain"]
        lines.append(
            f"alpha {row['alpha']:.3f} from {record['tuned_on']['split']}: {name} {_accuracy(row)}, "
            f"{gain['difference']:+.1f} [{gain['low']:.1f}, {gain['high']:.1f}] against alpha 0, "
            f"p = {gain['p_value']:.3g}"
        )
    return "\n".join(lines)


def _accuracy(e: dict[str, Any]) -> str:
    return f"{e['value']:.1f} [{e['low']:.1f}, {e['high']:.1f}]"


def _spread(e: dict[str, float], digits: int) -> str:
    return f"{e['mean']:.{digits}f} ± {e['std']:.{digits}f}"


def _retrieval(
    benchmark: str, split: str, model: str, how: dict[str, Any], items: int | None, tune_on: str | None
) -> dict[str, Any]:
    kind = how["kind"]
    if kind not in ("test", "gaussian"):
        raise InputError(f"On a retrieval set the prior is test or gaussian, not {kind}; choose one of them.")
    check_log_prob(model)
    scores, relevant, prior, line = _with_prior(benchmark, split, model, how, items)
    head = {"benchmark": benchmark, "split": split, "model": model, "prior": {"kind": kind, "line": line}}
    record = {"images": len(scores), "captions": len(relevant), **alpha_record(scores, relevant, prior)}
    if tune_on is not None:
        other_scores, other_relevant, other_prior, _ = _with_prior(benchmark, tune_on, model, how, items)
        priors = (other_prior, prior)
        transferred = transferred_alpha_record((other_scores, other_relevant), scores, relevant, priors)
        record["tuned_on"] = {**transferred, "split": tune_on}
    return {**head, **record}


def _with_prior(
    benchmark: str, split: str, model: str, how: dict[str, Any], items: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """A split's scores (images, captions), relevance (captions, images), prior (captions,) and what it is from."""
    scores, relevant, captions = score_table(
        benchmark, split, model, items, ScoreCache(), count_progress("scoring")
    )
    if how["kind"] == "test":
        return scores, relevant, prior_from_samples(scores), f"the set's own {len(scores)} images"
    nulls = null_sample(model, benchmark, how["count"], how["seed"])
    prior = prior_from_samples(score_matrix(lazy_scorer(model), nulls, captions, ScoreCache()))
    return scores, relevant, prior, f"{len(nulls)} Gaussian noise images"


def _format_retrieval(record: dict[str, Any]) -> str:
    """Recall both ways as text."""
    lines = [f"{record['images']} images, {record['captions']} captions; {record['model']}"]
    lines.append(f"log P(t): {record['prior']['line']}")
    labels = {"alpha_0": "alpha = 0", "alpha_1": "alpha = 1", "best": "alpha = {alpha:.3f}, {label}"}
    labels["tuned_on"] = "alpha = {alpha:.3f}, chosen on {split}"
    for name in (name for name in labels if name in record):
        lines += ["", labels[name].format(**record[name]), format_metrics(record[name])]
    return "\n".join(lines)


def blind(
    name: Positional = None,
    benchmark: Benchmark = None,
    model: Annotated[
        str, typer.Option(help="A model that sees no image: builtin/blind-lm, lm:NAME, blind:NAME.", **named)
    ] = "builtin/blind-lm",
    split: Split = "test",
    _seed: OldSeed = 0,
    as_json: Json = False,
) -> None:
    """How far a model gets on a benchmark without seeing any image."""
    benchmark = require_benchmark(name, benchmark)
    check_blind(model)
    groups = datasets.load(benchmark, split, images=False)
    if groups.truth is None:
        raise InputError(f"{benchmark} has no ground truth, so no model can be evaluated on it.")
    scores = score_groups(lazy_scorer(model), groups, ScoreCache(), count_progress("scoring"))
    check = blind_baseline(scores, groups.truth, _clusters(groups))
    says = check.explain(model, groups.shape)
    head = {"benchmark": benchmark, "split": split, "model": model, "n_groups": len(groups)}
    if as_json:
        show_json({**head, **check.record(), "explanation": says})
        return
    print(f"{says}\n\n{format_metrics(check.record())}")


def _clusters(groups: GroupSet) -> Clusters | None:
    """By image or caption; a blind model needs no images, and where there are none nobody knows what is shared."""
    try:
        return Clusters.of_groups(groups)
    except InputError:
        print_note("The images are not here: groups that share one count as independent.")
        return None
