"""MASS and the SyntaxBias score beside VisualGPTScore and alpha-debiasing, on the built-in sets (issue 20 D).

    python -m benchmarks.results.baselines

All are scores of builtin/blip-caption. MASS is arXiv 2501.11469, with one Gaussian null image and, in a second table,
with others that the paper may have taken. SyntaxBias is after Eq. 4 of arXiv 2308.10509 with log P(t) of
builtin/blind-lm (`core.debiasing.study` says what of it is ours); its benchmark leaves out the items whose score is
above a threshold near 0, so the plain score is measured once more on the half of the groups whose score is nearest to
0. The table goes to benchmarks/BASELINES.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from core import datasets
from core.debiasing.priors import estimate_prior
from core.debiasing.study import AlphaStudy
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS, headline_metrics
from core.metrics.statistics import Clusters, Comparison, Estimate, compare
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer, load_scorer
from core.scoring.scores import score_groups

TABLE = Path(__file__).parents[1] / "BASELINES.md"
MODEL = "builtin/blip-caption"
SEEDS = (0, 1, 2, 3)  # of the one noise image of MASS


ONE = [
    "",
    "## Four noise images, against alpha = 1",
    "",
    "The same against alpha-debiasing at alpha = 1 with three noise images of that seed, of which MASS has the first.",
    "",
]


class Row(NamedTuple):
    """A metric on a set: plain, alpha chosen on one half and measured on the other, alpha = 1, MASS, and plain on the
    groups with little SyntaxBias; MASS against plain and against alpha = 1, with McNemar's p."""

    benchmark: str
    metric: str
    plain: Estimate
    held_out: tuple[float, float, float]  # mean, deviation, and alpha's mean
    one: Estimate
    mass: Estimate
    gain: str
    against_one: str
    bias: float
    level: Estimate | None


class NullRow(NamedTuple):
    """GroupScore of a set: plain, and by null image of MASS with the difference to plain."""

    benchmark: str
    plain: Estimate
    mass: dict[str, tuple[Estimate, float, str]]


def sets() -> Iterator[GroupSet]:
    """The built-in test sets of groups."""
    for name in datasets.names():
        if name.startswith("scenes/") and "@" not in name and "~" not in name:
            yield datasets.load(name, "test")


def measure(groups: GroupSet) -> Iterator[Row]:
    """The rows of one set."""
    cache, clusters = ScoreCache(), Clusters.of_groups(groups)
    scorer = lazy_scorer(MODEL)
    scores = score_groups(scorer, groups, cache)
    noise = estimate_prior(scorer, groups, "gaussian", cache=cache)
    text = estimate_prior(scorer, groups, "lm", cache=cache)
    assert groups.truth is not None
    study = AlphaStudy(scores, noise.values, groups.truth, groups.ids, clusters=clusters)
    words = AlphaStudy(scores, text.values, groups.truth, groups.ids, clusters=clusters)
    mass = Evaluation.of(
        score_groups(lazy_scorer(f"mass:{MODEL}"), groups, cache), groups.truth, groups.ids, clusters=clusters
    )
    plain, one = study.evaluation(0.0), study.evaluation(1.0)
    bias = words.frequency.syntax_bias
    level = None
    if bias.any():
        level = plain.select(np.abs(bias) <= np.median(np.abs(bias)))
    for name in headline_metrics(plain.metrics):
        held = study.validated(name).summary
        yield Row(
            groups.name,
            name,
            plain.metrics[name],
            (*held["values"], held["alphas"][0]),
            one.metrics[name],
            mass.metrics[name],
            _gain(plain, mass, name, clusters),
            _gain(one, mass, name, clusters),
            float(bias.mean()),
            None if level is None else level.metrics[name],
        )


def null_images(captioner: Any) -> dict[str, list[Any]]:
    """What may stand for no image: the noise of `mass:`, what the model's pixels call 0, and what VLIS takes."""
    mean = captioner.processor.image_processor.image_mean
    grey, black, white = (
        Image.new("RGB", (captioner.side,) * 2, tuple(round(255 * channel) for channel in colour))
        for colour in (mean, (0.0,) * 3, (1.0,) * 3)
    )
    return {
        "noise": captioner.nulls(1),
        "mean grey": [grey],
        "black": [black],
        "black and white": [black, white],
    }


