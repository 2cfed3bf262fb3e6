"""An option takes effect or is refused in one sentence: every option of every command, in every mode of the command.

A command's modes are what it can be asked for (`MODES`), each with the arguments that its cases start from. Every
parameter that the commands really have must be declared (`CASES`) for every mode: a new option, or a new command,
fails here until somebody has said what it does. `*` stands for the modes that are not named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import pytest
import typer
from option_world import Outcome, World, stand_ins

from core.cli import _Deferred, app


class Case(NamedTuple):
    """What is typed in addition to a mode's arguments, and what must come of it."""

    given: tuple[str, ...]
    kind: str  # "differs": a user sees it; "described": the work is told it; "refused": one sentence says why not
    says: str = ""  # part of that sentence; of "described" where the effect on the work is asserted
    drop: tuple[str, ...] = ()  # arguments of the mode that are left out
    instead: bool = False  # `given` stands in place of the mode's arguments


def differs(*given: str, drop: tuple[str, ...] = ()) -> Case:
    return Case(given, "differs", drop=drop)


def described(*given: str, drop: tuple[str, ...] = (), by: str = "") -> Case:
    return Case(given, "described", by, drop)


def refused(says: str, *given: str, drop: tuple[str, ...] = ()) -> Case:
    return Case(given, "refused", says, drop)


def instead(*given: str) -> Case:
    return Case(given, "differs", instead=True)


NO_JSON = differs(drop=("--json",))
# In place of --json, and not beside it: what the table says is in tests/test_cli_latex.py.
TWO_FORMS = {"*": refused("two forms of one table", "--latex")}
ONE_SOURCE, NAMED_TWICE, DEAD = "exactly one of", "named twice", "has no effect"

# ---- commands and their modes: what every case of a mode starts from

EMBEDDINGS = ("--embeddings", "{embeddings}")
SCORES = ("--scores", "{scores}")
PAIRS = ("--benchmark", "toy/pairs", "--model", "{clip}")
SMALL = ("--iterations", "2", "--epochs", "1")
TTM = (*PAIRS, *SMALL, "--json")
ONCE = (*PAIRS, "--rounds", "2", "--epochs", "1", "--json")
TALK = ("--benchmark", "toy/pairs", "--model", "{captioner}", "--json")
FIND = ("--benchmark", "toy/captions", "--model", "{captioner}", "--json")
OUT = ("--out", "out.csv")
SOURCES = {"embeddings": EMBEDDINGS, "scores": SCORES, "benchmark": PAIRS}
TWO_TRUE = {"two true": ("--benchmark", "toy/two-true", "--model", "{clip}")}
ADD = ("--name", "kitchen", "--json")
LONG = ("--image", "image", "--caption", "caption")
COLUMNS = ("--image", "image_0", "--image", "image_1", "--caption", "caption_0", "--caption", "caption_1")
CONVERTED = ("--arch", "tiny-clip", "--out", "a", "--benchmark", "toy/pairs", "--json")

MODES: dict[str, dict[str, tuple[str, ...]]] = {
    "evaluate": {name: (*source, "--json") for name, source in SOURCES.items()}
    | {"mixed": ("--benchmark", "toy/mixed", "--model", "{clip}", "--shape", "2x2", "--json")}
    | {name: (*source, "--json") for name, source in TWO_TRUE.items()},
    "compare": {
        "models": ("{clip}", "{clip_2}", "--benchmark", "toy/mixed", "--shape", "2x2", "--json"),
        "files": ("{scores}", "{scores_2}", "--json"),
        "embeddings": ("{embeddings}", "{embeddings_2}", "--shape", "3x3", "--json"),
    },
    "rejudge": {"scores": ("{scores}", "--json")},
    "published": {"set": ("winoground", "--json")},
    "groups-needed": {"plain": (), "so many": ("--groups", "300")},
    "ttm": {
        "embeddings": (*EMBEDDINGS, *SMALL, "--batch", "5", "--json"),
        "benchmark": TTM,
        "global": (*TTM, "--variant", "global"),
        "oracle": (*TTM, "--oracle"),
        "transfer": (*TTM, "--adapt-on", "0.5"),
        "constant": (*TTM, "--schedule", "constant"),
        "once": (*PAIRS, "--iterations", "1", "--epochs", "1", "--json"),
        "lora": (*TTM, "--lora-rank", "2"),
        "cropped": (*TTM, "--augmentation", "resize-crop"),
        "seeds": (*TTM, "--seeds", "2"),
        "background": (*TTM, "--background"),
    },
    "simplematch": {
        "embeddings": (
            *EMBEDDINGS,
            "--rounds",
            "3",
            "--epochs",
            "1",
            "--lr",
            "0.01",
            "--batch",
            "5",
            "--json",
        ),
        "benchmark": ONCE,
        "transfer": (*ONCE, "--adapt-on", "0.5"),
        "lora": (*ONCE, "--lora-rank", "2"),
        "cropped": (*ONCE, "--augmentation", "resize-crop"),
        "seeds": (*ONCE, "--seeds", "2"),
        "background": (*ONCE, "--background"),
    },
    "ledger": {
        "embeddings": (*EMBEDDINGS, *SMALL, "--batch", "5", "--controls", "per-image", "--json"),
        "background": (*TTM, "--background"),
        "run": ("run/{file_run}", "--json"),
    },
    "alpha": {
        "noise": TALK,
        "own": (*TALK, "--prior", "test"),
        "training": (*TALK, "--prior", "train", "--images", "{photos}"),
        "language": (*TALK, "--prior", "lm", "--prior-model", "{lm}"),
        "retrieval": FIND,
        "retrieval noise": (*FIND, "--prior", "gaussian"),
        "files": ("--scores", "{log_probs}", "--prior", "{prior}", "--json"),
        "retrieval files": ("--scores", "{all_pairs}", "--prior", "{all_prior}", "--json"),
    },
    "recall": {"": ("--benchmark", "toy/many-captions", "--model", "{clip}", "--json")},
    "audit": {"": ("toy/mixed", "--shape", "1x4", "--json")},
    "ladder": {"": ("scenes/left-right", "--json")},
    "blind": {"": ("--benchmark", "toy/relations", "--model", "{lm}", "--json")},
    "adapt": {
        "joint": ("--json",),
        "apart": ("--strategy", "linear", "--json"),
        "graphs": ("--benchmark", "gqa", "--json"),
        "background": ("--background", "--json"),
        "all": ("--all", "--json"),
        "all graphs": ("--all", "--benchmark", "gqa", "--json"),
    },
    "cost": {
        "folder": ("{clip_2}", "--base", "{clip}", "--sets", "toy/pairs", "--json"),
        "run": ("run/{run}", "--json"),
    },
    "reproduce": {"trained": ("ttm/7", "--json"), "measured": ("vgpt/1a", "--json")},
    "sweep": {
        "here": ("{sweep}",),
        "ray": ("{sweep}", "--on", "ray"),
        "table": ("{sweep}", "--table"),
    },
    "pretrain": {"": ("clip", "--out", "a")},
    "list": {"all": ("presets", "--json"), "one": ("presets", "builtin", "--json")},
    "add": {
        "add": ("{set}", *ADD, "--skip-bad"),
        "columns": ("{set}", *ADD, "--skip-bad", *COLUMNS),
        "long": ("{long}", *ADD, "--skip-bad", *LONG, "--group", "pair"),
        "check": ("{set}", *ADD, "--skip-bad", "--check"),
        "tables": ("{tables}", *ADD, "--skip-bad", "--manifest", "a.csv"),
        "file": ("{table}", *ADD, "--skip-bad"),
    },
    "remove": {"": ("mine/have",)},
    "fetch": {"": ("sugarcrepe",)},
    "report": {
        "examples": (*PAIRS, "--out", "out.html", "--examples", "3"),
        "no examples": (*PAIRS, "--out", "out.html", "--examples", "0"),
        "scores": (*SCORES, "--out", "out.html"),
        "run": ("--run", "{run}", "--out", "out.html", "--examples", "3"),
        "seeds": ("--run", "{run}", "--run", "{group}", "--out", "out.html"),
    },
    "doctor": {"": ("--json",), "rehearsal": ("--rehearse", "builtin/clip", "toy/pairs", "--json")},
    "convert": {"": ("{checkpoint}", *CONVERTED)},
    "cache show": {"": ("--json",)},
    "cache clear": {"": ()},
    "export groups": {
        "pixels": ("--benchmark", "toy/pairs", "--out", "out.parquet"),
        "table": ("--benchmark", "toy/pairs", "--out", "out.csv"),
    },
    "export scores": {name: (*source, *OUT) for name, source in (SOURCES | TWO_TRUE).items()},
    "export matchings": {name: (*source, *OUT) for name, source in SOURCES.items()},
    "export metrics": {name: (*source, *OUT) for name, source in SOURCES.items()},
    "export results": {
        name: (*source, "--out", "out.yaml", "--format", "model-index") for name, source in SOURCES.items()
    },
    "export curves": {"": ("{run}", *OUT)},
    "export run": {"": ("{run}", "--out", "out")},
    "export figure": {
        **{name: ("metrics", *source, "--out", "out.json") for name, source in SOURCES.items()},
        "curves": ("curves", "--run", "{run}", "--out", "out.json"),
    },
    "export row": {
        "ttm": ("--model", "{clip}", "--benchmark", "toy/pairs"),
        "vgpt": ("--model", "{clip}", "--benchmark", "toy/pairs", "--layout", "vgpt/1"),
        "paper": ("--model", "{clip}", "--benchmark", "winoground"),
        "scores": ("--scores", "{scores}"),
        "run": ("--run", "{run}"),
    },
    "runs list": {"": ("--json",), "text": ()},
    "runs show": {"": ("{run}", "--json")},
    "runs seeds": {"": ("{group}", "--json")},
    "runs compare": {"": ("{run}", "{run_2}", "--json"), "latex": ("{run}", "{run_2}", "--latex")},
    "runs explain": {"": ("{run}", "--json")},
    "runs rename": {"": ("{run}", "a name")},
    "runs stop": {"": ("{live}",)},
    "runs resume": {"": ("{stopped}",)},
    "runs delete": {"": ("{run}",)},
    "runs export": {"": ("{run}", "out")},
    "runs push": {"": ("{run}", "ada/clip")},
    "runs import": {"": ("{archive}",)},
}

