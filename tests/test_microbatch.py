"""A batch in parts: the same loss and gradients as of the whole, and what happens when memory runs out."""

import numpy as np
import pytest
import torch

from core.base.errors import InputError
from core.datasets.embeddings import RowImage
from core.scorers import _memory, gradient_caching
from core.scorers.base import TwoTower
from core.scorers.embedding import EmbeddingModel
from core.scoring.load import load_scorer
from core.ttm import _train
from core.ttm.config import TrainConfig

CONTRASTIVE = ["clip", "siglip", "open_clip"]


def embeddings(rows=12):
    rng = np.random.default_rng(0)
    names = [[f"{kind} {i}" for i in range(rows)] for kind in ("image", "caption")]
    model = EmbeddingModel(rng.normal(size=(rows, 6)), rng.normal(size=(rows, 6)), *names)
    return model, model.prepare([RowImage(key) for key in names[0]], names[1])


@pytest.fixture(params=[*CONTRASTIVE, "embedding"])
def prepared(request, toy_groups):
    """A model and twelve pairs for it."""
    if request.param == "embedding":
        return embeddings()
    model = load_scorer(str(request.getfixturevalue(f"tiny_{request.param}_folder")), device="cpu").copy()
    pictures, images = toy_groups.unique_images()
    texts, captions = toy_groups.unique_captions()
    chosen = model.prepare(
        [pictures[i] for i in images.ravel()], [texts[j] for j in captions[:, ::-1].ravel()]
    )
    return model, chosen


def gradients(model):
    found = {n: p.grad.clone() for n, p in model.module.named_parameters() if p.grad is not None}
    model.module.zero_grad(set_to_none=True)
    return found


def whole_batch(model, data):
    index = torch.arange(len(data.pixels))
    return model.batch(data, index, index)


@pytest.mark.parametrize("size", [1, 5, 11, 12, 99])
def test_parts_give_the_loss_and_the_gradients_of_the_whole_batch(prepared, size):
    model, data = prepared
    assert isinstance(model, TwoTower)
    batch = whole_batch(model, data)
    index = torch.arange(12)
    plain = model.loss(data, index, index)
    plain.backward()
    expected = gradients(model)
    loss = gradient_caching.backward(model, batch, size)
    found = gradients(model)
    assert float(loss) == pytest.approx(float(plain.detach()), rel=1e-6)
    assert found.keys() == expected.keys()
    largest = max(float(g.abs().max()) for g in expected.values())
    for name, gradient in found.items():
        assert (gradient - expected[name]).abs().max() < 1e-6 * largest, name


def test_in_bfloat16_the_gradients_keep_their_direction(prepared):
    model, data = prepared
    batch = whole_batch(model, data)
    gradient_caching.backward(model, batch, None)
    exact = torch.cat([g.flatten() for g in gradients(model).values()])
    for size in (None, 5):
        gradient_caching.backward(model, batch, size, reduced=True)
        found = torch.cat([g.flatten() for g in gradients(model).values()])
        assert not torch.equal(found, exact)
        assert torch.cosine_similarity(found, exact, dim=0) > 0.99


def attention_node(reduced):
    query = torch.randn(2, 2, 4, 8, requires_grad=True)
    with gradient_caching.backward_two_towers(torch.device("cpu"), reduced):
        return torch.nn.functional.scaled_dot_product_attention(query, query, query).grad_fn.name()


def test_on_a_cpu_bfloat16_avoids_the_fused_attention_whose_backward_pass_is_slow():
    assert "FlashAttention" in attention_node(reduced=False)
    assert "FlashAttention" not in attention_node(reduced=True)
    assert "FlashAttention" in attention_node(reduced=False)  # as it was before


def test_a_part_s_two_passes_draw_the_same_dropout_and_leave_one_draw_behind(tiny_clip_folder, toy_groups):
    model = load_scorer(str(tiny_clip_folder), device="cpu").copy()
    for layer in model.module.modules():
        if hasattr(layer, "dropout") and isinstance(layer.dropout, float):
            layer.dropout = 0.5
    model.module.train()
    data = model.prepare(toy_groups.unique_images()[0], toy_groups.unique_captions()[0])
    seen = []
    embed = model.embed
    model.embed = lambda batch: seen.append(embed(batch)) or seen[-1]
    torch.manual_seed(0)
    gradient_caching.backward(model, whole_batch(model, data), 4)
    after = torch.get_rng_state()
    parts = len(seen) // 2
    assert parts > 1
    for first, second in zip(seen[:parts], seen[parts:], strict=True):
        assert torch.equal(first[0], second[0])
        assert torch.equal(first[1], second[1])
    torch.manual_seed(0)
    for part in whole_batch(model, data).split(4):
        embed(part)
    assert torch.equal(torch.get_rng_state(), after)


def test_only_what_is_trained_gets_a_gradient(prepared):
    model, data = prepared
    names = [name for name, _ in model.module.named_parameters()]
    chosen = next(n for n in names if "text" in n or "token" in n or n == "caption")
    for name, parameter in model.module.named_parameters():
        parameter.requires_grad_(name == chosen)
    gradient_caching.backward(model, whole_batch(model, data), 5)
    assert gradients(model).keys() == {chosen}


# Memory


