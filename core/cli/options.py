"""The options that several commands share, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from core.base.settings import LARGEST_SEED
from core.runs.description import check_device
from core.ttm.defaults import full_name
from core.ttm.schedules import SCHEDULES

Text: TypeAlias = str | None
Number: TypeAlias = float | None
Whole: TypeAlias = int | None


def _full_names(value: Any) -> Any:
    """Models by the names that load them: `siglip-l16`, as presets call it, is the hub's."""
    return [full_name(each) for each in value] if isinstance(value, list) else value and full_name(value)


def _device(value: str) -> str:
    return check_device(value)


# For any option that names a model, or several.
named: dict[str, Any] = {"callback": _full_names}

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else.")]
_JsonLines = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON lines: one record per iteration, then a summary of several seeds."
    ),
]
_Latex = Annotated[bool, typer.Option("--latex", help="Print the table in LaTeX and nothing else.")]
Seed = Annotated[
    int,
    typer.Option(
        help="Seed of everything random. It fixes the result on one machine; another one rounds differently.",
        min=0,
        max=LARGEST_SEED,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Tag of groups that depend on each other; a second interval counts them as one (default: shared images, "
        "else captions)."
    ),
]
RunId = Annotated[str, typer.Argument(help="Id of a run, as `crossmatch runs list` shows it.")]

# What is measured or adapted. The same benchmark, named first and without a flag: `crossmatch ttm winoground`.
Positional = Annotated[
    Text, typer.Argument(metavar="BENCHMARK", help="The benchmark, instead of --benchmark.")
]
_SetOrFile = Annotated[
    Text,
    typer.Argument(
        metavar="BENCHMARK | FILE", help="The benchmark, or a file of your own, without the option for it."
    ),
]
_SetOrEmbeddings = Annotated[
    Text,
    typer.Argument(metavar="BENCHMARK | FILE", help="The benchmark, or a file of embeddings (--embeddings)."),
]
Benchmark = Annotated[Text, typer.Option(help="A benchmark by name, such as scenes/left-right.")]
Benchmarks = Annotated[list[str] | None, typer.Option(help="A benchmark; repeat for more.")]
Embeddings = Annotated[
    Path | None,
    typer.Option(
        help="NPZ with `img` and `cap` (or image_embeddings and text_embeddings, images and captions), rows in group "
        "order, instead of a benchmark."
    ),
]
Scores = Annotated[
    Path | None, typer.Option(help="Score file: CSV, Parquet, NPZ, NPY or JSONL, or predictions of MTEB.")
]
Columns = Annotated[
    Text,
    typer.Option(
        help="What the columns of a score file are called, where it has other headers: "
        "group=group_id,image=img,caption=txt,score=sim, and match=... if there is one; of a table with a column of "
        "scores for each caption score=... for each."
    ),
]
Shape = Annotated[
    Text, typer.Option(help="Only groups of this shape, images x captions; of --embeddings 2x2 by default.")
]
PlainShape = Annotated[Text, typer.Option(help="Only groups of this shape, images x captions, as 1x2.")]
Scale = Annotated[
    float, typer.Option(help="Factor on the cosine of --embeddings, as the model's logit scale.")
]
AdaptedModel = Annotated[
    Text,
    typer.Option(
        help="Model to adapt: a built-in, hub or short name (clip-b32, clip-b16, siglip-b16, siglip-l16), or a folder "
        "(default: the preset's own, else builtin/clip).",
        show_default=False,
        **named,
    ),
]
Model = Annotated[
    str,
    typer.Option(help="Model: a built-in, hub or short name (such as siglip-l16), or a folder.", **named),
]
Models = Annotated[list[str] | None, typer.Option(help="A model; repeat for more.", **named)]
TextOnly = Annotated[
    bool,
    typer.Option(
        "--text-only",
        help="SugarCrepe++'s text-only test (TOT), of groups with two true captions and a false one: are the true ones "
        "closer to each other than each is to the false one, for the model's text tower? No image is opened.",
    ),
]
Tag = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        help="Only groups with this tag, such as 'relation: left of'. Repeat it: another value of the same tag adds "
        "groups, another tag leaves fewer.",
    ),
]
TagFile = Annotated[
    Path | None, typer.Option(help="CSV with a column `group` (or `id`) and one column per tag.")
]
By = Annotated[
    Text,
    typer.Option(
        help="The tag column to slice by (default: with --tags or --json every column with few values, as many as fit "
        "where they are printed)."
    ),
]
Split = Annotated[str, typer.Option(help="Split of the benchmark.")]
Groups = Annotated[Whole, typer.Option(help="Use only this many groups, the first ones.")]
Images = Annotated[Whole, typer.Option(help="Use only this many images, the first ones.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.", callback=_device)]
_Threshold = Annotated[
    Number,
    typer.Option(
        help="A margin: also say how many groups have at least that, and how many of them are right."
    ),
]
AdaptOn = Annotated[
    Number,
    typer.Option(help="Transfer check: adapt on this share of the groups, report the rest separately."),
]
SplitSeed = Annotated[
    Whole,
    typer.Option(help="Seed that draws the groups of --adapt-on (default: 0).", min=0, max=LARGEST_SEED),
]
Seeds = Annotated[
    int, typer.Option(help="How many seeds, from --seed on; of several, also mean and standard deviation.")
]
Save = Annotated[Path | None, typer.Option(help="Folder for the adapted model.")]
Background = Annotated[bool, typer.Option(help="Start as a background run and print its id.")]
NoStore = Annotated[
    bool,
    typer.Option(
        "--no-store",
        help="Leave no run behind (default: the run is among those of `crossmatch runs list`, with its model).",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Train nothing: how long it would take, and what it is likely to change, read without labels.",
    ),
]

