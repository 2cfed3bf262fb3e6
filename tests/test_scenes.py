"""The built-in world: scenes, sampler, captions and pictures."""

from __future__ import annotations

import colorsys
import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from gates import until
from scene_graphs import scene_graph

from core.base.errors import InputError
from core.groups import ImageRef
from core.scenes._minimal_pairs import SWAPPED, draw_mentioned_attributes, minimal_pair
from core.scenes._sampler import sample_scene
from core.scenes.captions import VOCABULARY, CaptionTemplate, Phrase, Statement, _words, statement_about
from core.scenes.render import MODEL_SIZE, SceneImage, _primary_rays, _render, _visible, render_many
from core.scenes.training_data import training_minimal_pairs, training_scenes
from core.scenes.world import (
    COLOURS,
    HELD_OUT_COMBINATIONS,
    HELD_OUT_PAIRS,
    SHAPES,
    SIZES,
    SPLITS,
    Camera,
    Light,
    Scene,
    SceneObject,
)

CAMERA = Camera(shift=0.0, elevation=38.0, distance=12.0, zoom=4.5, roll=0.0)
LIGHT = Light(azimuth=30, elevation=52, strength=1.0, warmth=0.0, softness=0.1)


def segment(scene, size=MODEL_SIZE):
    """Which object each pixel's centre shows: int8 (size, size), -1 for the floor."""
    return _visible(scene, _primary_rays(scene.camera, size, 0, size), size, 0)[1]


def thing(shape="cube", colour="red", size="large", material="rubber", x=0.0, y=0.0, rotation=20):
    return SceneObject(shape, colour, size, material, x, y, rotation)


def scene_of(*objects, noise=4):
    return Scene(tuple(objects), CAMERA, LIGHT, 1.0, noise)


@pytest.fixture(scope="module")
def scenes():
    return training_scenes(400, seed=11)


# Scenes


def test_a_scene_survives_json_exactly(scenes):
    for scene in scenes:
        again = Scene.from_dict(json.loads(scene.to_json()))
        assert again == scene and again.to_json() == scene.to_json()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("red", "maroon"),
        ('"floor":1.0,', ""),
        ('"noise":4', '"noise":7'),
        ("0.0", "NaN"),
        ("[[", "[7,["),
    ],
)
def test_a_damaged_scene_description_is_refused_in_one_sentence(old, new):
    with pytest.raises(InputError, match=r"write one with Scene\.to_json"):
        Scene.from_dict(json.loads(scene_of(thing()).to_json().replace(old, new, 1)))


def test_the_same_seed_gives_the_same_scenes_and_another_seed_others():
    assert training_scenes(20, seed=3) == training_scenes(20, seed=3)
    assert training_scenes(20, seed=3) != training_scenes(20, seed=4)


def test_training_scenes_hold_no_held_out_composition(scenes):
    for scene in scenes:
        colours = [o.colour for o in scene.objects]
        assert not {(o.colour, o.shape) for o in scene.objects} & HELD_OUT_COMBINATIONS
        assert not any(frozenset((a, b)) in HELD_OUT_PAIRS for a in colours for b in colours)
        assert scene.seen and scene.split == "train"


def test_every_colour_keeps_two_shapes_and_misses_one_partner():
    for colour in COLOURS:
        assert sum((colour, shape) not in HELD_OUT_COMBINATIONS for shape in SHAPES) >= 2
        assert sum(colour in pair for pair in HELD_OUT_PAIRS) == 1


def test_left_says_nothing_about_near():
    both = training_scenes(8000, seed=5, counts=(2,))
    gaps = np.array([[s.objects[0].x - s.objects[1].x, s.objects[0].y - s.objects[1].y] for s in both])
    places = np.array([[o.x, o.y] for s in both for o in s.objects])
    assert abs(np.corrcoef(gaps.T)[0, 1]) < 0.05
    assert abs(np.corrcoef(places.T)[0, 1]) < 0.05
    signs = np.sign(gaps)
    assert abs((signs[:, 0] * signs[:, 1]).mean()) < 0.05


