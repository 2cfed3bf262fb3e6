"""Image files that are cut short are said before anything is scored or encoded, by their names; whole ones never."""

import io

import numpy as np
import pytest
from PIL import Image

from core.base.errors import InputError
from core.datasets._images import CroppedImage
from core.groups import FileImage, Group, GroupSet, _check_whole
from core.scorers._input_loading import prefetch
from core.scoring.scores import score_groups, score_matrix

KINDS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")
CHECKED = ("PNG", "JPEG", "WEBP", "GIF", "BMP")  # of the others nothing says where they end


def encoded(kind: str, seed: int = 0, **more) -> bytes:
    noise = np.random.default_rng(seed).integers(0, 256, (60, 80, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, kind, **more)
    return out.getvalue()


def stored(folder, name: str, data: bytes) -> FileImage:
    (folder / name).write_bytes(data)
    return FileImage(folder / name)


class Recorder:
    """A scorer that notes what it was asked."""

    name = key = "recorder"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, images, captions, pairs):
        self.asked.append(len(images))
        return np.zeros(len(pairs), np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_of_any_kind_passes_also_with_bytes_behind_its_end(kind, tmp_path):
    whole = encoded(kind)
    behind = [b"", b"\0" * 100, b"\n", b"something more" * 400]
    _check_whole([stored(tmp_path, f"{i}.x", whole + more) for i, more in enumerate(behind)])


def test_a_progressive_jpeg_passes_and_one_that_lacks_its_last_mark_alone_is_judged_by_decoding_it(tmp_path):
    whole = encoded("JPEG", progressive=True)
    image = stored(tmp_path, "a.jpg", whole[:-2])
    try:
        image.open()
    except InputError:
        with pytest.raises(InputError, match=r"a\.jpg does not open"):
            _check_whole([image])
    else:
        _check_whole([image])
    _check_whole([stored(tmp_path, "b.jpg", whole)])


@pytest.mark.parametrize("kind", CHECKED)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.95])
def test_a_file_that_is_cut_short_is_named_with_the_sentence_of_its_decoder(kind, share, tmp_path):
    whole = encoded(kind)
    image = stored(tmp_path, f"cut.{kind.lower()}", whole[: int(share * len(whole))])
    with pytest.raises(InputError) as decoded:
        image.open()
    with pytest.raises(InputError) as said:
        _check_whole([stored(tmp_path, "fine.png", encoded("PNG")), image])
    assert str(said.value) == str(decoded.value)
    with pytest.raises(InputError, match="cut"):
        _check_whole([CroppedImage(image.path, (0, 0, 4, 4))])


def test_a_file_that_is_not_there_is_named_and_of_several_all(tmp_path):
    with pytest.raises(InputError, match=r"gone\.png cannot be read \(No such file"):
        _check_whole([FileImage(tmp_path / "gone.png")])
    cut = [stored(tmp_path, f"{i}.jpg", encoded("JPEG", i)[:1000]) for i in range(7)]
    with pytest.raises(
        InputError, match=r"^7 images do not open: .*0\.jpg, .*4\.jpg, …; replace them"
    ) as said:
        _check_whole([*cut, *cut, stored(tmp_path, "fine.png", encoded("PNG"))])
    assert "5.jpg" not in str(said.value)


@pytest.mark.parametrize("whole_table", [False, True])
def test_nothing_is_scored_where_one_of_many_pictures_is_cut_short(whole_table, tmp_path, monkeypatch):
    """It was said after all other pictures had been scored."""
    images = [stored(tmp_path, f"{i}.jpg", encoded("JPEG", i)) for i in range(12)]
    images[-1] = stored(tmp_path, "last.jpg", encoded("JPEG", 99)[:2000])
    scorer = Recorder()
    with pytest.raises(InputError, match=r"last\.jpg does not open"):
        if whole_table:
            monkeypatch.setattr("core.scoring.scores._BLOCK", 4)
            score_matrix(scorer, images, ["a", "b"])
        else:
            groups = [Group(str(i), (images[i], images[i + 1]), ("a", "b")) for i in range(0, 12, 2)]
            score_groups(scorer, GroupSet("x", tuple(groups)))
    assert not scorer.asked


def test_nothing_is_encoded_where_one_of_several_blocks_has_a_picture_that_is_cut_short(tmp_path):
    images = [stored(tmp_path, f"{i}.png", encoded("PNG", i)) for i in range(5)]
    images.append(stored(tmp_path, "last.png", encoded("PNG", 99)[:2000]))
    read: list[int] = []

    def reader(part):
        read.append(len(part))
        return [image.open() for image in part]

    with pytest.raises(InputError, match=r"last\.png does not open"):
        list(prefetch(images, reader, 2))
    assert not read