# Settings of core.ttm.config, by the same names
Preset = Annotated[
    Text,
    typer.Option(
        help="Settings to start from (`list presets`; default: what suits). A paper's preset brings its model and "
        "benchmark unless you name others; with another model its absolute thresholds are refused, so set your own; "
        "another variant selects its counterpart of that variant."
    ),
]
Epochs = Annotated[Whole, typer.Option(help="Epochs per iteration (round).")]
Rate = Annotated[Number, typer.Option(help="Learning rate of the first iteration.")]
Batch = Annotated[Whole, typer.Option(help="Groups per batch.")]
MicroBatch = Annotated[
    Whole, typer.Option(help="Pairs that pass the model at once; the loss stays the same.")
]
Augmentation = Annotated[Text, typer.Option(help="none, resize-crop or jitter.")]
CropFactor = Annotated[
    Number, typer.Option(help="How far resize-crop enlarges a picture before it is cropped (default: 1.1).")
]
WeightDecay = Annotated[Number, typer.Option(help="AdamW's weight decay (default: 0.05).")]
Betas = Annotated[Text, typer.Option(help="AdamW's two betas, as 0.9,0.999.")]
RateRestart = Annotated[
    Number, typer.Option(help="Every iteration starts at the last one's rate times this (default: 0.95).")
]
RateFinal = Annotated[
    Number, typer.Option(help="An iteration's last rate as a share of its first; 1 keeps it (default: 0.1).")
]
ClipNorm = Annotated[Number, typer.Option(help="Largest norm of the gradient (default: not clipped).")]
Parameters = Annotated[
    Text,
    typer.Option(help="Train only these layers: patterns of parameter names, as '*projection*,logit_scale'."),
]
Precision = Annotated[Text, typer.Option(help="float32 or bfloat16 (for training only).")]
Contrastive = Annotated[
    bool | None,
    typer.Option(
        help="Captioners: make a pseudo-label likelier than its group's other captions, not by itself."
    ),
]
LoraRank = Annotated[Whole, typer.Option(help="Train low-rank adapters of this rank, not the whole model.")]
LoraAlpha = Annotated[Number, typer.Option(help="Their weight is alpha / rank (default: twice the rank).")]
LoraTargets = Annotated[Text, typer.Option(help="Names of the layers that get one, separated by commas.")]
Iterations = Annotated[Whole, typer.Option(help="Number of iterations T.")]
Variant = Annotated[
    Text,
    typer.Option(
        help="group, or global: all images against all captions, with the global preset's thresholds (relative where "
        "the paper has none)."
    ),
]
Mode = Annotated[
    Text, typer.Option(help="absolute, or relative: the top 1 - tau pairs (global only, its default).")
]
Schedule = Annotated[Text, typer.Option(help=f"One of {', '.join(SCHEDULES)}.")]
TauFirst = Annotated[
    Number, typer.Option(help="First threshold: a margin; a pair's score or rank if global.")
]
CoverageFirst = Annotated[Number, typer.Option(help="First threshold as a share selected, 0 to 1.")]
TauLast = Annotated[Number, typer.Option(help="Last threshold, as --tau-first.")]
CoverageLast = Annotated[Number, typer.Option(help="Last threshold as a share selected, 0 to 1.")]
KeepOptimizer = Annotated[
    bool | None, typer.Option(help="Carry AdamW's state into the next iteration (default: the preset's).")
]
Oracle = Annotated[
    bool, typer.Option(help="Upper bound: train on exactly the right matchings. USES THE TRUTH.")
]
Rounds = Annotated[Whole, typer.Option(help="Maximum rounds.")]
Patience = Annotated[Whole, typer.Option(help="Rounds without a rise of GroupScore before it ends.")]