def test_scenes_hold_two_to_six_objects_of_about_equal_frequency(scenes):
    assert {len(s.objects) for s in scenes} == {2, 3, 4, 5, 6}
    pairs = training_scenes(1500, seed=2, counts=(2,))
    for name, values in {"size": SIZES, "material": ("rubber", "metal")}.items():
        share = np.mean([getattr(o, name) == next(iter(values)) for s in pairs for o in s.objects])
        assert 0.45 < share < 0.55


def test_objects_are_inside_the_frame_large_enough_and_hardly_hidden(scenes):
    for scene in scenes[:120]:
        shown = segment(scene)
        assert (np.concatenate([shown[0], shown[-1], shown[:, 0], shown[:, -1]]) == -1).all()
        for i, item in enumerate(scene.objects):
            alone = (segment(replace(scene, objects=(item,))) == 0).sum()
            assert (shown == i).sum() >= 45  # about 7 x 7 pixels
            assert (shown == i).sum() >= 0.6 * alone


def test_the_graph_lists_clear_relations_and_their_inverses_only():
    # By hand: b is 2 to the right of a at the same depth; c stands 2 behind a, hardly sideways.
    a, b, c = thing(x=-1.0, y=-1.0), thing(x=1.0, y=-1.0), thing(x=-0.9, y=1.5)
    graph = scene_graph(scene_of(a, b, c))
    found = {(r["subject"], r["relation"], r["object"]) for r in graph["relations"]}
    assert found == {
        (0, "left of", 1), (1, "right of", 0),
        (0, "in front of", 2), (2, "behind", 0),
        (1, "in front of", 2), (2, "behind", 1),
        (2, "left of", 1), (1, "right of", 2),
    }  # fmt: skip
    assert graph["objects"][1]["colour"] == "red" and graph["objects"][2]["position"] == [-0.9, 1.5]


def test_a_small_difference_denies_a_relation_and_a_middling_one_leaves_it_open():
    phrase_a, phrase_b = Phrase("red"), Phrase("blue")
    for gap, expected in ((0.1, False), (0.8, None), (1.3, True)):
        scene = scene_of(thing(x=-1.5), thing(colour="blue", x=1.5, y=gap))
        assert Statement((phrase_a, phrase_b), "in front of").is_true_of(scene) is expected
        assert Statement((phrase_b, phrase_a), "in front of").is_true_of(scene) is (
            None if expected is None else False
        )


def test_picture_boxes_hold_the_drawn_object():
    for scene in training_scenes(40, seed=9, counts=(1,)):
        rows, columns = np.nonzero(segment(scene, 128) == 0)
        left, top, right, bottom = (128 * b for b in scene_graph(scene)["objects"][0]["box"])
        found = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        assert np.abs(np.array(found) - (left, top, right, bottom)).max() < 2.5  # about a pixel at 64


# Captions


KINDS = {"pair": 0.4, "relation": 0.4, "single": 0.2}


def random_caption(scene, rng):
    statement = statement_about(scene, rng, KINDS, detail=0.2, omit=0.15)
    return statement.caption(CaptionTemplate.draw(rng, definite=statement.is_unambiguous(scene)))


def test_captions_read_as_plain_english():
    red, orange = Phrase("red", "cube", "large", "metal"), Phrase("orange", "sphere")
    shiny = CaptionTemplate(
        CaptionTemplate().words | {"metal": "shiny", "sphere": "ball", "left of": "left of"}
    )
    assert Statement((red, orange)).caption() == "a large red metal cube and an orange sphere"
    assert (
        Statement((orange, red), "left of").caption(shiny) == "an orange ball left of a large shiny red cube"
    )
    assert (
        Statement((Phrase("red"), orange, Phrase(None, "cube"))).caption()
        == "a red object, an orange sphere and a cube"
    )
    assert (
        Statement((Phrase("red", "cube"),), count=2).caption(CaptionTemplate(frame=1))
        == "there are two red cubes"
    )
    assert Statement((orange,), count=1).caption(CaptionTemplate(frame=1)) == "there is one orange sphere"
    assert (
        Statement((red, orange), "behind").caption(CaptionTemplate(frame=6))
        == "the large red metal cube is behind the orange sphere"
    )


