"""Sets made of others by the end of their name: without groups, and with shifted pictures."""

import io

import numpy as np
import pytest
from conftest import swap_group
from PIL import Image

from core import datasets
from core.base.errors import InputError
from core.datasets import _variants
from core.datasets._shifts import SHIFTS, ShiftedImage
from core.groups import BytesImage, GroupSet
from core.scenes.sets import FLAT

NAMES = ("scenes/left-right", "scenes/attribute-swap")


def picture(pixels):
    data = io.BytesIO()
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(data, "PNG")
    return BytesImage(data.getvalue(), "picture.png")


def shifted(name, pixels):
    return np.asarray(ShiftedImage(picture(pixels), SHIFTS[name]).open()).astype(int)


GREY = np.full((4, 3, 3), 100)
COLOUR = np.broadcast_to([200, 100, 40], (4, 3, 3))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tinted", [200, 70, 20]),  # green times 0.7, blue times 0.5
        ("tinted-weak", [200, 85, 30]),
        ("tinted-strong", [200, 55, 10]),
        ("dark", [100, 50, 20]),
        ("dark-weak", [140, 70, 28]),
        ("dark-strong", [60, 30, 12]),
        ("contrast", [157, 117, 93]),  # 128 + 0.4 (c - 128)
        ("contrast-weak", [171, 111, 75]),
        ("contrast-strong", [142, 122, 110]),
    ],
)
def test_shifts_of_every_pixel_alone_by_hand(name, expected):
    assert (shifted(name, COLOUR) == expected).all()


def test_fog_is_thicker_above():
    rows = shifted("fog", GREY)[:, 0, 0]  # veils 0.5 times 1, 0.8, 0.6, 0.4 of grey 205 over 100
    assert rows.tolist() == [152, 142, 132, 121] or rows.tolist() == [153, 142, 132, 121]


def test_the_lamp_lights_one_side_and_colours_it():
    found = shifted("lamp", GREY)[0]
    ramp = [1.25, 0.875, 0.5]  # 1 + 0.5 / 2 down to 1 - 0.5
    warm = np.array([1, 1 - 0.075, 1 - 0.175])
    expected = np.rint(100 * np.array(ramp)[:, None] * warm)
    assert (found == expected).all() or (found == expected[::-1]).all()
    sides = {shifted("lamp", np.full((4, 3, 3), value))[0, 0, 0] > value for value in range(60, 90)}
    assert sides == {True, False}  # which side is each picture's own lot


@pytest.mark.parametrize(("name", "sigma"), [("noisy-weak", 10), ("noisy", 25), ("noisy-strong", 50)])
def test_noise_has_its_deviation_and_is_the_picture_s_own(name, sigma):
    grey = np.full((64, 64, 3), 128)
    found = shifted(name, grey) - 128
    inside = np.abs(found) < 127
    assert found[inside].std() == pytest.approx(sigma, rel=0.05) and abs(found.mean()) < 1.5
    assert (shifted(name, grey) - 128 == found).all()
    assert (shifted(name, grey + 1) - 129 != found).mean() > 0.9


def test_a_file_s_and_a_lens_s_shifts_are_pillow_s():
    from PIL import ImageFilter

    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "JPEG", quality=15)
    assert (shifted("jpeg", pixels) == np.asarray(Image.open(data))).all()
    blurred = np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(1.5)))
    assert (shifted("blur-strong", pixels) == blurred).all()


def test_every_shift_has_three_strengths_and_the_stronger_changes_more():
    kinds = [name for name in SHIFTS if "-" not in name]
    assert len(kinds) == 8 and len(SHIFTS) == 24
    image = datasets.load("scenes/left-right").groups[0].images[0]
    plain = np.asarray(image.open()).astype(float)
    for kind in kinds:
        sizes = [
            np.abs(np.asarray(ShiftedImage(image, SHIFTS[f"{kind}{end}"]).open()) - plain).mean()
            for end in ("-weak", "", "-strong")
        ]
        assert 0 < sizes[0] < sizes[1] < sizes[2], kind
        assert SHIFTS[kind].description


def test_keys_differ_by_shift_strength_and_picture():
    images = [picture(GREY), picture(COLOUR)]
    keys = {ShiftedImage(image, shift).key for image in images for shift in SHIFTS.values()}
    assert len(keys) == 48 and not keys & {image.key for image in images}


@pytest.mark.parametrize("base", NAMES)
def test_a_shifted_set_keeps_groups_truth_and_tags(base):
    plain, found = datasets.load(base), datasets.load(f"{base}~tinted-strong")
    assert found.name == f"{base}~tinted-strong" and "blue times 0.25" in found.description
    assert (found.truth == plain.truth).all() and found.ids == plain.ids
    assert [g.tags for g in found.groups] == [g.tags for g in plain.groups]
    one, other = (s.groups[3].images[1].open(64) for s in (found, plain))
    expected = np.rint(np.asarray(other) * [1, 0.55, 0.25])
    assert (np.asarray(one) == expected).all()
    assert datasets.state(f"{base}~dark") == "built in" and datasets.benchmark_entry(f"{base}~dark") is None


def test_a_flattened_shifted_set_is_the_shifted_flattened_one():
    plain, found = datasets.load("scenes/left-right@global"), datasets.load("scenes/left-right~fog@global")
    assert found.ids == plain.ids and found.name == "scenes/left-right~fog@global"


def test_any_set_exists_without_its_groups(toy_groups):
    variant = _variants.parse("winoground@global", datasets.names)
    assert (variant.base, variant.flat, variant.shift) == ("winoground", True, None)
    found = _variants.apply(
        variant, GroupSet("winoground (validation)", toy_groups.groups, title="Winoground")
    )
    assert (found.name, found.title) == ("winoground (validation)@global", "Winoground, flattened")
    assert datasets.benchmark_entry("winoground@global") == datasets.benchmark_entry("winoground")
    assert datasets.state("whatsup/a-left-right@global") == datasets.state("whatsup/a-left-right")


def test_evaluate_matches_a_flattened_set_as_a_whole(monkeypatch, tiny_clip_folder):
    from core.cli.evaluate import load_evaluation
    from core.scoring.load import load_scorer
    from core.scoring.scores import score_all

    groups = GroupSet("winoground", tuple(swap_group(i, (1, 0) if i % 3 else (0, 1)) for i in range(6)))
    monkeypatch.setattr(datasets.DATASETS["winoground"], "load", lambda *_: groups)
    found = load_evaluation(None, None, "winoground@global", str(tiny_clip_folder), "test", None)
    scores = score_all(load_scorer(str(tiny_clip_folder), "cpu"), groups)
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    own = (groups.truth + 2 * np.arange(6)[:, None]).ravel()
    assert found.metrics["global_match"].value == pytest.approx(100 * (columns == own[rows]).mean(), abs=9)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("scenes/left-right~tintd", "Unknown shift 'tintd'; did you mean 'tinted'"),
        ("scenes/leftright~tinted", "Unknown benchmark"),
        ("scenes/replace@global", "Unknown benchmark"),
    ],
)
def test_a_wrong_name_is_one_sentence(name, says):
    assert f"{name}" not in FLAT
    with pytest.raises(InputError, match=says):
        datasets.load(name)
