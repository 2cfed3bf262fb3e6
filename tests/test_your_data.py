"""Bring your own: every way in, every fault told with its place, and a benchmark that works like any other."""

import csv
import io
import json
import struct
import subprocess
import sys
import threading
import unicodedata
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from core import datasets
from core.base.errors import InputError
from core.datasets import user_sets
from core.exchange import _import_images as images
from core.exchange import _import_rows, importing
from core.exchange.columns import ColumnMapping, guess_columns
from core.exchange.import_hub import fetch_parts, list_parts
from core.exchange.importing import open_manifest, save_upload

ROOT = Path(__file__).resolve().parent.parent


def png(shade: int, size: tuple[int, int] = (8, 6), kind: str = "PNG", **more) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (shade % 256, 100, 50)).save(out, kind, **more)
    return out.getvalue()


def pictures(folder: Path, count: int = 4) -> Path:
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for i in range(count):
        (folder / f"images/{i}.png").write_bytes(png(10 * i))
    return folder


WIDE = ("id", "image_0", "image_1", "caption_0", "caption_1", "truth", "topic")


def wide(folder: Path, *lines: tuple, columns: tuple[str, ...] = WIDE) -> Path:
    """A folder with four images and a manifest.csv."""
    pictures(folder)
    with open(folder / "manifest.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *lines])
    return folder


GOOD = ("a", "images/0.png", "images/1.png", "a dog, wet", "a dry dog", "0 1", "x")
TWIN = ("b", "images/2.png", "images/3.png", "first", "second", "1 0", "y")


def told(staged) -> list[tuple]:
    return [(row["row"], row["column"], row["what is wrong"]) for row in staged.problem_rows()]


def zipped(path: Path, folder: Path, top: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(file, top + file.relative_to(folder).as_posix())
    return path


# --- the ways in -----------------------------------------------------------------------------------------------------


def test_a_folder_with_a_csv_becomes_a_benchmark_with_captions_answers_tags_and_pixels(tmp_path):
    staged = importing.stage_import(wide(tmp_path / "set", GOOD, TWIN))
    assert (staged.groups, staged.shapes, staged.total) == (2, {"2x2": 2}, 0)
    assert staged.add_benchmark("dogs", title="Dogs", licence="CC0") == ["mine/dogs"]
    groups = datasets.load("mine/dogs")
    assert groups.ids == ["a", "b"]
    assert groups[0].captions == ("a dog, wet", "a dry dog")
    assert [g.truth for g in groups] == [(0, 1), (1, 0)]
    assert groups[1].tags == {"topic": "y"}
    assert groups[1].images[1].open().getpixel((0, 0)) == (30, 100, 50)
    assert (groups.title, groups.licence, groups.name) == ("Dogs", "CC0", "mine/dogs")
    assert "mine/dogs" in datasets.names()
    assert datasets.state("mine/dogs") == f"found at {user_sets.root() / 'dogs'}"
    assert datasets.benchmark_entry("mine/dogs") is None


def test_the_set_stays_when_its_source_goes(tmp_path):
    source = wide(tmp_path / "set", GOOD)
    importing.stage_import(source).add_benchmark("kept")
    for path in (source / "images").iterdir():
        path.unlink()
    assert datasets.load("mine/kept")[0].images[0].open().size == (8, 6)


def test_rows_of_one_image_with_its_caption_are_collected_by_group(tmp_path):
    folder = pictures(tmp_path / "set")
    lines = [
        "group,image,caption,room",
        "g1,images/0.png,a cup,kitchen",
        "g2,images/1.png,a bed,bedroom",
        "g1,,a plate,kitchen",
        "g2,images/2.png,a lamp,attic",
    ]
    (folder / "pairs.csv").write_text("\n".join(lines))
    staged = importing.stage_import(folder)
    assert staged.columns == ColumnMapping(("image",), ("caption",), "", "", "group", ("room",))
    assert staged.shapes == {"1x2": 1, "2x2": 1}
    assert staged.add_benchmark("rooms") == ["mine/rooms/1x2", "mine/rooms/2x2"]
    one, two = datasets.load("mine/rooms/1x2"), datasets.load("mine/rooms/2x2")
    assert (one.shape, one[0].captions, one[0].truth) == ((1, 2), ("a cup", "a plate"), (0,))
    assert one[0].tags == {"room": "kitchen"}
    assert (two[0].captions, two[0].truth, two[0].tags) == (("a bed", "a lamp"), (0, 1), {})


@pytest.mark.parametrize("ending", ["jsonl", "json"])
def test_json_takes_lists_of_images_and_captions(tmp_path, ending):
    folder = pictures(tmp_path / "set")
    records = [
        {
            "id": 7,
            "images": ["images/0.png"],
            "captions": ["one", "two", "three"],
            "truth": [2],
            "tags": {"t": 1},
        },
        {"id": 8, "images": ["images/1.png"], "captions": ["four", "five", "six"], "truth": [0], "tags": {}},
    ]
    text = json.dumps(records) if ending == "json" else "\n".join(map(json.dumps, records))
    (folder / f"groups.{ending}").write_text(text)
    groups = importing.stage_import(folder).preview()
    assert (groups.ids, groups.shape) == (["7", "8"], (1, 3))
    assert groups[0].truth == (2,)
    assert groups[0].tags == {"t": "1"}


def parquet(path: Path, records: list[dict], per_group: int = 2) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=per_group)


def hub_rows(count: int, first: int = 0) -> list[dict]:
    return [
        {
            "photo": {"bytes": png(20 * i), "path": f"{i}.png"},
            "pos": f"right {i}",
            "foils": [f"wrong {i}", f"worse {i}"],
            "source": "web",
        }
        for i in range(first, first + count)
    ]


READ_TABLE = """
import sys
from pathlib import Path
from core.base.errors import InputError
from core.base.table_formats import open_table
try:
    path = Path(sys.argv[1])
    print(len(list(open_table(path, name=path.name).rows())))
except InputError as error:
    print(error)
"""


def test_a_spoiled_arrow_file_is_one_sentence(tmp_path):
    """Offsets that lead outside the file: Arrow follows them without a look, and the process would end there."""
    import pyarrow as pa

    captions = [f"a caption of row {i}" for i in range(50)]
    batch = pa.record_batch({"caption": captions})
    path = tmp_path / "data.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batch.schema) as stream:
        stream.write_batch(batch)

    def read() -> str:
        command = [sys.executable, "-c", READ_TABLE, str(path)]  # in a process of its own: it may be killed
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
        return done.stdout

    assert read() == "50\n"
    offsets = batch.column(0).buffers()[1].to_pybytes()[: 4 * 51]
    data = path.read_bytes()
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, np.full(51, 2**30, dtype="<i4").tobytes()))
    assert read().startswith("data.arrow is not a complete Arrow file")


