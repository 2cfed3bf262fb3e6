"""What one stranger's small file may cost: limits on what it unfolds to, asked before anything is allocated."""

import io
import json
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core import worker
from core.base import _parquet as parquet_module
from core.base import limits
from core.base._parquet import read_parquet
from core.base.errors import InputError
from core.base.interrupt import interruptible
from core.base.limits import LOCAL, PUBLIC, check, check_memory, memory_left
from core.base.table_formats import open_table
from core.datasets.score_files import read_scores, read_tags
from core.matching.blocks import _block_size
from core.matching.groups import match
from core.metrics.groups import outcomes
from core.rejudge._reading import read_file
from core.teaching.single_group import evaluate_file

MB = 1 << 20
STATUS, REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_of(call) -> int:
    """Bytes by which this process grew at most while `call` ran, whoever allocated them."""
    if not REFS.exists():
        pytest.skip("needs Linux' own count of a process' memory")

    def status(key):
        return 1024 * next(
            int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(key)
        )

    REFS.write_text("5")  # the highest mark starts again from here
    before = status("VmRSS")
    call()
    return status("VmHWM") - before


@pytest.fixture
def visitor(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def parquet(columns, **how) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="zstd", store_schema=False, **how)
    return out.getvalue()


def one_text_for_all(rows: int, length: int) -> bytes:
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["x" * length]))
    numbers = {name: np.zeros(rows) for name in ("image", "caption", "score")}
    return parquet({"group": same, **numbers})


def lying(length: int) -> bytes:
    """One text of so many letters in a file whose directory says that it takes a thousand."""
    columns = {"group": pa.array(["x" * length])}
    content = parquet(columns, use_dictionary=False, write_statistics=False)
    length_of_footer = int.from_bytes(content[-8:-4], "little")
    pages, footer = content[: -8 - length_of_footer], content[-8 - length_of_footer : -8]
    group = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    for claim in {group.total_byte_size, group.column(0).total_uncompressed_size}:
        true = varint(2 * claim)
        assert footer.count(true) >= 1
        footer = footer.replace(true, varint(2000, len(true)))
    return pages + footer + content[-8:]


def varint(number: int, length: int = 0) -> bytes:
    """Thrift's number of 7 bits a byte, padded to a length."""
    found = bytearray()
    while number >= 128 or len(found) + 1 < length:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def lists(rows: int, length: int) -> bytes:
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * length)
    return parquet({"group": pa.ListArray.from_arrays(offsets, pa.array(np.zeros(rows * length, np.int8)))})


def many_arrays(count: int) -> bytes:
    out, one = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(one, np.zeros(1))
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(count):
            archive.writestr(f"a{i}.npy", one.getvalue())
    return out.getvalue()


def npy(kind: str, shape: tuple[int, ...]) -> bytes:
    """The head of an array: whatever is behind it."""
    out = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, about)
    return out.getvalue()


