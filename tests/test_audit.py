"""The audit of a set: a set with one fault is caught by it, sound sets are not, and SugarCrepe's words are counted."""

from __future__ import annotations

import io
import json
import re
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance
from scipy.stats import binomtest

from core import datasets
from core.audit import Audit, _audit, _facts, _near_images, _rules
from core.audit._sequence import foretold
from core.audit._words import words_of
from core.base.errors import InputError
from core.cli._audit import audit as audit_command
from core.datasets.embeddings import RowImage
from core.datasets.sugarcrepe import SUBSETS
from core.groups import BytesImage, FileImage, Group, GroupSet
from core.metrics.statistics import Clusters

NOUNS = "cat dog cup tree lamp ball bird book fish door shoe boat".split()  # noqa: SIM905
VERBS = ("left of", "above", "near", "behind")
N = 150


def picture(rng: np.random.Generator, level: float = 128) -> BytesImage:
    """Coarse noise of a mean brightness, 16 x 16."""
    pixels = np.clip(rng.normal(level, 60, (4, 4, 3)), 0, 255).astype(np.uint8)
    return encoded(Image.fromarray(pixels).resize((16, 16), Image.Resampling.NEAREST))


def encoded(image: Image.Image) -> BytesImage:
    data = io.BytesIO()
    image.save(data, "PNG")
    return BytesImage(data.getvalue())


def sound(seed: int = 0, n: int = N, pictures: bool = False) -> GroupSet:
    """1x2 groups: `a cat above a dog`, and the same with its nouns exchanged; the right one at random."""
    rng = np.random.default_rng(seed)
    groups = []
    for i in range(n):
        one, two = rng.choice(NOUNS, 2, replace=False)
        verb = VERBS[rng.integers(len(VERBS))]
        captions = (f"a {one} {verb} a {two}", f"a {two} {verb} a {one}")
        image = picture(rng) if pictures else RowImage(f"{seed}-{i}")
        groups.append(Group(str(i), (image,), captions, (int(rng.integers(2)),)))
    return GroupSet("made up", tuple(groups))


def changed(groups: GroupSet, change) -> GroupSet:
    """change : of a group and its number."""
    return replace(groups, groups=tuple(change(g, i) for i, g in enumerate(groups)))


def with_captions(group: Group, right: str, wrong: str) -> Group:
    """right, wrong : with `{}` in the place of the caption."""
    texts = [(right if j in group.truth else wrong).format(c) for j, c in enumerate(group.captions)]
    return replace(group, captions=tuple(texts))


def at_first(group: Group, i: int) -> Group:
    """Truth at index 0."""
    order = sorted(range(2), key=lambda j: j not in group.truth)
    return replace(group, captions=tuple(group.captions[j] for j in order), truth=(0,))


def shuffled(group: Group, i: int) -> Group:
    """The wrong caption as a salad of its words."""
    rng = np.random.default_rng(i)
    texts = [
        c if j in group.truth else " ".join(rng.permutation(c.split())) for j, c in enumerate(group.captions)
    ]
    return replace(group, captions=tuple(texts))


def faults(groups: GroupSet, verdict: str = _rules.FAULT, **more) -> list[str]:
    return [found.key for found in Audit.of(groups, **more).findings if found.verdict == verdict]


LIMITS = ("order", "shared")  # not faults: sound sets may be of this kind