def test_a_parquet_folder_as_hugging_face_lays_it_out_with_chosen_columns_and_split(tmp_path):
    parquet(tmp_path / "set/data/test-00000-of-00002.parquet", hub_rows(3))
    parquet(tmp_path / "set/data/test-00001-of-00002.parquet", hub_rows(2, 3))
    parquet(tmp_path / "set/data/train-00000-of-00001.parquet", hub_rows(1))
    with pytest.raises(InputError, match=r"several tables \(test, train\); say which"):
        importing.stage_import(tmp_path / "set")
    with pytest.raises(InputError, match="has no table 'dev'; it has: "):
        importing.stage_import(tmp_path / "set", manifest="dev")
    staged = importing.stage_import(
        tmp_path / "set", ColumnMapping(("photo",), ("pos", "foils")), manifest="test"
    )
    assert staged.shapes == {"1x3": 5}
    groups = staged.preview()
    assert [g.captions for g in groups][3] == ("right 3", "wrong 3", "worse 3")
    assert groups[3].images[0].open().getpixel((0, 0))[0] == 60
    assert groups[3].tags == {"source": "web"}


def test_what_datasets_saves_to_disk_is_read_too(tmp_path):
    import pyarrow as pa

    table = pa.Table.from_pylist(hub_rows(3))
    (tmp_path / "set").mkdir()
    path = tmp_path / "set/data-00000-of-00001.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    (tmp_path / "set/dataset_info.json").write_text("{}")
    assert importing.stage_import(tmp_path / "set", ColumnMapping(("photo",), ("pos", "foils"))).groups == 3


def test_an_image_folder_with_metadata_is_read(tmp_path):
    folder = pictures(tmp_path / "set/test")
    (folder / "metadata.csv").write_text("file_name,caption,negative_caption\nimages/0.png,a cat,a dog\n")
    groups = importing.stage_import(tmp_path / "set").preview()
    assert groups[0].captions == ("a cat", "a dog")
    assert groups[0].truth == (0,)


@pytest.mark.parametrize("top", ["", "my set/"])
def test_a_zip_is_unpacked_with_or_without_a_folder_of_its_own(tmp_path, top):
    path = zipped(tmp_path / "set.zip", wide(tmp_path / "set", GOOD, TWIN), top)
    staged = importing.stage_import(path)
    assert staged.groups == 2
    assert not (staged.folder / "unpacked").exists()


def test_a_picture_that_a_zip_lacks_is_to_be_put_into_the_zip(tmp_path):
    path = zipped(
        tmp_path / "set.zip", wide(tmp_path / "set", GOOD, (TWIN[0], "lost-and-gone.png", *TWIN[2:])), ""
    )
    (problem,) = importing.stage_import(path).problems
    assert problem.fix == "put it into set.zip"


def test_the_litter_of_a_mac_is_passed_over(tmp_path):
    source = wide(tmp_path / "set", GOOD)
    path = zipped(tmp_path / "set.zip", source, "set/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/set/._manifest.csv", b"\x00\x05")
        archive.writestr("set/.DS_Store", b"\x00")
    assert importing.stage_import(path).groups == 1


# --- columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (WIDE, ColumnMapping(("image_0", "image_1"), ("caption_0", "caption_1"), "truth", "id")),
        (("caption_1", "caption_0", "image"), ColumnMapping(("image",), ("caption_0", "caption_1"))),
        (
            ("caption_2", "caption_10", "caption_1", "image"),
            ColumnMapping(("image",), ("caption_1", "caption_2", "caption_10")),
        ),
        (("Image", "Captions", "key"), ColumnMapping(("Image",), ("Captions",), "", "key")),
        (
            ("file_name", "text", "negative_caption"),
            ColumnMapping(("file_name",), ("text", "negative_caption")),
        ),
        (
            ("image", "true_caption", "false_caption"),
            ColumnMapping(("image",), ("true_caption", "false_caption")),
        ),
        (("group", "image", "caption", "id"), ColumnMapping(("image",), ("caption",), "", "", "group")),
        (("x", "y"), ColumnMapping((), ())),
    ],
)
def test_columns_are_guessed_by_their_names(columns, expected):
    assert guess_columns(columns) == expected


