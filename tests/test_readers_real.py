"""Readers on the real annotation files beside the project, where they are; their images are not, captions are."""

import json
from collections import Counter

import pytest

from core import datasets
from core.datasets.sugarcrepe import SUBSETS


@pytest.mark.parametrize("subset", SUBSETS)
def test_sugarcrepes_counts_and_captions(subset, real_data):
    place = real_data("sugarcrepe")
    groups = datasets.load(f"sugarcrepe/{subset}", folder=place, images=False)
    rows = json.loads((place / f"{subset}.json").read_text())
    assert len(groups) == len(rows) == SUBSETS[subset][0]
    for group, row in zip(groups, rows.values(), strict=True):
        assert group.captions == (row["caption"], row["negative_caption"])
        assert group.images[0].path.name == row["filename"]
        assert group.truth == (0,)


def test_sugarcrepe_swap_obj_lacks_item_108(real_data):
    groups = datasets.load("sugarcrepe/swap_obj", folder=real_data("sugarcrepe"), images=False)
    assert {f"sugarcrepe-swap_obj-{i}" for i in range(246)} - set(groups.ids) == {"sugarcrepe-swap_obj-108"}


def test_colas_multi_object_pairs(real_data):
    place = real_data("cola")
    groups = datasets.load("cola/multi-object", folder=place, images=False)
    rows = json.loads((place / "COLA_multiobjects_matching_benchmark.json").read_text())
    assert len(groups) == 210
    for group, (one, first, other, second) in zip(groups, rows, strict=True):
        assert group.captions == (first, second)
        assert [one.endswith(f"/{group.images[0].path.name}"), other.endswith(group.images[1].path.name)] == [
            True
        ] * 2


def test_winogrounds_captions_and_tags(real_data):
    groups = datasets.load("winoground", folder=real_data("winoground"), images=False)
    assert len(groups) == 400
    assert groups.ids == [f"winoground-{i}" for i in range(400)]
    assert groups[0].captions == (
        "an old person kisses a young person",
        "a young person kisses an old person",
    )
    assert groups[7].images[1].path.name == "ex_7_img_1.png"
    assert Counter(g.tags["collapsed_tag"] for g in groups) == {"Relation": 233, "Object": 141, "Both": 26}
    # the counts of the VisualGPTScore paper's Table 13, which has 171 for NoTag
    counts = {
        tag: len(groups.where(**{tag: "yes"})) for tag in datasets.benchmark_entry("winoground").tags[4:]
    }
    assert counts == {
        "AmbiguouslyCorrect": 46,
        "ComplexReasoning": 78,
        "NoTag": 172,
        "NonCompositional": 30,
        "UnusualImage": 56,
        "UnusualText": 50,
        "VisuallyDifficult": 38,
    }
