"""Contrastive scorers: equal to the libraries' own forward passes, each thing encoded once, bad input in a sentence."""

import io
import json
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import conftest
import numpy as np
import pytest
import torch
from conftest import CONTEXT, build_clip, build_open_clip, build_siglip, draw
from pace import slowness
from tiny_models import build_siglip2

from core.base.errors import InputError
from core.groups import BytesImage
from core.scorers import contrastive, hub
from core.scorers.devices import pick_device
from core.scoring.load import MAX_CACHED_MODELS, builtin_models, load_scorer, scorer_key

IMAGES = [draw((a, "cube"), (b, "ball")) for a, b in (("red", "blue"), ("blue", "red"), ("green", "yellow"))]
CAPTIONS = [
    "a red cube",
    "a blue cube next to a red ball",
    "a green cube in front of a yellow ball and a red cone behind the blue ball",
    "the ball",
]
ALL = np.array([(i, j) for i in range(len(IMAGES)) for j in range(len(CAPTIONS))])
FAMILIES = ["clip", "siglip", "open_clip"]


@pytest.fixture(scope="module")
def folders(tiny_clip_folder, tiny_siglip_folder, tiny_open_clip_folder):
    return dict(zip(FAMILIES, (tiny_clip_folder, tiny_siglip_folder, tiny_open_clip_folder), strict=True))


@pytest.fixture(params=FAMILIES)
def model(request, folders):
    return load_scorer(str(folders[request.param]), "cpu")


def matrix(model, images=IMAGES, captions=CAPTIONS) -> np.ndarray:
    pairs = np.array([(i, j) for i in range(len(images)) for j in range(len(captions))])
    return model.score(images, captions, pairs).reshape(len(images), len(captions))


def pil(images=IMAGES):
    return [image.open() for image in images]


@torch.no_grad()
def plain(folder: Path, captions=CAPTIONS, **padding) -> np.ndarray:
    """logits_per_image of transformers' own forward pass."""
    from transformers import AutoModel, AutoProcessor

    model, processor = AutoModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    inputs = processor(text=captions, images=pil(), return_tensors="pt", truncation=True, **padding)
    if model.config.model_type != "clip":
        inputs.pop("attention_mask", None)  # the released SigLIP tokenizers return none
    return model(**inputs).logits_per_image.numpy()


# Scores


@pytest.mark.parametrize("padding", [True, "max_length"])
@pytest.mark.parametrize("end", ["own", 2])
def test_clip_scores_are_the_plain_forward_pass_padded_or_trimmed(tmp_path, padding, end):
    folder = build_clip(tmp_path / "clip", **({} if end == "own" else {"eos_token_id": end}))
    wanted = plain(folder, padding=padding, max_length=CONTEXT)
    np.testing.assert_allclose(matrix(load_scorer(str(folder), "cpu")), wanted, atol=1e-5)


def test_siglip_scores_are_the_plain_forward_pass_at_full_length(tiny_siglip_folder):
    wanted = plain(tiny_siglip_folder, padding="max_length", max_length=CONTEXT)
    np.testing.assert_allclose(matrix(load_scorer(str(tiny_siglip_folder), "cpu")), wanted, atol=1e-5)


def test_siglip_2_with_patches_scores_trains_and_saves_like_the_others(tmp_path):
    folder = build_siglip2(tmp_path / "naflex")
    model = load_scorer(str(folder), "cpu")
    wanted = plain(folder, padding="max_length", max_length=CONTEXT)
    np.testing.assert_allclose(matrix(model), wanted, atol=1e-5)
    data, own = model.prepare(IMAGES, CAPTIONS), torch.arange(3)
    np.testing.assert_allclose(model.score_prepared(data, ALL, batch=2), wanted.ravel(), atol=1e-5)
    assert model.loss(data, own, own).item() == pytest.approx(own_loss(folder, "siglip"), abs=1e-4)
    model.save(tmp_path / "again")
    np.testing.assert_array_equal(matrix(load_scorer(str(tmp_path / "again"), "cpu")), matrix(model))


def test_siglip_reads_captions_in_lower_case_whatever_its_tokenizer_does(tmp_path):
    folder = build_siglip(tmp_path / "siglip")
    conftest.word_tokenizer("siglip", lower=False).save_pretrained(folder)
    model = load_scorer(str(folder), "cpu")
    np.testing.assert_array_equal(
        matrix(model, captions=["A Red CUBE"]), matrix(model, captions=["a red cube"])
    )


