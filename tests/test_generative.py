"""VisualGPTScore, null images and priors on small random models, against transformers' own losses and plain scoring."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import COLOURS, draw
from tiny_models import counted, everything

from core.base.errors import InputError
from core.debiasing.debias import debias, group_prior, prior_from_samples
from core.metrics.groups import evaluate
from core.scorers import _model_io, devices, score_kinds
from core.scorers import null_images as nulls
from core.scorers.null_images import NullImage, null_images
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key
from core.scoring.scores import score_groups

MODELS = [
    "blip-caption",
    "blip2-opt",
    "blip2-t5",
    "instructblip-t5",
    "instructblip-llama",
    "llava",
    "qwen2-vl",
    "smolvlm",
]
CAPTIONS = [
    "a red cube",
    "a blue ball and a green cone in front of the yellow cube",
    "the ball left of the cone",
    "cone",
]


@pytest.fixture(scope="module")
def images():
    names = list(COLOURS)
    return [
        draw((names[i], "cube"), (names[i - 1], "ball"), size) for i, size in enumerate([(48, 40), (40, 64)])
    ]


def load(make, name, kind="vgpt"):
    return load_scorer(f"{kind}:{make(name)}", "cpu")


def transformers_loss(scorer, name, image, caption):
    """transformers' own mean loss of a caption's tokens, from whole, unpadded inputs."""
    words, module, pixels = scorer.tokenizer, scorer.module, image.open()
    with torch.no_grad():
        if name == "blip-caption":
            ids = words(caption, return_tensors="pt")["input_ids"]
            ids[:, 0] = module.config.text_config.bos_token_id
            values = scorer.processor.image_processor(pixels, return_tensors="pt")["pixel_values"]
            return module(pixel_values=values, input_ids=ids, labels=ids).loss
        if name in ("blip2-opt", "instructblip-llama"):
            inputs = scorer.processor(
                images=pixels, text=f"{scorer.prompt} {caption}".strip(), return_tensors="pt"
            )
            prompt = scorer.processor(images=pixels, text=scorer.prompt, return_tensors="pt")
            if name != "blip2-opt":  # the Q-Former reads the instruction alone
                inputs |= {k: v for k, v in prompt.items() if k.startswith("qformer")}
            labels = inputs["input_ids"].clone()
            labels[:, : prompt["input_ids"].shape[1]] = -100
            return module(**inputs, labels=labels).loss
        if name in ("blip2-t5", "instructblip-t5"):
            inputs = scorer.processor(images=pixels, text=scorer.prompt, return_tensors="pt")
            return module(**inputs, labels=words(caption, return_tensors="pt")["input_ids"]).loss
        before = scorer.processor(images=pixels, text=[scorer.prompt()], return_tensors="pt")
        inputs = scorer.processor(images=pixels, text=[f"{scorer.prompt()} {caption}"], return_tensors="pt")
        labels = inputs["input_ids"].clone()
        labels[:, : before["input_ids"].shape[1]] = -100
        return module(**inputs, labels=labels).loss


@pytest.mark.parametrize("name", MODELS)
def test_the_score_is_minus_transformers_own_loss_of_each_pair_alone(make, images, name):
    """Also: a kept image encoding or prefix gives what reading all again gives, and padding changes nothing."""
    scorer = load(make, name)
    scores = scorer.score(images, CAPTIONS, everything(images, CAPTIONS)).reshape(len(images), -1)
    expected = [[-float(transformers_loss(scorer, name, i, c)) for c in CAPTIONS] for i in images]
    assert scores == pytest.approx(np.array(expected), abs=1e-5)
    assert scores.std(axis=0).min() > 1e-4  # the image matters


@pytest.mark.parametrize("name", ["llava", "qwen2-vl", "smolvlm"])
def test_a_kept_prefix_gives_the_scores_of_plain_reading(make, images, name):
    scorer = load(make, name)
    pairs = everything(images, CAPTIONS)
    scorer.cached = None
    kept = scorer.score(images, CAPTIONS, pairs)
    assert scorer.cached is True
    scorer.cached = False
    assert scorer.score(images, CAPTIONS, pairs) == pytest.approx(kept, abs=1e-5)
    scorer.cached = None


def test_a_model_that_continues_a_cache_wrongly_is_read_plainly_with_a_warning(make, images, monkeypatch):
    from core.scorers import _decoding

    scorer = load(make, "llava")
    right = scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    wrong = _decoding.next_logits
    monkeypatch.setattr(_decoding, "next_logits", lambda *args: wrong(*args).flip(-1))
    scorer.cached = None
    with pytest.warns(UserWarning, match="without a kept prefix|with a kept prefix"):
        assert scorer.score(images, CAPTIONS, everything(images, CAPTIONS)) == pytest.approx(right, abs=1e-5)
    scorer.cached = None


@pytest.mark.parametrize("name", MODELS)
def test_token_log_probs_average_to_the_score(make, images, name):
    scorer = load(make, name)
    tokens = scorer.token_log_probs(images[0], CAPTIONS[1])
    score = scorer.score(images, CAPTIONS, np.array([[0, 1]]))[0]
    assert tokens.log_probs.mean() == pytest.approx(score, abs=1e-5)
    assert (tokens.log_probs < 0).all()
    assert tokens.tokens[:3] == ["a", "blue", "ball"]
    assert (
        len(tokens.tokens)
        == len(tokens.log_probs)
        == 13 + (name in ("blip-caption", "blip2-t5", "instructblip-t5"))
    )
    blind = scorer.blind_token_log_probs(CAPTIONS[1])
    assert blind.tokens == tokens.tokens
    assert (blind.log_probs != tokens.log_probs).all()


@pytest.mark.parametrize(
    ("name", "tower"),
    [
        ("blip-caption", "vision_model"),
        ("blip2-opt", "vision_model"),
        ("instructblip-t5", "vision_model"),
        ("llava", "model.vision_tower"),
    ],
)
def test_each_image_is_encoded_once_and_each_null_image_once_per_prior(make, images, name, tower):
    scorer = load(make, name)
    scorer.score(
        images, CAPTIONS, everything(images, CAPTIONS)
    )  # the first time tries whether they may share a pass
    tower = scorer.module.get_submodule(tower)
    with counted(tower) as calls:
        scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    assert sum(calls) == len(images)
    with counted(tower) as calls:
        scorer.prior(CAPTIONS * 20, count=5)
    assert sum(calls) == 5


def test_released_blip_captioners_continue_the_prompt_of_their_training(make, images, monkeypatch):
    from core.scorers import _generative

    words = load(make, "blip-caption").tokenizer
    monkeypatch.setattr(_generative, "BLIP_VOCABULARY", len(words))
    monkeypatch.setattr(_generative, "BLIP_PROMPT", "a cube of")
    scorer = _generative.load("blip", str(make("blip-caption")), "cpu")
    ids = words("a cube of a red ball", return_tensors="pt")["input_ids"]
    ids[:, 0] = scorer.config.text_config.bos_token_id
    labels = ids.clone()
    labels[:, :4] = -100  # begin token and prompt
    values = scorer.processor.image_processor(images[0].open(), return_tensors="pt")["pixel_values"]
    loss = scorer.module(pixel_values=values, input_ids=ids, labels=labels).loss
    assert scorer.score(images, ["a red ball"], np.array([[0, 0]]))[0] == pytest.approx(
        -float(loss.detach()), abs=1e-5
    )


def test_the_prior_is_the_mean_probability_over_null_images(make):
    scorer = load(make, "blip-caption")
    scores = scorer.null_scores(CAPTIONS, count=4, seed=3)
    assert scores.shape == (4, len(CAPTIONS))
    assert np.exp(scorer.prior(CAPTIONS, count=4, seed=3)) == pytest.approx(
        np.exp(scores).mean(axis=0), rel=1e-6
    )
    assert scorer.null_scores(CAPTIONS, count=2, seed=3) == pytest.approx(scores[:2], abs=1e-6)
    assert not np.allclose(scorer.null_scores(CAPTIONS, count=4, seed=4), scores, atol=1e-4)


def test_a_blind_scorer_gives_the_prior_and_opens_no_image(make):
    class Closed:
        key = "closed"

        def open(self, size=None):
            raise AssertionError("opened")

    blind, scorer = load(make, "blip-caption", "blind"), load(make, "blip-caption")
    pairs = everything([Closed()] * 2, CAPTIONS)
    scores = blind.score([Closed()] * 2, CAPTIONS, pairs).reshape(2, -1)
    assert scores[0] == pytest.approx(scorer.prior(CAPTIONS), abs=1e-6)
    assert scores[0].tolist() == scores[1].tolist()
    assert blind.key != scorer.key


@pytest.mark.parametrize("name", ["blip-caption", "llava"])
def test_mass_is_the_mean_over_tokens_of_what_the_image_adds_to_their_log_probability(make, name, images):
    scorer, mass = load(make, name), load(make, name, "mass")
    pairs = everything(images, CAPTIONS)
    for count in (1, 3):
        mass.count = count
        found = mass.score(images, CAPTIONS, pairs)
        for value, (i, j) in zip(found, pairs, strict=True):
            seen = scorer.token_log_probs(images[i], CAPTIONS[j]).log_probs
            blind = [np.exp(scorer.token_log_probs(n, CAPTIONS[j]).log_probs) for n in scorer.nulls(count)]
            assert value == pytest.approx(np.mean(seen - np.log(np.mean(blind, axis=0))), abs=2e-5)
    one = scorer.score(images, CAPTIONS, pairs) - scorer.null_scores(CAPTIONS, 1)[0][pairs[:, 1]]
    mass.count = 1
    np.testing.assert_allclose(mass.score(images, CAPTIONS, pairs), one, atol=2e-5)  # alpha = 1


def test_null_images_are_gaussian_in_the_models_own_pixels(make):
    pixels = NullImage(1.0, 0.25).draw((3, 200, 200)).numpy()
    assert pixels.mean() == pytest.approx(1.0, abs=0.01) and pixels.std() == pytest.approx(0.25, abs=0.01)
    assert load(make, "blip-caption").nulls()[0].mean == 1.0
    assert (load(make, "llava").nulls()[0].mean, load(make, "llava").nulls()[0].std) == (0.0, 0.25)
    sample = null_images(5, 0.0, 0.25, seed=1)
    assert len({image.key for image in sample}) == 5 and sample[:2] == null_images(2, 0.0, 0.25, seed=1)
    assert sample[0].open(32).size == (32, 32)
    scorer = load(make, "blip-caption")
    drawn = scorer._pixels(sample[0])["pixel_values"]
    assert torch.equal(drawn, sample[0].draw(drawn.shape))


def test_the_papers_counts_of_null_images():
    counts = {"winoground": 100, "Winoground/all": 100, "eqben-mini": 30, "ImageNet1K": 1, "aro/flickr": 3}
    assert {name: nulls.null_count(name) for name in counts} == counts


def test_a_model_may_bring_its_own_null_pixels():
    assert nulls.null_pixels({"model_type": "blip", "null_images": [0.2, 0.5]}) == (0.2, 0.5)
    assert nulls.null_pixels({"model_type": "blip-2"}) == (1.0, 0.25)
    assert nulls.null_pixels({"model_type": "unheard-of"}) == (0.0, 0.25)


def test_scores_flow_through_groups_cache_and_debiasing(make, toy_groups, tmp_path):
    scorer = load(make, "blip-caption")
    cache = ScoreCache(tmp_path / "scores.sqlite")
    scores = score_groups(scorer, toy_groups, cache)
    with counted(scorer.module.vision_model) as calls:
        again = score_groups(scorer, toy_groups, cache)
    assert again.tolist() == scores.tolist() and calls == []
    captions, index = toy_groups.unique_captions()
    prior = group_prior(scorer.prior(captions), index)
    before, after = (evaluate(debias(scores, prior, alpha), toy_groups.truth) for alpha in (0, 1))
    for metric in ("group_match", "image_score"):
        assert before[metric] == after[metric]
    assert prior_from_samples(scorer.null_scores(captions))[index] == pytest.approx(prior)


def test_keys_tell_kinds_weights_and_null_images_apart(make, tmp_path):
    from tiny_models import build_blip

    folder = make("blip-caption")
    vgpt, blind = load(make, "blip-caption"), load(make, "blip-caption", "blind")
    other = build_blip(tmp_path / "other", "BlipForConditionalGeneration", seed=1)
    found = {
        vgpt.key,
        blind.key,
        load_scorer(f"vgpt:{other}", "cpu").key,
        load_scorer(f"blind:{other}", "cpu").key,
    }
    mass = load(make, "blip-caption", "mass")
    assert len(found) == 4 and mass.key not in found and mass.key == scorer_key(f"mass:{folder}")
    blind.count = 5
    assert blind.key not in found
    blind.count = 3
    assert (
        vgpt.key
        == load_scorer(str(folder), "cpu").key
        == scorer_key(str(folder))
        == scorer_key(f"vgpt:{folder}")
    )
    assert scorer_key(f"vqa:{folder}") != vgpt.key and scorer_key("api:m") is None


def test_a_model_says_by_itself_what_it_scores(make):
    natural = {
        "blip-caption": "vgpt",
        "blip-vqa": "vqa",
        "blip-itm": "itm",
        "blip2-opt": "vgpt",
        "llava": "vqa",
    }
    assert {name: score_kinds.natural_kind(make(name)) for name in natural} == natural


def test_a_model_that_does_not_fit_is_refused_before_it_is_loaded(make, monkeypatch):
    monkeypatch.setattr(devices.psutil, "virtual_memory", lambda: SimpleNamespace(available=100_000))
    from core.scorers import _generative

    with pytest.raises(InputError, match=r"The model big needs about 0\.0 GB of memory"):
        _generative.load("big", str(make("blip-caption")), "cpu")


def test_memory_is_estimated_from_the_headers_of_the_weights(make, monkeypatch):
    module = load(make, "blip-caption").module
    found = _model_io.weight_counts(make("blip-caption"))
    assert found == {"F32": pytest.approx(sum(p.numel() for p in module.parameters()), rel=0.01)}
    # 4 bytes a number, 2 where a large model is stored in half precision, and a fifth more for running.
    for counts, dtype, need in (
        ({"F16": 1000}, "float32", 4800),
        ({"BF16": 7_000_000_000}, "bfloat16", 16_800_000_000),
        ({"F32": 7_000_000_000}, "float32", 33_600_000_000),
    ):
        monkeypatch.setattr(
            devices.psutil, "virtual_memory", lambda need=need: SimpleNamespace(available=need)
        )
        assert devices.check_memory("m", counts, "cpu") == dtype
        short = SimpleNamespace(available=need - 1)
        monkeypatch.setattr(devices.psutil, "virtual_memory", lambda short=short: short)
        with pytest.raises(InputError, match=f"needs about {need / 1e9:.1f} GB"):
            devices.check_memory("m", counts, "cpu")


def test_a_hub_model_is_weighed_before_it_is_fetched(monkeypatch):
    import huggingface_hub

    known = SimpleNamespace(safetensors=SimpleNamespace(parameters={"F16": 7_000_000_000_000}), siblings=None)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *args, **more: known)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(InputError, match=r"llava-hf/llava-7t needs about 16800\.0 GB of memory and"):
        load_scorer("vgpt:llava-hf/llava-7t", "cpu")


def test_a_hub_model_of_unknown_numbers_is_weighed_by_its_files(monkeypatch):
    """Some repositories do not say how many numbers of which type their weights are."""
    import huggingface_hub

    sizes = {"model.safetensors": 10**12, "config.json": 900, "pytorch_model.bin": 10**15}
    files = [SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()]
    known = SimpleNamespace(safetensors=None, siblings=files)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *args, **more: known)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(InputError, match=r"some/model needs about 1200\.0 GB of memory and"):
        load_scorer("vgpt:some/model", "cpu")
    monkeypatch.setattr("core.scorers.hub.check_memory", lambda *args: "float32")
    with pytest.raises(InputError, match=r"some/model takes 1000\.0 GB on the disk and .* set HF_HOME"):
        load_scorer("vgpt:some/model", "cpu")


def test_half_precision_models_make_their_logits_in_float32(make, images, monkeypatch, tmp_path):
    exact = load(make, "llava").score(images, CAPTIONS, everything(images, CAPTIONS))
    folder = shutil.copytree(make("llava"), tmp_path / "half")
    copy = load(make, "llava").copy()  # a copy is in float32, and may be changed
    copy.module.half().save_pretrained(folder)
    monkeypatch.setattr(devices, "_HALF_FROM", 1000)  # now it counts as a large model
    scorer = load_scorer(f"vgpt:{folder}", "cpu")
    assert scorer.module.dtype == torch.float16
    logits = []
    scorer.module.get_output_embeddings().register_forward_hook(lambda m, i, out: logits.append(out.dtype))
    scores = scorer.score(images, CAPTIONS, everything(images, CAPTIONS))
    assert set(logits) == {torch.float32} and scores == pytest.approx(exact, abs=0.05)
