"""The built-in group sets: every caption against the scene graph, splits, order, shipped files."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise, permutations

import bound_assets  # noqa: F401
import numpy as np
import pytest
from scene_graphs import scene_graph

from benchmarks.results import shipped_scenes
from benchmarks.results.shipped_scenes import write_assets
from core.base.errors import InputError
from core.scenes import sets
from core.scenes._shipped_files import asset_path, read_rows
from core.scenes.captions import VOCABULARY, _words
from core.scenes.retrieval import build_retrieval, load_retrieval
from core.scenes.sets import FLAT, SETS, _draw_groups, _independent, build, load
from core.scoring.scores import score_all, score_groups

SHAPES = {
    "scenes/attribute-swap": (2, 2), "scenes/left-right": (2, 2), "scenes/front-behind": (2, 2),
    "scenes/size-swap": (2, 2), "scenes/material-swap": (2, 2), "scenes/relations-1x4": (1, 4),
    "scenes/replace": (1, 2), "scenes/swap": (1, 2), "scenes/add": (1, 2), "scenes/word-order": (1, 5),
    "scenes/triples": (3, 3), "scenes/two-of-four": (2, 4),
}  # fmt: skip

# An independent reading of captions: words to a meaning, without the code that wrote them.
PLAIN = {
    "block": "cube", "ball": "sphere", "thing": "object", "big": "large", "little": "small",
    "shiny": "metal", "matte": "rubber",
}  # fmt: skip
FIELDS = {
    "shape": {"cube", "sphere", "cylinder"},
    "size": {"large", "small"},
    "material": {"metal", "rubber"},
    "colour": {"red", "orange", "yellow", "green", "cyan", "blue", "purple", "white"},
}
NOUN = r"(?:cube|sphere|cylinder|object)"
THING = rf"(?:an?|the) ((?:[a-z]+ )*{NOUN})"
AXES = {"left of": (0, 1), "right of": (0, -1), "in front of": (1, 1), "behind": (1, -1)}


def read(caption):
    """([{attribute: value}], relation or None), or None where the words make no sentence."""
    text = " ".join(PLAIN.get(word, word) for word in re.findall(r"[a-z]+|,", caption))
    text = re.sub(r"^(there is|we see|an? (photo|picture|image) of) ", "", text)
    text = re.sub(r"\b(to|on) the (left|right) of", r"\2 of", text)
    related = re.fullmatch(rf"{THING}(?: is)? (left of|right of|in front of|behind) {THING}", text)
    parts = (related[1], related[3]) if related else re.split(r" , | and ", text)
    things = []
    for part in parts:
        found = re.fullmatch(THING, part) if not related else None
        adjectives = (found[1] if found else part).split() if related or found else None
        meaning = _meaning(adjectives)
        if meaning is None:
            return None
        things.append(meaning)
    return things, related[2] if related else None


def _meaning(adjectives):
    meaning = {}
    for word in adjectives or ["?"]:
        field = next((name for name, values in FIELDS.items() if word in values), None)
        if (field is None and word != "object") or field in meaning:
            return None
        if field:
            meaning[field] = word
    return meaning


def fits(things, graph):
    """Every way to give each thing an object of its own."""
    for order in permutations(graph["objects"], len(things)):
        if all(item[k] == v for thing, item in zip(things, order, strict=True) for k, v in thing.items()):
            yield order


def verdict(caption, graph):
    """True, False, or None where a false reading is not clear: positions decide, not the graph's relation list."""
    things, relation = read(caption)
    ways = list(fits(things, graph))
    if relation is None:
        return bool(ways)
    axis, sign = AXES[relation]
    gaps = [sign * (b["position"][axis] - a["position"][axis]) for a, b in ways]
    listed = {(r["subject"], r["relation"], r["object"]) for r in graph["relations"]}
    if any((a["id"], relation, b["id"]) in listed for a, b in ways):
        return True
    return False if max(gaps, default=-1) < 0.46 else None


