"""VQA scorers and captioners as models that can be adapted: losses and gradients against transformers' own outputs."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import counted

from core.base.errors import InputError
from core.groups import GroupSet
from core.runs.description import Remains
from core.runs.resume import _write_checkpoint
from core.scorers import lora
from core.scorers._groupwise import Groupwise
from core.scorers.base import GroupTrainable
from core.scoring.load import load_scorer
from core.ttm import _train
from core.ttm._train import fit
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm
from core.ttm.run import TTMRun

pytestmark = pytest.mark.slow

CHAT = ["llava", "qwen2-vl", "smolvlm"]
# Kind of score and model; the captioners once more with the contrastive loss.
LEARNERS = [
    *[("vqa", name, False) for name in ("blip-vqa", *CHAT)],
    *[("vgpt", name, contrastive) for name in ("blip-caption", *CHAT) for contrastive in (False, True)],
]
BLIP = [each for each in LEARNERS if each[1].startswith("blip")]
SETTINGS = TTMConfig(iterations=2, epochs=2, lr=1e-3, batch=3, coverage_first=0.5)
# Two groups of two pictures: pseudo-labels crossed in the second, and three captions to choose from.
IMAGES, LABELS = torch.tensor([[0, 1], [2, 3]]), torch.tensor([[0, 1], [3, 2]])
OFFERED = torch.tensor([[0, 1, 4], [2, 3, 5]])


def over(learners):
    """Run a test over these learners."""
    names = [f"{kind}-{name}{'-contrastive' * contrastive}" for kind, name, contrastive in learners]
    return pytest.mark.parametrize("learner", learners, ids=names, indirect=True)


@pytest.fixture
def learner(request, make):
    """An own copy of a tiny model."""
    kind, name, contrastive = request.param
    twin = load_scorer(f"{kind}:{make(name)}", "cpu").copy()
    if contrastive:
        twin.contrastive = True
    return twin


@pytest.fixture
def parts(toy_groups):
    return toy_groups.unique_images()[0], toy_groups.unique_captions()[0]


def log_probs(model, image, caption):
    """log P of the answers yes and no, (2,), or of a caption's tokens, by transformers from one whole text."""
    words, module, pixels = model.tokenizer, model.module, image.open()
    if model.config.model_type == "blip":
        if model.kind == "vqa":
            inputs = model.processor(images=pixels, text=model.question(caption), return_tensors="pt")
            begin = module.config.text_config.bos_token_id
            answers = [torch.tensor([[begin, words.convert_tokens_to_ids(a)]]) for a in ("yes", "no")]
            return torch.stack([-module(**inputs, labels=answer).loss for answer in answers])
        ids = words(caption, return_tensors="pt")["input_ids"]
        ids[:, 0] = module.config.text_config.bos_token_id
        values = model.processor.image_processor(pixels, return_tensors="pt")["pixel_values"]
        return -module(pixel_values=values, input_ids=ids, labels=ids).loss[None]
    text = model.prompt(model.question(caption)) if model.kind == "vqa" else f"{model.prompt()} {caption}"
    inputs = model.processor(images=pixels, text=[text], return_tensors="pt")
    logs = module(**inputs, use_cache=False).logits[0].log_softmax(dim=-1)
    if model.kind == "vqa":
        return logs[-1, [words.convert_tokens_to_ids(a) for a in ("yes", "no")]]
    before = model.processor(images=pixels, text=[model.prompt()], return_tensors="pt")["input_ids"].shape[1]
    ids = inputs["input_ids"][0, before:]
    return logs[before - 1 : -1].gather(1, ids[:, None])[:, 0]


def direct_losses(model, parts, images=IMAGES, labels=LABELS, offered=OFFERED):
    """The losses of groups as they are written down: loops over pairs, each read by itself."""
    found = []
    for own_images, own, captions in zip(images.tolist(), labels.tolist(), offered.tolist(), strict=True):
        terms = []
        for image, label in zip(own_images, own, strict=True):
            logs = {c: log_probs(model, parts[0][image], parts[1][c]) for c in captions}
            if model.kind == "vqa":
                terms += [-logs[c][0 if c == label else 1] for c in captions]
            elif model.contrastive:
                scores = torch.stack([logs[c].mean() for c in captions])
                terms.append(-scores.log_softmax(dim=0)[captions.index(label)])
            else:
                terms.append(-logs[label].mean())
        found.append(torch.stack(terms).mean())
    return torch.stack(found)


def gradient(model, losses):
    """d sum(losses) / d weights, one vector; the model's gradients are cleared."""
    model.module.zero_grad()
    losses.sum().backward()
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.module.parameters()]
    flat = torch.cat([g.flatten() for g in found])
    model.module.zero_grad()
    return flat