def test_the_released_siglip_tokenizer_lowers_case_drops_punctuation_and_survives_saving(tmp_path):
    spm = pytest.importorskip("sentencepiece", reason="the released SigLIP models need sentencepiece")
    folder, words = build_siglip(tmp_path / "siglip"), io.BytesIO()
    sentences = [
        f"a {c} {s} next to a {t}" for c in conftest.COLOURS for s in conftest.SHAPES for t in conftest.SHAPES
    ]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=words,
        vocab_size=24,
        hard_vocab_limit=False,
        minloglevel=2,
        unk_id=0,
        eos_id=1,
        bos_id=-1,
        pad_id=-1,
    )
    (folder / "tokenizer.json").unlink()
    (folder / "spiece.model").write_bytes(words.getvalue())
    settings = {
        "tokenizer_class": "SiglipTokenizer",
        "model_max_length": CONTEXT,
        "model_input_names": ["input_ids"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    model = load_scorer(str(folder), "cpu")
    captions = ["a red cube", "A Red cube.", "a ball"]
    scores = matrix(model, captions=captions)
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-6)
    wanted = plain(folder, captions, padding="max_length", max_length=CONTEXT)
    np.testing.assert_allclose(scores, wanted, atol=1e-5)
    model.save(tmp_path / "saved")
    again = load_scorer(str(tmp_path / "saved"), "cpu")
    np.testing.assert_array_equal(matrix(again, captions=captions), scores)


@pytest.mark.parametrize(
    "settings", [{}, {"custom_text": True, "init_logit_bias": -3.0}], ids=["clip", "siglip"]
)
@torch.no_grad()
def test_open_clip_scores_are_its_own_encoders_at_full_length(tmp_path, settings):
    import open_clip

    folder = build_open_clip(tmp_path / "model", **settings)
    module, transform = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    tokens = open_clip.get_tokenizer(f"local-dir:{folder}")(CAPTIONS)
    assert tokens.shape == (4, CONTEXT)
    pixels = torch.stack([transform(image) for image in pil()])
    wanted = module.logit_scale.exp() * (
        module.encode_image(pixels, normalize=True) @ module.encode_text(tokens, normalize=True).T
    )
    wanted = wanted if module.logit_bias is None else wanted + module.logit_bias
    np.testing.assert_allclose(matrix(load_scorer(str(folder), "cpu")), wanted.numpy(), atol=1e-5)


@pytest.mark.parametrize("prepared", [False, True])
def test_each_image_and_caption_is_encoded_once_and_the_others_never(tiny_clip_folder, prepared, monkeypatch):
    model = load_scorer(str(tiny_clip_folder), "cpu")
    monkeypatch.setattr(contrastive.ContrastiveModel, "image_batch", 2)
    rows = {"image": [], "caption": []}
    hooks = [
        model.module.vision_model.register_forward_pre_hook(
            lambda _, args, kwargs: rows["image"].append(len(kwargs["pixel_values"])), with_kwargs=True
        ),
        model.module.text_model.register_forward_pre_hook(
            lambda _, args, kwargs: rows["caption"].append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
        ),
    ]
    pairs = np.array([(0, 0), (0, 1), (2, 1), (2, 0), (0, 0), (1, 1)])  # captions 2 and 3 in none
    if prepared:
        model.score_prepared(model.prepare(IMAGES, CAPTIONS), pairs, batch=2)
    else:
        model.score(IMAGES, CAPTIONS, pairs)
    for hook in hooks:
        hook.remove()
    assert rows["image"] == [2, 1]
    assert rows["caption"] == [(2, 10)]  # two captions, as long as the longer: 8 words, begin and end


@dataclass
class Counted:
    """An image that notes when it is opened."""

    image: BytesImage
    log: list = field(repr=False)

    @property
    def key(self):
        return self.image.key

    def open(self, size=None):
        self.log.append(size)
        return self.image.open(size)


def test_scoring_holds_two_blocks_of_images_at_most_and_asks_for_the_models_size(model, monkeypatch):
    monkeypatch.setattr(contrastive.ContrastiveModel, "image_batch", 2)
    log: list = []
    images = [
        Counted(draw((c, "cube"), (d, "ball")), log) for c in conftest.COLOURS for d in conftest.COLOURS
    ]
    pairs = np.array([(i, 0) for i in range(len(images))])
    ahead = []
    for done, _ in enumerate(model.stream(images, CAPTIONS[:1], pairs)):
        ahead.append(len(log) - 2 * done)
    assert max(ahead) <= 4
    assert log == [32] * 16


# Losses


def own_loss(folder: Path, family: str) -> float:
    """The loss of transformers or open_clip for three matched pairs."""
    if family != "open_clip":
        from transformers import AutoModel, AutoProcessor

        module, processor = AutoModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
        padding = {"padding": True} if family == "clip" else {"padding": "max_length", "max_length": CONTEXT}
        inputs = processor(text=CAPTIONS[:3], images=pil(), return_tensors="pt", **padding)
        inputs.pop("attention_mask")
        return module(**inputs, return_loss=True).loss.item()
    import open_clip
    from open_clip.loss import ClipLoss, SigLipLoss

    module, transform = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    tokens = open_clip.get_tokenizer(f"local-dir:{folder}")(CAPTIONS[:3])
    outputs = module(torch.stack([transform(image) for image in pil()]), tokens)
    return (ClipLoss() if module.logit_bias is None else SigLipLoss())(*outputs).item()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_is_the_librarys_own(folders, family):
    model = load_scorer(str(folders[family]), "cpu")
    own = torch.arange(3)
    loss = model.loss(model.prepare(IMAGES, CAPTIONS), own, own)
    assert loss.item() == pytest.approx(own_loss(folders[family], family), abs=1e-5)


def test_the_loss_of_an_open_clip_siglip_is_open_clips_own(tmp_path):
    folder = build_open_clip(tmp_path / "model", custom_text=True, init_logit_bias=-3.0)
    model, own = load_scorer(str(folder), "cpu"), torch.arange(3)
    loss = model.loss(model.prepare(IMAGES, CAPTIONS), own, own)
    assert loss.item() == pytest.approx(own_loss(folder, "open_clip"), abs=1e-5)


def test_the_loss_by_hand_with_a_repeated_image(model):
    """Encoded as given: the copy of an image is a negative with the same logits."""
    images, captions = torch.tensor([0, 0]), torch.tensor([1, 2])
    s = matrix(model)[np.ix_(images, captions)].astype(float)
    if model.bias is None:
        rows, columns = (np.log(np.exp(s).sum(axis)) - np.diag(s) for axis in (1, 0))
        wanted = (rows.mean() + columns.mean()) / 2
    else:
        wanted = np.log1p(np.exp(-s * (2 * np.eye(2) - 1))).sum() / 2
    loss = model.loss(model.prepare(IMAGES, CAPTIONS), images, captions)
    assert loss.item() == pytest.approx(wanted, abs=1e-5)


def test_the_loss_reaches_both_towers_and_the_scale(model):
    copy, own = model.copy(), torch.arange(2)
    copy.loss(copy.prepare(IMAGES, CAPTIONS), own, own).backward()
    without = [name for name, p in copy.module.named_parameters() if p.grad is None]
    assert without == []


def test_logits_stay_float32_under_autocast(model):
    data, own = model.prepare(IMAGES, CAPTIONS), torch.arange(3)
    logits = []
    copy = model.copy()
    copy._scaled = lambda cosine: logits.append(cosine.dtype) or type(copy)._scaled(copy, cosine)
    with torch.autocast("cpu", torch.bfloat16):
        loss = copy.loss(data, own, own)
    assert logits == [torch.float32]
    assert loss.item() == pytest.approx(model.loss(data, own, own).item(), rel=0.1)


# Copies, keys, saving


def test_the_key_follows_weights_preprocessing_and_tokenizer(folders, tmp_path):
    for family, folder in folders.items():
        same, other = shutil.copytree(folder, tmp_path / family), tmp_path / f"{family}-other"
        key = load_scorer(str(folder), "cpu").key
        assert key == load_scorer(str(same), "cpu").key == scorer_key(str(folder))
        (same / "README.md").write_text("not part of the model")
        assert scorer_key(str(same)) == key
        build = {"clip": build_clip, "siglip": build_siglip, "open_clip": build_open_clip}[family]
        assert scorer_key(str(build(other, seed=1))) != key
        settings = next(
            p for p in same.iterdir() if p.name in ("processor_config.json", "open_clip_config.json")
        )
        settings.write_text(settings.read_text() + " ")
        assert scorer_key(str(same)) != key


# Loading


def test_a_model_is_loaded_once_until_its_files_change_and_few_are_kept(tiny_clip_folder, tmp_path):
    from core.scoring import load as scorers

    places = [shutil.copytree(tiny_clip_folder, tmp_path / str(i)) for i in range(MAX_CACHED_MODELS + 1)]
    first = load_scorer(str(places[0]), "cpu")
    assert load_scorer(str(places[0]), "cpu") is first
    build_clip(places[0], seed=5)
    second = load_scorer(str(places[0]), "cpu")
    assert second is not first
    assert second.key != first.key  # although only now computed
    for place in places[1:]:
        load_scorer(str(place), "cpu")
    assert len(scorers._cached) == MAX_CACHED_MODELS
    assert load_scorer(str(places[0]), "cpu") is not second


def test_built_in_names_stand_for_folders_in_assets(tiny_clip_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(hub.paths, "assets", lambda: tmp_path)
    assert builtin_models() == {}
    place = shutil.copytree(tiny_clip_folder, tmp_path / "models" / "clip")
    assert builtin_models() == {"builtin/clip": place}
    model = load_scorer("builtin/clip", "cpu")
    assert model.name == "builtin/clip"
    assert model.key == scorer_key("builtin/clip") == scorer_key(str(place))
    with pytest.raises(
        InputError, match=r"Unknown built-in model 'builtin/clop'; did you mean 'builtin/clip'\?"
    ):
        load_scorer("builtin/clop")


def test_devices(monkeypatch):
    assert pick_device("cpu") == torch.device("cpu")
    with pytest.raises(InputError, match="Unknown device 'gpu'; use auto"):
        pick_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="This machine has no device 'cuda:1'"):
        pick_device("cuda:1")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert pick_device("auto").type == "cpu"


def test_an_open_clip_architecture_takes_a_weights_file(tmp_path, monkeypatch):
    """The file path alone loses what belongs to a tag; the folder keeps it: both score the same here."""
    import open_clip

    folder = build_open_clip(tmp_path / "model")
    config = json.loads((folder / "open_clip_config.json").read_text())["model_cfg"]
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "ViT-Tiny", config)
    weights = folder / "open_clip_model.safetensors"
    model = load_scorer(f"open_clip:ViT-Tiny/{weights}", "cpu")
    np.testing.assert_allclose(matrix(model), matrix(load_scorer(str(folder), "cpu")), atol=1e-6)
    assert model.key == load_scorer(f"open_clip:ViT-Tiny/{weights}", "cpu").key
    model.save(tmp_path / "saved")
    np.testing.assert_array_equal(matrix(load_scorer(str(tmp_path / "saved"), "cpu")), matrix(model))
    assert load_scorer(f"open_clip:{folder}", "cpu").key == scorer_key(str(folder))