def test_columns_that_are_missing_or_have_two_meanings_are_sentences(tmp_path):
    folder = wide(tmp_path / "set", GOOD)
    cases = [
        (ColumnMapping(("image_9",), ("caption_0",)), "Unknown column 'image_9'; did you mean 'image_0'"),
        (ColumnMapping(("image_0",), ("image_0",)), "'image_0' has two meanings"),
        (ColumnMapping((), ("caption_0",)), "No column holds images among: id, image_0"),
        (ColumnMapping(("image_0", "image_1"), ("caption_0",), group="topic"), "choose one column of each"),
    ]
    for columns, message in cases:
        with pytest.raises(InputError, match=message):
            importing.stage_import(folder, columns)


# --- what is wrong, row by row ---------------------------------------------------------------------------------------


def test_every_fault_is_told_with_its_row_and_column_and_the_rest_is_kept(tmp_path):
    folder = wide(
        tmp_path / "set",
        GOOD,
        ("c", "images/0.png", "images/9.png", "x", "y", "0 1", ""),
        ("d", "images/0.png", "images/1.png", "x", "", "0 1", ""),
        ("e", "images/0.png", "images/1.png", "x", "y", "", ""),
        ("f", "images/0.png", "images/1.png", "x", "y", "0 0", ""),
        ("g", "images/0.png", "images/1.png", "x", "y", "0 2", ""),
        ("h", "images/0.png", "images/1.png", "x", "y", "left", ""),
        ("a", "images/0.png", "images/1.png", "x", "y", "0 1", ""),
        ("i", "../secret.png", "images/1.png", "x", "y", "0 1", ""),
        ("j", "images/0.png", "https://x.org/1.png", "x", "y", "0 1", ""),
        ("k", "", "images/1.png", "x", "y", "0 1", ""),
        ("l", "images/0.png", "images/1.png", "", "y", "0 1", ""),
        TWIN,
    )
    staged = importing.stage_import(folder)
    assert staged.groups == 2
    assert told(staged) == [
        ("3", "image_1", "there is no image 'images/9.png'"),
        ("4", "caption_1", "the group has 1 caption"),
        ("5", "truth", "the answer is missing"),
        ("6", "truth", "'0 0' names captions that do not exist, or names one twice"),
        ("7", "truth", "'0 2' names captions that do not exist, or names one twice"),
        ("8", "truth", "'left' does not say which caption belongs to which image"),
        ("9", "id", "the id 'a' is used by row 2 already"),
        ("10", "image_0", "'../secret.png' points outside the folder"),
        ("11", "image_1", "'https://x.org/1.png' is a web address"),
        ("12", "image_0", "there is no image"),
        ("13", "caption_0", "there is no caption"),
    ]
    assert all(row["what to do"] and row["effect"] == "left out" for row in staged.problem_rows())
    with pytest.raises(InputError, match="has 11 problems; fix them, or agree"):
        staged.add_benchmark("half")
    assert staged.add_benchmark("half", skip_bad=True) == ["mine/half"]
    assert datasets.load("mine/half").ids == ["a", "b"]


def test_all_that_is_wrong_with_a_row_is_told_at_once(tmp_path):
    """Of a missing picture alone one heard first, and after the next upload that a caption was missing, too."""
    lines = [
        "id,image_0,image_1,caption_0,caption_1",
        "a,images/0.png,images/9.png,x,",
        "b,images/0.png,images/9.png,,",
        "a,images/0.png,images/9.png,x,y",
        "c,images/0.png,,x,y",  # fewer images than the widest row
        "d,images/9.png,,x,y",
    ]
    folder = pictures(tmp_path / "set")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")
    staged = importing.stage_import(folder)
    assert staged.groups == 1
    assert told(staged) == [
        ("2", "image_1", "there is no image 'images/9.png'"),
        ("2", "caption_1", "the group has 1 caption"),
        ("3", "image_1", "there is no image 'images/9.png'"),
        ("3", "caption_0", "there is no caption"),
        ("3", "caption_1", "a second caption is missing"),
        ("4", "image_1", "there is no image 'images/9.png'"),
        ("4", "id", "the id 'a' is used by row 2 already"),
        ("6", "image_0", "there is no image 'images/9.png'"),
    ]


def test_the_empty_column_is_named_where_a_group_has_more_images_than_captions(tmp_path):
    folder = pictures(tmp_path / "set")
    (folder / "manifest.csv").write_text(
        "image_0,image_1,image_2,caption_0,caption_1,caption_2\n"
        "images/0.png,images/1.png,images/2.png,x,y,\nimages/0.png,images/1.png,,x,y,\n"
    )
    staged = importing.stage_import(folder)
    assert staged.groups == 1
    assert told(staged) == [("2", "caption_2", "the group has 3 images and 2 captions")]