@pytest.fixture(scope="module")
def shipped():
    return {(name, split): load(name, split) for name in SETS for split in ("validation", "test")}


def test_every_set_has_its_shape_and_at_least_300_groups(shipped):
    assert set(SHAPES) == set(SETS)
    for (name, _), groups in shipped.items():
        assert groups.shape == SHAPES[name] and len(groups) >= 300


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize("name", SETS)
def test_every_caption_is_true_of_its_own_image_alone(shipped, name, split):
    for group in shipped[name, split]:
        graphs = [scene_graph(image.scene) for image in group.images]
        for j, caption in enumerate(group.captions):
            if name == "scenes/word-order" and j not in group.truth:
                assert read(caption) is None
                continue
            for i, graph in enumerate(graphs):
                assert verdict(caption, graph) is (group.truth[i] == j), (group.id, caption)


def test_training_groups_are_true_too_and_all_seen():
    for name in SETS:
        for group in build(name, "train", 15, seed=3):
            assert group.tags["unseen"] == "no" and all(image.scene.seen for image in group.images)
            for j, caption in enumerate(group.captions):
                if name != "scenes/word-order" or j in group.truth:
                    verdicts = [verdict(caption, scene_graph(image.scene)) for image in group.images]
                    assert verdicts == [t == j for t in group.truth]


def test_no_scene_is_in_two_splits_or_in_two_groups(shipped):
    keys = [i.key for groups in shipped.values() for g in groups for i in g.images]
    keys += [i.key for split in ("validation", "test") for i in load_retrieval(split).images]
    assert len(set(keys)) == len(keys)
    for (_, split), groups in shipped.items():
        assert {i.scene.split for g in groups for i in g.images} == {split}


def test_truth_is_in_no_favoured_place(shipped):
    for (name, split), groups in shipped.items():
        _, k = groups.shape
        for column in groups.truth.T:
            counts = np.bincount(column, minlength=k)
            chi2 = ((counts - len(groups) / k) ** 2 / (len(groups) / k)).sum()
            assert chi2 < {2: 10.8, 3: 13.8, 4: 16.3, 5: 18.5}[k], (name, split)  # the 0.1 % quantiles


def test_swap_groups_say_the_same_words_in_another_order(shipped):
    for name in ("attribute-swap", "left-right", "front-behind", "size-swap", "material-swap", "triples"):
        for group in shipped[f"scenes/{name}", "test"]:
            assert len({tuple(sorted(_words(caption))) for caption in group.captions}) == 1


def test_word_order_negatives_are_four_orders_of_the_same_words(shipped):
    for group in shipped["scenes/word-order", "test"]:
        assert len(set(group.captions)) == 5
        assert len({tuple(sorted(_words(caption))) for caption in group.captions}) == 1
        assert [read(c) is not None for c in group.captions].index(True) == group.truth[0]


def test_captions_stay_within_the_vocabulary(shipped):
    used = {w for groups in shipped.values() for g in groups for c in g.captions for w in _words(c)}
    assert used <= set(VOCABULARY)


def test_tags_are_strings_and_name_the_compositions(shipped):
    for (name, _), groups in shipped.items():
        unseen = np.mean([g.tags["unseen"] == "yes" for g in groups])
        assert 0.1 < unseen < 0.3, name
        for group in groups:
            assert all(isinstance(v, str) and v for v in group.tags.values())
            assert {"kind", "objects", "colours", "shapes", "unseen", "held_out"} <= set(group.tags)
            assert (group.tags["held_out"] == "none") == (group.tags["unseen"] == "no")
            if group.tags["unseen"] == "no":
                assert all(image.scene.seen for image in group.images)