# A model that cannot be had is one sentence


def damaged_clip(tmp_path, folder) -> Path:
    return shutil.copytree(folder, tmp_path / "damaged")


def truncate(place: Path) -> None:
    weights = place / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])


def only_a_pickle(place: Path) -> None:
    (place / "model.safetensors").rename(place / "pytorch_model.bin")


def leave_a_weight_out(place: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(place / "model.safetensors")
    weights.pop("visual_projection.weight")
    save_file(weights, place / "model.safetensors", {"format": "pt"})


def change_config(place: Path, **changes: object) -> None:
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, **changes}))


def other_end_token(place: Path) -> None:
    config = json.loads((place / "config.json").read_text())
    config["text_config"]["eos_token_id"] = 9
    (place / "config.json").write_text(json.dumps(config))


def index_of_parts(place: Path, part: str) -> None:
    """The same weights as a part that an index names."""
    from safetensors.torch import load_file

    weights = place / "model.safetensors"
    names = load_file(weights)
    target = place / part
    target.parent.mkdir(parents=True, exist_ok=True)
    weights.rename(target)
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, part)}
    (place / "model.safetensors.index.json").write_text(json.dumps(index))


def broken_index(place: Path) -> None:
    index_of_parts(place, "model-00001-of-00001.safetensors")
    (place / "model.safetensors.index.json").write_text('{"weight_map": ["a"]}')