def test_captions_that_are_the_same_are_remarked_and_kept(tmp_path):
    staged = importing.stage_import(
        wide(tmp_path / "set", ("a", "images/0.png", "images/0.png", "same", "same", "0 1", ""))
    )
    assert [row["effect"] for row in staged.problem_rows()] == ["kept", "kept"]
    assert (staged.groups, staged.fatal) == (1, 0)
    assert staged.add_benchmark("ties") == ["mine/ties"]


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("0.png", b"", "is empty"),
        ("0.png", b"not an image", "is not an image"),
        ("0.png", png(1, (64, 64))[:-40], "is damaged"),
        ("0.png", png(1, (300, 300), "JPEG")[:900], "is damaged"),
        ("0.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not an image"),
        ("0.png", png(1, kind="PPM"), "is a PPM image"),
    ],
)
def test_an_image_that_is_none_is_told(tmp_path, name, data, what):
    folder = wide(tmp_path / "set", GOOD, TWIN)
    (folder / "images" / name).write_bytes(data)
    staged = importing.stage_import(folder)
    assert staged.groups == 1
    ((row, column, said),) = told(staged)
    assert (row, column) == ("2", "image_0")
    assert what in said


def test_a_huge_image_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    """A PNG whose header claims 60,000 x 60,000 pixels: 13 GB of memory, were anybody to decode it."""
    folder = wide(tmp_path / "set", GOOD)
    data = bytearray(png(1))
    data[16:24] = struct.pack(">II", 60_000, 60_000)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    (folder / "images/0.png").write_bytes(data)
    assert "too many pixels" in told(importing.stage_import(folder))[0][2]
    monkeypatch.setattr(images, "MAX_PIXELS", 40)
    (folder / "images/0.png").write_bytes(png(1))
    assert "has 8 x 6 pixels" in told(importing.stage_import(folder))[0][2]
    monkeypatch.setattr(images, "MAX_BYTES", 10)
    assert "is larger than" in told(importing.stage_import(folder))[0][2]


def test_a_photograph_that_its_camera_turned_is_stored_upright(tmp_path):
    folder = wide(tmp_path / "set", GOOD)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter
    (folder / "images/0.png").write_bytes(png(1, (40, 20), "JPEG", exif=exif))
    assert importing.stage_import(folder).preview()[0].images[0].open().size == (20, 40)


def test_the_same_picture_is_stored_once(tmp_path):
    folder = wide(tmp_path / "set", GOOD, ("b", "images/0.png", "images/1.png", "x", "y", "0 1", ""))
    (folder / "images/1.png").write_bytes(png(0))
    staged = importing.stage_import(folder)
    assert len(list((staged.folder / "images").iterdir())) == 1


def test_a_name_in_another_unicode_form_or_with_backslashes_finds_its_file(tmp_path):
    folder = pictures(tmp_path / "set")
    (folder / "images" / unicodedata.normalize("NFD", "Hündchen.png")).write_bytes(png(5))
    name = unicodedata.normalize("NFC", "Hündchen.png")
    (folder / "manifest.csv").write_text(
        f"image_0,caption_0,caption_1\nimages\\{name},猫 и 🐶,ein Hündchen\n", encoding="utf-8"
    )
    groups = importing.stage_import(folder).preview()
    assert groups[0].captions == ("猫 и 🐶", "ein Hündchen")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_byte_order_marks_line_ends_and_separators_of_any_spreadsheet_are_fine(tmp_path, encoding, end, mark):
    folder = pictures(tmp_path / "set")
    lines = [
        "image_0|caption_0|caption_1|truth",
        'images/0.png|"ä, ö; ü"|two|1',
        "",
        "images/1.png|three|four|0",
        "",
    ]
    (folder / "manifest.csv").write_bytes(end.join(lines).replace("|", mark).encode(encoding))
    staged = importing.stage_import(folder)
    assert staged.total == 0
    groups = staged.preview()
    assert groups[0].captions == ("ä, ö; ü", "two")
    assert [g.truth for g in groups] == [(1,), (0,)]
    assert groups.ids == ["2", "4"] or groups.ids == ["2", "3"]


