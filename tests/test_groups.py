"""Groups and sets: validation, hiding truth, permuting captions, distinct images and captions."""

import io
from itertools import product

import numpy as np
import pytest
from PIL import Image

from core.base.errors import InputError
from core.base.image_files import MOST_SCANS, ImageFile
from core.exchange._import_images import RowError, verify_image
from core.groups import BytesImage, FileImage, Group, GroupSet, _is_plain_truth, check_truth


def picture(shade: int) -> BytesImage:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "PNG")
    return BytesImage(buffer.getvalue(), f"shade {shade}")


def group(
    name: str = "g", captions: tuple[str, ...] = ("a", "b"), shades: tuple[int, ...] = (1, 2), **more
) -> Group:
    return Group(name, tuple(picture(s) for s in shades), captions, **more)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: group(captions=("a",)), "at least two captions"),
        (lambda: group(shades=(1, 2, 3)), "no more images than captions"),
        (lambda: group(shades=()), "at least one image"),
        (lambda: group(captions=("a", "  ")), "Caption 1 of group 'g' is empty"),
        (lambda: group(truth=(0, 0)), "distinct caption indices"),
        (lambda: group(truth=(0, 2)), "from 0 to 1"),
        (lambda: group(truth=(0,)), "shape"),
        (lambda: GroupSet("s", ()), "holds no groups"),
        (lambda: GroupSet("s", (group(), group())), "several groups with id 'g'"),
        (lambda: GroupSet("s", (group("a"), group("b", shades=(1,)))).shape, "mixes the shapes"),
    ],
)
def test_what_is_no_group_is_refused_in_one_sentence(build, says):
    with pytest.raises(InputError, match=says):
        build()


def test_truth_must_be_integers():
    with pytest.raises(InputError, match="integer"):
        check_truth(np.array([[0.0, 1.0]]), 1, 2, 2)


def test_a_blind_set_has_no_truth_and_a_partly_labelled_set_neither():
    full = GroupSet("s", (group("a", truth=(1, 0)), group("b", truth=(0, 1))))
    np.testing.assert_array_equal(full.truth, [[1, 0], [0, 1]])
    assert full.blind().truth is None
    assert GroupSet("s", (group("a", truth=(1, 0)), group("b"))).truth is None


def test_permuting_captions_moves_truth_with_them():
    captions = ("zero", "one", "two")
    full = GroupSet("s", tuple(group(str(i), captions, truth=(2, 0)) for i in range(20)))
    permuted = full.permute_captions(seed=1)
    assert any(a.captions != b.captions for a, b in zip(full, permuted, strict=True))
    for g in permuted:
        assert [g.captions[j] for j in g.truth] == ["two", "zero"]


def test_distinct_images_and_captions_are_found_by_content():
    s = GroupSet("s", (group("a", ("x", "y"), (1, 2)), group("b", ("y", "z"), (2, 3))))
    images, image_index = s.unique_images()
    captions, caption_index = s.unique_captions()
    assert [i.key for i in images] == [picture(x).key for x in (1, 2, 3)]
    np.testing.assert_array_equal(image_index, [[0, 1], [1, 2]])
    assert captions == ["x", "y", "z"]
    np.testing.assert_array_equal(caption_index, [[0, 1], [1, 2]])


def test_selecting_filtering_splitting_and_buckets():
    s = GroupSet("s", tuple(group(str(i), tags={"half": "low" if i < 5 else "high"}) for i in range(10)))
    assert s.where(half="low").ids == ["0", "1", "2", "3", "4"]
    assert s.select(np.arange(10) % 2 == 0).ids == ["0", "2", "4", "6", "8"]
    assert s.tag_values() == {"half": ["high", "low"]}
    first, second = s.split(0.3, seed=2)
    assert len(first) == 3
    assert sorted(first.ids + second.ids) == sorted(s.ids)
    mixed = GroupSet("m", (group("a"), group("b", shades=(1,)), group("c")))
    assert {shape: part.ids for shape, part in mixed.buckets().items()} == {(1, 2): ["b"], (2, 2): ["a", "c"]}
    with pytest.raises(InputError, match="leaves a part empty"):
        s.split(0.01)