# ---- what every parameter does: command -> parameter -> mode -> case


def in_files(says: str, *given: str) -> dict[str, Case]:
    """A refusal of `alpha` of two files, of groups or of a retrieval set."""
    return dict.fromkeys(("files", "retrieval files"), refused(says, *given))


def of_noise(*given: str) -> dict[str, Case]:
    """An option of `alpha`'s Gaussian noise."""
    return {"noise": differs(*given), "retrieval noise": differs(*given), "*": refused(DEAD, *given)}


PLACE = {"--device": ("--device", "cpu"), "--batch": ("--batch", "2")}
# Options of a captioner's score, which two towers and files have not; their effect is in tests/test_score_options.py.
SCORE = {
    name: {"*": refused(DEAD, *words)}
    for name, words in {
        **PLACE,
        "--prompt": ("--prompt", "a blue"),
        "--image-prompt": ("--image-prompt", "a blue"),
        "--end-token": ("--no-end-token",),
        "--question": ("--question", "is it {{caption}}?"),
        "--null-mean": ("--null-mean", "0.3"),
        "--null-std": ("--null-std", "0.5"),
        "--null-count": ("--null-count", "2"),
    }.items()
}

SOURCE: dict[str, dict[str, Case]] = {
    "--embeddings": {
        "embeddings": differs("--embeddings", "{embeddings_2}"),
        "*": refused(ONE_SOURCE, *EMBEDDINGS),
    },
    "--scores": {
        "scores": differs("--scores", "{scores_2}"),
        "embeddings": refused(ONE_SOURCE, *SCORES),
        "*": refused(DEAD, *SCORES),  # with a model
    },
    "--benchmark": {
        "embeddings": refused(ONE_SOURCE, "--benchmark", "toy/others"),
        "scores": refused("toy/others does not have any of the 60 groups", "--benchmark", "toy/others"),
        "mixed": refused("none of 2x2", "--benchmark", "toy/relations"),
        "*": differs("--benchmark", "toy/others"),
    },
    "--model": {
        "embeddings": refused(DEAD, "--model", "{clip_2}"),
        "scores": refused(DEAD, "--model", "{clip_2}"),
        "*": differs("--model", "{clip_2}"),
    },
    "--split": {
        "embeddings": refused(DEAD, "--split", "test"),
        "scores": refused(DEAD, "--split", "test"),
        "*": differs("--split", "validation"),
    },
    "--shape": {
        "embeddings": differs("--shape", "3x3"),
        "scores": refused(DEAD, "--shape", "2x2"),
        "mixed": differs("--shape", "1x4"),
        "*": refused("none of 1x4", "--shape", "1x4"),
    },
}
EXPORT = {
    name: {m: c for m, c in cases.items() if m not in ("mixed", "two true")} for name, cases in SOURCE.items()
}
OF_SOURCE = {
    "--embeddings": EMBEDDINGS,
    "--scores": SCORES,
    "--benchmark": ("--benchmark", "toy/pairs"),
    "--model": ("--model", "{clip}"),
    "--split": ("--split", "test"),
    "--shape": ("--shape", "2x2"),
}
TEXT_ONLY = {
    "two true": differs("--text-only"),
    "benchmark": refused("has groups of 2x2", "--text-only"),
    "*": refused("holds no text tower", "--text-only"),
}
EXPORT["<name>"] = {
    "embeddings": refused(ONE_SOURCE, "toy/pairs"),
    "scores": refused("toy/pairs does not have any of the 60 groups", "toy/pairs"),
    "*": refused(NAMED_TWICE, "toy/pairs"),
}
OF_SOURCE["<name>"] = ("toy/pairs",)
FIGURE = {name: {**cases, "curves": refused(DEAD, *OF_SOURCE[name])} for name, cases in EXPORT.items()}
WRITE = {"*": differs("--out", "other.npz")}

REAL = "embeddings"  # of ttm and simplematch, the mode that really trains in this test


def setting(*given: str, embeddings: Case | None = None, **modes: Case) -> dict[str, Case]:
    """A setting of training: really tried on embeddings, handed on in every other mode."""
    return {REAL: embeddings or differs(*given), "*": described(*given), **modes}