def test_rows_of_other_lengths_and_a_quotation_mark_that_never_ends_are_told(tmp_path):
    folder = pictures(tmp_path / "set")
    (folder / "manifest.csv").write_text(
        'image_0,caption_0,caption_1\nimages/0.png,a,b\nimages/0.png,a,b,c\nimages/0.png,a\nimages/0.png,"a,b\n'
    )
    staged = importing.stage_import(folder)
    assert staged.groups == 1
    assert [what for _, _, what in told(staged)][:2] == [
        "the row has 4 cells, the header 3",
        "the row has 2 cells, the header 3",
    ]
    assert len(told(staged)) == 3


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"images": ["images/0.png"], "captions": ["a", NaN]}', "nan is not text"),
        (
            '{"images": ["images/0.png"], "captions": ["a", "b"], "captions": ["c"]}',
            "has the key 'captions' twice",
        ),
        ('{"images": ["images/0.png"], "captions"', "the line is not JSON"),
        ("[1, 2]", "is not a JSON object but [1, 2]"),
        ('{"images": ["images/0.png"], "captions": ["a", 7]}', "7 is not text"),
        ('{"images": ["images/0.png"], "captions": ["a", {"b": 1}]}', "is not text"),
        ('{"images": [3], "captions": ["a", "b"]}', "3 is not an image"),
        ('{"images": ["images/0.png"], "captions": ["a", "\\ud800"]}', "characters that are not text"),
        ('{"images": ["images/0.png"], "captions": ["a", "b\\u0000"]}', "characters that are not text"),
        (
            '{"images": ["images/0.png"], "captions": ["a", "b"], "truth": [true]}',
            "does not say which caption",
        ),
        ('{"images": ["images/0.png"], "captions": ["a", "b"], "truth": null}', "the answer is missing"),
        (
            '{"images": ["images/0.png"], "captions": ["a", "b"], "truth": [1e99]}',
            "does not say which caption",
        ),
        ('{"images": [], "captions": ["a", "b"]}', "there is no image"),
        ('{"images": ["images/0.png"], "captions": ["a"]}', "the group has 1 caption"),
        (
            '{"images": ["images/0.png", "images/1.png", "images/2.png"], "captions": ["a", "b"]}',
            "3 images and 2 captions",
        ),
        ('{"images": ["images/0.png"], "captions": ["' + "a" * 3000 + '", "b"]}', "has 3000 characters"),
        ("[" * 100_000, "the line is not JSON"),
    ],
)
def test_hard_json_is_told_line_by_line(tmp_path, line, what):
    folder = pictures(tmp_path / "set")
    good = '{"images": ["images/0.png"], "captions": ["a", "b"], "truth": [1]}'
    (folder / "groups.jsonl").write_bytes(f"\ufeff{good}\r\n{line}\r\n\r\n".encode())
    staged = importing.stage_import(folder)
    assert staged.groups == 1
    assert {row for row, _, _ in told(staged)} == {"2"}
    assert any(what in said for _, _, said in told(staged)), told(staged)


def test_a_group_whose_row_is_wrong_is_left_out_whole(tmp_path):
    folder = pictures(tmp_path / "set")
    (folder / "m.csv").write_text(
        "group,image,caption\ng,images/0.png,a\ng,images/9.png,b\ng,images/1.png,c\n,images/1.png,d\n"
    )
    staged = importing.stage_import(folder)
    assert staged.groups == 0
    assert [(row, column) for row, column, _ in told(staged)] == [("3", "image"), ("5", "group")]
    with pytest.raises(InputError, match="holds no usable group"):
        staged.add_benchmark("none", skip_bad=True)


def test_problems_are_bounded_and_counted(tmp_path):
    folder = pictures(tmp_path / "set")
    (folder / "m.csv").write_text("image_0,caption_0,caption_1\n" + "images/9.png,a,b\n" * 1500)
    staged = importing.stage_import(folder)
    assert (staged.total, len(staged.problems)) == (1500, 1000)


def test_too_many_rows_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(_import_rows, "MAX_GROUPS", 1)
    staged = importing.stage_import(wide(tmp_path / "set", GOOD, TWIN))
    assert staged.groups == 1
    assert told(staged) == [("3", "", "the table has more than 1 rows")]


# --- files that are none ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("m.csv", b"", "is empty"),
        ("m.csv", b"a,b\n\xff\xfe\x00", "is not UTF-8 text"),
        ("m.csv", b"a\0b,c\n", "holds binary data"),
        ("m.csv", b"image,image,caption\n1,2,3\n", "has the column 'image' twice"),
        ("m.csv", b"what,ever\n1,2\n", "No column holds images among: what, ever"),
        ("m.json", b"[1, 2", "is not complete JSON"),
        ("m.json", b"[NaN", "is not complete JSON"),
        ("m.json", b"{}", "is not a JSON list"),
        ("m.parquet", b"PAR1nonsensePAR1", "is not a complete Parquet file"),
        ("m.arrow", b"nonsense", "is not a complete Arrow file"),
    ],
)
def test_a_file_that_is_no_table_is_one_sentence(tmp_path, name, data, message):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / name).write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        importing.stage_import(tmp_path / "set")
    assert "\n" not in str(caught.value)
    assert not list(user_sets.root().glob(".staging-*"))


