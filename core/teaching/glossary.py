"""The field's terms in one sentence each; metrics explain themselves (`core.metrics.groups.METRICS`)."""

from __future__ import annotations

from core.metrics.groups import METRICS
from core.metrics.retrieval import METRICS as RETRIEVAL
from core.scorers.score_kinds import KINDS

_TERMS = {
    "group": "Images and captions that belong together, at least as many captions as images; 2×2 has two of each.",
    "truth": "Which caption belongs to which image; of one image several may be true, and then TextScore asks that all "
    "score above those that are not, and GroupMatch that the matched one is true. It is there to measure: no scorer "
    "and no matching sees it, and no training but the oracle's.",
    "score matrix": "One number for every image with every caption of a group; higher means a better match.",
    "matching": "Every image gets a different caption.",
    "bijection": "A matching of as many images as captions: every image has one caption, and no caption is left over. "
    "A 2×2 group has two of them.",
    "induced matching": "The matching with the highest total score; undefined where two tie.",
    "margin": "Total of the induced matching minus the total of the best other one: how confident the model is in it.",
    "tie": "Two scores or totals are equal. A tie counts as wrong, and is counted.",
    "chance level": "What random scores would get; only what lies above it is evidence of skill.",
    "95 % interval": "A range that holds the true value in at least 95 of 100 such sets (exact, Clopper and Pearson); "
    "where the interval of a paired difference holds 0, these groups cannot tell which of two models is better.",
    "clustered interval": "The interval where groups that share an image, a caption or a tag count together: they are "
    "no independent evidence.",
    "points": "Percentage points: 60 % is 10 points more than 50 %. A difference is that of the unrounded percentages: "
    "it may differ by 0.1 from that of the two as they are printed, rounded to one decimal.",
    "detectable difference": "The smallest difference that so many groups show with 80 % power.",
    "Holm": "A correction of p values for several comparisons on one page: with no difference anywhere, one in 20 such "
    "pages shows any.",
    "AURC": "Area under the risk-coverage curve: how many of the surest matchings are wrong, on average over all "
    "coverages; excess AURC is what the best order of the same groups would save.",
    "pseudo-label": "An induced matching that was selected for training.",
    "coverage": "Share of the groups that a threshold selects.",
    "precision": "Share of the selected matchings that are right; the page shows it, the training never uses it.",
    "language prior": "How likely a caption is as text, whatever the image: P(t).",
    "PMI": "Pointwise mutual information, log P(t | i) − log P(t): how much likelier the image makes a caption than it "
    "is on its own.",
    "α (alpha)": "How much of the language prior is removed from a score: 0 none, 1 all.",
    "test-time matching, TTM": "Training a model on its own confident matchings of the test groups, again and again.",
    "probe": "A small classifier trained to read one thing out of a model's tokens or vectors: it shows what is there, "
    "not what the model makes of it.",
    "SimpleMatch": "Overfitting a model to its induced matchings once, so that GroupScore can reach GroupMatch.",
    "transfer check": "Adapting on some groups and measuring the others separately: learned, or memorised?",
    "R@1, R@k": "Recall at k: the share of queries with a right item among their first k. Of n items of which one is "
    "right, chance gives k / n.",
    "average precision, mAP": "How far up a query's right images stand: 100 % where every right one comes before every "
    "wrong one. mAP is its mean over queries; chance is what a random order gives.",
    "hard distractor": "An image that has some or all words of a query, but not on one object.",
}


def glossary() -> dict[str, str]:
    """Every term, metric and kind of score with its meaning, in alphabetical order."""
    meanings = dict(_TERMS)
    for table in (METRICS, RETRIEVAL, KINDS):
        meanings |= {entry.label: entry.meaning for entry in table.values()}  # type: ignore[attr-defined]
    return dict(sorted(meanings.items(), key=lambda item: item[0].lower()))