def weights(model):
    return b"".join(t.detach().numpy().tobytes() for t in model.module.state_dict().values())


@over(LEARNERS)
def test_losses_and_their_gradients_are_those_of_a_direct_implementation(learner, parts):
    found = learner.group_losses(learner.prepare(*parts), IMAGES, LABELS, OFFERED)
    expected = direct_losses(learner, parts)
    assert found.shape == (2,)
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    one, other = gradient(learner, found), gradient(learner, expected)
    assert (one - other).abs().max() < 1e-4 * other.abs().max()
    assert other.abs().max() > 1e-4


@over(BLIP)
def test_gradients_are_finite_differences_in_float64(learner, parts):
    learner.module.double()
    data = learner.prepare(*parts)
    groups = (IMAGES, LABELS, OFFERED)
    slope = gradient(learner, learner.group_losses(data, *groups))
    way = torch.randn(slope.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights, step = list(learner.module.parameters()), 1e-5
    start = torch.nn.utils.parameters_to_vector(weights).detach()
    values = []
    with torch.no_grad():
        for sign in (1, -1):
            torch.nn.utils.vector_to_parameters(start + sign * step * way, weights)
            values.append(float(learner.group_losses(data, *groups).sum()))
    assert (values[0] - values[1]) / (2 * step) == pytest.approx(float(slope @ way), rel=1e-5)


@over(LEARNERS)
def test_pairs_without_groups_are_told_apart_from_their_neighbours(learner, parts):
    assert isinstance(learner, GroupTrainable)
    own = torch.tensor([3, 0, 2])
    with torch.no_grad():
        found = learner.loss(learner.prepare(*parts), own, own)
        offered = torch.tensor([[3, 2], [0, 3], [2, 0]])
        expected = direct_losses(learner, parts, own[:, None], own[:, None], offered).mean()
    assert float(found) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("settings", [{"micro_batch": 4}, {"augmentation": "jitter", "micro_batch": 4}])
@over(BLIP)
def test_a_batch_in_parts_learns_the_same(learner, parts, settings):
    twin, rows = learner.copy(), (IMAGES.numpy(), LABELS.numpy())
    config = SETTINGS.updated({"lr": 1e-5, **settings, "micro_batch": None})
    reports = [
        fit(model, model.prepare(*parts), *rows, each, batch=2, offered=OFFERED.numpy())
        for model, each in ((learner, config), (twin, config.updated(settings)))
    ]
    assert reports[1].micro_batch == 4 and reports[0].micro_batch is None
    assert reports[1].losses == pytest.approx(reports[0].losses, abs=1e-5)
    assert reports[1].gradient_norm == pytest.approx(reports[0].gradient_norm, rel=1e-4)


def test_a_public_server_learns_a_few_pairs_at_a_time(make, parts, monkeypatch):
    model = load_scorer(f"vqa:{make('blip-vqa')}", "cpu").copy()
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(_train, "_PUBLIC_PAIRS", 6)
    data, rows = model.prepare(*parts), (IMAGES.numpy(), LABELS.numpy())
    with counted(model.module.text_encoder) as sizes:
        fit(model, data, *rows, SETTINGS.updated({"epochs": 1}), batch=2, offered=OFFERED.numpy())
    assert sizes == [6, 6]


# Which weights a run leaves alone, so that what reads images is frozen.
FROZEN = {
    "blip-vqa": {"parameters": ("text_*",)},
    "blip-caption": {"parameters": ("text_*",)},
    "llava": {"lora_rank": 2},
    "qwen2-vl": {"lora_rank": 2},
    "smolvlm": {"lora_rank": 2},
}
TOWERS = {"llava": "model.vision_tower", "qwen2-vl": "model.visual", "smolvlm": "model.vision_model"}


@over([each for each in LEARNERS if not each[2]])
def test_a_frozen_tower_encodes_an_image_once(learner, parts, request, monkeypatch):
    name = request.node.callspec.params["learner"][1]
    config = SETTINGS.updated({"epochs": 2, "augmentation": "none", **FROZEN[name]})
    rows, twin = (IMAGES.numpy(), LABELS.numpy()), learner.copy()
    more = {"batch": 2, "offered": OFFERED.numpy()}
    for model in (learner, twin):
        if config.lora_rank:
            lora.attach(model.module, config.lora_rank)
    with counted(learner.module.get_submodule(TOWERS.get(name, "vision_model"))) as sizes:
        fit(learner, learner.prepare(*parts), *rows, config, **more)
    # Qwen's tower is called with patches, the others' with images.
    assert len(sizes) == 4 if name in CHAT else sum(sizes) == 4
    monkeypatch.setattr(Groupwise, "keeping_encodings", lambda self: nullcontext())
    report = fit(twin, twin.prepare(*parts), *rows, config, **more)
    assert report.gradient_norm > 0
    for one, other in zip(learner.module.parameters(), twin.module.parameters(), strict=True):
        assert torch.allclose(one, other, atol=2e-5)


@over(LEARNERS)
def test_training_lowers_the_loss_of_a_copy_and_leaves_the_model_alone(learner, parts):
    before, key, twin = weights(learner), learner.key, learner.copy()
    rows, config = (IMAGES.numpy(), LABELS.numpy()), SETTINGS.updated({"epochs": 4})
    report = fit(twin, twin.prepare(*parts), *rows, config, batch=2, offered=OFFERED.numpy())
    assert report.losses[-1] < report.losses[0]
    assert weights(learner) == before and learner.key == key and twin.key != key


@over(LEARNERS)
def test_the_order_of_captions_reaches_no_weight(learner, toy_groups):
    flipped = GroupSet(
        "flipped",
        tuple(
            replace(g, captions=g.captions[::-1], truth=tuple(1 - t for t in g.truth))
            for g in toy_groups.groups
        ),
    )
    settings = {"iterations": 1, "epochs": 1, "contrastive": getattr(learner, "contrastive", False)}
    config = SETTINGS.updated(settings)
    ends = [weights(list(run_ttm(learner, groups, config))[-1].model) for groups in (toy_groups, flipped)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("model", ["builtin/blip-vqa", "vqa-log:builtin/blip-vqa", "builtin/blip-caption"])
def test_a_run_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(model, tmp_path):
    options = {"iterations": 2, "epochs": 1, "batch": 4, "seed": 3}
    job = TTMRun.of("scenes/left-right", model, groups=8, device="cpu", options=options)
    whole = []
    for done in job.execute():
        whole.append(done.record["metrics"])
        scores = done.arrays["scores"]
        if done.record["iteration"] == 1:
            _write_checkpoint(tmp_path, done)
    (checkpoint,) = tmp_path.glob("checkpoint-*")
    (rest,) = list(job.execute(Remains(tmp_path, checkpoint)))
    assert rest.record["metrics"] == whole[2]
    assert np.array_equal(rest.arrays["scores"], scores)


# What cannot be adapted


@pytest.mark.parametrize(
    "model",
    ["vqa:blip2-opt", "vgpt:blip2-t5", "vqa:instructblip-t5", "itm:flava", "itc:blip2-itm", "lm:gpt2"],
)
def test_what_cannot_be_adapted_is_refused_before_there_is_a_run(make, model):
    kind, _, name = model.partition(":")
    with pytest.raises(InputError, match=r"Crossmatch cannot adapt .*; choose a two-tower model"):
        TTMRun.of("scenes/left-right", f"{kind}:{make(name)}")


def test_the_contrastive_loss_is_refused_where_it_is_no_captioners(make, toy_groups, tmp_path):
    for model in ("builtin/clip", "builtin/blip-vqa", f"vqa:{make('llava')}"):
        with pytest.raises(InputError, match=r"for captioners, and .* is none; leave contrastive out"):
            TTMRun.of("scenes/left-right", model, options={"contrastive": True})
    with pytest.raises(InputError, match="not an embeddings file; leave contrastive out"):
        TTMRun.of_file(tmp_path / "rows.npz", options={"contrastive": True})
    with pytest.raises(InputError, match="learns from one loss alone"):  # loaded by hand
        next(run_ttm(load_scorer("builtin/clip"), toy_groups, TTMConfig(contrastive=True)))
    with pytest.raises(InputError, match=r"bfloat16:.* runs faster than it can be trained"):
        next(run_ttm(load_scorer("bfloat16:builtin/blip-vqa"), toy_groups, TTMConfig()))


@pytest.mark.parametrize("augmentation", ["resize-crop", "jitter"])
def test_pictures_that_differ_in_size_are_not_augmented(make, toy_groups, augmentation):
    name, config = f"vqa:{make('qwen2-vl')}", SETTINGS.updated({"augmentation": augmentation})
    with pytest.raises(InputError, match="differ in size as it reads them; set augmentation to 'none'"):
        TTMRun.of("scenes/left-right", name, preset="default", options={"augmentation": augmentation})
    with pytest.raises(InputError, match="differ in size as it reads them; set augmentation to 'none'"):
        list(run_ttm(load_scorer(name, "cpu"), toy_groups, config))