TRAINING: dict[str, dict[str, Case]] = {
    "<name>": {REAL: refused(ONE_SOURCE, "toy/pairs"), "*": refused(NAMED_TWICE, "toy/pairs")},
    "--benchmark": {
        REAL: refused(ONE_SOURCE, "--benchmark", "toy/pairs"),
        "*": described("--benchmark", "toy/others"),
    },
    "--embeddings": {
        REAL: differs("--embeddings", "{embeddings_2}"),
        "*": refused(ONE_SOURCE, *EMBEDDINGS),
    },
    "--shape": {REAL: differs("--shape", "3x3"), "*": refused("none of 1x4", "--shape", "1x4")},
    "--scale": {REAL: differs("--scale", "10"), "*": refused(DEAD, "--scale", "100")},
    "--model": {REAL: refused(DEAD, "--model", "{clip_2}"), "*": described("--model", "{clip_2}")},
    "--split": {REAL: refused(DEAD, "--split", "test"), "*": described("--split", "validation")},
    "--tag": {REAL: refused(DEAD, "--tag", "colour: red"), "*": described("--tag", "colour: red")},
    "--groups": setting("--groups", "8"),
    "--epochs": setting("--epochs", "3"),
    "--lr": setting("--lr", "0.1"),
    "--batch": setting("--batch", "3"),
    "--micro-batch": setting(  # by intent the loss is the same, and so is what a user sees
        "--micro-batch", "1", embeddings=described("--micro-batch", "1", by="tests/test_microbatch.py")
    ),
    "--augmentation": setting(
        *("--augmentation", "resize-crop"),
        embeddings=refused("no pixels", "--augmentation", "jitter"),
        cropped=described("--augmentation", "jitter"),
    ),
    "--precision": setting("--precision", "bfloat16"),
    "--contrastive": {  # what it does to a captioner: tests/test_generative_training.py
        REAL: refused("not an embeddings file", "--contrastive"),
        "*": refused("for captioners", "--contrastive"),
    },
    "--crop-factor": {
        "cropped": described("--crop-factor", "1.3", by="tests/test_augmentation.py"),
        "*": refused("Only resize-crop enlarges", "--crop-factor", "1.3"),
    },
    "--weight-decay": setting("--weight-decay", "0.5"),
    "--betas": setting("--betas", "0.5,0.6"),
    "--lr-restart": setting("--lr-restart", "0.5"),
    "--lr-final": setting("--lr-final", "0.7"),
    "--clip-norm": setting("--clip-norm", "0.0001"),
    "--parameters": setting("--parameters", "image*"),
    "--lora-rank": setting("--lora-rank", "4", embeddings=refused("no layers", "--lora-rank", "4")),
    "--lora-alpha": {
        "lora": described("--lora-alpha", "3"),
        "*": refused("set lora_rank too", "--lora-alpha", "3"),
    },
    "--lora-targets": {
        "lora": described("--lora-targets", "q_proj"),
        "*": refused("set lora_rank too", "--lora-targets", "q_proj"),
    },
    "--adapt-on": setting("--adapt-on", "0.4", **{"global": refused("ignores groups", "--adapt-on", "0.4")}),
    "--split-seed": {
        "transfer": described("--split-seed", "3", by="tests/test_transfer.py"),
        "*": refused("set adapt_on too", "--split-seed", "3"),
    },
    "--device": setting(
        "--device", "cpu", embeddings=described("--device", "cpu", by="tests/test_contrastive.py")
    ),
    "--seed": setting("--seed", "5"),
    "--seeds": {"*": differs("--seeds", "3")},
    "--save": {"background": refused(DEAD, "--save", "model"), "*": differs("--save", "model")},
    "--background": {"background": differs(drop=("--background",)), "*": differs("--background")},
    "--no-store": {"background": refused("which stores its run", "--no-store"), "*": differs("--no-store")},
    "--json": {"*": NO_JSON},
}


def in_ledger(*given: str, **modes: Case) -> dict[str, Case]:
    """A setting of a ledger's runs, which a run that is there has already."""
    return {"run": refused(DEAD, *given), "*": described(*given), **modes}


# The threshold of an oracle and the last one of a constant schedule are read by nobody.
NO_ORACLE = "The oracle selects"
ONE_ITERATION = "One iteration has one threshold"