@pytest.mark.parametrize("name", ["scenes/replace", "scenes/swap", "scenes/add", "scenes/relations-1x4"])
def test_counting_words_and_word_pairs_does_not_find_the_true_caption(name):
    def features(caption):
        tokens = ["<", *_words(caption), ">"]
        return [*tokens, *pairwise(tokens)]

    counts = ({}, {})
    for group in build(name, "train", 500):
        for j, caption in enumerate(group.captions):
            for f in features(caption):
                counts[j == group.truth[0]][f] = counts[j == group.truth[0]].get(f, 0) + 1
    totals = [sum(c.values()) for c in counts]

    def score(caption):
        odds = [
            np.log((counts[1].get(f, 0) + 1) / totals[1] / ((counts[0].get(f, 0) + 1) / totals[0]))
            for f in features(caption)
        ]
        return sum(odds)

    groups = build(name, "test", 400, seed=5)
    right = np.mean([np.argmax([score(c) for c in g.captions]) == g.truth[0] for g in groups])
    chance = 1 / groups.shape[1]
    assert abs(right - chance) < 4 * np.sqrt(chance * (1 - chance) / 400)


# Building and shipping


def test_building_depends_on_its_arguments_alone():
    once, again = build("scenes/left-right", "test", 5, seed=1), build("scenes/left-right", "test", 5, seed=1)
    assert once == again
    assert once.ids != build("scenes/left-right", "test", 5, seed=2).ids
    assert once.groups == build("scenes/left-right", "test", 8, seed=1).groups[:5]


def test_the_shipped_files_hold_what_building_gives(shipped):
    for (name, split), groups in shipped.items():
        assert groups.groups[:25] == build(name, split, 25).groups, (name, split)
    assert shipped["scenes/replace", "test"] == build("scenes/replace", "test")


def test_writing_the_assets_twice_gives_equal_bytes(tmp_path, monkeypatch):
    for module in (sets, shipped_scenes):
        monkeypatch.setattr(module, "SETS", {"scenes/swap": SETS["scenes/swap"]})
    monkeypatch.setattr("core.scenes.retrieval._IMAGES", {"train": 5, "validation": 5, "test": 5})
    first, second = write_assets(tmp_path / "a"), write_assets(tmp_path / "b")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    rows = read_rows(asset_path("scenes/swap", "test"), "scenes/swap", "test")
    assert read_rows(tmp_path / "a" / "swap" / "test.jsonl.gz", "scenes/swap", "test") == rows


