"""Ways to spoil a valid file: at random but repeatable, byte by byte or by what its format is made of.

Every function takes a `random.Random` and a file's bytes, and returns other bytes.
"""

from __future__ import annotations

import csv
import io
import json
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

Change = Callable[[Random, bytes], bytes]

# Cells as tables from the world hold them.
DIRT: tuple[Any, ...] = (
    *(
        "",
        " ",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "null",
        "None",
        "#N/A",
        "TRUE",
        "1,5",
        "1e999",
        "-0",
        "0x10",
        "٣",
        "²",
    ),
    *(
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\x.png",
        "a\0b",
        "http://127.0.0.1/x.png",
        "=1+1",
        "<script>",
        "$x$",
    ),
    *(
        "💥",
        "e\u0301",
        "\u202e",
        "\ufeff",
        "a\nb",
        "a\r\nb",
        '"',
        '"open',
        "'",
        ",",
        ";",
        "\t",
        "x" * 5000,
        "9" * 5000,
    ),
)
VALUES: tuple[Any, ...] = (
    *DIRT,
    *(None, True, False, 0, -1, 1, 2, 10**30, 1.5, -0.0, 1e308, 2**63, float("nan"), float("inf"), "\ud800"),
    *(
        [],
        {},
        [[]],
        [None],
        [1, 0],
        [0, 0],
        {"a": 1},
        {"bytes": "x"},
        {"path": "../x"},
        ["a"] * 100,
        [0.5, "a"],
    ),
)
MAGIC = (
    b"\0" * 8,
    b"\xff" * 8,
    b"\x80\x04",
    b"PK\x03\x04",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\r",
    b"\x1a",
    b"\x7f\xff\xff\xff",
)
DEEP = "[" * 50_000


def changed_bytes(random: Random, data: bytes) -> bytes:
    """Bits flipped, bytes put in, taken out, repeated, cut off; one to eight times."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randrange(len(out) + 1)
        size = random.choice((1, 1, 2, 4, 16, 100))
        how = random.randrange(7)
        if how == 0 and at < len(out):
            out[at] ^= 1 << random.randrange(8)
        elif how == 1 and at < len(out):
            out[at] = random.choice((0, 0x7F, 0x80, 0xFF, random.randrange(256)))
        elif how == 2:
            out[at:at] = random.choice(MAGIC)
        elif how == 3:
            del out[at : at + size]
        elif how == 4:
            out[at:at] = out[at : at + size]
        elif how == 5:
            out[at : at + 4] = struct.pack(
                "<I", random.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, random.randrange(2**32)))
            )
        else:
            del out[at:]
    return bytes(out)


def changed_words(random: Random, data: bytes) -> bytes:
    """Aligned words of four bytes replaced in place, as offsets, lengths and counts are in binary files."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = 4 * random.randrange(max(1, len(out) // 4))
        old = int.from_bytes(out[at : at + 4], "little")
        new = random.choice((0, 1, old + 1, old - 1, 2**30, 2**31 - 1, 2**32 - 1, random.randrange(2**32)))
        out[at : at + 4] = struct.pack("<I", new % 2**32)
    return bytes(out)


def either(*changes: Change, share: float = 0.35) -> Change:
    """Byte by byte in `share` of the cases; else one of `changes`, and now and then both."""

    def change(random: Random, data: bytes) -> bytes:
        if random.random() < share:
            return changed_bytes(random, data)
        data = random.choice(changes)(random, data)
        return changed_bytes(random, data) if random.random() < 0.1 else data

    return change


# --- text