CASES: dict[str, dict[str, dict[str, Case]]] = {
    "evaluate": {
        **SOURCE,
        **SCORE,
        "<name>": {
            "embeddings": refused(ONE_SOURCE, "toy/pairs"),
            "scores": refused("toy/pairs does not have any of the 60 groups", "toy/pairs"),
            "*": refused(NAMED_TWICE, "toy/pairs"),
        },
        "--tag": {
            "embeddings": refused("These groups have no tags", "--tag", "colour: red"),
            "scores": refused("These groups have no tags", "--tag", "colour: red"),
            "*": differs("--tag", "colour: red"),
        },
        "--groups": {
            "embeddings": refused("all of it is measured", "--groups", "3"),
            "scores": refused("all of it is measured", "--groups", "3"),
            "*": differs("--groups", "3"),
        },
        "--tags": {"*": differs("--tags", "{tags}")},
        "--by": {
            "embeddings": refused("--by needs tags", "--by", "colour"),
            "scores": refused("--by needs tags", "--by", "colour"),
            "*": differs("--by", "shape"),
        },
        "--out": {"*": differs("--out", "out")},
        "--cluster": {
            "embeddings": refused("--cluster names a tag", "--cluster", "colour"),
            "scores": refused("--cluster names a tag", "--cluster", "colour"),
            "*": differs("--cluster", "shape"),
        },
        "--columns": {
            "scores": differs("--columns", "image=caption,caption=image"),
            "*": refused(DEAD, "--columns", "image=caption,caption=image"),
        },
        "--text-only": {**TEXT_ONLY, "mixed": refused("has groups of 2x2", "--text-only")},
        "--threshold": {"*": differs("--threshold", "0.1")},
        "--latex": TWO_FORMS,
        "--json": {"*": NO_JSON},
    },
    "groups-needed": {
        "--difference": {"*": differs("--difference", "4")},
        "--differ": {"*": differs("--differ", "30")},
        "--groups": {"*": differs("--groups", "400")},
        "--json": {"*": differs("--json")},
    },
    "ttm": {
        **TRAINING,
        "--preset": setting("--preset", "builtin", embeddings=differs("--preset", "default")),
        "--dry-run": {"background": refused(DEAD, "--dry-run"), "*": differs("--dry-run")},
        "--variant": setting(
            *("--variant", "global"),
            **{
                "global": described("--variant", "group"),
                "oracle": refused("ignores groups", "--variant", "global"),
                "transfer": refused("ignores groups", "--variant", "global"),
            },
        ),
        "--threshold-mode": {
            "global": described("--threshold-mode", "absolute"),
            "oracle": refused(NO_ORACLE, "--threshold-mode", "absolute"),
            "*": refused("set variant to 'global'", "--threshold-mode", "relative"),
        },
        "--iterations": setting("--iterations", "3"),
        "--lr-restart": setting("--lr-restart", "0.5", once=refused(ONE_ITERATION, "--lr-restart", "0.5")),
        "--schedule": setting(
            *("--schedule", "cosine"),
            embeddings=differs("--schedule", "ascending"),
            oracle=refused(NO_ORACLE, "--schedule", "cosine"),
            once=refused(ONE_ITERATION, "--schedule", "cosine"),
        ),
        "--tau-first": setting("--tau-first", "0.3", oracle=refused(NO_ORACLE, "--tau-first", "0.3")),
        "--coverage-first": setting(
            "--coverage-first", "0.9", oracle=refused(NO_ORACLE, "--coverage-first", "0.9")
        ),
        "--tau-last": setting(
            *("--tau-last", "0.2"),
            embeddings=differs("--tau-last", "30"),
            oracle=refused(NO_ORACLE, "--tau-last", "0.2"),
            constant=refused("stays at the first threshold", "--tau-last", "0.2"),
            once=refused(ONE_ITERATION, "--tau-last", "0.2"),
        ),
        "--coverage-last": setting(
            *("--coverage-last", "0.5"),
            oracle=refused(NO_ORACLE, "--coverage-last", "0.5"),
            constant=refused("stays at the first threshold", "--coverage-last", "0.5"),
            once=refused(ONE_ITERATION, "--coverage-last", "0.5"),
        ),
        "--keep-optimizer": setting("--keep-optimizer", once=refused(ONE_ITERATION, "--keep-optimizer")),
        "--oracle": setting(
            "--oracle",
            **{
                "global": refused("ignores groups", "--oracle"),
                "oracle": described(drop=("--oracle",)),
                "constant": refused(NO_ORACLE, "--oracle"),
            },
        ),
    },
    "simplematch": {
        **TRAINING,
        "--adapt-on": setting("--adapt-on", "0.4"),
        "--preset": {"*": described("--preset", "simplematch/builtin")},
        # What SimpleMatch prints are accuracies, which so small a change leaves; its loss is that of `ttm`, above.
        "--precision": {"*": described("--precision", "bfloat16")},
        "--weight-decay": {"*": described("--weight-decay", "0.5")},
        "--betas": {"*": described("--betas", "0.5,0.6")},
        "--parameters": {"*": described("--parameters", "image*")},
        "--lr-restart": {"*": described("--lr-restart", "0.5")},
        "--lr-final": {"*": described("--lr-final", "0.7")},
        "--clip-norm": {"*": described("--clip-norm", "0.0001")},
        "--rounds": setting("--rounds", "1"),
        "--patience": setting("--patience", "1"),
    },
    "ledger": {
        "<name>": {
            REAL: refused(ONE_SOURCE, "toy/pairs"),
            "background": refused(NAMED_TWICE, "toy/pairs"),
            "run": instead("run/{run}", "--json"),
        },
        "--benchmark": in_ledger("--benchmark", "toy/others", embeddings=refused(ONE_SOURCE, *PAIRS[:2])),
        "--embeddings": in_ledger(
            *("--embeddings", "{embeddings_2}"), background=refused(ONE_SOURCE, *EMBEDDINGS)
        ),
        "--shape": in_ledger("--shape", "3x3", background=refused("none of 3x3", "--shape", "3x3")),
        "--scale": in_ledger("--scale", "10", background=refused(DEAD, "--scale", "10")),
        "--model": in_ledger("--model", "{clip_2}", embeddings=refused(DEAD, "--model", "{clip_2}")),
        "--split": in_ledger("--split", "validation", embeddings=refused(DEAD, "--split", "test")),
        "--groups": in_ledger("--groups", "8"),
        "--preset": in_ledger("--preset", "default", background=described("--preset", "builtin")),
        "--controls": in_ledger("--controls", "none"),
        "--iterations": in_ledger("--iterations", "1"),
        "--coverage-first": in_ledger("--coverage-first", "0.7"),
        "--epochs": in_ledger("--epochs", "2"),
        "--lr": in_ledger("--lr", "0.1"),
        "--batch": in_ledger("--batch", "3"),
        "--device": in_ledger("--device", "cpu"),
        "--seed": in_ledger("--seed", "5"),
        "--out": {"background": refused(DEAD, "--out", "out.csv"), "*": differs("--out", "out.csv")},
        "--background": {
            REAL: differs("--background"),
            "background": differs(drop=("--background",)),
            "run": refused(DEAD, "--background"),
        },
        "--no-store": {
            "background": refused("which stores its run", "--no-store"),
            "run": refused(DEAD, "--no-store"),
            "*": differs("--no-store"),
        },
        "--json": {"*": NO_JSON},
    },
    "alpha": {
        "<name>": {**in_files(DEAD, "toy/pairs"), "*": refused(NAMED_TWICE, "toy/pairs")},
        "--benchmark": {
            **in_files(DEAD, "--benchmark", "toy/pairs"),
            "retrieval": differs("--benchmark", "toy/more-captions"),
            "retrieval noise": differs("--benchmark", "toy/more-captions"),
            "*": differs("--benchmark", "toy/others"),
        },
        "--model": {
            **in_files(DEAD, "--model", "{captioner}"),
            "*": differs("--model", "{captioner_2}"),
        },
        "--split": {**in_files(DEAD, "--split", "test"), "*": differs("--split", "validation")},
        "--prior": {
            "files": differs("--prior", "{prior_2}"),
            "retrieval files": differs("--prior", "{all_prior_2}"),
            "noise": differs("--prior", "test"),
            "own": differs("--prior", "gaussian"),
            "training": refused(DEAD, "--prior", "gaussian"),
            "language": refused(DEAD, "--prior", "gaussian"),
            "retrieval": differs("--prior", "gaussian"),
            "retrieval noise": differs("--prior", "test"),
        },
        "--samples": {
            **in_files(DEAD, "--samples", "2"),
            "language": refused(DEAD, "--samples", "2"),
            "retrieval": refused(DEAD, "--samples", "2"),
            "*": differs("--samples", "2"),
        },
        "--prior-model": {
            **in_files(DEAD, "--prior-model", "{lm_2}"),
            "language": differs("--prior-model", "{lm_2}"),
            "*": refused(DEAD, "--prior-model", "{lm_2}"),
        },
        "--images": {
            **in_files(DEAD, "--images", "{photos_2}"),
            "training": differs("--images", "{photos_2}"),
            "*": refused(DEAD, "--images", "{photos_2}"),
        },
        "--tune-on": {
            "files": differs("--tune-on", "{log_probs_2}", "--tune-prior", "{prior_2}"),
            "retrieval files": differs("--tune-on", "{all_pairs_2}", "--tune-prior", "{all_prior_2}"),
            "*": differs("--tune-on", "validation"),
        },
        "--null-mean": of_noise("--null-mean", "0.3"),
        "--null-std": of_noise("--null-std", "0.5"),
        **{
            name: {**in_files(DEAD, *words), "*": differs(*words)}
            for name, words in {
                **PLACE,
                "--prompt": ("--prompt", "a blue"),
                "--end-token": ("--no-end-token",),
            }.items()
        },
        "--tune-prior": {
            **in_files("give both or none", "--tune-prior", "{prior_2}"),
            "*": refused(DEAD, "--tune-prior", "{prior_2}"),
        },
        "--items": {
            **in_files(DEAD, "--items", "4"),
            "retrieval": differs("--items", "4"),
            "retrieval noise": differs("--items", "4"),
            "*": refused(DEAD, "--items", "4"),
        },
        "--scores": {
            "files": differs("--scores", "{log_probs_2}"),
            "retrieval files": differs("--scores", "{all_pairs_2}"),
            "*": refused(DEAD, "--scores", "{log_probs}", "--prior", "{prior}"),
        },
        "--shape": {
            **in_files(DEAD, "--shape", "2x2"),
            **{m: refused(DEAD, "--shape", "2x2") for m in ("retrieval", "retrieval noise")},
            "*": refused("none of 1x4", "--shape", "1x4"),
        },
        "--tag": {
            "files": differs("--tag", "side: left"),
            "retrieval files": differs("--tag", "side: left"),
            **{m: refused(DEAD, "--tag", "colour: red") for m in ("retrieval", "retrieval noise")},
            "*": differs("--tag", "colour: red"),
        },
        "--tags": {
            **{m: refused(DEAD, "--tags", "{tags}") for m in ("retrieval", "retrieval noise")},
            "*": differs("--tags", "{tags}"),
        },
        "--by": {
            "files": differs("--by", "side"),
            "retrieval files": differs("--by", "side"),
            **{m: refused(DEAD, "--by", "colour") for m in ("retrieval", "retrieval noise")},
            "*": differs("--by", "colour"),
        },
        "--out": {"*": differs("--out", "out")},
        "--seed": {"*": differs("--seed", "4")},
        "--json": {"*": NO_JSON},
    },
    "recall": {
        **SCORE,
        "<name>": {"*": refused(NAMED_TWICE, "toy/captions")},
        "--benchmark": {"*": differs("--benchmark", "toy/more-captions")},
        "--model": {"*": differs("--model", "{clip_2}")},
        "--split": {"*": differs("--split", "validation")},
        "--items": {"*": differs("--items", "5")},
        "--json": {"*": NO_JSON},
    },
    "ladder": {
        "<benchmark>": {"*": instead("scenes/size-swap", "--json")},
        "--model": {"*": differs("--model", "builtin/siglip")},
        "--device": {"*": described("--device", "cpu", by="tests/test_contrastive.py")},
        "--seed": {"*": differs("--seed", "5")},
        "--runs": {"*": differs("--runs", "2")},
        "--out": {"*": differs("--out", "ladder.json")},
        "--json": {"*": NO_JSON},
    },
    "audit": {
        "<benchmark>": {"*": instead("toy/relations", "--json")},
        "--split": {"*": differs("--split", "validation")},
        "--shape": {"*": differs("--shape", "2x2")},
        "--tag": {"*": differs("--tag", "colour: red")},
        "--blind": {"*": differs("--blind", "{lm}")},
        "--training": {"*": differs("--training", "{tags}")},
        "--out": {"*": differs("--out", "audit.html")},
        "--json": {"*": NO_JSON},
    },
    "blind": {
        **SCORE,
        **{name: {"*": differs(*words)} for name, words in PLACE.items()},
        "<name>": {"*": refused(NAMED_TWICE, "toy/pairs")},
        "--benchmark": {"*": differs("--benchmark", "toy/pairs")},
        "--model": {"*": differs("--model", "{lm_2}")},
        "--split": {"*": differs("--split", "validation")},
        "--shape": {"*": refused("none of 2x2", "--shape", "2x2")},
        "--tag": {"*": differs("--tag", "colour: red")},
        "--json": {"*": NO_JSON},
    },
    "adapt": {
        "<name>": {
            "graphs": refused(NAMED_TWICE, "clevr"),
            "all graphs": refused(NAMED_TWICE, "clevr"),
            "background": refused("is not here", "clevr"),
            "*": described("clevr"),
        },
        "--strategy": {
            "all": refused(DEAD, "--strategy", "linear"),
            "all graphs": refused(DEAD, "--strategy", "linear"),
            "*": described("--strategy", "ft-all"),
        },
        "--benchmark": {
            "background": refused("is not here", "--benchmark", "clevr"),
            "*": described("--benchmark", "clevr"),
        },
        "--model": {"*": described("--model", "{clip}")},
        "--fusion": {
            "apart": refused("in no fusion", "--fusion", "flava"),
            "*": described("--fusion", "flava"),
        },
        "--adapter": {
            "apart": refused("a form of MM-Adapter", "--adapter", "readme"),
            "*": described("--adapter", "readme"),
        },
        "--mix": {"*": described("--mix", "hard")},
        "--preset": {"*": described("--preset", "paper")},
        "--epochs": {"*": described("--epochs", "2")},
        "--steps": {"*": described("--steps", "3")},
        "--batch": {"*": described("--batch", "4")},
        "--patience": {
            "graphs": refused("no validation queries to stop by", "--patience", "2"),
            "all graphs": refused("no validation queries to stop by", "--patience", "2"),
            "*": described("--patience", "2"),
        },
        "--lr": {"*": described("--lr", "0.1")},
        "--find-lr": {
            "graphs": refused("no validation queries to choose", "--find-lr"),
            "background": refused(DEAD, "--find-lr"),
            "all": refused(DEAD, "--find-lr"),
            "all graphs": refused(DEAD, "--find-lr"),
            "*": differs("--find-lr"),
        },
        "--images": {"*": described("--images", "20")},
        "--folder": {
            "graphs": described("--folder", "{photos}"),
            "all graphs": described("--folder", "{photos}"),
            "*": refused("built in and has no files", "--folder", "{photos}"),
        },
        "--device": {"*": described("--device", "cpu")},
        "--seed": {
            "all": refused(DEAD, "--seed", "0"),
            "all graphs": refused(DEAD, "--seed", "0"),
            "*": described("--seed", "3"),
        },
        "--save": {
            "background": refused(DEAD, "--save", "model"),
            "all": refused(DEAD, "--save", "model"),
            "all graphs": refused(DEAD, "--save", "model"),
            "*": differs("--save", "model"),
        },
        "--background": {
            "background": differs(drop=("--background",)),
            "graphs": refused("is not here", "--background"),
            "all": refused(DEAD, "--background"),
            "all graphs": refused(DEAD, "--background"),
            "*": differs("--background"),
        },
        "--no-store": {
            "background": refused("which stores its run", "--no-store"),
            "all": refused(DEAD, "--no-store"),
            "all graphs": refused(DEAD, "--no-store"),
            "*": differs("--no-store"),
        },
        "--dry-run": {
            "background": refused(DEAD, "--dry-run"),
            "all": refused(DEAD, "--dry-run"),
            "all graphs": refused(DEAD, "--dry-run"),
            "*": differs("--dry-run"),
        },
        "--all": {
            "apart": refused(DEAD, "--all"),
            "background": refused(DEAD, "--all"),
            "joint": differs("--all"),
            "graphs": differs("--all"),
            "*": differs(drop=("--all",)),
        },
        "--json": {"*": NO_JSON},
    },
    "compare": {
        "<name>": {
            "models": refused(NAMED_TWICE, "toy/pairs"),
            "files": refused("toy/pairs does not have any of the 60 groups", "toy/pairs"),
            "*": refused(DEAD, "toy/pairs"),
        },
        "<a>": {
            "models": instead("{clip_2}", "{clip}", "--benchmark", "toy/pairs", "--json"),
            "files": instead("{scores_2}", "{scores}", "--json"),
            "embeddings": instead("{embeddings_2}", "{embeddings}", "--json"),
        },
        "<b>": {
            "models": refused("no comparison", "{clip}", drop=("{clip_2}",)),
            "files": refused("no comparison", "{scores}", drop=("{scores_2}",)),
            "embeddings": refused("no comparison", "{embeddings}", drop=("{embeddings_2}",)),
        },
        "--benchmark": {
            "models": differs("--benchmark", "toy/pairs"),
            "files": refused("toy/pairs does not have any of the 60 groups", "--benchmark", "toy/pairs"),
            "*": refused(DEAD, "--benchmark", "toy/pairs"),
        },
        "--split": {"models": differs("--split", "validation"), "*": refused(DEAD, "--split", "test")},
        "--shape": {
            "models": differs("--shape", "1x4"),
            "files": refused(DEAD, "--shape", "2x2"),
            "embeddings": differs("--shape", "2x2"),
        },
        "--tag": {
            "models": differs("--tag", "colour: red"),
            "*": refused("These groups have no tags", "--tag", "colour: red"),
        },
        # With --tag, which it needs: tests/test_cli_compare.py.
        "--tags": {"*": refused(DEAD, "--tags", "{tags}")},
        "--out": {"*": differs("--out", "table.csv")},
        "--cluster": {
            "models": differs("--cluster", "shape"),
            "*": refused("--cluster names a tag", "--cluster", "shape"),
        },
        "--common": {"*": differs("--common")},
        # What it pairs is in tests/test_cli_compare.py: here all have names in common, but embeddings, which have none
        # and are paired by their rows unasked.
        "--by-order": {"embeddings": differs("--by-order"), "*": refused(DEAD, "--by-order")},
        "--columns": {
            "files": differs("--columns", "image=caption,caption=image"),
            "*": refused(DEAD, "--columns", "image=caption,caption=image"),
        },
        "--latex": TWO_FORMS,
        "--json": {"*": NO_JSON},
    },
    "rejudge": {
        "<files>": {"*": instead("{scores}", "{scores_2}", "--json")},
        "--out": {"*": differs("--out", "opinion.json")},
        "--json": {"*": NO_JSON},
    },
    "published": {
        "<name>": {"*": instead("colorswap", "--json")},
        # A file of scores is one of the set; a result of `evaluate` stands in tests/test_published.py.
        "<results>": {"*": differs("{scores}")},
        "--metric": {"*": differs("--metric", "text_score")},
        "--json": {"*": NO_JSON},
    },
    "cost": {
        "<model>": {
            "folder": instead("{clip}", "--base", "{clip}", "--sets", "toy/pairs", "--json"),
            "run": Case(("run/{file_run}", "--json"), "refused", "scores its embeddings file", instead=True),
        },
        "--base": {"*": differs("--base", "{clip_2}")},
        "--sets": {"*": differs("--sets", "toy/relations")},
        "--groups": {"*": differs("--groups", "5")},
        "--device": {"*": described("--device", "cpu", by="tests/test_contrastive.py")},
        "--out": {"*": differs("--out", "cost.csv")},
        "--json": {"*": NO_JSON},
    },
    "reproduce": {
        "<table>": {"*": instead("ttm/8", "--json")},
        "--seeds": {"trained": differs("--seeds", "2"), "measured": refused(DEAD, "--seeds", "2")},
        "--row": {"trained": differs("--row", "WhatsUp, B"), "measured": differs("--row", "BART")},
        "--dry-run": {"*": described("--dry-run", by="tests/test_reproduce.py")},
        "--run": {"*": described("--run", by="tests/test_reproduce.py")},
        "--json": {"*": NO_JSON},
    },
    "sweep": {
        "<file>": {"table": instead("{sweep_2}", "--table"), "*": instead("{sweep_2}")},
        "--on": {
            "here": described("--on", "ray", by="tests/test_sweep_ray.py"),
            "ray": described("--on", "here", by="tests/test_sweep.py"),
            "table": refused(DEAD, "--on", "ray"),
        },
        "--address": {
            "ray": described("--address", "auto", by="tests/test_sweep_ray.py"),
            "*": refused(DEAD, "--address", "auto"),
        },
        "--at-once": {
            "here": described("--at-once", "3", by="tests/test_sweep.py"),
            "*": refused(DEAD, "--at-once", "3"),
        },
        "--watch": {"table": refused(DEAD, "--watch"), "*": differs("--watch")},
        "--table": {
            "ray": refused(DEAD, "--table"),
            "here": described("--table"),
            "table": described(drop=("--table",)),
        },
        "--json": {"*": differs("--json")},
    },
    "pretrain": {
        "<name>": {"*": Case(("siglip", "--out", "a"), "described", "tests/test_pretrain.py", instead=True)},
        "--out": {"*": described("--out", "b")},
        "--seed": {"*": described("--seed", "1")},
        "--steps": {"*": described("--steps", "3")},
        "--device": {"*": refused("Unknown device", "--device", "gpu")},
    },
    "convert": {
        "<checkpoint>": {"*": instead("{checkpoint_2}", *CONVERTED)},
        "--arch": {"*": differs("--arch", "tiny-clip-quickgelu")},
        "--out": {"*": differs("--out", "b")},
        "--quick-gelu": {"*": differs("--quick-gelu")},
        "--benchmark": {"*": differs("--benchmark", "toy/others")},
        "--json": {"*": NO_JSON},
    },
    "list": {
        "<what>": {"all": instead("metrics", "--json"), "one": instead("tables", "ttm/1", "--json")},
        "<name>": {"*": instead("presets", "simplematch", "--json")},
        "--json": {"*": NO_JSON},
    },
    "add": {
        "<source>": {"*": instead("{tables}", *ADD, "--skip-bad", "--manifest", "b.csv")},
        "--name": {"*": differs("--name", "garden")},
        "--manifest": {
            "tables": differs("--manifest", "b.csv"),
            "file": refused("no manifest to choose", "--manifest", "a.csv"),
            "*": refused("a.csv", "--manifest", "a.csv"),
        },
        "--image": {
            "columns": refused("holds no usable group", "--image", "topic"),
            "long": refused("one image with one caption", "--image", "truth"),
            "*": refused("Name the columns of both", "--image", "image_0"),
        },
        "--caption": {
            "columns": differs("--caption", "topic"),
            "long": refused("one image with one caption", "--caption", "truth"),
            "*": refused("Name the columns of both", "--caption", "caption_0"),
        },
        "--answer": {
            "columns": differs("--answer", "turned"),
            "long": refused("no effect as answer", "--answer", "truth"),
            "*": refused("Name the columns of both", "--answer", "turned"),
        },
        "--group": {
            "columns": refused("one image with one caption", "--group", "topic"),
            "long": differs("--group", "turned"),
            "*": refused("Name the columns of both", "--group", "topic"),
        },
        "--title": {"*": differs("--title", "Kitchen")},
        "--licence": {"*": differs("--licence", "CC0")},
        "--citation": {"*": differs("--citation", "Me")},
        "--skip-bad": {
            "check": differs(drop=("--skip-bad",)),
            "*": refused("agree to leave", drop=("--skip-bad",)),
        },
        "--check": {"check": differs(drop=("--check",)), "*": differs("--check")},
        "--json": {"*": NO_JSON},
    },
    "remove": {"<name>": {"*": instead("mine/other")}},
    "fetch": {
        "<name>": {"*": Case(("aro",), "described", "tests/test_downloads.py", instead=True)},
        "--folder": {"*": described("--folder", "here", by="tests/test_downloads.py")},
    },
    "report": {
        "<name>": {
            "scores": refused("toy/pairs does not have any of the 60 groups", "toy/pairs"),
            **dict.fromkeys(("run", "seeds"), refused(DEAD, "toy/pairs")),
            "*": refused(NAMED_TWICE, "toy/pairs"),
        },
        "--model": {
            **dict.fromkeys(("scores", "run", "seeds"), refused(DEAD, "--model", "{clip}")),
            "*": differs("--model", "{clip_2}"),
        },
        "--benchmark": {
            "scores": refused("toy/pairs does not have any of the 60 groups", "--benchmark", "toy/pairs"),
            **dict.fromkeys(("run", "seeds"), refused(DEAD, "--benchmark", "toy/pairs")),
            "*": differs("--benchmark", "toy/others"),
        },
        "--run": {
            "run": differs("--run", "{run_2}"),
            "seeds": refused("is given 3 times", "--run", "{run_2}"),
            "*": refused("with --run", "--run", "{run}"),
        },
        "--scores": {
            "scores": differs("--scores", "{scores_2}"),
            "*": refused(DEAD, "--scores", "{scores}"),
        },
        "--out": {"*": differs("--out", "other.html")},
        "--split": {
            **dict.fromkeys(("scores", "run", "seeds"), refused(DEAD, "--split", "validation")),
            "*": differs("--split", "validation"),
        },
        "--examples": {
            "seeds": refused(DEAD, "--examples", "2"),
            "*": differs("--examples", "2"),
        },
        "--images": {
            **dict.fromkeys(("no examples", "scores", "seeds"), refused(DEAD, "--images")),
            "*": differs("--images"),
        },
        "--device": {
            **dict.fromkeys(("scores", "run", "seeds"), refused(DEAD, "--device", "cpu")),
            "*": described("--device", "cpu", by="tests/test_contrastive.py"),
        },
    },
    "doctor": {
        "--deep": {"": differs("--deep"), "rehearsal": refused(DEAD, "--deep")},
        "--rehearse": {
            "*": described("--rehearse", "builtin/siglip", "toy/pairs", by="tests/test_rehearsal.py")
        },
        "--json": {"*": NO_JSON},
    },
    "cache show": {"--json": {"*": NO_JSON}},
    "cache clear": {},
    "export groups": {
        "<name>": {"*": refused(NAMED_TWICE, "toy/pairs")},
        "--benchmark": {"*": differs("--benchmark", "toy/others")},
        "--out": {"*": differs("--out", "out.jsonl")},
        "--split": {"*": differs("--split", "validation")},
        "--images": {"pixels": differs("--no-images"), "table": refused(DEAD, "--no-images")},
    },
    "export scores": {**EXPORT, **SCORE, "--out": WRITE, "--text-only": TEXT_ONLY},
    "export matchings": {**EXPORT, "--out": WRITE},
    "export metrics": {
        **EXPORT,
        "--out": WRITE,
        "--by": {
            "embeddings": refused("--by needs tags", "--by", "colour"),
            "scores": refused("--by needs tags", "--by", "colour"),
            "*": differs("--by", "shape"),
        },
    },
    "export results": {
        **EXPORT,
        "--out": {"*": differs("--out", "other.yaml")},
        "--format": {"*": differs("--format", "eval-results")},
        "--system": {"*": differs("--system", "ours")},
        "--on": {"*": differs("--on", "a set")},
    },
    "export curves": {"<run>": {"*": instead("{run_2}", *OUT)}, "--out": WRITE},
    "export run": {
        "<run>": {"*": instead("{run_2}", "--out", "out")},
        "--out": {"*": differs("--out", "out.zip")},
        "--model": {"*": differs("--no-model")},
    },
    "export figure": {
        **FIGURE,
        "<what>": {
            "curves": instead("metrics", *PAIRS, "--out", "out.json"),
            **{name: instead("margins", *source, "--out", "out.json") for name, source in SOURCES.items()},
        },
        "--out": {"*": differs("--out", "other.html")},
        "--run": {"curves": differs("--run", "{run_2}"), "*": refused(DEAD, "--run", "{run}")},
        "--width": {"*": differs("--width", "300")},
        "--height": {"*": differs("--height", "300")},
    },
    "export row": {
        "<name>": {
            "scores": refused("toy/others does not have any of the 60 groups", "toy/others"),
            "run": refused("and --benchmark names", "toy/others"),
            "*": refused(NAMED_TWICE, "toy/others"),
        },
        "--model": {
            "scores": refused("--model has no effect with --scores", "--model", "{clip_2}"),
            "run": refused("and --model names", "--model", "{clip_2}"),
            "*": differs("--model", "{clip_2}"),
        },
        "--benchmark": {
            "scores": refused("toy/others does not have any of the 60 groups", "--benchmark", "toy/others"),
            "run": refused("and --benchmark names", "--benchmark", "toy/others"),
            "*": differs("--benchmark", "toy/others"),
        },
        "--scores": {
            "scores": differs("--scores", "{scores_2}"),
            "run": refused("--run has no effect with --scores", "--scores", "{scores}"),
            "*": refused("--model has no effect with --scores", "--scores", "{scores}"),
        },
        "--layout": {
            "vgpt": differs("--layout", "vgpt/4"),
            "run": differs("--layout", "ttm/6"),
            "*": differs("--layout", "vgpt/1"),
        },
        "--format": {"*": differs("--format", "latex")},
        "--run": {
            "run": differs("--run", "{run_2}"),
            "ttm": differs("--run", "{run}"),
            "vgpt": refused(DEAD, "--run", "{run}"),
            "paper": refused("and --benchmark names winoground", "--run", "{run}"),
            "scores": refused(DEAD, "--run", "{run}"),
        },
        "--paper": {"paper": differs("--no-paper"), "*": refused("--paper has no effect", "--paper")},
        "--split": {
            "paper": refused("Unknown split", "--split", "validation"),
            "scores": refused(DEAD, "--split", "validation"),
            "run": refused("and --split names validation", "--split", "validation"),
            "*": differs("--split", "validation"),
        },
        "--out": {"*": differs("--out", "rows.md")},
    },
    "runs list": {
        "--all": {"": refused("every seed by itself", "--all"), "text": differs("--all")},
        "--json": {"": NO_JSON, "text": differs("--json")},
    },
    "runs show": {"<run>": {"*": instead("{run_2}", "--json")}, "--json": {"*": NO_JSON}},
    "runs seeds": {
        "<group>": {"*": refused("no group of runs", "g-none", drop=("{group}",))},
        "--json": {"*": NO_JSON},
    },
    "runs compare": {
        "<a>": {
            "latex": instead("{group}", "{run_2}", "--latex"),
            "*": instead("{group}", "{run_2}", "--json"),
        },
        "<b>": {"latex": instead("{run}", "{group}", "--latex"), "*": instead("{run}", "{group}", "--json")},
        "--latex": {
            "latex": differs(drop=("--latex",)),
            "*": refused("two forms of one table", "--latex"),
        },
        "--json": {"latex": refused("two forms of one table", "--json"), "*": NO_JSON},
    },
    "runs explain": {
        "<run>": {"*": instead("{run_2}", "--json")},
        "--metric": {"*": differs("--metric", "text_score")},
        "--out": {"*": differs("--out", "table.csv")},
        "--json": {"*": NO_JSON},
    },
    "runs rename": {
        "<run>": {"*": instead("{run_2}", "a name")},
        "<name>": {"*": instead("{run}", "another name")},
    },
    "runs stop": {"<run>": {"*": instead("{stopped}")}},
    "runs resume": {"<run>": {"*": refused("is finished; resume it once", "{run}", drop=("{stopped}",))}},
    "runs delete": {"<run>": {"*": instead("{group}")}},
    "runs export": {
        "<run>": {"*": instead("{run_2}", "out")},
        "<path>": {"*": instead("{run}", "out.zip")},
        "--out": {"*": refused("Say once where", "--out", "other")},
    },
    "runs push": {
        "<run>": {"*": Case(("{run_2}", "ada/clip"), "described", "tests/test_export.py", instead=True)},
        "<repository>": {
            "*": Case(("{run}", "ada/other"), "described", "tests/test_export.py", instead=True)
        },
        "--public": {"*": described("--public", by="tests/test_export.py")},
    },
    "runs import": {"<source>": {"*": instead("{archive_2}")}},
}