def test_an_image_that_does_not_open_is_named(tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(picture(1).data[:30])
    with pytest.raises(InputError, match=r"broken\.png does not open"):
        FileImage(broken).open()
    with pytest.raises(InputError, match="cannot be read"):
        FileImage(tmp_path / "absent.png").open()


def test_a_file_and_its_bytes_share_a_key_and_open_as_rgb(tmp_path):
    path = tmp_path / "p.png"
    path.write_bytes(picture(7).data)
    assert FileImage(path).key == picture(7).key
    assert FileImage(path).open().mode == "RGB"


def test_a_notebook_prints_a_set_in_one_line():
    assert repr(GroupSet("s", (group("a"), group("b")))) == "<2 groups of s: a, ...>"


# --- JPEG files of many scans


def progressive(scans: int, side: int = 16) -> bytes:
    """A grey JPEG of so many scans, at least six: the fourth is repeated."""
    made = io.BytesIO()
    Image.new("L", (side, side), 128).save(made, "JPEG", progressive=True)
    before, again, after = 4, 1, 2
    parts = made.getvalue().split(b"\xff\xda")  # the header, and six scans
    assert len(parts) == before + again + after
    return b"\xff\xda".join([*parts[:before], *[parts[before]] * (scans - 5), *parts[-after:]])


def test_a_jpeg_of_thousands_of_scans_is_refused_before_anything_is_decoded():
    """351 kB of 5000 x 5000 pixels and 7,189 scans held Gradio's lock for 44 seconds."""
    assert ImageFile(progressive(MOST_SCANS)).decode("x").getpixel((3, 3)) == (128, 128, 128)
    assert verify_image(progressive(MOST_SCANS), "x")[1] == ".jpg"
    for scans in (MOST_SCANS + 1, 7000):
        bomb = progressive(scans, side=5000 if scans == 7000 else 16)
        for open_it in (lambda: ImageFile(bomb).decode("x", 320), BytesImage(bomb, "x").open):  # noqa: B023
            with pytest.raises(InputError, match=rf"^The image x is a JPEG of more than {MOST_SCANS} scans"):
                open_it()
        with pytest.raises(RowError, match=f"more than {MOST_SCANS} scans"):
            verify_image(bomb, "x")


def test_of_a_jpeg_the_scans_alone_are_counted():
    """Neither what lies behind the picture, such as a phone's film, nor what a segment holds; fill bytes hide none."""
    plain, bomb, much = progressive(6), progressive(MOST_SCANS + 1), b"\xff\xda" * 2 * MOST_SCANS
    comment = b"\xff\xfe" + (len(much) + 2).to_bytes(2, "big") + much
    for fine in (plain + much, plain[:2] + comment + plain[2:]):
        assert ImageFile(fine).decode("x").size == (16, 16)
    hidden = bomb.replace(b"\xff\xda", b"\xff\xff\xff\xda")
    with_end_inside = bomb[:2] + b"\xff\xfe\x00\x04\xff\xd9" + bomb[2:]
    for bad in (hidden, with_end_inside, bomb[:2] + comment + bomb[2:], bomb[:-2]):
        with pytest.raises(InputError, match="scans"):
            ImageFile(bad).decode("x")


@pytest.mark.parametrize("kind", [b"P1", b"P2", b"P3"])
def test_a_picture_written_out_as_text_is_refused_before_anything_reads_it(kind):
    """10 MB of comments held Gradio's lock for minutes: each was cut out of a megabyte of text by itself."""
    for content in (kind + b" 5 5\n" + b"#\n" * 5_000_000 + b"1" * 25, kind + b"\n#\n" * 100):
        with pytest.raises(InputError, match="a PPM written out as text; save it as PNG"):
            ImageFile(content).decode("x")
    made = io.BytesIO()
    Image.new("RGB", (3, 2), (1, 2, 3)).save(made, "PPM")
    assert made.getvalue().startswith(b"P6") and ImageFile(made.getvalue()).decode("x").getpixel((0, 0)) == (
        1,
        2,
        3,
    )


def test_a_slice_of_a_set_is_a_set():
    from core.datasets import load

    groups = load("scenes/left-right", "validation")
    assert groups[:3].ids == groups.ids[:3] == groups.select(range(3)).ids
    assert groups[:3].truth.tolist() == groups.truth[:3].tolist()
    assert groups[-1].id == groups.ids[-1]


def test_a_truth_that_is_taken_for_sound_at_once_is_sound_by_the_full_check():
    """EqBen's 251,048 groups go the short way; whatever it does not accept, the full check judges."""
    accepted = 0
    for m, k in ((1, 2), (2, 2), (2, 3)):
        for truth in product((-1, 0, 1, 2, True, 1.0, "0"), repeat=m):
            if _is_plain_truth(truth, m, k):
                check_truth(np.asarray([truth]), 1, m, k)
                accepted += 1
    assert accepted == 2 + 2 + 6