def changed_csv(random: Random, data: bytes) -> bytes:
    """Cells, rows and columns changed; written in one of the ways that spreadsheets write."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig", "replace"), newline="")))
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        rows and _change_rows(random, rows)
    out = io.StringIO()
    dialect = {
        "delimiter": random.choice(",,,,;\t|"),
        "lineterminator": random.choice(("\n", "\n", "\r\n", "\r", "\n\n")),
        "quoting": random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
    }
    csv.writer(out, **dialect).writerows(rows)
    return _encoded(random, out.getvalue())


def _change_rows(random: Random, rows: list[list[Any]]) -> None:
    i = random.randrange(len(rows))
    j = random.randrange(len(rows[i]) or 1)
    how = random.randrange(8)
    if how <= 2 and rows[i]:
        rows[i][j] = str(random.choice(DIRT))
    elif how == 3:
        rows.insert(i, list(random.choice(rows)))
    elif how == 4 and len(rows) > 1:
        del rows[i]
    elif how == 5:
        (rows[i].pop(j) if rows[i] and random.random() < 0.5 else rows[i].append(str(random.choice(DIRT))))
    elif how == 6:
        for row in rows:
            if j < len(row):
                row[j] = rows[0][random.randrange(len(rows[0]) or 1)] if rows[0] else ""
    else:
        random.shuffle(rows)


def _encoded(random: Random, text: str) -> bytes:
    code = random.choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "latin-1", "utf-32"))
    return text.encode(code, "replace")


def changed_lines(random: Random, data: bytes) -> bytes:
    """Values, keys and lines of JSON lines."""
    lines = data.decode("utf-8", "replace").splitlines() or [""]
    for _ in range(random.choice((1, 1, 2, 5))):
        i = random.randrange(len(lines))
        how = random.randrange(7)
        if how <= 3:
            lines[i] = changed_text(random, lines[i])
        elif how == 4:
            lines.insert(i, random.choice(lines))
        elif how == 5:
            lines[i] = random.choice(
                ("", "[]", "null", "NaN", DEEP, '{"a":' * 5000, "{} {}", "//", "\u2028", "{'a': 1}")
            )
        else:
            random.shuffle(lines)
    return _encoded(random, random.choice(("\n", "\n", "\r\n", "\n\n")).join(lines))


def changed_json(random: Random, data: bytes) -> bytes:
    """As `changed_text`, of a file's bytes."""
    return changed_text(random, data.decode("utf-8", "replace")).encode("utf-8", "replace")


def changed_text(random: Random, text: str) -> str:
    """A JSON text with one to three of its values or keys changed; unchanged where it is no JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _changed(random, value)
    written = json.dumps(value, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.05:
        written = written.replace(":", f": {DEEP}", 1)
    if random.random() < 0.05:
        written = written.replace("{", '{"id": 1, "id": 2, ', 1)
    return written


def _changed(random: Random, value: Any) -> Any:
    """The tree with one place changed, deeper places as likely as shallow ones."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        key = random.choice(list(value))
        how = random.randrange(6)
        if how == 0:
            del value[key]
        elif how == 1:
            value[str(random.choice((*value, *DIRT)))] = value[key]
        elif how == 2:
            value[key] = random.choice(list(value.values()))
        else:
            value[key] = _changed(random, value[key])
        return value
    if isinstance(value, list) and value and random.random() < 0.8:
        i = random.randrange(len(value))
        how = random.randrange(5)
        if how == 0:
            del value[i]
        elif how == 1:
            value.insert(i, value[i])
        else:
            value[i] = _changed(random, value[i])
        return value
    return json.loads(json.dumps(random.choice(VALUES)))  # a copy


YAML_DIRT = (
    *(
        "!!python/object/apply:os.system ['true']",
        "!!binary aGk=",
        "&a [*a]",
        "*x",
        "{",
        "[",
        "- -",
        ": :",
        "!!set {a}",
        "~",
    ),
    *(
        "1e5",
        "0o17",
        "2001-01-01",
        "2001-99-99",
        ".inf",
        ".nan",
        "1_000",
        "0b2",
        "60:60",
        "<<: 1",
        "? [a]\n: b",
        "%YAML 9",
        "---",
    ),
    *("\t", "'", "|", ">", "@", "`", "x: " * 40, "[" * 3000, "- " * 3000, "9" * 5000, "../../etc", "\u0085"),
)


