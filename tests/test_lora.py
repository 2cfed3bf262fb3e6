"""Low-rank adapters: what is trained, what is saved, and that a saved model is the adapted one."""

import numpy as np
import pytest
import torch
from tiny_models import build_blip, build_flava, build_llava, build_qwen2_vl, build_smolvlm

from core.base.errors import InputError
from core.scorers import lora
from core.scoring.load import load_base, load_scorer
from core.ttm._train import fit
from core.ttm.config import TrainConfig, TTMConfig
from core.ttm.loop import run_ttm

pytestmark = pytest.mark.slow

FAMILIES = ["clip", "siglip", "open_clip"]


@pytest.fixture(params=FAMILIES)
def model(request):
    return load_scorer(str(request.getfixturevalue(f"tiny_{request.param}_folder")), device="cpu").copy()


def prepared(model, groups):
    pictures, images = groups.unique_images()
    texts, captions = groups.unique_captions()
    return model.prepare(pictures, texts), images, captions


def scores(model, data):
    pairs = np.array([(i, j) for i in range(len(data.pixels)) for j in range(len(data.tokens["input_ids"]))])
    return model.score_prepared(data, pairs)


def test_new_adapters_change_nothing_and_freeze_everything_else(model, toy_groups):
    data, _, _ = prepared(model, toy_groups)
    before = scores(model, data)
    count = lora.attach(model.module, rank=2)
    assert count >= 4  # two layers of each tower at least
    free = [name for name, p in model.module.named_parameters() if p.requires_grad]
    assert all(".lora_" in name for name in free)
    assert len(free) == 2 * count
    np.testing.assert_array_equal(scores(model, data), before)


def test_training_adapters_leaves_the_model_s_own_weights_and_saving_merges_them(model, toy_groups, tmp_path):
    data, images, captions = prepared(model, toy_groups)
    before, own = scores(model, data), {n: t.clone() for n, t in model.module.state_dict().items()}
    lora.attach(model.module, rank=2, alpha=8.0, seed=1)
    fit(model, data, images, captions, TrainConfig(lr=0.01, epochs=3), batch=3)
    after = scores(model, data)
    assert np.abs(after - before).max() > 0.01
    for name, tensor in model.module.state_dict().items():
        if ".lora_" not in name:
            assert torch.equal(tensor, own[name.replace(".base_layer.", ".")])
    merged = lora.merged_state(model.module)
    assert merged.keys() == own.keys()
    changed = {name for name in own if not torch.equal(merged[name], own[name])}
    assert len(changed) == len(lora._layers(model.module))
    model.save(tmp_path / "saved")
    again = load_scorer(str(tmp_path / "saved"), device="cpu")
    np.testing.assert_allclose(scores(again, data), after, atol=1e-5)
    np.testing.assert_array_equal(scores(model, data), after)  # saving left the adapters in place


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("itc:", lambda folder: build_blip(folder, "BlipForImageTextRetrieval")),
        ("itm:", lambda folder: build_blip(folder, "BlipForImageTextRetrieval")),
        ("itc:", build_flava),
        ("", lambda folder: build_flava(folder, "FlavaModel")),
        ("vqa:", lambda folder: build_blip(folder, "BlipForQuestionAnswering")),
        ("vgpt:", lambda folder: build_blip(folder, "BlipForConditionalGeneration")),
        ("vqa:", build_llava),
        ("vgpt:", build_qwen2_vl),
        ("vqa:", build_smolvlm),
    ],
    ids=["ITC", "ITM", "FLAVA", "FLAVA without heads", "VQA", "captions", "LLaVA", "Qwen-VL", "SmolVLM"],
)
@pytest.mark.parametrize("rank", [None, 2])
def test_models_of_every_kind_adapt_whole_or_by_adapters_and_come_back(
    kind, build, rank, toy_groups, tmp_path
):
    name = kind + str(build(tmp_path / "base"))
    config = TTMConfig(iterations=2, epochs=2, lr=0.01, coverage_first=1.0, lora_rank=rank)
    first, *_, last = run_ttm(load_scorer(name, device="cpu"), toy_groups, config)
    assert np.abs(last.scores - first.scores).max() > 1e-3
    last.model.save(tmp_path / "saved")
    again = load_scorer(kind + str(tmp_path / "saved"), device="cpu")
    data, images, captions = prepared(again, toy_groups)
    found = again.score_prepared(data, np.array([(i, j) for i in images[0] for j in captions[0]]))
    np.testing.assert_allclose(found.reshape(2, 2), last.scores[0], atol=1e-4)


def test_a_strategy_s_model_takes_no_adapters(toy_groups):
    from core.scorers.cola_adapted import AdaptedModel
    from core.scorers.cola_config import AdaptConfig

    model = AdaptedModel.of(load_base("builtin/clip", "cpu"), AdaptConfig(strategy="linear"))
    with pytest.raises(InputError, match="takes no low-rank adapters"):
        next(run_ttm(model, toy_groups, TTMConfig(lora_rank=2)))


def test_a_seed_decides_the_adapters_and_their_state_can_be_put_back(model):
    twin = model.copy()
    random = torch.random.get_rng_state()
    lora.attach(model.module, rank=2, seed=3)
    assert torch.equal(torch.random.get_rng_state(), random)
    lora.attach(twin.module, rank=2, seed=3)
    state = lora.adapter_state(model.module)
    assert all(torch.equal(t, lora.adapter_state(twin.module)[n]) for n, t in state.items())
    with torch.no_grad():
        for name, parameter in twin.module.named_parameters():
            if ".lora_B" in name:
                parameter.fill_(0.5)
    lora.load_adapter(model.module, lora.adapter_state(twin.module))
    assert all(
        torch.equal(lora.adapter_state(twin.module)[n], t)
        for n, t in lora.adapter_state(model.module).items()
    )
    other = load_scorer(model.name, device="cpu").copy()
    lora.attach(other.module, rank=3)
    with pytest.raises(InputError, match="another model or rank"):
        lora.load_adapter(other.module, state)


def test_a_model_without_adapters_is_saved_as_it_is(model):
    assert lora.adapter_state(model.module) is None
    assert all(
        t is lora.merged_state(model.module)[n] or torch.equal(t, lora.merged_state(model.module)[n])
        for n, t in model.module.state_dict().items()
    )


def test_layers_can_be_named_and_a_wrong_name_lists_the_right_ones(tiny_clip_folder):
    model = load_scorer(str(tiny_clip_folder), device="cpu").copy()
    with pytest.raises(InputError, match=r"No linear layer .* their names end in fc1, fc2, k_proj, out_proj"):
        lora.attach(model.module, rank=2, targets=("attention",))
    assert lora.attach(model.module, rank=2, targets=("fc1",)) == 4


def test_an_unknown_family_must_name_its_layers():
    module = torch.nn.Sequential(torch.nn.Linear(3, 3))
    with pytest.raises(InputError, match="name them with lora_targets"):
        lora.attach(module, rank=2)
    assert lora.attach(module, rank=2, targets=("0",)) == 1
    with pytest.raises(InputError, match="No linear layer"):
        lora.attach(torch.nn.ReLU(), rank=2, targets=("x",))


def test_without_peft_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "peft", None)
    with pytest.raises(InputError, match=r"pip install crossmatch\[lora\]"):
        lora.attach(torch.nn.Linear(2, 2), rank=2)