# ---- the tests


@cache
def commands() -> dict[str, Any]:
    """Every command by its words."""

    def walk(command: Any, words: tuple[str, ...]) -> dict[str, Any]:
        command = command.load() if isinstance(command, _Deferred) else command
        if not hasattr(command, "list_commands"):
            return {" ".join(words): command}
        names = command.list_commands(None)
        return {k: v for n in names for k, v in walk(command.get_command(None, n), (*words, n)).items()}

    return walk(typer.main.get_command(app), ())


def parameters(command: Any) -> list[str]:
    """`--split`, and `<run>` for an argument."""
    found = [p for p in command.params if p.name != "help"]
    return [p.opts[0] if p.param_type_name == "option" else f"<{p.name}>" for p in found]


def case_of(command: str, parameter: str, mode: str) -> Case:
    cases = CASES[command][parameter]
    return cases[mode] if mode in cases else cases["*"]


ALL = [
    (command, mode, parameter)
    for command, modes in MODES.items()
    for mode, parameter in product(modes, CASES[command])
]


def test_every_command_is_declared():
    assert set(commands()) == set(MODES) == set(CASES)


@pytest.mark.parametrize("command", MODES)
def test_every_parameter_is_declared_in_every_mode(command):
    assert set(parameters(commands()[command])) == set(CASES[command])
    for parameter, cases in CASES[command].items():
        assert set(cases) - {"*"} <= set(MODES[command]), parameter
        assert "*" in cases or set(cases) == set(MODES[command]), parameter


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The small world, in which no run gets a process and nothing leaves this machine."""
    made = World(tmp_path_factory.mktemp("options"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSMATCH_HOME", str(made.home))
        stand_ins(patch, made)
        made.fill(("alpha", *arguments) for arguments in MODES["alpha"].values())
        with pytest.MonkeyPatch.context() as once:
            made.blank = made.run(["list", "presets"], once, False).left
        yield made


@pytest.fixture
def invoke(world: World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in a mode with arguments."""

    def call(command: str, mode: str, arguments: tuple[str, ...]) -> Outcome:
        given = last_of_each(commands()[command], arguments)
        return world.run([*command.split(), *given], monkeypatch, mode == REAL)

    return call