def lying_zip(name: str, content: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip whose directory says of its member that it unpacks to 200 bytes."""
    found = bytearray(zipped(name, content, packing))
    at = found.index(b"PK\x01\x02") + 24
    found[at : at + 4] = (200).to_bytes(4, "little")
    return bytes(found)


def zipped(name: str, content: bytes, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing, compresslevel=1) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def many_names(count: int) -> bytes:
    """A zip of nothing but a directory, of members without content."""
    entry = b"PK\x01\x02" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"a"
    size = count * len(entry)
    end = b"PK\x05\x06" + bytes(8) + size.to_bytes(4, "little") + bytes(6)
    return b"scores.npy" + entry * count + end


def stream(column: pa.Array, packing: str | None = "zstd") -> bytes:
    """Arrow's stream of one batch."""
    out, batch = io.BytesIO(), pa.record_batch({"group": column})
    with pa.ipc.new_stream(out, batch.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write(batch)
    return out.getvalue()


LINE = b'{"c0_i0": 1, "c1_i0": 0}\n'
# What each would become: the first text for every row 4 GB, the lists 8 GB, the header for every row 80 GB, ...
HOSTILE = {
    "one long text for all rows": ("x.parquet", lambda: one_text_for_all(4000, MB), "more than its size"),
    "many rows": ("x.parquet", lambda: one_text_for_all(3_000_000, 1), "cells"),
    "lists in cells": ("x.parquet", lambda: lists(4, 10 * MB), "leave it out"),
    "a wide header over short rows": ("x.csv", lambda: b"a," * 100_000 + b"\n" + b"x\n" * 100_000, "columns"),
    "a wide row under a short header": (
        "x.csv",
        lambda: b"a,b\n" + b"1," * 100_000 + b"\n" + b"x\n" * 100_000,
        "row 2 has 100000 cells, the header 2",
    ),
    "a wide row at the end": (
        "x.csv",
        lambda: b"a,b\n" + b"x\n" * 100_000 + b"1," * 100_000 + b"\n",
        "row 2 has 1 cell, the header 2",
    ),
    "a header over blank lines": (
        "x.csv",
        lambda: b"\n \n\r\n" + b"a," * 100_000 + b"\n" + b"x\n" * 100_000,
        "columns",
    ),
    "a header behind a line break in quotes": (
        "x.csv",
        lambda: b'"a\nb",' + b"a," * 100_000 + b"\n" + b"x\n" * 100_000,
        "columns",
    ),
    "a row of quotation marks": (
        "x.csv",
        lambda: b"group,image,caption,score\n" + b'"' * 18_000_000,
        "row 2 cannot be read .field larger than",
    ),
    "rows alone": ("x.csv", lambda: b"group,image,caption,score\n" + b"0\n" * 9_000_000, "cells"),
    "columns alone": ("x.csv", lambda: b"," * 18_000_000, "cells"),
    "other tags in every line": (
        "x.jsonl",
        lambda: b"".join(b'{"c0_i0": 1, "c1_i0": 0, "t%d": ""}\n' % i for i in range(100_000)),
        "columns, tags",
    ),
    "one line of empty lists": (
        "x.jsonl",
        lambda: b'{"c0_i0": 1, "c1_i0": 0, "t": [' + b"[]," * 6_000_000,
        "in one line",
    ),
    "a list of empty lists": ("x.json", lambda: b"[" + b"[]," * 6_000_000 + b"[]]", "marks of JSON"),
    "objects in objects": ("x.json", lambda: b"[" + b'{"a":{}},' * 2_000_000 + b"{}]", "marks of JSON"),
    "many subsets": (
        "x.json",
        lambda: b'{"mteb_model_meta":{}' + b"".join(b',"s%d":{"t":[]}' % i for i in range(900_000)) + b"}",
        "marks of JSON",
    ),
    "many subsets of a group": (
        "x.json",
        lambda: (
            b'{"mteb_model_meta":{}' + b"".join(b',"s%d":{"t":[[[1,2]]]}' % i for i in range(150_000)) + b"}"
        ),
        "groups",
    ),
    "lines of one digit": ("x.jsonl", lambda: b"1\n" * 9_000_000, "not a JSON object"),
    "many groups": ("x.jsonl", lambda: LINE * 100_001, "groups"),
    "a cell far out": ("x.jsonl", lambda: b'{"c0_i0": 1, "c999999999_i999999999": 0}\n', "add it"),
    "an index of many digits": (
        "x.jsonl",
        lambda: b'{"c0_i0": 1, "c%s_i0": 0}' % (b"9" * 5000),
        "Groups of 1 image and 1 caption cannot",
    ),
    "a group as large as a set": (
        "x.npz",
        lambda: npz(scores=np.zeros((1, 2000, 2000), np.int8)),
        "one group",
    ),
    "many groups of an NPZ": ("x.npz", lambda: npz(scores=np.zeros((400_000, 1, 2), np.int8)), "groups"),
    "many arrays": ("x.npz", lambda: many_arrays(20_000), "columns, tags or arrays"),
    "a member that its directory says is small": (
        "x.npz",
        lambda: lying_zip("scores.npy", bytes(250 * MB)),
        "damaged",
    ),
    "a member in another packing": (
        "x.npz",
        lambda: lying_zip("scores.npy", npy("<f8", (1, 1, 2)) + bytes(MB), zipfile.ZIP_BZIP2),
        "packed in an unusual way",
    ),
    "a group as large as a set, alone": (
        "x.npy",
        lambda: npy("|i1", (1, 2000, 2000)) + bytes(4_000_000),
        "one group",
    ),
    "many groups of an NPY": ("x.npy", lambda: npy("|i1", (400_000, 1, 2)) + bytes(800_000), "groups"),
    "an NPY that says it is large": ("x.npy", lambda: npy("<f8", (10**12, 2, 2)) + bytes(MB), "damaged"),
    "names of members": ("x.npz", lambda: many_names(400_000), "columns, tags or arrays"),
    "names of bytes": (
        "x.npz",
        lambda: npz(scores=np.zeros((8, 1, 2)), ids=np.full(8, b"a" * 2_500_000)),
        "decompressed",
    ),
    "names as long as files": (
        "x.npz",
        lambda: npz(scores=np.zeros((2, 1, 2)), ids=np.zeros(2, "U9000000")),
        "more than its size",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_that_stands_for_much_is_refused_in_one_sentence_and_little_memory(visitor, name):
    path, make, said = HOSTILE[name]
    content = make()
    assert len(content) < 20 * MB

    def read():
        with pytest.raises(InputError, match=said):
            read_scores(path, content)

    assert peak_of(read) < 200 * MB


@pytest.mark.slow
def test_a_parquet_file_that_lies_about_its_size_fills_the_memory_of_a_process_apart_and_no_more(
    visitor, monkeypatch
):
    content = lying(100 * MB)
    assert len(content) < MB
    assert peak_of(lambda: refused("x.parquet", content)) < 50 * MB  # by its unfolded size
    monkeypatch.setattr(parquet_module, "_APART_BYTES", 64 * MB)
    with pytest.raises(InputError, match="more than its size"):
        read_parquet("x.parquet", content, 1000 * MB)
    monkeypatch.setattr(parquet_module, "_APART_BYTES", 1000 * MB)
    assert read_parquet("x.parquet", content, 1000 * MB).column(0)[0].as_py() == "x" * 100 * MB


@pytest.mark.parametrize(
    ("work", "wait", "said"),
    [
        ("while True: pass", 600.0, "x.parquet takes more than 1 s of processor to read"),
        ("time.sleep(600)", 1.0, "server is too busy to read x.parquet now; try again in some minutes"),
        ("time.sleep(2)", 600.0, None),
    ],
)
def test_a_process_apart_has_its_time_of_a_processor_and_waits_for_one(monkeypatch, work, wait, said):
    """It had a minute by the clock: on a busy server good files were refused as too large."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(parquet_module, "_APART_SECONDS", 1)
    monkeypatch.setattr(parquet_module, "_APART_WAIT", wait)
    command, environment = parquet_module.module_command("core.base._parquet", [])
    slow = f"""
import time
from core.base import _parquet
read = _parquet._read_here
def slowly(*given):
    {work}
    return read(*given)
_parquet._read_here = slowly
_parquet._main()
"""
    changed = lambda module, given: ([command[0], "-c", slow], environment)  # noqa: E731
    monkeypatch.setattr(parquet_module, "module_command", changed)
    content = parquet({"a": ["x"]})
    if said is None:
        assert read_parquet("x.parquet", content, MB).column(0).to_pylist() == ["x"]
    else:
        with pytest.raises(InputError, match=said):
            read_parquet("x.parquet", content, MB)


def refused(name, content):
    with pytest.raises(InputError, match="more than its size"):
        read_scores(name, content)


def test_what_a_process_apart_finds_wrong_is_the_same_sentence(monkeypatch):
    said = {}
    for mode in ("", "1"):
        monkeypatch.setenv("CROSSMATCH_PUBLIC", mode)
        said[mode] = []
        for content in (b"PAR1 no file PAR1", parquet({"a": ["x"]}), lists(1, 2)):
            with pytest.raises(InputError) as caught:
                read_scores("a\0 \ud800 file.parquet", content)
            said[mode].append(str(caught.value))
    assert said[""] == said["1"] and "no column 'group'" in said["1"][1]


STREAMS = {
    "many rows": (lambda: pa.array(np.zeros(3_000_000, np.int8)), "cells"),
    "packed": (lambda: pa.array(np.zeros(60_000_000)), "more than its size"),
    "one text": (lambda: pa.array(["a" * 100 * MB]), "more than its size"),
    "a text for every row": (
        lambda: pa.DictionaryArray.from_arrays(np.zeros(4000, np.int32), ["a" * MB]),
        "more than its size",
    ),
    "lists": (lambda: pa.array([[1]]), "leave it out"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_small_arrow_stream_that_stands_for_much_is_refused_in_one_sentence_and_little_memory(
    visitor, name
):
    make, said = STREAMS[name]
    content = stream(make())
    assert len(content) < MB

    def read():
        with pytest.raises(InputError, match=said):
            open_table("x.arrow", content).frame()

    assert peak_of(read) < 50 * MB


def test_a_small_stream_is_the_same_table_here_and_on_a_public_server(monkeypatch):
    column = pa.array([3, None, 1, 3]).dictionary_encode()
    for mode in ("", "1"):
        monkeypatch.setenv("CROSSMATCH_PUBLIC", mode)
        found = open_table("x.arrow", stream(column)).frame()["group"]
        np.testing.assert_array_equal(found.to_numpy(float), [3, np.nan, 1, 3])
        texts = open_table("x.arrow", stream(pa.array(["a", None, "b"]).dictionary_encode())).frame()
        assert texts["group"].fillna("-").tolist() == ["a", "-", "b"]


def test_a_table_of_tags_has_the_same_limits(visitor):
    with pytest.raises(InputError, match="columns"):
        read_tags("tags.csv", b"id," + b"a," * 100_000 + b"\n" + b"x\n" * 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.npz", "x.jsonl"])
def test_a_visitors_largest_files_are_read_in_bounded_memory(visitor, tmp_path, name):
    from core.datasets.score_files import write_scores

    scores = np.random.default_rng(0).normal(size=(90_000, 2, 2))
    write_scores(tmp_path / name, scores)
    content = (tmp_path / name).read_bytes()
    found = []
    assert peak_of(lambda: found.append(read_scores(name, content))) < 300 * MB
    np.testing.assert_array_equal(found[0].scores, scores)


def test_as_many_tags_as_a_visitor_may_bring_are_read_in_bounded_memory(visitor):
    content = npz(
        scores=np.random.default_rng(0).normal(size=(10_000, 2, 2)),
        **{f"tag_{i}": np.arange(10_000) + i for i in range(195)},
    )
    found = []
    assert peak_of(lambda: found.append(read_scores("x.npz", content))) < 150 * MB
    assert found[0].tags.iloc[-1].tolist() == [str(9_999 + i) for i in range(195)]


@pytest.mark.parametrize("name", PUBLIC._fields)
def test_a_limit_is_told_with_what_there_is_and_what_may_be(visitor, name):
    most = getattr(PUBLIC, name)
    check("x.npz", **{name: most})
    with pytest.raises(
        InputError, match=rf"x.npz comes to {most + 1:,} .*; the limit is {most:,}: make it smaller"
    ):
        check("x.npz", **{name: most + 1})


def test_on_ones_own_machine_limits_are_far_higher(monkeypatch):
    monkeypatch.delenv("CROSSMATCH_PUBLIC", raising=False)
    assert limits.limits() is LOCAL
    higher = {name: getattr(LOCAL, name) / getattr(PUBLIC, name) for name in PUBLIC._fields}
    assert higher.pop("pixels") == 2  # more than any camera takes on either
    assert min(higher.values()) >= 32
    assert match(np.zeros((200_000, 1, 2))).tied.all()  # twice a visitor's groups


def test_scores_that_no_visitor_may_ask_for_are_refused_wherever_they_come_from(visitor):
    for shape, said in (
        ((200_000, 1, 2), "groups"),
        ((1, 400, 400), "one group"),
        ((1000, 30, 40), "scores .groups"),
    ):
        with pytest.raises(InputError, match=said):
            match(np.broadcast_to(np.float32(0), shape))


def test_a_visitor_brings_files_of_twenty_megabytes(visitor):
    """Whatever the browser said: not every client is one."""
    with pytest.raises(InputError, match="20,971,521 bytes; the limit is 20,971,520"):
        evaluate_file("x.csv", b"0" * (20 * MB + 1))
    with pytest.raises(InputError, match="no column"):
        evaluate_file("x.csv", b"a,b\n1,2\n")


@pytest.mark.parametrize("m", [2, 7, 100, 1000, 10_000])
def test_a_block_of_groups_takes_64_megabytes_or_is_one_group(m):
    size = _block_size(np.broadcast_to(np.float32(0), (1, m, m)))
    assert size == 1 or 8 * size * m * m <= 64 * MB


@pytest.mark.parametrize("kind", ["zeros", "levels", "random", "products"])
def test_a_visitors_largest_groups_take_bounded_work(visitor, monkeypatch, kind):
    """Ties included: the most that may be asked for is 600 million steps, of an assignment and of its cycles."""
    m = 316
    scores = {
        "zeros": np.zeros((1, m, m)),
        "levels": np.random.default_rng(0).integers(0, 2, (1, m, m)).astype(float),
        "random": np.random.default_rng(0).normal(size=(1, m, m)),
        "products": np.outer(np.arange(m) + 1.0, np.arange(m) + 1.0)[None],
    }[kind]
    asked = []
    with interruptible(lambda: asked.append(1)):
        found = match(scores)
    # One look before the assignment, one before each round of potentials, one before each of m rounds of paths, which
    # a tie saves.
    tied = kind in ("zeros", "levels")
    assert found.tied.all() == tied
    assert len(asked) < 20 if tied else m < len(asked) <= 2 * m + 3
    with pytest.raises(InputError, match=r"scores \(groups"):
        match(np.broadcast_to(scores, (20, m, m)))


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize(("m", "k"), [(1, 9), (2, 9), (3, 20), (9, 9), (4, 40)])
def test_outcomes_of_many_captions_are_those_of_every_group_by_itself(m, k, levels):
    rng = np.random.default_rng(m * k)
    scores = rng.normal(size=(40, m, k)) if levels is None else rng.integers(0, levels, (40, m, k)) / 2
    truth = rng.random((40, k)).argsort(axis=1)[:, :m]
    together = outcomes(scores, truth)
    for g in range(40):  # one group has one truth, which takes the other way
        for name, alone in outcomes(scores[g : g + 1], truth[g : g + 1]).items():
            assert together[name].value[g] == alone.value[0] and together[name].tied[g] == alone.tied[0]


def test_captions_that_differ_by_group_cost_no_more_than_in_proportion_to_their_number():
    """With every caption tried for every group it was the square: 10 groups of 316 x 316 took 11 s."""

    def seconds(k):
        scores = np.random.default_rng(0).normal(size=(20, 1, k))
        truth = np.arange(20)[:, None]
        times = []
        for _ in range(3):
            began = time.process_time()
            outcomes(scores, truth, ["text_score", "group_match"])
            times.append(time.process_time() - began)
        return min(times)

    seconds(1000)
    assert seconds(40_000) < 8 * max(
        seconds(10_000), 0.01
    )  # 4 times as many; the square would be 16 times the work


def test_what_does_not_fit_into_memory_is_refused_in_one_sentence(monkeypatch):
    left = memory_left()
    assert 0 < left < 1 << 50
    check_memory("A matrix", left // 2)
    with pytest.raises(
        InputError, match=r"A matrix needs about .* GB of memory, and .* GB are left; make it smaller"
    ):
        check_memory("A matrix", 2 * left)
    check_memory("A matrix", 1000)
    monkeypatch.setattr(limits, "memory_left", lambda: 0)
    check_memory("A matrix", 1000)  # too small to be worth a question


BOUND = """
import numpy, torch
from core.base import limits
limits.memory_left = lambda: 400_000_000
limits._bound_own_memory()
torch.ones(20_000_000)  # 80 MB
from core.scorers._memory import is_out_of_memory
for far in (lambda: torch.ones(500_000_000), lambda: numpy.ones(500_000_000)):
    try:
        far()
    except Exception as error:
        print(is_out_of_memory(error))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a limit that Linux alone has")
def test_a_process_that_bounds_itself_runs_out_of_memory_before_the_machine_does():
    """A step of SmolVLM-256M took all 24 GB: the machine stood still for ten minutes, and everything on it ended."""
    ended = subprocess.run([sys.executable, "-c", BOUND], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["True", "True"]


def test_a_run_bounds_its_memory_once_its_turn_has_come(monkeypatch):
    """Before that another run holds what will be free."""
    events = []

    def read(_):
        events.append("read")
        raise InputError("enough")

    monkeypatch.setattr(worker, "_bound_own_memory", lambda: events.append("bound"))
    monkeypatch.setattr(worker, "resolve_name", read)
    run = SimpleNamespace(kind="evaluate", config={})
    turn = SimpleNamespace(run=run, wait_for_turn=lambda _: not events.append("turn"))
    assert worker.work(turn) == ("failed", "enough") and events == ["turn", "bound", "read"]


def test_lines_are_read_as_before():
    lines = [{"id": f"g{i}", "c0_i0": i, "c1_i0": 2 * i, "truth": [1], "kind": f"t{i % 2}"} for i in range(4)]
    content = "\n\n".join(map(json.dumps, lines)).encode()
    found = read_scores("x.jsonl", content)
    assert found.scores[:, 0].tolist() == [[i, 2 * i] for i in range(4)]
    assert found.truth.tolist() == [[1]] * 4 and found.ids == ["g0", "g1", "g2", "g3"]
    assert found.tags["kind"].tolist() == ["t0", "t1", "t0", "t1"]


# --- what SECURITY.md says of them

ROOT = Path(__file__).resolve().parent.parent
TABLE = [
    [cell.strip() for cell in line.strip("| \n").split("|")]
    for line in (ROOT / "SECURITY.md").read_text().splitlines()
    if line.startswith("| ") and "`test_" in line
]


def words(name: str, number: int) -> str:
    """A limit as SECURITY.md writes it."""
    if name in ("file", "unfolded", "line", "measured"):
        return f"{number >> 30} GiB" if number >> 30 else f"{number >> 20} MiB"
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if size <= number < 1000 * size:
            return f"{number // size} {word}"
    return f"{number:,}" if number < 10**6 else f"10^{len(str(number)) - 1}"


@pytest.mark.parametrize("name", PUBLIC._fields)
def test_security_says_every_limit_with_its_number(name):
    said = [row[1:3] for row in TABLE if f"`{name}`" in row[0]]
    assert said == [[words(name, getattr(LOCAL, name)), words(name, getattr(PUBLIC, name))]]


def test_every_test_that_security_names_is_there():
    there = {
        name
        for path in (ROOT / "tests").glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    named = [name for row in TABLE for name in re.findall(r"`(test_\w+)", row[3])]
    assert len(named) >= len(TABLE) > 10 and not set(named) - there


def test_every_test_that_contributing_names_is_there():
    """Its table of faults: `test_worker.py`: `..part_of_a_name..`, of the file named last before it."""
    table = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if "`test_" in line]
    named = []
    for cell in (line.strip("| ").split(" | ")[-1] for line in table if line.startswith("| ")):
        for word in re.findall(r"`([^`]+)`", cell):
            if word.startswith("test_"):
                text = (ROOT / "tests" / word).read_text()
            elif word.startswith(".."):
                named.append(word.strip("."))
                assert re.search(rf"^def test_\w*{named[-1]}", text, re.M), word
    assert len(named) >= 20


def test_a_key_that_comes_twice_among_a_hundred_thousand_is_found_in_one_pass(tmp_path):
    """A line of 660 kB kept a server busy for a minute: every key was counted among all."""
    keys = [f"{i:06d}" for i in range(100_000)]
    (tmp_path / "x.jsonl").write_text("{" + ",".join(f'"{key}":0' for key in [*keys, keys[-1]]) + "}\n")
    with pytest.raises(InputError, match="has the key '099999' twice"):
        read_scores(tmp_path / "x.jsonl")


def test_a_sample_log_has_no_more_tags_than_a_table_columns(tmp_path):
    """Each field of its documents is a column for all groups: 245 kB took 1.7 GB."""
    fields = {f"field {i}": "x" for i in range(10_001)}
    row = {"doc_id": 0, "filtered_resps": [[-1.0, False], [-2.0, False]], "target": "0", "doc": fields}
    (tmp_path / "samples.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match="columns"):
        read_scores(tmp_path / "samples.jsonl")


def test_a_log_in_a_zip_unfolds_no_further_than_an_npz(tmp_path):
    """1.5 MB of spaces took 3.1 GB; and a directory need not be true."""
    path = tmp_path / "x.eval"
    for content, said in (
        (zipped("header.json", b" " * (200 * MB)), "more than its size"),
        (lying_zip("header.json", b" " * (200 * MB)), "damaged"),
    ):
        path.write_bytes(content)
        assert peak_of(lambda said=said: no_results(path, said)) < 50 * MB


def no_results(path, said):
    with pytest.raises(InputError, match=said):
        read_file(path)


def test_an_npz_member_that_is_no_array_is_one_sentence(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("scores.npy", b"no array at all")
    with pytest.raises(InputError, match=r"x\.npz"):
        read_scores(tmp_path / "x.npz")