def measure_nulls(groups: GroupSet) -> NullRow:
    """GroupScore of MASS on a set by null image."""
    captioner: Any = load_scorer(MODEL)
    scores, clusters = score_groups(captioner, groups, ScoreCache()), Clusters.of_groups(groups)
    captions, index = groups.unique_captions()

    def evaluated(prior: np.ndarray) -> Evaluation:
        debiased = scores - prior[index][:, None]
        return Evaluation.of(debiased, groups.truth, groups.ids, clusters=clusters)

    plain, mass = evaluated(np.zeros(len(captions))), {}
    for name, images in null_images(captioner).items():
        found = evaluated(captioner.token_prior(captions, images))
        difference = found.metrics[GROUP_SCORE].value - plain.metrics[GROUP_SCORE].value
        mass[name] = found.metrics[GROUP_SCORE], difference, _gain(plain, found, GROUP_SCORE, clusters)
    return NullRow(groups.name, plain.metrics[GROUP_SCORE], mass)


def measure_seeds(groups: GroupSet) -> dict[str, dict[int, Comparison]]:
    """Against what -> seed of the one noise image of MASS -> GroupScore of MASS against that: plain, or alpha = 1 with
    the prior of the three noise images from that seed on."""
    captioner: Any = load_scorer(MODEL)
    scores, clusters = score_groups(captioner, groups, ScoreCache()), Clusters.of_groups(groups)
    captions, index = groups.unique_captions()

    def hits(scores: np.ndarray) -> np.ndarray:
        return Evaluation.of(scores, groups.truth, groups.ids).outcomes[GROUP_SCORE].value

    plain: dict[int, Comparison] = {}
    one: dict[int, Comparison] = {}
    for seed in SEEDS:
        mass = hits(scores - captioner.token_prior(captions, captioner.nulls(1, seed))[index][:, None])
        noise = estimate_prior(captioner, groups, "gaussian", 3, seed, cache=ScoreCache())
        plain[seed] = compare(hits(scores), mass, clusters)
        one[seed] = compare(hits(scores - noise.values[:, None]), mass, clusters)
    return {"plain": plain, "alpha = 1": one}


def seed_lines(rows: dict[str, dict[int, Comparison]], other: str) -> list[str]:
    """A table in Markdown: MASS with every noise image against another score, p by cluster if there are, Holm over the
    sets."""
    held = {seed: Comparison.holm({name: row[seed] for name, row in rows.items()}) for seed in SEEDS}

    def p_holm(c: Comparison) -> float:
        found = c.p_holm if c.clustered is None else c.clustered.p_holm
        assert found is not None
        return found

    found = [
        f"| set | {' | '.join(f'seed {seed}, p after Holm' for seed in SEEDS)} | mean ± deviation | worse at |",
        f"|---|{'---|' * (len(SEEDS) + 2)}",
    ]
    always = 0
    for name in rows:
        own = [held[seed][name] for seed in SEEDS]
        change = np.array([c.difference for c in own])
        worse = sum(c.difference < 0 and p_holm(c) <= 0.05 for c in own)
        always += worse == len(SEEDS)
        cells = " | ".join(f"{c.difference:+.1f}, {p_holm(c):.2g}" for c in own)
        spread = f"{change.mean():+.1f} ± {change.std(ddof=1):.1f}"
        found.append(f"| {name.removeprefix('scenes/')} | {cells} | {spread} | {worse} of {len(SEEDS)} |")
    by_seed = [sum(c.difference < 0 and p_holm(c) <= 0.05 for c in each.values()) for each in held.values()]
    return [
        *found,
        "",
        f"Of {len(rows)} sets MASS is worse than {other} after Holm on {', '.join(map(str, by_seed))} (seeds "
        f"{', '.join(map(str, SEEDS))}), on {always} with every one of these images, and better on "
        f"{sum(any(c.difference > 0 and p_holm(c) <= 0.05 for c in (h[n] for h in held.values())) for n in rows)}.",
    ]


def null_lines(rows: list[NullRow]) -> list[str]:
    """The second table in Markdown, with how often MASS is below plain."""
    names = list(rows[0].mass)
    below = ", ".join(f"{name} {sum(row.mass[name][1] < 0 for row in rows)}" for name in names)
    return [
        f"| set | plain | {' | '.join(f'{name}, and minus plain' for name in names)} |",
        f"|---|---|{'---|' * len(names)}",
        *(
            f"| {row.benchmark.removeprefix('scenes/')} | {_cell(row.plain)} | "
            + " | ".join(f"{_cell(row.mass[name][0])}, {row.mass[name][2]}" for name in names)
            + " |"
            for row in rows
        ),
        "",
        f"Below plain, of {len(rows)} sets: {below}.",
    ]