def cramp(model, room, error=torch.OutOfMemoryError):
    """Leave a model room for so many pairs at a time; the list of how many were tried."""
    tried, embed = [], model.embed

    def attempt(batch):
        tried.append(len(batch))
        if len(batch) > room:
            raise error("CUDA out of memory")
        return embed(batch)

    model.embed = attempt
    return tried


def fitted(model, data, **more):
    index = np.arange(12).reshape(6, 2)
    config = TrainConfig(lr=0.01, epochs=2, **more)
    return _train.fit(model, data, index, index, config, batch=6)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, MemoryError])
def test_a_batch_that_does_not_fit_passes_in_halves_with_a_note_and_the_same_result(error):
    (plain, data), (other, _) = embeddings(), embeddings()
    tried = cramp(other, 4, error)
    expected, found = fitted(plain, data), fitted(other, data)
    assert tried[:3] == [12, 6, 3]
    assert tried.count(12) == 1  # what did not fit is not tried again
    assert found.micro_batch == 3
    assert found.note == "Memory ran out: pairs of a batch pass the model 3 at a time, to the same result."
    assert (expected.micro_batch, expected.note) == (None, "")
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-5)
    for a, b in zip(plain.module.parameters(), other.module.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_batches_made_ahead_for_a_gpu_leave_the_same_weights(tiny_clip_folder, toy_groups, monkeypatch):
    """The thread of a GPU's batches, on the CPU's tensors."""
    ahead, found = _train._prefetched, []
    for device in ("cpu", "cuda"):
        monkeypatch.setattr(
            _train, "_prefetched", lambda make, items, _, d=device: ahead(make, items, torch.device(d))
        )
        model = load_scorer(str(tiny_clip_folder), device="cpu").copy()
        data = model.prepare(toy_groups.unique_images()[0], toy_groups.unique_captions()[0])
        index = np.arange(12).reshape(6, 2)
        config = TrainConfig(lr=0.01, epochs=2, augmentation="jitter")
        report = _train.fit(model, data, index, index, config, batch=2)
        found.append((report.losses.tolist(), [p.detach().clone() for p in model.module.parameters()]))
    (losses, weights), (others_losses, others) = found
    assert losses == others_losses and len(losses) == 6
    assert all(torch.equal(a, b) for a, b in zip(weights, others, strict=True))


def test_the_second_attempt_sees_the_same_augmented_pixels(tiny_clip_folder, toy_groups):
    losses = []
    for room in (99, 4):
        model = load_scorer(str(tiny_clip_folder), device="cpu").copy()
        data = model.prepare(toy_groups.unique_images()[0], toy_groups.unique_captions()[0])
        cramp(model, room)
        losses.append(fitted(model, data, augmentation="jitter").losses)
    np.testing.assert_allclose(*losses, rtol=1e-4)


def test_not_even_one_pair_is_a_sentence():
    model, data = embeddings()
    cramp(model, 0)
    with pytest.raises(InputError, match=r"Not even one of the pairs .* lora_rank"):
        fitted(model, data)


def test_other_errors_pass_through():
    model, data = embeddings()
    cramp(model, 4, RuntimeError)
    with pytest.raises(RuntimeError, match="CUDA out of memory"):  # the words alone are not enough
        fitted(model, data)


def test_a_micro_batch_can_be_asked_for():
    model, data = embeddings()
    tried = cramp(model, 99)
    report = fitted(model, data, micro_batch=5)
    assert set(tried) == {5, 2}
    assert (report.micro_batch, report.note) == (5, "")


def test_a_public_server_has_one_of_its_own(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(_train, "_PUBLIC_PAIRS", 5)
    model, data = embeddings()
    tried = cramp(model, 99)
    assert (fitted(model, data).micro_batch, set(tried)) == (5, {5, 2})
    assert fitted(model, data, micro_batch=3).micro_batch == 3  # what was asked for counts


def test_on_a_cpu_a_batch_of_a_large_model_is_cut_before_memory_runs_out(
    tiny_clip_folder, toy_groups, monkeypatch
):
    """The allocator would hand out more than there is, and the process be killed; the result stays."""
    monkeypatch.setattr(_train, "_LARGE", 0)
    model = load_scorer(str(tiny_clip_folder), "cpu")
    pictures, images = toy_groups.unique_images()
    texts, captions = toy_groups.unique_captions()
    captions = captions[:, : images.shape[1]]

    def fitted(left):
        monkeypatch.setattr(_train, "memory_left", lambda: left)
        own = model.copy()
        config = TrainConfig(epochs=1, lr=1e-3)
        return _train.fit(own, own.prepare(pictures, texts), images, captions, config, batch=len(images))

    plenty, short = fitted(1 << 40), fitted(1 << 20)
    assert plenty.micro_batch is None and plenty.note == ""
    assert 1 <= short.micro_batch < images.size and "Memory is short" in short.note
    np.testing.assert_allclose(short.losses, plenty.losses, rtol=1e-5)


def test_batch_normalisation_cannot_pass_in_parts():
    model, data = embeddings()
    model.module.norm = torch.nn.BatchNorm1d(3)
    fitted(model, data)
    with pytest.raises(InputError, match=r"normalises over the batch.*lower batch"):
        fitted(model, data, micro_batch=5)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried"), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
    ],
)
def test_running_out_of_memory_is_told_from_other_errors(error, expected):
    assert _memory.is_out_of_memory(error) is expected