def test_folders_without_a_table_or_with_several_and_no_folder_at_all_are_sentences(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        importing.stage_import(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no manifest .* put a manifest.csv beside the images"):
        importing.stage_import(pictures(tmp_path / "a"))
    folder = pictures(tmp_path / "b")
    for name in ("x.csv", "y.csv"):
        (folder / name).write_text("image,caption_0,caption_1\nimages/0.png,a,b\n")
    with pytest.raises(InputError, match=r"several tables \(x.csv, y.csv\)"):
        importing.stage_import(folder)
    assert importing.stage_import(folder, manifest="y.csv").groups == 1
    (tmp_path / "run.py").write_text("print(1)")
    with pytest.raises(InputError, match="is not a table; its name must end in"):
        importing.stage_import(tmp_path / "run.py")


# --- archives --------------------------------------------------------------------------------------------------------


def test_an_archive_that_leads_out_holds_links_another_archive_or_too_much_is_refused(tmp_path, monkeypatch):
    source = wide(tmp_path / "set", GOOD)
    out = zipped(tmp_path / "out.zip", source)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("../evil.csv", "x")
    link = zipped(tmp_path / "link.zip", source)
    with zipfile.ZipFile(link, "a") as archive:
        info = zipfile.ZipInfo("passwd")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    nested = zipped(tmp_path / "nested.zip", source)
    with zipfile.ZipFile(nested, "a") as archive:
        archive.writestr("more.zip", b"PK\x05\x06" + bytes(18))
    cases = [
        (out, "'../evil.csv', which is unsafe"),
        (link, "'passwd', which is unsafe"),
        (nested, r"holds another archive \(more.zip\)"),
    ]
    for path, message in cases:
        with pytest.raises(InputError, match=message):
            importing.stage_import(path)
    good = zipped(tmp_path / "good.zip", source)
    monkeypatch.setattr(importing, "MAX_FILES", 3)
    with pytest.raises(InputError, match="or 3 files"):
        importing.stage_import(good)
    monkeypatch.setattr(importing, "MAX_FILES", 100)
    monkeypatch.setattr(importing, "MAX_UPLOAD", 200)
    with pytest.raises(InputError, match="is larger than"):
        importing.stage_import(good)
    assert not list(user_sets.root().glob(".staging-*"))
    assert not list(tmp_path.rglob("evil.csv"))


def test_an_upload_gets_a_plain_name_and_is_bounded(tmp_path, monkeypatch):
    path = save_upload("../../Mein Satz<script>.zip", io.BytesIO(b"abc"))
    assert path.read_bytes() == b"abc"
    assert path.parent.parent == user_sets.root()
    assert path.name == "Mein Satz_script_.zip"
    monkeypatch.setattr(importing, "MAX_UPLOAD", 2)
    with pytest.raises(InputError, match="is larger than"):
        save_upload("a.zip", io.BytesIO(b"abc"))


# --- the registry of one's own sets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", " ", "mine/"])
def test_a_set_without_a_name_is_told_to_take_one(name):
    with pytest.raises(InputError, match="no name yet; give it one"):
        user_sets.checked_name(name)


@pytest.mark.parametrize("name", ["Upper", "a/b", "../x", "a b", ".hidden", "x" * 65])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="is not a valid name for a set"):
        importing.stage_import(wide(tmp_path / "set", GOOD)).add_benchmark(name)


def test_a_name_that_is_taken_is_refused_until_the_set_is_removed(tmp_path):
    source = wide(tmp_path / "set", GOOD)
    importing.stage_import(source).add_benchmark("dogs")
    with pytest.raises(InputError, match="A set mine/dogs exists already"):
        importing.stage_import(source).add_benchmark("mine/dogs")
    user_sets.remove("mine/dogs")
    assert "mine/dogs" not in datasets.names()
    assert importing.stage_import(source).add_benchmark("dogs") == ["mine/dogs"]
    with pytest.raises(InputError, match="Unknown set 'mine/cats'"):
        user_sets.remove("mine/cats")


def test_of_many_who_take_a_name_at_once_one_gets_it(tmp_path):
    staged = [importing.stage_import(wide(tmp_path / f"set{i}", GOOD)) for i in range(8)]
    got: list = []

    def take(each):
        try:
            got.append(each.add_benchmark("raced"))
        except InputError as error:
            got.append(str(error))

    threads = [threading.Thread(target=take, args=(each,)) for each in staged]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.count(["mine/raced"]) == 1
    assert all("already" in text for text in got if isinstance(text, str))
    assert datasets.load("mine/raced").ids == ["a"]


def test_a_set_that_was_damaged_says_so_and_harms_no_other(tmp_path):
    importing.stage_import(wide(tmp_path / "set", GOOD, TWIN)).add_benchmark("dogs")
    importing.stage_import(wide(tmp_path / "other", GOOD)).add_benchmark("cats")
    path = user_sets.root() / "dogs/groups.jsonl"
    lines = path.read_text().splitlines()
    path.write_text(lines[0] + "\n")
    with pytest.raises(InputError, match="holds 1 groups and should hold 2"):
        datasets.load("mine/dogs")
    path.write_text(lines[0][:50])
    with pytest.raises(InputError, match="is not a list of groups"):
        datasets.load("mine/dogs")
    path.write_text(lines[0].replace(".png", "/../../x.png"))
    with pytest.raises(InputError, match="is not an image of a set"):
        datasets.load("mine/dogs")
    (user_sets.root() / "dogs/set.json").write_text("{")
    assert "mine/cats" in datasets.names()
    assert len(datasets.load("mine/cats")) == 1


def test_a_staged_set_can_be_thrown_away_and_yesterdays_are(tmp_path):
    import os

    staged = importing.stage_import(wide(tmp_path / "set", GOOD))
    old = user_sets.root() / ".staging-old"
    old.mkdir()
    os.utime(old, (1, 1))
    staged.discard()
    assert not staged.folder.exists()
    with pytest.raises(InputError, match="is no longer there; read it again"):
        staged.add_benchmark("gone")
    importing.stage_import(wide(tmp_path / "set2", GOOD))
    assert not old.exists()


def test_one_of_your_sets_is_evaluated_like_any_other(tmp_path):
    from core.metrics.evaluation import Evaluation
    from core.scoring.cache import ScoreCache
    from core.scoring.scores import score_groups

    importing.stage_import(wide(tmp_path / "set", GOOD, TWIN)).add_benchmark("dogs")
    groups = datasets.load("mine/dogs")

    class Red:
        """Scores an image by its red channel, with the sign of the caption."""

        name = key = "red"

        def score(self, images, captions, pairs):
            signs = [1 if text in ("a dry dog", "first") else -1 for text in captions]
            return np.array([signs[j] * images[i].open().getpixel((0, 0))[0] for i, j in pairs], np.float32)

    found = Evaluation.of(score_groups(Red(), groups, ScoreCache()), groups.truth, groups.ids)
    assert found.metrics["group_match"].value == 100.0


# --- the hub ---------------------------------------------------------------------------------------------------------


def hub_info(*names: str) -> SimpleNamespace:
    return SimpleNamespace(sha="abc", siblings=[SimpleNamespace(rfilename=n, size=100) for n in names])


@pytest.fixture
def online(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_the_splits_of_a_hub_set_come_from_its_parquet_files_and_scripts_are_never_fetched(
    monkeypatch, tmp_path, online
):
    import huggingface_hub

    def info(self, name, revision=None, **more):
        if revision is None:
            return hub_info("script.py", "README.md")
        assert revision == "refs/convert/parquet"
        return hub_info(
            "default/test/0000.parquet", "default/test/0001.parquet", "extra/train/0000.parquet", "x.py"
        )

    fetched = []
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", info)
    monkeypatch.setattr(
        huggingface_hub,
        "hf_hub_download",
        lambda name, file, **more: fetched.append((file, more)) or f"/x/{file}",
    )
    assert [(p.name, len(p.files), p.bytes) for p in list_parts("ada/pets")] == [
        ("test", 2, 200),
        ("extra/train", 1, 100),
    ]
    assert fetch_parts("ada/pets", "test") == [Path(f"/x/default/test/000{i}.parquet") for i in (0, 1)]
    assert {more["revision"] for _, more in fetched} == {"refs/convert/parquet"}
    with pytest.raises(InputError, match="Unknown split 'tset'; did you mean 'test'"):
        fetch_parts("ada/pets", "tset")


def test_what_the_hub_refuses_is_one_sentence(monkeypatch, online):
    import huggingface_hub
    from huggingface_hub import errors

    def refuse(error):
        def ask(self, *a, **k):
            raise error

        monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", ask)

    answer = SimpleNamespace(status_code=403, headers={}, request=None)
    cases = [
        (
            errors.GatedRepoError("x", response=answer),
            "is gated: accept its conditions at https://huggingface.co/",
        ),
        (errors.RepositoryNotFoundError("x", response=answer), "The hub has no data set 'ada/pets'"),
        (errors.HfHubHTTPError("x", response=answer), r"The hub refused 'ada/pets' \(403\)"),
        (ConnectionError("no route"), r"cannot be reached for 'ada/pets' \(ConnectionError\)"),
    ]
    for error, message in cases:
        refuse(error)
        with pytest.raises(InputError, match=message):
            list_parts("ada/pets")
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda *a, **k: hub_info("a.csv"))
    with pytest.raises(InputError, match="holds no Parquet files"):
        list_parts("ada/pets")


def test_offline_a_hub_set_is_a_sentence_without_a_wait(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="while HF_HUB_OFFLINE is set; unset it, or add a folder"):
        list_parts("ada/pets")


# --- anything at all -------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "parquet", "zip"])
def test_any_bytes_are_read_or_refused_in_one_sentence(tmp_path_factory, ending, data):
    path = tmp_path_factory.mktemp("any") / f"x.{ending}"
    path.write_bytes(data)
    try:
        importing.stage_import(path).discard()
    except InputError as error:
        assert "\n" not in str(error)


CELL = st.one_of(
    st.none(), st.booleans(), st.floats(), st.text(max_size=8), st.lists(st.text(max_size=3), max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["id", "images", "captions", "truth", "tags"]), CELL), max_size=4
    )
)
def test_any_json_lines_give_groups_or_problems(tmp_path_factory, records):
    folder = pictures(tmp_path_factory.mktemp("any"))
    first = {"images": ["images/0.png"], "captions": ["a", "b"], "truth": [0], "id": "sure"}
    (folder / "g.jsonl").write_text("\n".join(map(json.dumps, [first, *records])))
    staged = importing.stage_import(folder)
    assert 1 <= staged.groups <= 1 + len(records)
    assert staged.groups + staged.fatal >= 1 + len([r for r in records if r])
    staged.discard()