PLANTED = {
    "position": at_first,
    "length": lambda g, i: with_captions(g, "{} again", "{}"),
    "frequency": lambda g, i: with_captions(g, "{} today", f"{{}} w{i}x"),
    "grammar": shuffled,
    "words": lambda g, i: with_captions(g, "{} surely", "{} hardly"),
    "order": lambda g, i: replace(g, captions=("a red cat", "a blue dog")),
    "captions": lambda g, i: replace(g, captions=("A dog.", "a dog")) if i == 7 else g,
    "repeats": lambda g, i: replace(
        g, images=(RowImage("both"),), captions=("A hat.", "a coat")[:: 1 if i == 7 else -1], truth=(i - 7,)
    ) if i in (7, 8) else g,
    "contradictions": lambda g, i: replace(
        g, images=(RowImage("both"),), captions=("a hat", "a coat"), truth=(i - 7,)
    ) if i in (7, 8) else g,
    "shared": lambda g, i: replace(g, images=(RowImage(str(i // 4)),)),
}  # fmt: skip


@pytest.mark.parametrize("key", PLANTED)
def test_a_planted_fault_is_caught_and_its_groups_are_named(key):
    audit = Audit.of(changed(sound(), PLANTED[key]))
    (found,) = [f for f in audit.findings if f.key == key]
    assert found.verdict == (_rules.LIMIT if key in LIMITS else _rules.FAULT)
    assert found.evidence and set(found.evidence) <= {str(i) for i in range(N)}
    assert found.brief in audit.answer and found.reply


def test_groups_that_are_there_twice_are_a_fault_whatever_their_order():
    """Two of forty groups were there twice, and the set was sound."""
    groups = sound(n=38, pictures=True)
    twice = [
        replace(groups[5], id="again", captions=groups[5].captions[::-1], truth=(1 - groups[5].truth[0],)),
        replace(groups[9], id="and again", images=(one_pixel_off(groups[9].images[0]),)),
    ]
    audit = Audit.of(replace(groups, groups=(*groups, *twice)))
    found = {f.key: f for f in audit.findings}["repeats"]
    assert found.verdict == _rules.FAULT and found.reply == "Yes"
    assert found.brief == "2 of 40 groups repeat another group" and found.brief in audit.problems
    assert (
        "Group again repeats 5, group and again repeats 9." in found.says and "the set has 38." in found.says
    )
    assert found.evidence == ("5", "again", "9", "and again") and found.found.value == 5.0
    alone = {f.key: f for f in Audit.of(groups).findings}["repeats"]
    assert alone.verdict == _rules.SOUND and not alone.evidence


def test_the_headline_of_a_set_with_a_fault_does_not_call_it_sound():
    def first_twice(count: int) -> str:
        groups = sound(n=N)
        twice = tuple(replace(g, id=f"{g.id} again") for g in groups.groups[:count])
        return Audit.of(replace(groups, groups=(*groups, *twice))).headline

    assert first_twice(0).startswith("Sound enough to compare") or first_twice(0).startswith("Too small")
    assert not first_twice(1).startswith("Sound")
    assert first_twice(50) == "Not sound: too many of its groups are there more than once."


def test_scores_of_a_file_that_repeat_to_the_last_digit_are_a_fault_and_coarse_ones_are_not():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 2, 2))
    groups = sound(n=40)
    assert Audit.repeats(groups, scores).verdict == _rules.SOUND
    scores[30:33] = scores[4:7]
    found = Audit.repeats(groups, scores)
    assert found.verdict == _rules.FAULT and found.brief == "3 of 40 groups repeat another group"
    assert found.evidence[:2] == ("4", "30") and "the same scores, to the last digit" in found.says
    scores[:] = rng.normal(size=(40, 1, 1))  # all the same within each group: nothing is said by it
    scores[1] = scores[0]
    assert Audit.repeats(groups, scores).verdict == _rules.SOUND
    assert Audit.repeats(groups, rng.integers(1, 6, (40, 2, 2)).astype(float)) is None  # marks from 1 to 5
    assert Audit.repeats(groups, rng.normal(size=(40, 1, 2))) is None  # two scores


def test_places_and_guesses_are_said_in_words():
    """`always choosing the order 2 1` and `300 tied` beside `sound` were puzzles."""
    rng = np.random.default_rng(3)
    groups = changed(sound(n=60), lambda g, i: replace(g, images=(picture(rng), picture(rng)), truth=(1, 0)))
    found = {f.key: f for f in Audit.of(groups).findings}
    assert found["position"].subject == "always pairing image A with caption 2, B with 1 is right in"
    assert found["order"].in_brief.endswith("chance 50.0 %, as it has to guess in 60 groups")


def test_captions_in_the_order_of_their_images_are_a_limit_and_any_other_order_is_a_fault():
    """A set in the layout that is asked for was called faulty. The order that all groups share is what counts."""
    rng = np.random.default_rng(3)

    def pair(turned: float):
        def change(group: Group, i: int) -> Group:
            truth = (1, 0) if rng.random() < turned else (0, 1)
            return replace(group, images=(picture(rng), picture(rng)), truth=truth)

        return {f.key: f for f in Audit.of(changed(sound(n=60), change)).findings}["position"]

    assert pair(0).verdict == _rules.LIMIT and "in the order of their images" in pair(0).says
    assert pair(1).verdict == pair(0.1).verdict == _rules.FAULT
    assert pair(0.5).verdict != _rules.FAULT


PATTERNS = {
    "in turn": lambda i: i % 2,
    "two and two": lambda i: i // 2 % 2,
    "there and back": lambda i: (0, 1, 1, 0, 1)[i % 5],
    "one half, then the other": lambda i: int(i >= 75),
}


@pytest.mark.parametrize("key", PATTERNS)
def test_right_captions_whose_place_follows_a_pattern_are_caught(key):
    def placed(group: Group, i: int) -> Group:
        ahead = PATTERNS[key](i) == group.truth[0]
        return group if ahead else replace(group, captions=group.captions[::-1], truth=(1 - group.truth[0],))

    assert faults(changed(sound(), placed)) == ["position"]


def test_a_length_that_marks_the_right_caption_now_by_more_and_now_by_less_is_caught():
    def opposite(group: Group, i: int) -> Group:
        longer = ("{} indeed", "{}") if i % 2 else ("{}", "{} indeed")
        return with_captions(group, *longer)

    (found,) = [f for f in Audit.of(changed(sound(), opposite)).findings if f.key == "length"]
    assert found.verdict == _rules.FAULT and found.found.value > 95
    assert "what repeats every 2 groups" in found.says


@pytest.mark.parametrize(("possible", "n"), [(2, 60), (3, 200)])
def test_answers_at_random_are_foretold_as_often_as_chance_has_it(possible, n):
    rng, right, said = np.random.default_rng(0), 0, 0
    for _ in range(60):
        told = foretold(rng.integers(possible, size=n).tolist(), range(n), possible)
        right, said = right + int(told.right.sum()), said + int(told.certain.sum())
    assert said > 0.8 * 60 * n and binomtest(right, said, 1 / possible).pvalue > 0.01


def test_a_planted_fault_of_the_pictures_is_caught():
    rng = np.random.default_rng(5)
    groups = sound(pictures=True)
    assert not faults(groups)
    bright = changed(groups, lambda g, i: replace(g, images=(picture(rng, 90 + 80 * g.truth[0]),)))
    assert faults(bright) == ["pictures"]

    def brighter(group: Group, i: int) -> Group:
        """The brighter of two images is that of the first caption."""
        truth = (0, 1) if rng.integers(2) else (1, 0)
        return replace(group, images=tuple(picture(rng, 90 + 80 * j) for j in truth), truth=truth)

    assert faults(changed(groups, brighter)) == ["pictures"]


def test_a_file_format_that_marks_the_first_caption_is_caught_where_files_are_of_one_size():
    rng = np.random.default_rng(11)

    def saved(group: Group, i: int) -> Group:
        data = io.BytesIO()
        picture(rng).open().save(data, "PNG" if group.truth[0] else "JPEG")
        return replace(group, images=(BytesImage(data.getvalue().ljust(4_000, b"\0")),))

    found = told_of_images(changed(sound(n=60), saved))["pictures"]
    assert found.verdict == _rules.FAULT and "file format" in found.says


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_images_are_not_blamed_for_a_place_that_needs_no_image(seed):
    """The right one of four captions stands first: a rule that learns of images finds it by its place alone."""
    rng = np.random.default_rng(seed)

    def first_of_four(group: Group, i: int) -> Group:
        nouns = rng.choice(NOUNS, 4, replace=False)
        captions = tuple(f"a {nouns[j]} near a {nouns[j - 1]}" for j in range(4))
        return replace(group, images=(picture(rng),), captions=captions, truth=(0,))

    found = {f.key: f for f in Audit.of(changed(sound(n=100), first_of_four)).findings}
    assert found["position"].verdict == _rules.FAULT and found["pictures"].verdict != _rules.FAULT
    assert "those of other groups in their place" in found["pictures"].says


def test_two_images_that_no_statistic_tells_apart_are_tied_and_not_matched_in_their_order():
    rng = np.random.default_rng(9)
    twice = changed(sound(n=40), lambda g, i: replace(g, images=(picture(rng),) * 2, truth=(0, 1)))
    found = {f.key: f for f in Audit.of(twice).findings}
    assert found["position"].verdict == _rules.LIMIT and found["images"].verdict == _rules.FAULT
    assert found["pictures"].verdict != _rules.FAULT and "40 tied" in found["pictures"].number


def test_images_that_are_the_same_but_for_their_file_are_caught():
    rng = np.random.default_rng(6)
    pairs = changed(
        sound(), lambda g, i: replace(g, images=(picture(rng), picture(rng)), truth=(i % 2, 1 - i % 2))
    )
    assert "images" not in faults(pairs)

    def again(group: Group, i: int) -> Group:
        if i != 3:
            return group
        pixels = np.asarray(group.images[0].open()).copy()
        pixels[0, 0] += 1
        return replace(group, images=(group.images[0], encoded(Image.fromarray(pixels))))

    (found,) = [f for f in Audit.of(changed(pairs, again)).findings if f.key == "images"]
    assert found.verdict == _rules.FAULT and found.evidence == ("3",)


def photograph(seed: int) -> Image.Image:
    """500 x 400, with structure of all sizes, as photographs have."""
    rng, found = np.random.default_rng(seed), np.zeros((400, 500, 3))
    for cells in (3, 6, 12, 25, 50, 100):
        noise = Image.fromarray(rng.integers(0, 256, (cells, cells, 3)).astype(np.uint8))
        found += np.asarray(noise.resize((500, 400), Image.Resampling.BICUBIC), dtype=float) / cells**0.7
    return Image.fromarray((255 * (found - found.min()) / np.ptp(found)).astype(np.uint8))


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    data = io.BytesIO()
    image.save(data, "JPEG", quality=quality)
    return Image.open(data)


def shapes(colours: tuple[str, str], sizes: tuple[int, int] = (14, 14), at: int = 0) -> Image.Image:
    """A circle at the left and a square at the right, 128 x 128."""
    image = Image.new("RGB", (128, 128), "white")
    draw = ImageDraw.Draw(image)
    for x, draw_shape, colour, size in zip(
        (35, 90), (draw.ellipse, draw.rectangle), colours, sizes, strict=True
    ):
        y = 60 + at
        draw_shape((x - size, y - size, x + size, y + size), fill=colour)
    return image


def copied(*images: Image.Image) -> list[list[int]]:
    return _near_images.copies(np.array([_near_images.thumbnail(image) for image in images])).tolist()


def test_copies_of_a_photograph_are_found_and_other_photographs_are_not():
    photo = photograph(1)
    w, h = photo.size
    copies = (
        jpeg(photo, 30),
        photo.resize((200, 160), Image.Resampling.BICUBIC),
        photo.crop((15, 0, w, h)),
        photo.crop((w // 40, h // 40, w - w // 40, h - h // 40)),
        jpeg(photo.resize((350, 280), Image.Resampling.BILINEAR), 60),
    )
    found = copied(photo, *copies, *map(photograph, range(2, 12)))
    assert [pair for pair in found if pair[0] == 0] == [[0, i] for i in range(1, 6)]
    assert max(map(max, found)) == 5
    assert copied(photograph(1)) == copied(photo, photo.convert("L")) == []


def test_pictures_that_differ_in_the_colour_or_size_of_one_thing_are_no_copies():
    """Red and green of CSS have one grey level."""
    assert not copied(
        shapes(("red", "green")),
        shapes(("green", "red")),
        shapes(("red", "crimson")),
        shapes(("crimson", "red")),
        shapes(("red", "green"), (14, 10)),
        shapes(("red", "green"), (10, 14)),
        shapes(("red", "green"), at=20),
    )
    assert copied(shapes(("red", "green")), shapes(("green", "red")), jpeg(shapes(("red", "green")), 60)) == [
        [0, 2]
    ]


def stripes(upright: bool) -> Image.Image:
    """Of 2 pixels."""
    rows = np.where(np.arange(128) // 2 % 2, 255, 0).astype(np.uint8)
    return Image.fromarray(np.broadcast_to(rows if upright else rows[:, None], (128, 128)).copy())


def disc(radius: int) -> Image.Image:
    image = Image.new("RGB", (128, 128), "white")
    ImageDraw.Draw(image).ellipse((60 - radius, 60 - radius, 60 + radius, 60 + radius), fill="red")
    return image


def told_of_images(groups: GroupSet) -> dict[str, _rules.Finding]:
    return {found.key: found for found in Audit.of(groups).findings}


def with_images(*images: Image.Image, captions=("a ring", "a spot"), n: int = 20) -> GroupSet:
    """These images in the first groups, noise in the others; every second of the first has the other caption."""
    rng = np.random.default_rng(8)

    def shown(group: Group, i: int) -> Group:
        if i >= len(images):
            return replace(group, images=(encoded(_noise_of(rng)),))
        return replace(group, images=(encoded(images[i]),), captions=captions[:: (1, -1)[i % 2]], truth=(0,))

    return changed(sound(n=n), shown)


def test_pictures_that_differ_in_little_everywhere_are_alike_and_no_copies():
    """They are shown, are no fault, and are not one image of which two captions are said."""
    found = told_of_images(with_images(stripes(True), stripes(False)))
    assert found["images"].verdict == _rules.CANNOT_TELL and "perhaps copies" in found["images"].says
    assert found["images"].evidence == ("0", "1") and found["contradictions"].verdict != _rules.FAULT


@pytest.mark.parametrize("pair", [(disc(12), disc(14)), (disc(13), disc(14))])
def test_one_thing_of_another_size_makes_another_picture(pair):
    found = told_of_images(with_images(*pair))
    assert found["images"].verdict == _rules.SOUND and found["contradictions"].verdict != _rules.FAULT


TURNED = [getattr(Image.Transpose, name) for name in dir(Image.Transpose) if name.isupper()]


def test_mirrored_and_turned_copies_are_shown_unless_captions_speak_of_places():
    """Not as faults: captions may be about just that, in words that nobody can list."""
    photo, other = photograph(1).resize((128, 102)), photograph(2).resize((128, 102))
    assert len(TURNED) == 7
    images = (photo, *(jpeg(photo.transpose(how), 50) for how in TURNED), other)
    found = told_of_images(with_images(*images))
    assert found["images"].verdict == _rules.CANNOT_TELL and found["contradictions"].verdict != _rules.FAULT
    assert "8 groups with an image that is another one mirrored or turned" in found["images"].says
    assert set(found["images"].evidence) == {str(i) for i in range(8)}
    placed = with_images(*images, captions=("a cat left of a dog", "a dog left of a cat"))
    assert told_of_images(placed)["images"].verdict == _rules.SOUND


TONES = {
    "grey": lambda photo: photo.convert("L"),
    "20 % brighter": lambda photo: ImageEnhance.Brightness(photo).enhance(1.2),
    "20 % darker, as JPEG": lambda photo: jpeg(ImageEnhance.Brightness(photo).enhance(0.8), 50),
    "more contrast": lambda photo: ImageEnhance.Contrast(photo).enhance(1.2),
}


@pytest.mark.parametrize("size", [(500, 400), (160, 120)])
@pytest.mark.parametrize("key", TONES)
def test_copies_of_other_tones_are_shown_to_be_looked_at(key, size):
    photo = photograph(1).resize(size)
    found = told_of_images(with_images(photo, TONES[key](photo), photograph(2)))
    assert found["images"].verdict == _rules.CANNOT_TELL and found["images"].evidence == ("0", "1")
    assert "in grey or of another brightness" in found["images"].says
    assert found["contradictions"].verdict != _rules.FAULT


def test_drawings_of_one_form_in_two_tones_are_two_pictures():
    spots = (shapes(("red", "blue")), shapes(("dimgrey", "grey")), shapes(("darkred", "navy")))
    found = told_of_images(with_images(*spots))
    assert found["images"].verdict == _rules.SOUND
    assert "of drawings on a plain ground, those in grey" in found["images"].says


@pytest.mark.parametrize("size", [(500, 400), (225, 400)])
def test_a_copy_that_is_cut_to_a_square_is_a_copy(size):
    photo = photograph(1).resize(size)
    square = _near_images.centre(photo)
    assert square.size == (min(size), min(size))
    found = told_of_images(with_images(photo, jpeg(square.resize((224, 224)), 60), photograph(2)))
    assert found["contradictions"].verdict == _rules.FAULT  # one picture of which two captions are said
    assert "2 have an image that is nearly that of another group" in found["images"].says
    assert found["images"].evidence == ("0", "1")


def test_a_photograph_of_half_the_size_is_the_same_picture():
    """Fine structure, which a box of whole pixels reads differently at every size."""
    noise = np.random.default_rng(3).integers(0, 256, (200, 250, 3)).astype(np.uint8)
    photo = Image.blend(photograph(1), Image.fromarray(noise).resize((500, 400)), 0.4)
    half = photo.resize((250, 200), Image.Resampling.BICUBIC)
    found = told_of_images(with_images(photo, half))
    assert "2 have an image that is nearly that of another group" in found["images"].says
    assert found["contradictions"].verdict == _rules.FAULT


def _noise_of(rng: np.random.Generator) -> Image.Image:
    return Image.fromarray(rng.integers(0, 256, (4, 4, 3)).astype(np.uint8)).resize((16, 16))


def test_the_likeliest_pairs_of_many_alike_are_compared_and_no_more_are_held():
    """3,000 pictures that are all alike are 4.5 million pairs, 90 MB of them; 20,000 are compared."""
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(3_000, 12)).astype(np.float32)
    tracemalloc.start()
    pairs = _near_images._alike(flat, flat, 16.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one, two = np.triu_indices(len(flat), 1)
    apart = ((flat[one] - flat[two]) ** 2).sum(axis=1)
    least = np.argsort(apart, kind="stable")[: len(pairs)]
    assert len(pairs) == 20_000 and peak < 45e6
    missed = {*zip(one[least].tolist(), two[least].tolist(), strict=True)} - {*map(tuple, pairs.tolist())}
    assert len(missed) < 5  # of distances that differ by rounding


def test_images_of_ten_thousand_groups_are_compared_and_of_more_it_is_said(monkeypatch):
    assert _audit._MOST_IMAGES >= 20_000
    monkeypatch.setattr(_audit, "_MOST_IMAGES", 19)
    found = told_of_images(sound(n=20, pictures=True))
    assert found["images"].verdict == _rules.CANNOT_TELL and "more than 19 images" in found["images"].says


def test_comparing_images_says_how_far_it_is_and_not_only_opening_them():
    shares: list[float] = []
    Audit.of(
        sound(n=20, pictures=True), progress=lambda what, share: what == "images" and shares.append(share)
    )
    assert (
        shares == sorted(shares)
        and shares[-1] == pytest.approx(1)
        and sum(s > shares[19] for s in shares) >= 7
    )


def test_a_set_of_exchanged_colours_is_sound():
    rng = np.random.default_rng(3)

    def exchanged(group: Group, i: int) -> Group:
        order = (("red", "green"), ("green", "red"))[:: rng.choice((1, -1))]
        captions = tuple(f"a {a} circle and a {b} square" for a, b in order)
        place = int(rng.integers(-40, 40))
        truth = (0, 1) if rng.integers(2) else (1, 0)
        images = tuple(encoded(shapes(order[j], at=place)) for j in truth)
        return replace(group, images=images, captions=captions, truth=truth)

    found = {f.key: f for f in Audit.of(changed(sound(n=40), exchanged)).findings}
    assert found["images"].says.startswith("0 of 40 groups")


def one_pixel_off(image: BytesImage) -> BytesImage:
    pixels = np.asarray(image.open()).copy()
    pixels[0, 0] ^= 1
    return encoded(Image.fromarray(pixels))


def test_groups_of_copied_images_contradict_each_other_and_are_not_independent():
    groups = sound(n=40, pictures=True)
    twice = [
        replace(g, id=f"{g.id} again", images=(one_pixel_off(g.images[0]),), truth=(1 - g.truth[0],))
        for g in groups[:10]
    ]
    audit = Audit.of(replace(groups, groups=(*groups, *twice)))
    found = {f.key: f for f in audit.findings}
    assert found["contradictions"].says.startswith("In 20 of 50 groups")
    assert found["contradictions"].verdict == found["images"].verdict == _rules.FAULT
    assert set(found["images"].evidence) <= {g.id for g in (*groups[:10], *twice)}
    assert audit.independent == Audit.of(groups).independent


@pytest.mark.parametrize("kind", ["star", "chain", "copies"])
def test_groups_that_all_hang_together_by_an_image_are_not_called_independent(kind):
    """Such a set was “sound”: “no two of the 30 groups share an image”, as names that tie more than half together were
    taken for places in a group; and `evaluate` said that all share one."""
    rng = np.random.default_rng(3)
    pictures = [picture(rng) for _ in range(61)]

    def pair(i):
        if kind == "chain":
            return pictures[i], pictures[i + 1]
        first = pictures[60] if kind == "star" else BytesImage(pictures[60].data)
        return first, pictures[i]

    groups = [Group(f"{i}", pair(i), (f"a cat {i}", f"a dog {i}"), (0, 1)) for i in range(30)]
    audit = Audit.of(GroupSet("mine/set", tuple(groups)))
    found = {f.key: f for f in audit.findings}["shared"]
    assert audit.independent == 1 and found.verdict == _rules.LIMIT
    assert found.says.startswith("30 of 30 groups share an image with another one")
    of_rows = [replace(g, images=tuple(RowImage(f"{j}") for j in "AB")) for g in groups]
    assert Clusters.of_groups(GroupSet("mine/rows", tuple(of_rows))) is None  # names that only count them


def test_a_set_that_is_too_small_or_tells_nobody_apart_is_caught():
    assert faults(sound(n=30), _rules.LIMIT) == ["size"]
    assert Audit.of(sound(n=30)).answer == (
        "Too small to compare models that differ by less than 26.8 points. No fault found."
    )
    groups, right = sound(), np.arange(N) < 140
    one = _facts.agreement(groups, {"a": right, "b": right})
    assert one.verdict == _rules.LIMIT and one.evidence == tuple(str(i) for i in range(140, 150))
    assert _facts.agreement(groups, {"a": right, "b": ~right}).verdict == _rules.SOUND
    assert _facts.agreement(groups, {"a": right}).verdict == _rules.CANNOT_TELL


def test_compositions_of_a_training_list_that_give_the_answer_away_are_caught(tmp_path):
    groups, file = sound(), tmp_path / "captions.txt"
    file.write_text("\n".join(f"the {noun} today" for noun in NOUNS))
    planted = changed(groups, lambda g, i: with_captions(g, "{} today", "{} often"))
    assert "training" in faults(planted, training=file)
    assert "training" not in faults(groups, training=file)
    (found,) = [f for f in Audit.of(groups, training=file).findings if f.key == "training"]
    assert "a pair of words that the 12 captions of the training list lack" in found.says
    file.write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        Audit.of(groups, training=file)


def test_a_blind_model_that_solves_a_set_is_caught_without_loading_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of it fails
    found = {f.key: f for f in Audit.of(datasets.load("scenes/word-order")).findings}
    assert found["blind builtin/blind-lm"].verdict == _rules.FAULT
    assert found["blind builtin/blind-lm"].found.value > 99
    assert found["agreement"].verdict == _rules.SOUND


def test_a_built_in_group_with_the_wrong_truth_is_caught_by_its_scene():
    groups = datasets.load("scenes/swap").select(np.arange(40))
    wrong = changed(groups, lambda g, i: replace(g, truth=(1 - g.truth[0],)) if i == 5 else g)
    (found,) = [f for f in Audit.of(wrong).findings if f.key == "contradictions"]
    assert found.verdict == _rules.FAULT and found.evidence == (groups[5].id,)


@pytest.mark.slow
def test_sound_sets_are_flagged_at_no_more_than_the_stated_rate():
    """Of 40 sets 5 % are 2; more than 5 would be seen once in seventy times."""
    assert sum(bool(faults(sound(seed, n=120))) for seed in range(100, 140)) <= 5


def test_groups_that_share_an_image_count_once():
    """Four copies of every group: the rule of the place is tested on 40 independent groups, not on 160."""

    def apart(g: Group, i: int) -> Group:
        return replace(g, images=(RowImage(str(i)),), captions=tuple(f"{c} {i}" for c in g.captions))

    groups = changed(sound(n=40), apart)
    four = tuple(replace(g, id=f"{g.id}-{j}") for g in groups for j in range(4))
    audit = Audit.of(replace(groups, groups=four))
    assert (audit.n, audit.independent, audit.by) == (160, 40, "image")
    often = max(sum(g.truth == (j,) for g in groups) for j in (0, 1))
    assert audit.findings[0].p_value == pytest.approx(
        2 * 2 * binomtest(often, 40, 0.5, "greater").pvalue  # of two places, and of two rules
    )


WRITTEN = {
    "a full stop": ("{}.", "{}"),
    "a full stop after others": ("{}.", "{}!?"),
    "capitals": ("A{}", "a{}"),
    "a comma": ("a, {}", "a {}"),
    "two spaces": ("a  {}", "a {}"),
    "a space at the end": ("{}", "{} "),
    "a space of no width": ("{}", "a\u200b {}"),
    "quotes": ("a \u201c{}\u201d", 'a "{}"'),
    "hyphens": ("so-so {}", "so so {}"),
    "a selector": ("\u2764\ufe0f {}", "\u2764 {}"),
    "a Cyrillic letter": ("\u0430 {}", "a {}"),
    "wide letters": ("\uff41 {}", "a {}"),
}


@pytest.mark.parametrize("key", WRITTEN)
def test_what_marks_the_right_caption_and_is_no_word_is_caught(key):
    audit = Audit.of(changed(sound(n=60), lambda g, i: with_captions(g, *WRITTEN[key])))
    (found,) = [f for f in audit.findings if f.key == "writing"]
    assert found.verdict == _rules.FAULT and found.found.value == 100 and audit.answer.startswith("Not sound")


def test_as_many_words_of_more_letters_are_caught():
    longer = changed(sound(n=60), lambda g, i: with_captions(g, "{} extraordinarily", "{} so"))
    (found,) = [f for f in Audit.of(longer).findings if f.key == "length"]
    assert found.verdict == _rules.FAULT and found.brief.startswith("the caption with most letters")


def test_rules_say_the_same_of_all_groups_whatever_their_order():
    """Of two groups on each image one is longer where it is right, the other is not: the share is that of both."""
    rng = np.random.default_rng(4)

    def one_of_two(group: Group, i: int) -> Group:
        words = ("indeed very surely", "hm") if i % 2 else ("hm", "hm")[:: rng.choice((1, -1))]
        found = with_captions(group, f"{{}} {words[0]}", f"{{}} {words[1]}")
        return replace(found, images=(RowImage(str(i // 2)),))

    groups = changed(sound(n=60), one_of_two)
    orders = (np.arange(60), np.arange(60)[::-1], rng.permutation(60))
    found = [
        {f.key: f for f in Audit.of(groups.select(order), in_file_order=False).findings} for order in orders
    ]
    for key in ("position", "length", "frequency", "grammar", "words"):
        assert len({(f[key].found.value, f[key].p_holm, f[key].verdict) for f in found}) == 1
    assert found[0]["length"].found.value == 75 and found[0]["length"].found.clustered is not None


# What a check answers when its set is sound, and when it is not.
REPLIES = {
    "position": ("No", "Yes"), "length": ("No", "Yes"), "writing": ("No", "Yes"), "grammar": ("No", "Yes"),
    "words": ("No", "Yes"), "contradictions": ("No", "Yes"), "order": ("Yes", "No"), "captions": ("Yes", "No"),
    "images": ("Yes", "No"), "size": ("Yes", "No"), "agreement": ("Yes", "No"),
}  # fmt: skip


@pytest.mark.parametrize("key", REPLIES)
def test_a_verdict_answers_the_question_that_is_asked(key):
    """`Does the set need word order?` was answered `sound`."""
    found = _rules.Finding(key, "?", _rules.SOUND, "")
    faulty = _rules.LIMIT if key in ("order", "size", "agreement") else _rules.FAULT
    assert (found.reply, found._replace(verdict=faulty).reply) == REPLIES[key]
    assert found._replace(verdict=_rules.CANNOT_TELL).reply == ""


def test_every_number_says_what_it_is_a_percentage_of():
    for found in Audit.of(sound(n=60)).findings:
        if found.p_value is not None or found.key == "order":
            assert found.number == f"{found.subject} {found.found}"
            assert found.subject.endswith((" in", " to"))


def test_a_set_is_summed_up_in_words_and_not_by_the_keys_of_checks():
    """The line under the answer ended in `faults: grammar, words, blind builtin/blind-lm`."""
    audit = Audit.of(changed(sound(), PLANTED["grammar"]))
    assert re.fullmatch(r"\d+ checks: 2 faults, \d+ sound, \d+ cannot tell", audit.summary)
    assert audit.answer.startswith(
        "Not sound: it can be solved without its images. 2 faults: the caption with"
    )
    assert audit.answer == f"{audit.headline} {audit.problems}" and not re.search(r"[;:] [A-Z]", audit.answer)


@pytest.mark.parametrize(("few", "many"), [(30, 60), (297, 300)])
def test_what_a_size_shows_is_said_once(few, many):
    """`all 300 groups count: A difference of 6.0 points or more ...` repeated the sentence before it."""
    says = _facts.detectable(few, many).says
    assert says.count("tells two models apart") == 1 and not re.search(r"[;:] [A-Z]|  ", says)
    assert f"all {many} groups count" in says and ("gives the same" in says) == (few == 297)


def test_one_number_of_independent_groups_is_said_everywhere_and_the_verdict_is_about_it():
    """Sixty groups, of which every two share a caption and no image: thirty independent ones, in every sentence."""
    groups = changed(
        sound(n=60), lambda g, i: replace(g, captions=(f"once {i}", f"twice {i // 2}"), truth=(1,))
    )
    audit = Audit.of(groups)
    found = {finding.key: finding for finding in audit.findings}
    assert (audit.independent, audit.by) == (30, "caption")
    assert "Groups that share a caption count as one, which leaves 30 independent groups of 60" in audit.about
    assert "60 of 60 groups share a caption with another one, and none an image" in found["shared"].says
    assert found["shared"].verdict == _rules.CANNOT_TELL  # a set alone cannot say how alike they are
    for said in (found["shared"].says, found["size"].says, found["position"].says):
        assert re.findall(r"(\d+) independent groups", said)[0] == "30"
    assert "If groups that share a caption are not alike, all 60 groups count" in found["size"].says
    for written in (audit.text(), audit.html(), json.dumps(audit.record())):
        assert {*re.findall(r"(\d+) independent groups", written)} == {"30"}
    assert _facts.shared_parts(groups, None).verdict == _rules.SOUND


def test_the_groups_that_are_named_for_sharing_do_share():
    groups = changed(sound(n=60), lambda g, i: replace(g, images=(RowImage(str(max(i, 1))),)))
    audit = Audit.of(changed(groups, lambda g, i: replace(g, captions=(f"{i} of it", f"of {i} it"))))
    (found,) = [f for f in audit.findings if f.key == "shared"]
    assert found.says.startswith("2 of 60 groups share an image") and found.evidence == ("0", "1")


def test_where_no_picture_comes_twice_nothing_says_whether_a_wrong_caption_is_true_of_it():
    (found,) = [f for f in Audit.of(sound(n=60)).findings if f.key == "contradictions"]
    assert (
        found.verdict == _rules.CANNOT_TELL and "no two groups have an image in common" in found.says.lower()
    )
    scenes = Audit.of(datasets.load("scenes/swap").select(np.arange(20)))
    (found,) = [f for f in scenes.findings if f.key == "contradictions"]
    assert found.verdict == _rules.SOUND  # the drawn scenes say


def test_a_right_caption_of_several_images_is_shown_with_its_groups():
    groups = changed(
        sound(n=60),
        lambda g, i: replace(g, captions=("a hat", "a coat") if i < 2 else (f"a {i}", f"{i} a"), truth=(0,)),
    )
    (found,) = [f for f in Audit.of(groups).findings if f.key == "contradictions"]
    assert "2 groups have a right caption that is right of another image too" in found.says
    assert found.evidence == ("0", "1")


@pytest.mark.parametrize("spoiled", ["missing", "damaged"])
def test_one_picture_that_does_not_open_makes_no_groups_share_one_and_is_named(spoiled, tmp_path):
    groups = sound(n=20, pictures=True)
    image = (
        FileImage(tmp_path / "lost.png") if spoiled == "missing" else BytesImage(b"no picture", "torn.png")
    )
    audit = Audit.of(changed(groups, lambda g, i: replace(g, images=(image,)) if i == 5 else g))
    found = {f.key: f for f in audit.findings}
    assert audit.independent == Audit.of(groups).independent
    assert found["shared"].verdict == _rules.SOUND
    for key in ("pictures", "images"):
        assert found[key].verdict == _rules.CANNOT_TELL
        assert {"missing": "not on this machine", "damaged": "torn.png does not open"}[spoiled] in found[
            key
        ].says


def test_one_group_is_said_to_be_too_small_for_anything():
    audit = Audit.of(sound(n=1))
    assert audit.answer == "Too small to tell any two models apart. No fault found."
    assert "1 independent groups" not in audit.text()
    (size,) = [f for f in audit.findings if f.key == "size"]
    assert size.verdict == _rules.LIMIT and size.brief == "no difference between two models shows"


def test_a_rule_has_the_p_value_of_the_binomial_test():
    groups = sound(n=60)
    values = [np.array([0.5, i % 3]) for i in range(60)]
    hits = sum(int(v.argmax()) in g.truth for v, g in zip(values, groups, strict=True))
    found = _rules._rule("x", "?", ("the one",), _rules.Sample(groups), values)
    assert found.found.value == pytest.approx(100 * hits / 60)
    assert found.p_value == pytest.approx(binomtest(hits, 60, 0.5, "greater").pvalue, abs=0.01)


def test_the_ceiling_of_a_bag_of_words_by_hand():
    """Of 1x2 groups: other words 1, the same words 1/2. Of 2x2 groups with the same words 1/2; of 1x3 with two the
    same 1/2."""
    one, pair = RowImage("a"), (RowImage("b"), RowImage("c"))
    twice = GroupSet(
        "x",
        (
            Group("0", (one,), ("a red cat", "a blue cat"), (0,)),
            Group("1", (one,), ("a cat sees a dog", "A dog sees a cat."), (1,)),
        ),
    )
    assert _facts.word_order(twice).found.value == pytest.approx(75)
    square = GroupSet("x", (Group("0", pair, ("a cat sees a dog", "a dog sees a cat"), (0, 1)),))
    assert _facts.word_order(square).found.value == pytest.approx(50)
    three = GroupSet("x", (Group("0", (one,), ("a b c", "c b a", "d"), (0,)),))
    assert _facts.word_order(three).found.value == pytest.approx(50)


def test_what_is_tied_or_was_not_looked_at_is_said():
    rng = np.random.default_rng(7)
    groups = changed(sound(n=30), lambda g, i: g if i < 20 else replace(g, captions=("a red cat", "a dog")))
    found = {f.key: f for f in Audit.of(groups).findings}
    assert "20 tied" in found["order"].number and found["images"].number == ""
    alike = encoded(Image.new("RGB", (16, 16), "red"))
    seen = changed(groups, lambda g, i: replace(g, images=(picture(rng) if i else alike,)))
    told = _rules.pictures(_rules.Sample(seen), np.zeros((30, 1, 2)))
    assert "30 tied" in told.number and told.found.value == 50


SAME = (
    ("the dog isn't wet", "The dog isn\u2019t wet."),
    ("the dog isn't wet", "the dog isn\u00b4t wet"),
    ("a red cat", "\u201ca 'red' cat\u201d"),
    ("a red-cat", "a  red\u00a0cat"),
    ("a red_cat", "a red \u2013 cat"),
    ("a caf\u00e9", "a cafe\u0301"),
    ("a fine co-worker", "a \ufb01ne co\u2010worker"),
    ("STRASSE", "stra\u00dfe"),
    ("cooperate", "co\u00adoperate"),
    ("a \u2764 on a card", "a \u2764\ufe0f on a card"),  # an emoji, and its selector
    ("a dog", "a d\u034fog"),
    ("a dog", "a \u2800dog"),
    ("a dog", "\uff41 \uff44\uff4f\uff47"),  # full width
)
LOOK_ALIKE = (
    ("a cat on a car", "\u0430 \u0441at on a c\u0430r"),  # Cyrillic
    ("HOT", "\u041d\u041e\u0422"),
    ("a dove", "a d\u03bfve"),  # Greek
)
DIFFERENT = (
    ("we're here", "were here"),
    ("3 < 2", "3 > 2"),
    ("\u0915\u093f", "\u0915\u0940"),  # of one Hindi consonant, by its vowel sign
    ("a cafe", "a caf\u00e9"),
    ("a \U0001f44d\U0001f3fb", "a \U0001f44d\U0001f3ff"),  # of another skin tone
    ("\u0434\u043e\u043c", "\u0434\u0430\u043c"),
)


def test_captions_that_differ_in_how_they_are_written_are_the_same():
    assert all(words_of(one) == words_of(two) for one, two in SAME)
    assert all(words_of(one) != words_of(two) for one, two in DIFFERENT)
    twice = changed(sound(n=len(SAME)), lambda g, i: replace(g, captions=SAME[i]))
    assert _facts.equal_captions(twice).found.value == 100
    assert _facts.word_order(twice).says.startswith(f"{len(SAME)} of {len(SAME)} groups")


def test_captions_that_look_the_same_are_a_fault_and_one_text_in_another_alphabet_is_none():
    twice = changed(sound(n=3), lambda g, i: replace(g, captions=LOOK_ALIKE[i]))
    found = _facts.equal_captions(twice)
    assert found.verdict == _rules.FAULT and "3 of them but for letters of another alphabet" in found.says
    russian = changed(sound(n=2), lambda g, i: replace(g, captions=DIFFERENT[-1]))
    assert _facts.equal_captions(russian).verdict == _rules.SOUND


def test_of_sugarcrepe_572_pairs_have_the_same_words(real_data):
    sets = [datasets.load(f"sugarcrepe/{s}", folder=real_data("sugarcrepe"), images=False) for s in SUBSETS]
    whole = replace(sets[0], groups=tuple(group for each in sets for group in each))
    found = _facts.word_order(whole)
    assert found.says.startswith("572 of 7,511 groups") and f"{found.found.value:.2f}" == "96.19"


def test_one_command_audits_the_seven_files_of_sugarcrepe_and_their_whole(
    real_data, monkeypatch, capsys, tmp_path
):
    monkeypatch.setenv("CROSSMATCH_DATA", str(real_data("sugarcrepe").parent))
    monkeypatch.setattr(_rules, "RULES", (_rules.position,))  # a tenth of the time
    page = tmp_path / "audit.html"
    audit_command("sugarcrepe", out=page)
    said = capsys.readouterr().out
    assert "572 of 7,511 groups" in said and "96.19" in said and "below 1e-300" in said
    (row,) = [line for line in said.splitlines() if line.strip().startswith("sugarcrepe  ")]
    assert "7,511" in row and " 572 " in row
    rows = [line for line in said.splitlines() if line.strip().startswith("sugarcrepe/")]
    assert len(rows) == len(SUBSETS)
    assert sum(int(re.split(r"\s{2,}", line.strip())[3]) for line in rows) == 572
    assert re.search(r"<td[^>]*>sugarcrepe/swap_obj</td><td[^>]*>245</td>", page.read_text())


def test_files_of_several_shapes_are_no_one_set():
    pair = changed(sound(n=3), lambda g, i: replace(g, images=(RowImage("a"), RowImage("b")), truth=(0, 1)))
    with pytest.raises(InputError, match="groups of 1x2, 2x2, which are no one set; audit one of them"):
        Audit.of_files("all", [sound(n=3), pair])


def test_the_captions_of_winoground_are_sound_but_for_their_order(real_data):
    groups = datasets.load("winoground", folder=real_data("winoground"), images=False)
    audit = Audit.of(groups)
    assert not [f.key for f in audit.findings if f.verdict == _rules.FAULT]
    assert [f.key for f in audit.findings if f.verdict == _rules.LIMIT] == ["position"]
    assert audit.independent == 400
    (size,) = [f for f in audit.findings if f.key == "size"]
    assert "5.2 points" in size.says


def test_an_audit_is_text_json_and_a_page_that_opens_alone(tmp_path):
    audit = Audit.of(changed(sound(), lambda g, i: replace(at_first(g, i), id=f"<i>{i}")))
    assert "A FAULT     Does the place of the right caption follow a pattern?" in audit.text()
    assert audit.text().startswith(audit.answer) and "<details>" in audit.html()
    assert not re.search(
        r"p\s[\d.]+e-", audit.html().partition("<script")[0]
    )  # as in every report: 1.3×10⁻⁵, raised
    page, data = audit.write(tmp_path / "a.html").read_text(), tmp_path / "a.json"
    assert "<i>" not in page and "&lt;i&gt;1" in page and "default-src 'none'" in page
    record = json.loads(audit.write(data).read_text())
    assert record["summary"] == audit.summary and record["crossmatch"]
    assert {f["verdict"] for f in record["findings"]} <= {_rules.SOUND, _rules.FAULT, _rules.CANNOT_TELL}
    with pytest.raises(InputError, match=r"\.json or a \.html"):
        audit.write(Path("a.csv"))


def test_the_command_says_which_words_a_blind_model_does_not_know(real_data, monkeypatch, capsys):
    monkeypatch.setenv("CROSSMATCH_DATA", str(real_data("winoground").parent))
    audit_command("winoground", blind=["builtin/blind-lm"])
    said = capsys.readouterr()
    assert "does not know" in said.err and "400 groups of 2x2" in said.out


def test_on_a_public_server_only_built_in_sets_of_bounded_size_are_audited(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError, match="not available on this server"):
        Audit.of(sound())
    many = replace(sound(n=301), name="scenes/swap")
    with pytest.raises(InputError, match="at most 300 groups are audited"):
        Audit.of(many)


def test_a_set_without_truth_has_nothing_to_audit():
    with pytest.raises(InputError, match="no ground truth"):
        Audit.of(sound(n=5).blind())


@pytest.mark.slow
def test_rules_that_are_sound_by_design_are_one_line_and_an_interval_says_its_groups():
    """Five lines said the same; and “232 independent groups” fitted neither 0.0–2.5 nor 45.9–57.4."""
    audit = Audit.of(datasets.load("scenes/attribute-swap"))
    design = [f for f in audit.findings if f.says.startswith("By design")]
    (line,) = [f for f in audit.in_order() if f.says.startswith("By design")]
    assert len(design) == 5 and audit.text().count("By design") == 1
    named = ("length", "the way it is written", "common words", "likelihood as text", "particular words")
    assert all(name in line.question for name in named) and line.reply == "No"
    assert len(audit.in_order()) == len(audit.findings) - 4
    # The interval of none of 300 is the exact one of as many groups as it says: 1 - 0.025 ** (1 / 143).
    said = int(re.search(r"at worst that of (\d+), as large clusters weigh most", audit.dependence)[1])
    none = next(f for f in audit.findings if f.key == "captions").found
    assert none.bounds[1] == pytest.approx(100 * (1 - 0.025 ** (1 / said)), abs=0.02)
    assert (
        "232 independent groups of 300. The more alike such groups turn out, the wider an interval: at best it "
        in (audit.dependence)
    )
    assert line.question.endswith("(5 checks)")
    place = next(f for f in audit.findings if f.key == "position").found
    assert place.bounds == pytest.approx((place.low, place.high), abs=0.1)


def test_a_small_set_whose_groups_share_images_says_so_without_contradicting_itself():
    """“One limit” stood above “2 limits”, and “0 of 12 have a near copy” below “12 of 12 share an image”."""
    rng = np.random.default_rng(3)
    images = [encoded(_noise_of(rng)) for _ in range(12)]
    groups = changed(
        sound(n=12, pictures=True),
        lambda group, i: replace(group, images=(images[i // 2],), truth=group.truth),
    )
    audit = Audit.of(groups)
    found = {each.key: each for each in audit.findings}
    assert audit.independent == 6 and found["shared"].verdict == found["size"].verdict == _rules.LIMIT
    limits = sum(each.verdict == _rules.LIMIT for each in audit.findings)
    assert f"{limits} limits" in audit.summary and limits == 2
    assert "One other limit: 12 of 12 groups share an image with another group." in audit.problems
    assert found["images"].brief.endswith("; that groups share an image is no copy")
    assert (
        "Groups that share an image count as one, which leaves 6 independent groups of 12" in audit.dependence
    )