@pytest.mark.parametrize("harm", ["missing", "cut", "no gzip", "other set", "row"])
def test_a_damaged_file_is_one_sentence(tmp_path, monkeypatch, harm):
    good = asset_path("scenes/swap", "test").read_bytes()
    text = gzip.decompress(good)
    bad = {
        "cut": good[: len(good) // 2],
        "no gzip": b"version https://git-lfs.github.com/spec/v1",
        "other set": gzip.compress(text.replace(b"scenes/swap", b"scenes/swop", 1)),
        "row": gzip.compress(text.replace(b'"scenes":', b'"scene":', 1)),
    }
    path = tmp_path / "scenes" / "swap" / "test.jsonl.gz"
    path.parent.mkdir(parents=True)
    if harm != "missing":
        path.write_bytes(bad[harm])
    monkeypatch.setattr("core.base.paths.assets", lambda: tmp_path)
    with pytest.raises(
        InputError, match=r"The shipped groups .* are (missing|damaged).*install Crossmatch again"
    ) as error:
        load("scenes/swap")
    assert "\n" not in str(error.value)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'scenes/left-right'"):
        load("scenes/left-rigth")
    with pytest.raises(InputError, match="did you mean 'validation'"):
        build("scenes/swap", "valid")
    with pytest.raises(InputError, match="at least one"):
        build("scenes/swap", "test", 0)


# Flattened


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize("name", FLAT)
def test_a_caption_of_a_flattened_set_is_true_of_its_own_image_alone(name, split):
    """Read by the tests' own reader of captions, on a sample of the pairs of different groups."""
    groups, rng = load(name, split), np.random.default_rng(0)
    n, (m, k) = len(groups), groups.shape
    captions = [caption for group in groups for caption in group.captions]
    assert n * m >= 100 and len(set(captions)) == n * k
    graphs = [[scene_graph(image.scene) for image in group.images] for group in groups]
    for i, j in rng.integers(n, size=(1200, 2)):
        if i == j:
            continue
        graph, caption = graphs[i][rng.integers(m)], groups[j].captions[rng.integers(k)]
        assert verdict(caption, graph) is False, (groups[i].id, caption)


def test_a_flattened_set_is_a_part_of_its_set_and_names_itself():
    whole, part = load("scenes/left-right"), load("scenes/left-right@global")
    assert part.name == "scenes/left-right@global" and set(part.ids) < set(whole.ids)
    assert all(group == whole[whole.ids.index(group.id)] for group in part)
    assert {g.tags["unseen"] for g in part} == {"yes", "no"}
    with pytest.raises(InputError, match="did you mean 'scenes/left-right@global'"):
        load("scenes/left-rigth@global")


@pytest.mark.slow
def test_the_shipped_flattened_set_is_what_choosing_gives():
    whole, part = load("scenes/material-swap"), load("scenes/material-swap@global")
    drafts = [draft for draft, _ in _draw_groups("scenes/material-swap", "test")]
    assert part.ids == whole.select(_independent(drafts)).ids


def test_without_flattening_most_images_fit_several_captions():
    """Why the flattened sets are parts: the whole sets have no one right assignment."""
    groups = load("scenes/left-right").select(range(80))
    graphs = [scene_graph(image.scene) for group in groups for image in group.images]
    captions = [caption for group in groups for caption in group.captions]
    fitting = np.array([sum(verdict(c, graph) is True for c in captions) for graph in graphs])
    assert (fitting > 1).mean() > 0.25


def test_drafts_without_conflicts_are_chosen_and_no_further_one_fits_in():
    drafts = [draft for draft, _ in _draw_groups("scenes/left-right", "test", 40)]
    kept = _independent(drafts).tolist()

    def clash(a, b):
        return any(c.is_true_of(s) is not False for c in a.statements for s in b.scenes)

    for i in range(len(drafts)):
        rivals = [j for j in kept if j != i and (clash(drafts[i], drafts[j]) or clash(drafts[j], drafts[i]))]
        assert bool(rivals) is (i not in kept)


def test_all_images_are_scored_with_all_captions():
    groups = load("scenes/triples@global").select(range(5))

    class Lengths:
        name = key = "lengths"

        def score(self, images, captions, pairs):
            keys = np.array([int(image.key[:4], 16) for image in images])
            return keys[pairs[:, 0]] + np.array([len(c) for c in captions])[pairs[:, 1]] / 128

    found = score_all(Lengths(), groups)
    images = [image for g in groups for image in g.images]
    captions = [caption for g in groups for caption in g.captions]
    expected = [[int(i.key[:4], 16) + len(c) / 128 for c in captions] for i in images]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array(expected, dtype=np.float32))
    own = score_groups(Lengths(), groups)
    np.testing.assert_array_equal(own, found.reshape(5, 3, 5, 3)[range(5), :, range(5)])


# Retrieval


def test_retrieval_lists_follow_the_scene_graphs():
    found = build_retrieval("test", 60, seed=1)
    for q in range(0, len(found.queries), 17):
        (asked,), _ = read(found.queries[q])
        for n, image in enumerate(found.images):
            objects = scene_graph(image.scene)["objects"]
            had = [[item[k] == v for k, v in asked.items()] for item in objects]
            assert found.relevant[q, n] == any(map(all, had))
            assert found.any_word[q, n] == any(map(any, had))
            assert found.all_words[q, n] == all(map(any, zip(*had, strict=True)))
        assert found.attributes[q] == len(asked) - 1
    assert not (found.relevant & ~found.all_words).any() and found.any_word[found.relevant].all()


def test_the_shipped_retrieval_set_is_what_building_gives():
    found = load_retrieval("test")
    assert len(found.images) >= 2000 and len(found.queries) == 240
    assert found.relevant.any(axis=1).all() and (found.all_words & ~found.relevant).any()
    assert 0 < found.unseen.sum() < len(found.queries)
    assert load_retrieval("validation") == build_retrieval("validation")