def test_claims_are_judged_by_hand_worked_cases():
    scene = scene_of(
        thing(x=-1.5), thing("sphere", "blue", x=1.5), thing("sphere", "red", "small", x=0, y=2.5)
    )
    red, cube, sphere = Phrase("red"), Phrase(shape="cube"), Phrase(shape="sphere")
    assert Statement((red, cube)).is_true_of(scene) is True  # the small red sphere and the cube
    assert Statement((cube, cube)).is_true_of(scene) is False  # one cube cannot be two
    assert Statement((sphere,), count=2).is_true_of(scene) is True
    assert Statement((sphere,), count=1).is_true_of(scene) is False
    assert Statement((Phrase("blue"), cube), "right of").is_true_of(scene) is True
    assert Statement((cube, Phrase("blue")), "right of").is_true_of(scene) is False


def test_random_captions_are_true_and_use_the_small_vocabulary(scenes):
    rng = np.random.default_rng(0)
    assert len(VOCABULARY) < 150
    seen = set()
    for scene in scenes:
        assert statement_about(scene, rng, KINDS, 0.2, 0.15).is_true_of(scene) is True
        caption = random_caption(scene, rng)
        assert caption == caption.lower() and re.fullmatch(r"[a-z]+(,? [a-z]+)*", caption)
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", caption)
        seen |= set(_words(caption))
    assert seen <= set(VOCABULARY) and len(seen) > 45


def test_a_caption_is_read_back_as_the_statement_that_it_says(scenes):
    rng = np.random.default_rng(7)
    for scene in scenes[:300]:
        statement = statement_about(scene, rng, KINDS, 0.2, 0.15)
        wording = CaptionTemplate.draw(rng, definite=statement.is_unambiguous(scene))
        assert Statement.of_caption(statement.caption(wording)) == statement
    assert Statement.of_caption("a cube red to the left of a ball") is None
    assert Statement.of_caption("two dogs on a beach") is None


def test_captions_follow_the_generator_and_the_asked_kinds(scenes):
    once, again = (random_caption(scenes[0], np.random.default_rng(1)) for _ in range(2))
    assert once == again
    rng = np.random.default_rng(2)
    full = [statement_about(s, rng, kinds={"pair": 1}, detail=0.0, omit=0.0) for s in scenes]
    assert all(p.colour and p.shape and not p.size for c in full if c.count is None for p in c.phrases)


# Twins


@pytest.mark.parametrize("kind", SWAPPED)
def test_a_twin_exchanges_one_property_and_its_captions_tell_the_scenes_apart(kind):
    rng = np.random.default_rng(0)
    for found in training_minimal_pairs(25, (kind,), seed=1):
        first, second = found.statements()
        assert [c.is_true_of(s) for s in (found.first, found.second) for c in (first, second)] == [
            True,
            False,
            False,
            True,
        ]
        wording = CaptionTemplate.draw(rng, definite=False)
        statements = found.statements(draw_mentioned_attributes(rng, 0.3), int(rng.integers(4)))
        captions = [statement.caption(wording) for statement in statements]
        assert captions[0] != captions[1] and sorted(_words(captions[0])) == sorted(_words(captions[1]))
        assert found.second.seen and found.second.split == "train"
        _check_exchange(found)