def _gain(before: Evaluation, after: Evaluation, name: str, clusters: Clusters | None) -> str:
    found = compare(before.outcomes[name].value, after.outcomes[name].value, clusters)
    return f"{found.difference:+.1f} [{found.low:.1f}, {found.high:.1f}], p = {found.p_value:.2g}"


def _cell(e: Estimate | None) -> str:
    return "–" if e is None else f"{e.value:.1f} [{e.low:.1f}, {e.high:.1f}]"


def lines(rows: list[Row]) -> list[str]:
    """The table in Markdown."""
    found = [
        "| set | metric | chance | plain | held-out alpha | alpha = 1 | MASS | MASS − plain | MASS − alpha 1 | "
        "SyntaxBias | plain, half with least SyntaxBias | ties of MASS |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        depends = r.metric != GROUP_MATCH or r.bias
        alpha = f" at {r.held_out[2]:.2f}" if depends else ""
        cells = [
            r.benchmark.removeprefix("scenes/"),
            METRICS[r.metric].label,
            f"{r.plain.chance:.1f}",
            _cell(r.plain),
            f"{r.held_out[0]:.1f} ± {r.held_out[1]:.1f}{alpha}",
            _cell(r.one),
            _cell(r.mass),
            r.gain,
            r.against_one,
            f"{r.bias:+.2f}",
            _cell(r.level),
            str(r.mass.ties),
        ]
        found.append(f"| {' | '.join(cells)} |")
    return found


def main() -> None:
    """Write the table."""
    rows, null_rows = [], []
    seeds: dict[str, dict[str, dict[int, Comparison]]] = {}
    for groups in sets():
        new = list(measure(groups))
        rows += new
        for other, row in measure_seeds(groups).items():
            seeds.setdefault(other, {})[groups.name] = row
        null_rows.append(measure_nulls(groups))
        print(*lines(new)[2:], *null_lines(null_rows[-1:])[2:3], sep="\n", file=sys.stderr, flush=True)
    head = [
        "# MASS and SyntaxBias beside alpha-debiasing",
        "",
        "builtin/blip-caption on the built-in test sets; percent with 95 % intervals. *Plain* is "
        "VisualGPTScore; *held-out alpha* is chosen on one half of the groups and measured on the other, ten "
        "times (mean ± standard deviation, n − 1); *alpha = 1* takes out the whole prior of three noise images; "
        "*MASS* is the mean PMI of a caption's tokens with the image, against one noise image (arXiv "
        "2501.11469). *SyntaxBias* is the mean over groups, from -1 to 1, of how much likelier the true "
        "captions are as text to builtin/blind-lm (after arXiv 2308.10509, Eq. 4, which takes one true and one false "
        "caption and Vicuna-13B; the mean over a group's pairs and the division by the set's largest difference are "
        "ours, as the paper does not say how it scales to [-1, 1]); above 0 a text-only model is "
        "helped, and the next column measures the plain score on the half of the groups with the least of it,"
        " where there are false captions. p is McNemar's. Written by `python -m "
        "benchmarks.results.baselines`.",
        "",
    ]
    nulls = [
        "",
        "## The null image of MASS",
        "",
        "Verified: the formula, the mean over tokens, and that a null image stands for the text alone, as summaries of "
        "the paper quote them, and that it trains nothing. Assumed: which null image; the paper's text and code were "
        "not to be had. So GroupScore was measured with four. *Noise* is the default of `mass:`, one Gaussian image as "
        "in [VGPT] appendix B; *mean grey* is 0 in the model's normalised pixels; *black and white* is the mean of "
        "every token's probability over a black and a white image, as in the code of an earlier paper by the first and "
        "last author (VLIS, EMNLP 2023, github.com/JiwanChung/vlis). p is McNemar's.",
        "",
    ]
    images = [
        "",
        "## Four noise images",
        "",
        "MASS takes one noise image, so one draw is one case. GroupScore of MASS minus plain for the images of four "
        "seeds; p is McNemar's, by cluster where groups share captions, after Holm over the sets of a seed.",
        "",
    ]
    parts = [
        *head,
        *lines(rows),
        *nulls,
        *null_lines(null_rows),
        *images,
        *seed_lines(seeds["plain"], "plain"),
    ]
    parts += [*ONE, *seed_lines(seeds["alpha = 1"], "alpha = 1")]
    TABLE.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