def changed_yaml(random: Random, data: bytes) -> bytes:
    """Lines and values of a YAML file."""
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(random.choice((1, 1, 2, 4))):
        i = random.randrange(len(lines))
        how = random.randrange(6)
        key, colon, _ = lines[i].partition(":")
        word = str(random.choice((*YAML_DIRT, *DIRT)))
        if how <= 2:
            lines[i] = f"{key}{colon} {word}"
        elif how == 3:
            lines.insert(i, random.choice((word, *lines)))
        elif how == 4 and len(lines) > 1:
            del lines[i]
        else:
            lines[i] = " " * random.randrange(4) + lines[i]
    return _encoded(random, "\n".join(lines))


# --- arrays and tables


def changed_npz(random: Random, data: bytes) -> bytes:
    """Arrays of other shapes, kinds and names; headers that promise too much; pickles."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice(list(arrays) or ["scores"])
        how = random.randrange(10)
        if how == 0:
            arrays.pop(name, None)
        elif how == 1:
            arrays[
                random.choice(
                    ("x", "", "img", "cap", "captions", "truth", "ids", "tag_x", "tag_", "../x", "scores")
                )
            ] = arrays.get(name, np.zeros(3))
        elif name in arrays:
            arrays[name] = _changed_array(random, arrays[name])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, array in arrays.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.asanyarray(array), allow_pickle=True)
            written = inner.getvalue()
            if random.random() < 0.1:
                written = _lying_header(random, written)
            archive.writestr(f"{name}.npy", written)
    return buffer.getvalue()


def _changed_array(random: Random, array: np.ndarray) -> np.ndarray:
    kinds = (
        "f2",
        "f4",
        "f8",
        "i1",
        "i8",
        "u8",
        "?",
        "c8",
        "U4",
        "S4",
        "M8[s]",
        "m8[s]",
        "V3",
        "O",
        ">f8",
        "f4,i4",
    )
    how = random.randrange(8)
    try:
        if how == 0:
            return array.astype(random.choice(kinds))
        if how == 7:  # what is no text and no character
            codes = np.array(random.choices((0, 65, 0xD800, 0xDFFF, 0x110000, 2**32 - 1), k=2 * len(array)))
            return codes.astype("<u4").view("<U2")
        if how == 1:
            return array.reshape(random.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1), (-1, 1, 1, 1))))
        if how == 2:
            return array[: random.randrange(len(array) + 1)]
        if how == 3:
            return np.concatenate([array, array[:1]])
        if how == 4:
            return np.array(random.choice((0, np.nan, "x", None, {"a": 1}, [], [[]])), dtype=None)
        if how == 5:
            return np.zeros(
                random.choice(((), (0,), (0, 2, 2), (2, 0, 2), (3, 2, 2), (1, 1, 1), (65, 70, 3)))
            )
        spoiled = array.copy()
        spoiled.ravel()[random.randrange(array.size or 1)] = random.choice((np.nan, np.inf, -1, 2**31, 0))
        return spoiled
    except (ValueError, TypeError, IndexError, OverflowError):
        return np.zeros((2, 2, 2))


def _lying_header(random: Random, written: bytes) -> bytes:
    """A header of the same length that claims another shape."""
    start = written.index(b"'shape': (")
    end = written.index(b"}", start)
    claims = (
        b"(999999999999,)",
        b"(-1,)",
        b"(2, 2)",
        b"(99999, 99999)",
        b"(1e9,)",
        b"(2" + b",2" * 40 + b")",
        b"None",
    )
    claim = b"'shape': " + random.choice(claims) + b", "
    return written[:start] + claim.ljust(end - start)[: end - start] + written[end:]


def changed_parquet(random: Random, data: bytes) -> bytes:
    """Columns of other kinds and names, nulls, nested values, no rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(io.BytesIO(data)).to_pylist()
    names = list(rows[0]) if rows else ["group"]
    for _ in range(random.choice((1, 1, 2, 4))):
        name = random.choice(names)
        how = random.randrange(7)
        for row in rows if how < 4 else [random.choice(rows or [{}])]:
            if how == 0:
                row.pop(name, None)
            elif how == 1:
                row[str(random.choice(DIRT))] = row.get(name)
            elif how == 2:
                row[name] = [row.get(name)]
            elif how == 3:
                row[name] = str(row.get(name))
            else:
                row[name] = random.choice((None, None, row.get(random.choice(names))))
        if how == 5:
            rows = rows[: random.randrange(len(rows) + 1)]
        elif how == 6:
            random.shuffle(rows)
    try:
        table = pa.Table.from_pylist(rows)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        table = pa.table({name: [str(row.get(name)) for row in rows] for name in names})
    out = io.BytesIO()
    pq.write_table(table, out, compression=random.choice(("snappy", "none", "zstd")))
    return out.getvalue()