def last_of_each(command: Any, arguments: Sequence[str]) -> list[str]:
    """The arguments with the last value of every option: a case is a mode's own with one changed, and no command takes
    an option of one value twice."""
    known = {flag: each for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    found: list[tuple[str, ...]] = []
    kept: dict[Any, tuple[str, ...]] = {}
    rest = list(arguments)
    while rest:
        option = known.get(rest[0])
        count = 1 if option is None or getattr(option, "is_flag", False) else 1 + option.nargs
        words, rest = tuple(rest[:count]), rest[count:]
        if option in kept and not option.multiple:
            found.remove(kept[option])
        found.append(words)
        if option is not None:
            kept[option] = words
    return [word for words in found for word in words]


@pytest.fixture(scope="module")
def bases() -> dict[tuple[str, str], Outcome]:
    """What every mode gives by itself, found once."""
    return {}


def base_of(command: str, mode: str, invoke: Any, bases: dict[tuple[str, str], Outcome]) -> Outcome:
    if (command, mode) not in bases:
        bases[command, mode] = invoke(command, mode, MODES[command][mode])
    return bases[command, mode]


@pytest.mark.parametrize(("command", "mode"), [(c, m) for c, modes in MODES.items() for m in modes])
def test_a_mode_works_and_gives_the_same_twice(command, mode, invoke, bases):
    first = base_of(command, mode, invoke, bases)
    assert not first.refusal
    assert invoke(command, mode, MODES[command][mode]) == first


@pytest.mark.parametrize(("command", "mode", "parameter"), ALL)
def test_an_option_takes_effect_or_is_refused(command, mode, parameter, invoke, bases, world):
    case, base = case_of(command, parameter, mode), base_of(command, mode, invoke, bases)
    start = () if case.instead else tuple(a for a in MODES[command][mode] if a not in case.drop)
    found = invoke(command, mode, (*start, *case.given))
    if case.kind == "refused":
        assert found.code == 2 and case.says in found.refusal
        assert len(found.refusal.splitlines()) == 1
        assert found.left == world.blank and found.said.startswith(
            "\n--\n"
        )  # no trace, nothing on standard output
        return
    assert not found.refusal
    if case.kind == "described":
        assert (found.calls, found.runs) != (base.calls, base.runs)
    else:
        assert found.seen != base.seen


# ---- wrong values

ANY_NUMBER = {"--tau-first", "--tau-last", "--null-mean", "--difference"}  # below zero, too
# What takes any text (a name of one's own, a sentence) or any path that can be made.
ANY_TEXT = {"--prompt", "--question", "--title", "--licence", "--citation", "--system", "--on", "--name"}
MADE = {"--out", "--save", "<path>", "<out>", "--folder"}
# Judged by what a stand-in replaces here; that they refuse is tested where the work itself is.
RUNS = "tests/test_cli_sentences.py"
BY_THE_WORK = {
    **{(c, p): RUNS for c in ("ttm", "simplematch") for p in ("--benchmark", "--model", "--tag")},
    ("ttm", "--lora-targets"): "tests/test_lora.py",
    ("simplematch", "--lora-targets"): "tests/test_lora.py",
    ("ledger", "--model"): RUNS,
    ("sweep", "--address"): "tests/test_sweep_ray.py",
    ("ladder", "<benchmark>"): "tests/test_ladder.py",
    ("ladder", "--model"): "tests/test_ladder.py",
    ("adapt", "--model"): RUNS,
    ("pretrain", "<name>"): "tests/test_pretrain.py",
    ("pretrain", "--steps"): "tests/test_pretrain.py",
    ("fetch", "<name>"): "tests/test_cli.py",
}


def effective_mode(command: str, parameter: str) -> str:
    """A mode in which a parameter takes effect."""
    modes = list(MODES[command])
    return next((m for m in modes if case_of(command, parameter, m).kind != "refused"), modes[0])


def wrong_values() -> Iterator[tuple[str, str, str]]:
    """Every option of a number or a text, with a value that it cannot have."""
    for name, command in commands().items():
        for parameter, label in zip(command.params, parameters(command), strict=False):
            kind = parameter.type_descriptor.annotation
            if kind in (int, float):
                below = () if label in ANY_NUMBER else ("-1",)
                yield from (
                    (name, label, value) for value in (*below, "x", *("nan", "1e999") * (kind is float))
                )
            elif kind is not bool and label not in ANY_TEXT | MADE:
                yield name, label, "no-such"


@pytest.mark.parametrize(("command", "parameter", "value"), wrong_values())
def test_a_wrong_value_is_refused_in_one_sentence(command, parameter, value, invoke):
    """That names the option, the setting of its name or the value, and no Typer's box of four lines."""
    if (command, parameter) in BY_THE_WORK and value != "x":
        return
    mode = effective_mode(command, parameter)
    given, case = MODES[command][mode], case_of(command, parameter, mode)
    if parameter.startswith("<"):
        own = given[1:] if given and not given[0].startswith("--") and not case.drop else given
        words = (value, *(() if case.instead else own))
    else:
        words = (*given, parameter, value)
    found = invoke(command, mode, words)
    assert found.code == 2 and found.refusal.endswith((".", "?")), found
    assert "Usage:" not in found.said and not found.refusal.startswith("Error")


# ---- benchmarks named first, short names of models, presets that bring theirs

FIRST = {
    "evaluate": "benchmark",
    "ttm": "benchmark",
    "simplematch": "benchmark",
    "alpha": "noise",
    "recall": "",
    "blind": "",
    "adapt": "graphs",
    "export groups": "table",
    "export scores": "benchmark",
    "export matchings": "benchmark",
    "export metrics": "benchmark",
    "export results": "benchmark",
    "export row": "ttm",
    "report": "examples",
}


@pytest.mark.parametrize(("command", "mode"), FIRST.items())
def test_a_benchmark_may_be_named_first_and_without_its_flag(command, mode, invoke, bases):
    at = MODES[command][mode].index("--benchmark")
    arguments = list(MODES[command][mode])
    name = arguments.pop(at + 1)
    arguments.pop(at)
    assert invoke(command, mode, (name, *arguments)) == base_of(command, mode, invoke, bases)


@pytest.mark.parametrize("command", ["alpha", "recall", "blind", "evaluate", "ttm", "simplematch"])
def test_a_command_without_its_benchmark_says_how_to_name_one(command, invoke):
    found = invoke(command, "", ())
    assert "benchmark" in found.refusal and "<" not in found.refusal


NAMED = {
    "evaluate": ("toy/pairs",),
    "ttm": ("toy/pairs",),
    "simplematch": ("toy/pairs",),
    "alpha": ("toy/pairs",),
    "recall": ("toy/captions",),
    "blind": ("toy/pairs",),
    "adapt": ("gqa",),
    "report": ("--benchmark", "toy/pairs", "--out", "out.html"),
    "export scores": ("--benchmark", "toy/pairs", "--out", "out.csv"),
    "export row": ("--benchmark", "toy/pairs"),
}


@pytest.mark.parametrize("command", NAMED)
def test_the_short_name_of_a_model_is_the_hub_s(command, invoke):
    """No model of the hub is here: what is asked for stands in the refusal, or in the description of the run."""
    found = invoke(command, "", (*NAMED[command], "--model", "siglip-l16"))
    assert "google/siglip-large-patch16-256" in found.refusal + "".join(found.calls)


def described_as(found: Outcome) -> dict[str, Any]:
    return json.loads(found.calls[0])


def test_a_preset_of_the_paper_brings_its_model_and_its_benchmark(invoke):
    found = invoke("ttm", "", ("--preset", "winoground/siglip-l16"))
    job = described_as(found)
    assert (job["benchmark"], job["model"]) == ("winoground", "google/siglip-large-patch16-256")
    assert (job["ttm"]["tau_first"], job["ttm"]["tau_last"]) == (2.0, 0.1)
    assert "was chosen for" not in found.said


def test_a_preset_on_another_benchmark_is_a_remark_and_for_another_model_a_refusal(invoke):
    found = invoke("ttm", "", ("toy/pairs", "--preset", "winoground/siglip-l16"))
    assert described_as(found)["model"] == "google/siglip-large-patch16-256"
    assert "winoground/siglip-l16 was chosen for winoground; this is toy/pairs" in found.said
    found = invoke("ttm", "", ("toy/pairs", "--preset", "winoground/siglip-l16", "--model", "{clip}"))
    assert "units of the scores of google/siglip-large-patch16-256" in found.refusal
    own = ("--coverage-first", "0.2", "--tau-last", "0")
    found = invoke("ttm", "", ("toy/pairs", "--preset", "winoground/siglip-l16", "--model", "{clip}", *own))
    assert described_as(found)["ttm"]["schedule"] == "cosine"


@pytest.mark.parametrize("stays", [("--schedule", "constant"), ("--iterations", "1")])
def test_a_threshold_of_another_model_that_nothing_reads_is_no_obstacle(stays, invoke):
    preset = ("toy/pairs", "--preset", "winoground/siglip-l16", "--model", "{clip}")
    job = described_as(invoke("ttm", "", (*preset, *stays, "--tau-first", "1")))
    assert job["ttm"]["tau_first"] == 1.0


def test_the_global_variant_of_winoground_has_the_thresholds_of_its_own_preset(invoke):
    arguments = ("winoground", "--model", "siglip-b16", "--variant", "global")
    job = described_as(invoke("ttm", "", arguments))
    assert job["preset"] == "winoground/siglip-b16/global"
    assert (job["ttm"]["threshold_mode"], job["ttm"]["tau_first"]) == ("relative", 0.5)


@pytest.mark.parametrize("benchmark", ["toy/pairs", "toy/captions"])
@pytest.mark.parametrize(
    ("split", "says"), [("vaildation", "did you mean 'validation'"), ("test", "is measured")]
)
def test_alpha_is_tuned_on_another_split_that_exists(benchmark, split, says, invoke, monkeypatch):
    for name in ("score_groups", "score_table"):  # the sentence comes before any work
        monkeypatch.setattr(f"core.cli.alpha.{name}", None)
    found = invoke("alpha", "", ("--benchmark", benchmark, "--model", "{captioner}", "--tune-on", split))
    assert says in found.refusal