def _check_exchange(found):
    """All attributes but the exchanged one stay; places but the exchanged ones move a little."""
    for k, (before, after) in enumerate(zip(found.first.objects, found.second.objects, strict=True)):
        partner = found.first.objects[found.pair[1 - found.pair.index(k)]] if k in found.pair else before
        for name in ("colour", "shape", "size", "material"):
            expected = partner if name == SWAPPED[found.kind] else before
            assert getattr(after, name) == getattr(expected, name)
        for name, most in (("x", 0.08), ("y", 0.1)):
            expected = partner if name == SWAPPED[found.kind] else before
            assert abs(getattr(after, name) - getattr(expected, name)) <= most


def test_a_scene_without_a_fitting_pair_has_no_twin():
    rng = np.random.default_rng(0)
    same = scene_of(thing(x=-1.5), thing(x=1.5))
    assert all(minimal_pair(same, kind, rng) is None for kind in SWAPPED)
    with pytest.raises(InputError, match="left-right"):
        minimal_pair(same, "left-rigth", rng)


# Pictures


def test_rendering_is_exact_and_differs_between_scenes(scenes):
    first = _render(scenes[0])
    assert first.shape == (64, 64, 3) and first.dtype == np.uint8
    assert np.array_equal(first, _render(Scene.from_dict(scenes[0].to_dict())))
    assert not np.array_equal(first, _render(scenes[1]))


@pytest.mark.slow
def test_many_scenes_on_two_processes_equal_one_by_one(scenes):
    alone = np.stack([_render(s, 16) for s in scenes[:70]])
    assert np.array_equal(render_many(scenes[:70], 16, processes=2), alone)
    assert render_many([], 16).shape == (0, 16, 16, 3)


DRAWING = """
from core import datasets
from core.scenes.render import render_many
if __name__ == "__main__":
    groups = datasets.load("scenes/left-right", "test").groups
    render_many([image.scene for group in groups for image in group.images] * 50, 128, processes=2)
"""


def test_whoever_helps_to_draw_ends_with_a_killed_starter(tmp_path):
    """A pool's processes would wait for work for ever."""
    (tmp_path / "drawing.py").write_text(DRAWING)
    root = Path(__file__).resolve().parent.parent
    starter = subprocess.Popen(
        [sys.executable, tmp_path / "drawing.py"], env={**os.environ, "PYTHONPATH": str(root)}
    )
    until(lambda: len(psutil.Process(starter.pid).children()) == 3)  # two that draw, and the pool's tracker
    helpers = psutil.Process(starter.pid).children()
    starter.kill()
    starter.wait()
    _, left = psutil.wait_procs(helpers, timeout=300)
    for process in left:
        process.kill()
    assert left == []


def test_a_larger_picture_shows_the_same_scene(scenes):
    for scene in scenes[:6]:
        small = _render(scene, 32).astype(float)
        large = _render(scene, 128).reshape(32, 4, 32, 4, 3).mean(axis=(1, 3))
        assert np.abs(small - large).mean() < 3


def test_a_silly_size_is_refused():
    for size in (0, 5, 100_000):
        with pytest.raises(InputError, match="choose a size"):
            _render(scene_of(thing()), size)


@pytest.mark.parametrize("colour", [c for c in COLOURS if c != "white"])
@pytest.mark.parametrize("material", ["rubber", "metal"])
def test_a_sphere_shows_the_hue_of_its_colour_at_its_projected_centre(colour, material):
    item = thing("sphere", colour, "large", material, x=0.7, y=-0.5)
    picture = _render(scene_of(item), 96)
    # Pinhole by hand: the camera looks along (0, cos e, -sin e) from `distance` behind the aim point.
    angle = math.radians(CAMERA.elevation)
    dx, dy, dz = item.x, item.y - 0.1, SIZES["large"] - 0.35
    depth = CAMERA.distance + dy * math.cos(angle) - dz * math.sin(angle)
    u, v = CAMERA.zoom * dx / depth, CAMERA.zoom * (dy * math.sin(angle) + dz * math.cos(angle)) / depth
    row, column = int((1 - v) / 2 * 96), int((1 + u) / 2 * 96)
    got = picture[row - 4 : row + 5, column - 4 : column + 5].reshape(-1, 3).mean(axis=0) / 255
    hue, wanted = colorsys.rgb_to_hsv(*got)[0], colorsys.rgb_to_hsv(*COLOURS[colour])[0]
    assert min(abs(hue - wanted), 1 - abs(hue - wanted)) < 0.05


