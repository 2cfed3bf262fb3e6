"""Augmentation: crops come from the original pictures, enlarged and normalised as the model itself does."""

import io

import numpy as np
import pytest
import torch
from conftest import SIDE, draw
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.functional import normalize, pil_to_tensor, resize

from core.base.errors import InputError
from core.groups import BytesImage
from core.scenes.render import SceneImage, _render
from core.scenes.sets import load as load_scenes
from core.scorers import _input_loading
from core.scoring.load import load_scorer
from core.ttm._augmentation import augmented, jittered
from core.ttm._train import generator_for
from core.ttm.config import TTMConfig
from core.ttm.loop import run_ttm

WIDE = draw(("red", "cube"), ("blue", "ball"), (64, 48))  # 4:3
CAPTION = ["a red cube and a blue ball"]
LARGER = int(SIDE * 1.1)  # 35


def noise(width=96, height=96):
    """A picture with energy at every frequency, as a PNG."""
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "PNG")
    return BytesImage(data.getvalue(), "noise.png")


def crops(model, images, count, factor=1.1, seed=0):
    """`count` crops of the first of these images, (count, 3, SIDE, SIDE)."""
    data = model.prepare(images, CAPTION, crop_factor=factor)
    shown = augmented(data, "resize-crop", generator_for(seed, 1, 0), model.device)
    return shown.images(torch.zeros(count, dtype=torch.int64))["pixel_values"]


def enlarged(image, family):
    """The original as the family resizes it to 1.1 times its size, uint8, by torchvision itself."""
    picture, bicubic = image.open(), InterpolationMode.BICUBIC
    if family == "open_clip":  # Pillow's resampling, the shorter side
        return pil_to_tensor(resize(picture, LARGER, bicubic))
    size = LARGER if family == "clip" else (LARGER, LARGER)  # SigLIP and BLIP do not keep the sides' ratio
    return resize(pil_to_tensor(picture), size, bicubic, antialias=True)


def statistics(model):
    if hasattr(model, "processor"):
        own = model.processor.image_processor
        return own.image_mean, own.image_std
    own = model.module.visual.preprocess_cfg
    return own["mean"], own["std"]


@pytest.mark.parametrize("family", ["clip", "siglip", "open_clip", "blip-itm"])
def test_crops_are_windows_of_the_enlarged_original_and_reach_all_of_it(make, family):
    model = load_scorer(str(make(family)), "cpu")
    larger = enlarged(WIDE, family)
    wide = larger.shape[2] - SIDE + 1
    assert larger.shape[1:] == ((LARGER, 46) if family in ("clip", "open_clip") else (LARGER, LARGER))
    mean, std = statistics(model)
    whole = normalize(larger.float() / 255, mean, std)
    windows = whole.unfold(1, SIDE, 1).unfold(2, SIDE, 1).permute(1, 2, 0, 3, 4).flatten(0, 1)
    found = crops(model, [WIDE], 400)
    assert found.shape == (400, 3, SIDE, SIDE) and found.dtype == torch.float32
    places = [int((windows - crop).abs().amax(dim=(1, 2, 3)).argmin()) for crop in found]
    off = (windows[places] - found).abs()
    # torchvision rounds a few pixels the other way where pictures come in another memory layout.
    assert off.max() < 1.01 / 255 / min(std) and off.mean() < 2e-3
    assert {p // wide for p in places} == set(range(LARGER - SIDE + 1))
    assert {p % wide for p in places} == set(range(wide))


def test_crops_are_as_sharp_as_what_the_model_is_tested_on(make):
    """Enlarging the preprocessed picture lost a quarter of the gradient's energy of a SigLIP."""
    model = load_scorer(str(make("siglip")), "cpu")

    def energy(pixels):
        return float((pixels.diff(dim=-1) ** 2).mean() + (pixels.diff(dim=-2) ** 2).mean())

    sharp = energy(model.prepare([noise()], CAPTION).pixels)
    assert energy(crops(model, [noise()], 16)) > 0.97 * sharp


def test_the_factor_decides_how_far_a_picture_is_enlarged(make):
    model = load_scorer(str(make("siglip")), "cpu")
    data = model.prepare([noise()], CAPTION, crop_factor=2.0)
    assert [tuple(p.shape) for p in data.enlarged.load(torch.tensor([0]))] == [(3, 64, 64)]
    assert data.enlarged.load(torch.tensor([0]))[0].dtype == torch.uint8


def test_rendered_scenes_are_drawn_at_the_larger_size():
    model = load_scorer("builtin/clip", "cpu")
    image = load_scenes("scenes/left-right").groups[0].images[0]
    assert isinstance(image, SceneImage)
    kept = model.prepare([image], CAPTION, crop_factor=1.1).enlarged.load(torch.tensor([0]))[0]
    assert (kept.permute(1, 2, 0).numpy() == _render(image.scene, 70)).all()


class Counted:
    """An image that notes when it is opened."""

    def __init__(self, image, log):
        self.image, self.log, self.key = image, log, image.key

    def open(self, size=None):
        self.log.append(self.key)
        return self.image.open(size)


def test_a_run_decodes_every_picture_once(make, toy_groups):
    log: list[str] = []
    images = {image.key: image for group in toy_groups.groups for image in group.images}
    groups = toy_groups.select(range(len(toy_groups)))
    for group in groups.groups:
        object.__setattr__(group, "images", tuple(Counted(image, log) for image in group.images))
    config = TTMConfig(
        iterations=2, epochs=3, coverage_first=0.5, batch=2, lr=1e-3, augmentation="resize-crop"
    )
    steps = list(run_ttm(load_scorer(str(make("clip")), "cpu"), groups, config))
    assert len(steps[-1].report.losses) >= 3
    assert sorted(log) == sorted(images)


def test_pictures_without_room_are_read_when_needed_to_the_same_crops(make, monkeypatch):
    model = load_scorer(str(make("clip")), "cpu")
    kept = crops(model, [WIDE, noise()], 8)
    monkeypatch.setattr(_input_loading, "_SHARE", 0.0)
    assert torch.equal(crops(model, [WIDE, noise()], 8), kept)


def test_the_same_seed_crops_the_same_and_another_elsewhere(make):
    model = load_scorer(str(make("clip")), "cpu")
    one, again, other = (crops(model, [WIDE], 8, seed=s) for s in (0, 0, 1))
    assert torch.equal(one, again) and not torch.equal(one, other)


def test_a_model_that_reads_patches_has_no_crops(make, monkeypatch):
    model = load_scorer(str(make("siglip")), "cpu")
    monkeypatch.setattr(model.processor.image_processor, "size", None)
    with pytest.raises(InputError, match="set augmentation to 'none'"):
        model.prepare([WIDE], CAPTION, crop_factor=1.1)


def test_jitter_moves_little_and_keeps_left_right_and_colour():
    picture = torch.zeros(16, 3, 64, 64)
    picture[:, 0, 20:30, 4:14] = 3.0  # red, on the left
    picture[:, 2, 20:30, 50:60] = 3.0  # blue, on the right
    result = jittered(picture, generator_for(0, 1, 0))
    assert torch.equal(result, jittered(picture, generator_for(0, 1, 0)))
    assert len({r.numpy().tobytes() for r in result}) == 16
    red, blue = (result[:, c].amax(dim=1).argmax(dim=1) for c in (0, 2))
    assert ((red >= 1) & (red < 17)).all()
    assert ((blue >= 47) & (blue < 63)).all()
    light = result[:, 1].mean(dim=(1, 2))
    assert light.abs().max() < 0.21
    assert light.std() > 0.05
