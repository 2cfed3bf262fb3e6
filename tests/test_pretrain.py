"""`core.pretrain`: recipes make loadable folders, a seed decides the weights, shipped models are as their cards say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from safetensors.torch import load_file  # noqa: E402

from core.base import paths  # noqa: E402
from core.base.errors import InputError  # noqa: E402
from core.pretrain._heads import agreement  # noqa: E402
from core.pretrain._recipes import RECIPES, Recipe, TowerSize  # noqa: E402
from core.pretrain._tokens import EOS, PAD, questions, token_ids, word_tokenizer  # noqa: E402
from core.pretrain.model_folder import pretrain  # noqa: E402
from core.scenes.captions import Phrase, Statement  # noqa: E402
from core.scenes.sets import SETS, build  # noqa: E402
from core.scenes.training_data import (  # noqa: E402
    DataRecipe,
    TrainingData,
    _statement_table,
    object_table,
    training_scenes,
)
from core.scenes.world import COLOURS  # noqa: E402

pytestmark = pytest.mark.slow

SHIPPED = sorted(p.parent for p in (paths.assets() / "models").glob("*/config.json"))
CLASSES = {
    "clip": "CLIPModel",
    "siglip": "SiglipModel",
    "blip-retrieval": "BlipForImageTextRetrieval",
    "blip-captioner": "BlipForConditionalGeneration",
    "blip-vqa": "BlipForQuestionAnswering",
    "language": "GPT2LMHeadModel",
}


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path_factory.getbasetemp() / "home"))


def train_recipe(name: str, recipe: Recipe, out: Path, **settings) -> Path:
    return pretrain(name, out, recipe=recipe, **settings)


def tiny(recipe: Recipe) -> Recipe:
    """The recipe on a handful of scenes: the same code, a hundredth of a second a step."""
    data = replace(recipe.data, singles=24, twins=12)
    small = {
        "vision": TowerSize(32, 1, 2),
        "text": TowerSize(32, 1, 2),
        "projection": 16,
        "batch": 12,
        "pairs": 3,
    }
    return replace(
        recipe, **small, data=data, start="", steps=3, relations_from=2, groups=4, every=2, warmup=2
    )


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_writes_a_folder_that_transformers_loads(name: str, tmp_path: Path) -> None:
    recipe = tiny(RECIPES[name])
    folder = train_recipe(name, recipe, tmp_path / name)
    module = getattr(transformers, CLASSES[recipe.family]).from_pretrained(folder)
    assert next(module.parameters()).dtype == torch.float32
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer("a Red cube")["input_ids"][-1] == EOS
    if recipe.family != "language":
        processor = transformers.AutoProcessor.from_pretrained(folder)
        picture = build("scenes/swap", "train", 1)[0].images[0].open()
        found = processor(images=picture, return_tensors="pt")["pixel_values"]
        assert found.shape == (1, 3, 64, 64)
        assert found.abs().max() <= 1
    assert (folder / "README.md").is_file()
    assert not list(folder.glob("*.bin")) and not list(folder.glob("*.pt"))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    recipe = tiny(RECIPES["clip"])
    runs = [("first", 0), ("again", 0), ("other", 1)]
    weights = []
    for name, seed in runs:
        torch.manual_seed(len(name))  # whatever the caller drew before has no influence
        folder = train_recipe("clip", recipe, tmp_path / name, seed=seed)
        weights.append((folder / "model.safetensors").read_bytes())
    assert weights[0] == weights[1] != weights[2]


@pytest.mark.parametrize("name", ["blip-itm", "blip-vqa"])
def test_a_model_that_starts_from_the_captioner_has_its_towers(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "assets", lambda: tmp_path)
    captioner = tiny(RECIPES["blip-caption"])
    before = load_file(train_recipe("c", captioner, tmp_path / "models" / "c") / "model.safetensors")
    recipe = replace(tiny(RECIPES[name]), start="c", lr=0.0)
    after = load_file(train_recipe(name, recipe, tmp_path / name, seed=1) / "model.safetensors")
    shared = 0
    for key, weight in after.items():
        key = key if key in before else key.replace("text_encoder.", "text_decoder.bert.")
        if key in before and not key.startswith("itm"):
            assert torch.equal(weight[: len(before[key])], before[key])
            shared += 1
    assert shared > 0.6 * len(after)
    assert any("crossattention" in key for key in before)


def test_a_start_that_is_missing_or_of_another_size_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "assets", lambda: tmp_path)
    recipe = replace(tiny(RECIPES["blip-itm"]), start="c")
    with pytest.raises(InputError, match="crossmatch pretrain c --out"):
        train_recipe("blip-itm", recipe, tmp_path / "a")
    small = replace(tiny(RECIPES["blip-caption"]), text=TowerSize(16, 1, 2))
    train_recipe("c", small, tmp_path / "models" / "c", steps=1)
    with pytest.raises(InputError, match="must have the towers"):
        train_recipe("blip-itm", recipe, tmp_path / "b")


def test_training_does_not_disturb_the_callers_random_numbers(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train_recipe("clip", tiny(RECIPES["clip"]), tmp_path / "clip", steps=1)
    assert torch.equal(torch.rand(3), expected)


def test_the_log_holds_every_measurement_and_the_card_its_last_line(tmp_path: Path) -> None:
    folder = train_recipe("clip", tiny(RECIPES["clip"]), tmp_path / "clip")
    records = [json.loads(line) for line in (folder / "training_log.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records] == [0, 2, 3, 3]
    assert records[-1]["stored"]
    assert_card_equals_log(folder)


def test_steps_override_the_recipe_and_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    folder = train_recipe(
        "clip",
        tiny(RECIPES["clip"]),
        tmp_path / "c",
        steps=1,
        progress=lambda what, share: told.append((what, share)),
    )
    last = json.loads((folder / "training_log.jsonl").read_text().splitlines()[-1])
    assert last["step"] == 1
    assert told[-1][0].startswith("step 1 of 1") and told[-1][1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "clop"}, "clip"),
        ({"steps": 0}, "0 steps"),
        ({"seed": -1}, "seed"),
        ({"device": "quantum"}, "quantum"),
    ],
)
def test_bad_settings_are_one_sentence(arguments: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        pretrain(**{"name": "clip", "out": tmp_path / "x", **arguments})


def test_training_data_hold_no_held_out_composition_and_twins_share_their_words(tmp_path: Path) -> None:
    recipe = DataRecipe(singles=10, twins=8)
    data = TrainingData.of(recipe, 3, cache=tmp_path)
    assert data.images.shape == (26, 64, 64, 3) and data.twins == 8
    for first, second in zip(data.captions[10::2], data.captions[11::2], strict=True):
        for one, other in zip(first, second, strict=True):
            assert one != other
            assert sorted(one.replace(" an ", " a ").split()) and set(one.split()) - {"a", "an"} == set(
                other.split()
            ) - {"a", "an"}
    assert all(scene.seen for scene in training_scenes(10, 3, recipe.counts))
    again = TrainingData.of(recipe, 3, cache=tmp_path)  # now from the cache
    assert np.array_equal(again.images, data.images) and again.captions == data.captions


def test_early_captions_tell_no_relation() -> None:
    recipe = DataRecipe(singles=20, twins=0)
    captions = TrainingData.of(recipe, 0).captions
    early = " ".join(text for texts in captions for text in texts[: recipe.captions // 2])
    late = " ".join(text for texts in captions for text in texts[recipe.captions // 2 :])
    assert not {"left", "right", "front", "behind"} & set(early.split())
    assert {"left", "right", "front", "behind"} & set(late.split())


def test_claim_table_by_hand() -> None:
    table = _statement_table(Statement((Phrase("red", "cube"), Phrase("blue", "sphere")), "left of"))
    colours = list(COLOURS)
    assert table[colours.index("red")].tolist() == [1, 1, 0, 0, -1, 0]
    assert table[colours.index("blue")].tolist() == [1, 0, 1, 0, 1, 0]
    assert table.sum() == 4
    behind = _statement_table(Statement((Phrase("red", "cube"), Phrase("red", "sphere")), "behind"))
    assert behind[colours.index("red")].tolist() == [1, 0, 0, 0, 0, 0]  # which red one would be unclear


def test_agreement_by_hand() -> None:
    """A red cube left of a blue sphere, and behind a green one; captions right and wrong in one thing each."""
    objects = np.zeros((8, 6), dtype=np.float32)
    red, blue, green = (list(COLOURS).index(c) for c in ("red", "blue", "green"))
    objects[red], objects[blue] = (1, 1, 0, 0, -1.0, 0.5), (1, 0, 1, 0, 0.5, 0.2)
    objects[green] = (1, 0, 0, 0, 0, 0)  # there are two green ones: their shape and place are unknown
    cube, ball = Phrase("red", "cube"), Phrase("blue", "sphere")
    cases = [
        (Statement((cube, ball), "left of"), [(red, 0, 1), (red, 1, 1), (blue, 0, 1), (blue, 1, 1)]),
        (Statement((cube, ball), "in front of"), [(red, 0, 1), (red, 1, 0), (blue, 0, 1), (blue, 1, 0)]),
        (Statement((ball, cube), "left of"), [(red, 0, 1), (red, 1, 0), (blue, 0, 1), (blue, 1, 0)]),
        (Statement((Phrase("red", "sphere"), ball)), [(red, 0, 0), (blue, 0, 1)]),
        (Statement((cube, Phrase("green", "cube")), "behind"), [(red, 0, 1)]),
    ]
    for statement, expected in cases:
        told = torch.from_numpy(_statement_table(statement)).float()[None]
        wanted, known = (x[0] for x in agreement(torch.from_numpy(objects)[None], told))
        found = [(colour, what, int(wanted[colour, what])) for colour, what in known.nonzero().tolist()]
        assert found == sorted(expected), statement


def test_agreement_holds_for_true_captions_of_training_scenes_and_fails_for_twins() -> None:
    data = TrainingData.of(DataRecipe(singles=40, twins=20), 4, pictures=False)
    objects, told = torch.from_numpy(data.objects), torch.from_numpy(data.caption_objects[:, 2]).float()
    wanted, known = agreement(objects, told)
    assert known[..., 0].sum() > 60 and known[..., 1].sum() > 30
    assert wanted[known].all()
    twin = torch.arange(40).view(20, 2).flip(1).flatten() + 40
    wanted, known = agreement(objects[40:], told[twin])
    complete = (known[..., 0] == (told[twin][..., 0] > 0)).all(dim=1)  # every colour told is there once
    assert complete.sum() > 20
    # A twin's caption is wrong in something.
    assert not (wanted | ~known).all(dim=(1, 2))[complete].any()


def test_object_table_gives_place_and_shape_of_colours_that_occur_once() -> None:
    for scene in training_scenes(20, 1):
        table = object_table(scene)
        for row, colour in zip(table, COLOURS, strict=True):
            found = [o for o in scene.objects if o.colour == colour]
            assert row[0] == bool(found)
            assert row[1:4].sum() == (len(found) == 1)
            if len(found) == 1:
                assert row[-2:].tolist() == pytest.approx([found[0].x, found[0].y])


def test_every_caption_of_every_set_is_in_the_vocabulary_and_fits() -> None:
    tokenizer = word_tokenizer()
    for name in SETS:
        captions = [c for group in build(name, "validation", 20) for c in group.captions]
        ids = token_ids(tokenizer, captions)
        assert not (ids == tokenizer.unk_token_id).any(), name
        assert ((ids == EOS).sum(axis=1) == 1).all(), name


def test_a_caption_becomes_vqascores_question() -> None:
    tokenizer = word_tokenizer(40, asks=True)
    ids = questions(torch.from_numpy(token_ids(tokenizer, ["a red cube", "a red cube and a blue ball"])))
    expected = tokenizer('Does this figure show "a red cube"? Please answer yes or no.')["input_ids"]
    assert [i for i in ids[0].tolist() if i != PAD] == expected
    assert tokenizer.unk_token_id not in expected


# The shipped models


def assert_card_equals_log(folder: Path) -> None:
    last = json.loads((folder / "training_log.jsonl").read_text().splitlines()[-1])
    card = (folder / "README.md").read_text()
    for sets in last["validation"].values():
        for name, metrics in sets.items():
            line = next(row for row in card.splitlines() if row.startswith(f"| {name} |"))
            for value, low, high in metrics.values():
                assert f"{value} [{low}, {high}]" in line


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda p: p.name)
def test_a_shipped_model_is_small_and_its_card_equals_its_log(folder: Path) -> None:
    size = sum(p.stat().st_size for p in folder.iterdir())
    assert size < (6e6 if folder.name.startswith("clip") else 8e6)
    assert {p.suffix for p in folder.iterdir()} <= {".json", ".jsonl", ".md", ".safetensors"}
    assert_card_equals_log(folder)


def test_all_shipped_models_together_are_small() -> None:
    assert sum(p.stat().st_size for folder in SHIPPED for p in folder.iterdir()) < 30e6


def test_the_shipped_clip_scores_as_its_log_says() -> None:
    from core.metrics import groups as metrics
    from core.scoring.load import load_scorer
    from core.scoring.scores import score_groups

    groups = build("scenes/front-behind", "validation", RECIPES["clip"].groups)
    scores = score_groups(load_scorer("builtin/clip"), groups)
    found = metrics.evaluate(scores, groups.truth, ("group_score", "group_match"))
    folder = paths.assets() / "models" / "clip"
    last = json.loads((folder / "training_log.jsonl").read_text().splitlines()[-1])
    said = last["validation"]["itc"]["scenes/front-behind"]
    for name, estimate in found.items():
        assert estimate.value == pytest.approx(
            said[name][0], abs=0.7
        )  # two groups: other kernels round otherwise