DAMAGES = {
    "parts of another folder": (
        lambda p: index_of_parts(p, "../x.safetensors"),
        r"names '\.\./x\.safetensors'; ",
    ),
    "parts that no key covers": (
        lambda p: index_of_parts(p, "other.safetensors"),
        r"names 'other\.safetensors'; ",
    ),
    "a broken index": (broken_index, r"is not an index of weights"),
    "truncated weights": (truncate, r"The model in .*damaged does not load \(.+\); fetch it again"),
    "only a pickle": (only_a_pickle, r"has no model\.safetensors; .* never loaded"),
    "a weight left out": (leave_a_weight_out, r"does not load \(no weights for visual_projection\.weight\)"),
    "broken config": (lambda p: (p / "config.json").write_text("{"), r"config\.json cannot be read"),
    "config no object": (
        lambda p: (p / "config.json").write_text("[]"),
        r"config\.json holds no JSON object",
    ),
    "another type": (
        lambda p: change_config(p, model_type="bert"),
        r"of type 'bert', which .* choose one of type",
    ),
    "no config": (lambda p: (p / "config.json").unlink(), r"damaged is not a model folder"),
    "no tokenizer": (lambda p: (p / "tokenizer.json").unlink(), r"has no tokenizer \(tokenizer\.json"),
    "no image processor": (lambda p: (p / "processor_config.json").unlink(), r"does not load"),
    "tokenizer of another model": (other_end_token, r"does not end captions with token 9"),
    "other sizes": (lambda p: change_config(p, projection_dim=16), r"does not load"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_one_sentence(damage, tiny_clip_folder, tmp_path):
    place = shutil.copytree(tiny_clip_folder, tmp_path / "damaged")
    act, sentence = DAMAGES[damage]
    act(place)
    with pytest.raises(InputError, match=sentence) as caught:
        load_scorer(str(place), "cpu")
    assert "\n" not in str(caught.value)


def test_weights_in_parts_load_and_score_the_same(tiny_clip_folder, tmp_path):
    place = shutil.copytree(tiny_clip_folder, tmp_path / "parts")
    index_of_parts(place, "model-00001-of-00001.safetensors")
    np.testing.assert_array_equal(
        matrix(load_scorer(str(place), "cpu")), matrix(load_scorer(str(tiny_clip_folder), "cpu"))
    )


def test_a_prefix_for_another_kind_of_model_says_so(tiny_clip_folder):
    with pytest.raises(
        InputError, match=r"of another kind than the prefix says \(CLIPConfig\); leave the prefix out"
    ):
        load_scorer(f"vqa:{tiny_clip_folder}", "cpu")


def test_a_damaged_open_clip_folder_is_one_sentence(tiny_open_clip_folder, tmp_path):
    place = shutil.copytree(tiny_open_clip_folder, tmp_path / "model")
    weights = place / "open_clip_model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:5000])
    with pytest.raises(InputError, match=r"The model in .*model does not load"):
        load_scorer(str(place))
    weights.rename(place / "open_clip_pytorch_model.bin")
    with pytest.raises(InputError, match=r"has no open_clip_model\.safetensors; .* never loaded"):
        load_scorer(str(place))
    (place / "open_clip_config.json").write_text("{}")
    with pytest.raises(InputError, match="has no model_cfg"):
        load_scorer(str(place))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("./nowhere", "There is no folder ./nowhere"),
        ("/no/such/folder", "There is no folder /no/such/folder"),
        ("some/deep/folder", "There is no folder some/deep/folder"),
        ("what is this", "neither an existing folder nor a valid hub name"),
        # The hub came first, and only then that no model here is called so.
        (
            "nomodel",
            r"^No model is called 'nomodel' here, and the Hugging Face hub can.*; known: builtin/blind-lm, ",
        ),
        (
            "siglipp",
            r"^No model is called 'siglipp' here, and the Hugging Face hub can.*; did you mean 'builtin/siglip'\?$",
        ),
        ("what is this?", "asks for an option that no score has"),
        (
            "openai/clip-vit-base-patch32",
            "while HF_HUB_OFFLINE is set; unset it, or choose a listed model",
        ),
        ("open_clip:ViT-B-32", r"names no weights; write open_clip:ViT-B-32/PRETRAINED with .* openai"),
        ("open_clip:ViT-B-33/openai", r"Unknown open_clip architecture 'ViT-B-33'; did you mean 'ViT-B-32"),
        ("open_clip:ViT-B-32/laion2b_s34b_b79", "did you mean 'laion2b_s34b_b79k'"),
        ("open_clip:ViT-B-32/openai", "cannot be asked for 'timm/vit_base_patch32_clip_224.openai'"),
        ("open_clip:/no/such/folder", "Unknown open_clip architecture ''"),
    ],
)
def test_a_name_that_cannot_be_had_is_one_sentence_at_once(name, sentence):
    started = time.process_time()
    with pytest.raises(InputError, match=sentence) as caught:
        load_scorer(name)
    assert "\n" not in str(caught.value)
    assert time.process_time() - started < 10 * slowness()


def test_a_file_is_no_model_and_open_clip_takes_no_pickle(tmp_path):
    file = tmp_path / "weights.pt"
    file.write_bytes(b"x")
    with pytest.raises(InputError, match=r"weights\.pt is a file; give the folder"):
        load_scorer(str(file))
    with pytest.raises(InputError, match=r"weights\.pt is not a safetensors file; .* run code"):
        load_scorer(f"open_clip:ViT-B-32/{file}")