# --- archives and images


def changed_zip(inner: dict[str, Change], seal: Callable[[dict[str, bytes]], None] | None = None) -> Change:
    """Files of a zip changed inside (`inner`: ending -> how), renamed, left out, turned into links.

    seal : mends checksums in nine of ten cases, so that what is inside is looked at.
    """

    def change(random: Random, data: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        for _ in range(random.choice((1, 1, 2))):
            name = random.choice(list(files) or ["x"])
            how = random.randrange(9)
            if how <= 5 and name in files:
                files[name] = spoiled(random, files[name], inner.get(name.rpartition(".")[2], changed_bytes))
            elif how == 6:
                files.pop(name, None)
            elif how == 7:
                files[random.choice(_NAMES)] = files.get(name, b"")
        if seal is not None and random.random() < 0.9:
            seal(files)
        return _zipped(random, files)

    return change


def spoiled(random: Random, data: bytes, change: Change) -> bytes:
    """Changed as its format asks; byte by byte where it is not of that format."""
    try:
        return change(random, data)
    except Exception:  # spoiled before, or under another ending than its own
        return changed_bytes(random, data)


_NAMES = (
    *(
        "../x.csv",
        "/x.csv",
        "a/../../x",
        "x\\y.csv",
        "a\0b",
        "",
        ".",
        "..",
        "a/",
        "x.zip",
        "manifest.csv",
        "manifest.jsonl",
    ),
    *(
        "__MACOSX/._x",
        ".hidden.csv",
        "images",
        "images/x.csv",
        "e\u0301.png",
        "CON",
        "x" * 300,
        "a/" * 100 + "x",
        "c:x",
    ),
)


def _zipped(random: Random, files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            if random.random() < 0.02:
                info.external_attr = random.choice((0o120777, 0o020666, 0o040755)) << 16
            archive.writestr(info, data)
    return out.getvalue()


def changed_image(random: Random, data: bytes) -> bytes:
    """The picture in another format and mode, with broken or claimed-huge headers."""
    from PIL import Image

    image = Image.open(io.BytesIO(data))
    image = image.convert(
        random.choice(
            ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "I;16")[:12]
        )
    )
    out = io.BytesIO()
    form = random.choice(("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "ICO", "TGA"))
    try:
        image.save(out, form, **({"exif": _exif(random)} if form in ("JPEG", "PNG", "WEBP", "TIFF") else {}))
    except Exception:  # Pillow reads the spoiled EXIF back, or cannot save this mode in this format
        return changed_bytes(random, data)
    written = out.getvalue()
    if form == "PNG" and random.random() < 0.3:
        size = struct.pack(">II", *random.choices((0, 1, 7000, 9000, 2**31 - 1), k=2))
        written = written[:16] + size + written[24:]
    return changed_bytes(random, written) if random.random() < 0.6 else written


def _exif(random: Random) -> bytes:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = random.choice((0, 1, 3, 6, 8, 9, 65535))
    data = bytearray(exif.tobytes())
    if random.random() < 0.5:
        data[random.randrange(len(data))] ^= 0xFF
    return bytes(data)


def pick(random: Random, options: Sequence[bytes]) -> bytes:
    """One of the valid files."""
    return options[random.randrange(len(options))]
