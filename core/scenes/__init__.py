"""The built-in world: scenes of coloured solids, their pictures, captions and group sets.

    Scene, SceneObject, Camera, Light      frozen; scene.to_json() / Scene.from_json(text) round-trip exactly
    scene_graph(scene)                     objects with attributes, position and picture box; clear relations
    sample_scene(rng, count, split, seen)  one random scene; training_scenes(n, seed, counts) a list of them
    twin(scene, kind, rng) -> Twin | None  the scene with one property of two objects exchanged; kinds SWAPPED:
                                           attribute, left-right, front-behind, size, material
    training_twins(n, kinds, seed)         n twins of the train split: t.first, t.second, t.kind, t.pair
    twin_captions(twin, rng, detail)       (caption of first, caption of second): the same words, reordered
    caption_scene(scene, rng, kinds, detail, omit)   a random true caption; claim_scene gives its meaning,
    say(claim, wording), holds(claim, scene)         say the text, holds whether it is true (None: arguable)
    words(caption), VOCABULARY             tokens of a caption, and every word there is (< 150)
    render(scene, size=64)                 uint8 (size, size, 3); render_many(scenes, size, processes) (n, ...)
    segment(scene, size)                   int8 (size, size): which object a pixel shows, -1 for the floor
    SceneImage(scene)                      the ImageRef of a group: .key without drawing, .open(size=None)
    SETS, build(name, split, n, seed), load(name, split="test"), write_assets()      group sets
    FLAT, load_flat(name, split)           the flattened global variants, such as scenes/left-right@global
    build_retrieval(split, n, seed), load_retrieval(split), RetrievalSet             single-object queries

Scenes of different splits are disjoint by construction (`scene.noise % 4` is the split). Compositions in
HELD_OUT_COMBINATIONS (colour, shape) and HELD_OUT_PAIRS (colours) occur in no training scene.
"""

from core.scenes.assets import write_assets
from core.scenes.camera import Camera
from core.scenes.captions import (
    VOCABULARY,
    CaptionTemplate,
    Phrase,
    Statement,
    caption_scene,
    caption_text,
    is_true_of,
    phrase_of,
    statement_about,
    words,
)
from core.scenes.flattened import FLAT, is_flat, load_flat
from core.scenes.minimal_pairs import (
    SWAPPED,
    MinimalPair,
    draw_minimal_pair,
    minimal_pair,
    minimal_pair_captions,
    training_minimal_pairs,
)
from core.scenes.render import MODEL_SIZE, RENDERER, SceneImage, render, render_many, segment
from core.scenes.retrieval import RetrievalSet, build_retrieval, load_retrieval
from core.scenes.sampler import jitter, sample_scene, training_scenes
from core.scenes.sets import SETS, build, load
from core.scenes.world import (
    COLOURS,
    HELD_OUT_COMBINATIONS,
    HELD_OUT_PAIRS,
    MATERIALS,
    RELATIONS,
    SHAPES,
    SIZES,
    SPLITS,
    Light,
    Scene,
    SceneObject,
    scene_graph,
)

__all__ = [
    "COLOURS",
    "FLAT",
    "HELD_OUT_COMBINATIONS",
    "HELD_OUT_PAIRS",
    "MATERIALS",
    "MODEL_SIZE",
    "RELATIONS",
    "RENDERER",
    "SETS",
    "SHAPES",
    "SIZES",
    "SPLITS",
    "SWAPPED",
    "VOCABULARY",
    "Camera",
    "CaptionTemplate",
    "Light",
    "MinimalPair",
    "Phrase",
    "RetrievalSet",
    "Scene",
    "SceneImage",
    "SceneObject",
    "Statement",
    "build",
    "build_retrieval",
    "caption_scene",
    "caption_text",
    "draw_minimal_pair",
    "is_flat",
    "is_true_of",
    "jitter",
    "load",
    "load_flat",
    "load_retrieval",
    "minimal_pair",
    "minimal_pair_captions",
    "phrase_of",
    "render",
    "render_many",
    "sample_scene",
    "scene_graph",
    "segment",
    "statement_about",
    "training_minimal_pairs",
    "training_scenes",
    "words",
    "write_assets",
]
