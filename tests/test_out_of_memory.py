"""A device too small: torch's allocator refuses, and a scorer reads less at a time or says so in one sentence."""

import re
import weakref

import numpy as np
import pytest
import torch
from conftest import draw
from tiny_models import everything
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from core.base.errors import InputError
from core.scorers._memory import memory_errors
from core.scoring import load
from core.scoring.load import load_scorer

IMAGES = [draw(("red", "cube"), (colour, "ball")) for colour in ("blue", "green", "yellow", "red")]
CAPTIONS = ["a red cube", "the ball left of the cone", "a green ball", "the red ball behind the blue cube"]
MODELS = {
    "two towers": "{clip}",
    "matching head": "itm:{blip-itm}",
    "captioner": "vgpt:{blip-caption}",
    "BLIP-2": "vgpt:{blip2-opt}",
    "question": "vqa:{blip-vqa}",
    "chat, caption": "vgpt:{llava}",
    "chat, question": "vqa:{llava}",
    "null images": "blind:{blip-caption}",
    "MASS": "mass:{llava}",
    "language model": "lm:{gpt2}",
}


class SmallDevice(TorchDispatchMode):
    """What operations make may hold so many bytes together; the most that it ever was stands in `peak`."""

    def __init__(self, room: float = float("inf")) -> None:
        super().__init__()
        self.room, self.peak, self.held = room, 0, {}

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        read = {storage._cdata for storage in storages((args, kwargs))}
        for storage in storages(made):
            if storage._cdata not in read | self.held.keys():
                self.held[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, self.held.pop, storage._cdata, None)
        self.peak = max(self.peak, sum(self.held.values()))
        if sum(self.held.values()) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate more than there is.")
        return made


def storages(tree):
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def named(make, name):
    return name.partition("{")[0] + str(make(name.partition("{")[2].rstrip("}")))


def forget_models():
    load._cached.clear()


def scored(make, model, room=float("inf"), images=IMAGES, captions=CAPTIONS):
    """Scores of all pairs by a freshly loaded model on a device with so much room, and the most that it held."""
    forget_models()
    scorer, device = load_scorer(named(make, model), "cpu"), SmallDevice(room)
    with device:
        return scorer.score(images, captions, everything(images, captions)), device.peak


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_where_memory_runs_out_less_is_read_at_a_time_to_the_same_scores(make, model):
    expected, most = scored(make, model)
    least = scored(make, model, images=IMAGES[:1], captions=CAPTIONS[:1])[1]
    with pytest.warns(UserWarning, match=r"Memory ran out: (images|captions) pass the model \d at a time"):
        found, held = scored(make, model, (least + most) // 2)
    assert held > (least + most) // 2  # it was too much once
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Memory ran out")
@pytest.mark.parametrize("share", [0.5, 0.0])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_device_without_room_for_one_pair_is_one_sentence(make, model, share):
    least = scored(make, model, images=IMAGES[:1], captions=CAPTIONS[:1])[1]
    with pytest.raises(InputError) as caught:
        scored(make, model, share * least)
    words = r"(\S+ needs more memory than is free here|Not even one of the \w+ fits into memory at a time)"
    assert re.fullmatch(
        rf"{words}; choose a smaller model, or put bfloat16: before its name\.", str(caught.value)
    )


def test_the_token_view_says_it_too(make):
    scorer = load_scorer(f"vgpt:{make('blip-caption')}", "cpu")
    with SmallDevice(100), pytest.raises(InputError, match="needs more memory than is free here"):
        scorer.token_log_probs(IMAGES[0], CAPTIONS[0])


def test_a_model_that_does_not_fit_when_it_is_loaded_is_one_sentence(make, monkeypatch):
    def full(*args, **more):
        with SmallDevice(0):
            return torch.zeros(10)

    forget_models()
    monkeypatch.setattr("torch.nn.Module.to", full)  # where weights go to their device
    with pytest.raises(InputError, match=r"vgpt:\S+ needs more memory than is free here"):
        load_scorer(f"vgpt:{make('blip-caption')}", "cpu")


def test_no_tensor_of_a_failed_attempt_is_kept():
    """Else the next, smaller one would not fit either."""
    with SmallDevice(3000) as device:
        with pytest.raises(InputError), memory_errors("a model"):
            torch.zeros(500) + torch.zeros(500)
        assert not device.held