def test_a_table_can_be_gone_through_twice(tmp_path):
    table = open_manifest(wide(tmp_path / "set", GOOD, TWIN))
    assert [row.number for row in table.rows()] == [row.number for row in table.rows()] == [2, 3]
    assert table.columns == WIDE


# --- the commands ----------------------------------------------------------------------------------------------------


def crossmatch(*arguments: object):
    from typer.testing import CliRunner

    from core.cli import app

    return CliRunner().invoke(app, list(map(str, arguments)))


def test_a_folder_is_checked_added_listed_and_removed_by_command(tmp_path):
    folder = wide(tmp_path / "set", GOOD, ("c", "images/0.png", "images/9.png", "x", "y", "0 1", ""), TWIN)
    done = crossmatch("add", folder, "--name", "dogs", "--check", "--json")
    assert done.exit_code == 1
    record = json.loads(done.stdout)
    assert (record["groups"], record["left_out"]) == (2, 1)
    assert record["rows"][0]["what is wrong"] == "there is no image 'images/9.png'"
    refused = crossmatch("add", folder, "--name", "dogs")
    assert isinstance(refused.exception, InputError)
    assert user_sets.sets() == []
    added = crossmatch("add", folder, "--name", "dogs", "--skip-bad", "--licence", "CC0", "--json")
    assert json.loads(added.stdout)["benchmarks"] == ["mine/dogs"]
    assert datasets.load("mine/dogs").licence == "CC0"
    assert {"name": "mine/dogs", "state": f"found at {user_sets.root() / 'dogs'}"} in [
        {"name": row["name"], "state": row["state"]}
        for row in json.loads(crossmatch("list", "benchmarks", "--json").stdout)
    ]
    assert crossmatch("remove", "mine/dogs").exit_code == 0
    assert user_sets.sets() == []
    assert not list(user_sets.root().glob(".staging-*"))