def test_the_nearer_object_hides_the_farther_one():
    near, far = thing("cube", "red", x=0.0, y=-0.4), thing("sphere", "green", x=0.0, y=1.2)
    both, behind = segment(scene_of(near, far)), segment(scene_of(far))
    overlap = (segment(scene_of(near)) == 0) & (behind == 0)
    assert overlap.sum() > 10 and (both[overlap] == 0).all()
    assert np.array_equal(segment(scene_of(far, near))[overlap], np.ones(overlap.sum()))


def test_a_large_picture_drawn_in_bands_is_the_picture_drawn_at_once(scenes, monkeypatch):
    for scene in scenes[:2]:
        in_bands = _render(scene, 400)
        monkeypatch.setattr("core.scenes.render._BAND", 10**9)
        assert (in_bands == _render(scene, 400)).all()
        monkeypatch.undo()


def test_the_shadow_falls_away_from_the_lamp():
    item = thing("cylinder", "blue")
    bare = scene_of().objects
    for azimuth in (-55, 55):
        light = replace(LIGHT, azimuth=azimuth)
        empty = _render(replace(scene_of(), objects=bare, light=light)).mean(axis=2)
        drawn = _render(replace(scene_of(item), light=light)).mean(axis=2)
        floor = segment(scene_of(item)) == -1
        darker = np.where(floor, empty - drawn, 0)
        left, right = darker[:, :26].sum(), darker[:, 38:].sum()
        assert (left > 4 * right) if azimuth > 0 else (right > 4 * left)


def test_metal_and_rubber_look_different():
    for shape in SHAPES:
        rubber, metal = (
            _render(scene_of(thing(shape, material=m))).astype(float) for m in ("rubber", "metal")
        )
        inside = segment(scene_of(thing(shape))) == 0
        assert np.abs(rubber - metal)[inside].mean() > 12


def test_a_key_needs_no_drawing_and_never_changes():
    image = SceneImage(scene_of(thing(), thing("sphere", "blue", x=1.5)))
    assert isinstance(image, ImageRef) and image.open().size == (64, 64) and image.open(40).size == (40, 40)
    assert image.key == "cbb61f60d0f53c9a89a98c71e9b6f0cde724fcb9a904f77c5274912af5bc6df1"
    assert image.key != SceneImage(scene_of(thing())).key


def test_outlines_lie_in_the_frame_for_every_split():
    rng = np.random.default_rng(3)
    for split in SPLITS:
        scene = sample_scene(rng, 4, split)
        assert scene.split == split
        assert all(max(map(abs, scene.camera.outline(o))) < 1 for o in scene.objects)


def test_scenes_import_neither_torch_nor_the_app():
    code = "import sys, core.scenes; print(sorted({'torch', 'streamlit', 'gradio', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_pictures_drawn_ahead_are_those_that_are_opened_and_are_drawn_once(tmp_path, monkeypatch):
    from core.scenes import pictures, render

    scenes = training_scenes(6, seed=5)
    alone = [np.asarray(SceneImage(scene).open()) for scene in scenes]
    assert np.array_equal(pictures.draw_ahead(scenes, cache=tmp_path), alone)
    (kept,) = tmp_path.iterdir()

    render._drawn.cache_clear()
    monkeypatch.setattr(render, "_render", None)  # nothing may be drawn any more
    monkeypatch.setattr(pictures, "render_many", lambda some, **_: np.stack(alone[: len(some)]))
    assert np.array_equal(pictures.draw_ahead(scenes, cache=tmp_path), alone)
    assert [np.asarray(SceneImage(scene).open()).tolist() for scene in scenes] == [a.tolist() for a in alone]
    assert list(tmp_path.iterdir()) == [kept]