def test_the_last_line_of_check_says_what_is_in_the_way_and_what_could_be_added(tmp_path):
    """“cannot be added yet: 1 groups”."""
    bad = ("c", "images/0.png", "images/9.png", "x", "y", "0 1", "")
    folder = wide(tmp_path / "set", GOOD, bad)
    verdict = lambda *more: crossmatch("add", folder, "--name", "k2", "--check", *more).stdout  # noqa: E731
    assert verdict() == (
        "mine/k2 cannot be added yet: 1 problem; fix it, or --skip-bad adds the 1 usable group\n"
    )
    assert verdict("--skip-bad", "--title", "K") == "mine/k2 could be added: 1 group, title 'K'\n"
    wide(folder, bad, (*bad[:3], "x", "", *bad[5:]))
    assert verdict() == "mine/k2 cannot be added yet: 4 problems; fix them\n"
    wide(folder, GOOD)
    assert crossmatch("add", folder, "--name", "k2").stdout == "added mine/k2: 1 group\n"


def test_every_problem_of_a_row_is_told_at_once(tmp_path):
    """A missing picture hid the answer that names no caption; of an image with its caption, the caption the picture."""
    staged = importing.stage_import(
        wide(tmp_path / "set", GOOD, ("c", "images/0.png", "images/9.png", "", "y", "0 7", ""))
    )
    assert told(staged) == [
        ("3", "image_1", "there is no image 'images/9.png'"),
        ("3", "caption_0", "there is no caption"),
        ("3", "truth", "'0 7' names captions that do not exist, or names one twice"),
    ]
    assert (staged.groups, staged.fatal) == (1, 3)
    folder = pictures(tmp_path / "long")
    (folder / "pairs.csv").write_text("group,image,caption\ng,images/0.png,a\ng,images/9.png,\n")
    assert told(importing.stage_import(folder)) == [
        ("3", "caption", "there is no caption"),
        ("3", "image", "there is no image 'images/9.png'"),
    ]


def test_columns_are_named_by_command(tmp_path):
    folder = pictures(tmp_path / "set")
    (folder / "t.csv").write_text("pic,right,wrong\nimages/0.png,a,b\n")
    names = ("--image", "pic", "--caption", "right", "--caption", "wrong")
    assert crossmatch("add", folder, "--name", "named", *names).exit_code == 0
    assert datasets.load("mine/named")[0].captions == ("a", "b")
    assert "Name the columns of both" in str(
        crossmatch("add", folder, "--name", "x", "--image", "pic").exception
    )


def test_a_group_that_is_there_twice_is_a_remark_that_names_the_first(tmp_path):
    """By other file names and the other way round: "no problems found" was said of it."""
    folder = wide(
        tmp_path / "set", GOOD, ("b", "images/9.png", "images/0.png", "a dry dog", "a dog, wet", "1 0", "x")
    )
    (folder / "images/9.png").write_bytes((folder / "images/1.png").read_bytes())
    staged = importing.stage_import(folder)
    assert (staged.groups, staged.fatal, staged.total) == (2, 0, 1)
    (problem,) = staged.problems
    assert problem.row == 3 and problem.what == (
        "group 'b' has the images and captions of group 'a', and counts twice"
    )


def test_only_an_image_that_no_row_names_is_suggested_for_one_that_is_missing(tmp_path):
    """`did you mean 'images/3.png'` was said where another row had it."""

    def fix(*lines: tuple) -> str:
        folder = wide(tmp_path / f"set {len(list(tmp_path.iterdir()))}", *lines)
        (row,) = importing.stage_import(folder).problem_rows()
        assert "there is no image" in row["what is wrong"]
        return row["what to do"]

    wrong = ("b", "images/2.png", "images/3_1.png", "first", "second", "1 0", "y")
    assert fix(GOOD, wrong) == "did you mean 'images/3.png'?"
    later = (
        "c",
        "images/0.png",
        "3.png",
        "third",
        "fourth",
        "0 1",
        "z",
    )  # in images/, as the other names say
    assert fix(GOOD, wrong, later).startswith("put it into set ")


def test_groups_that_are_there_twice_are_counted(tmp_path):
    """The column of that row was empty."""
    again = ("c", *GOOD[1:3], *GOOD[3:])
    (found,) = importing.stage_import(wide(tmp_path / "again", GOOD, again)).problems
    assert (found.row, found.column) == (3, "image_0, image_1, caption_0, caption_1")
    assert importing.stage_import(wide(tmp_path / "set", GOOD, TWIN, again)).repeated == 1
    assert importing.stage_import(wide(tmp_path / "other", GOOD, TWIN)).repeated == 0
