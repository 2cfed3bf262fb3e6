"""Every reader with spoiled files and with dirt from the world: a result or one sentence, and nothing in between."""

import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from benchmarks.safety.fuzz import FORMATS, cases
from core.base import _zip
from core.base.errors import InputError
from core.base.table_formats import open_table, read_arrays
from core.datasets.embeddings import read_embeddings
from core.datasets.score_files import read_scores, read_tags, write_scores
from core.exchange import importing

pytestmark = pytest.mark.slow

CASES = 120  # of each format; `python -m benchmarks.safety.fuzz` runs thousands
LONG = "group,image,caption,score\n"
GOOD = f"{LONG}a,0,0,1.5\na,0,1,2\n"


@pytest.mark.parametrize("name", FORMATS)
def test_a_spoiled_file_is_read_or_refused_in_one_sentence(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries remark on what they are given
        found = list(cases(name, 20_000, CASES, tmp_path))
    assert len(found) == CASES
    assert [case for case in found if case.outcome not in ("read", "refused")] == []
    assert len({case.outcome for case in found}) == 2 or name == "model"  # neither all nor nothing passes


# --- dirt


def test_texts_of_an_array_file_are_decoded_or_refused():
    scores = np.zeros((2, 1, 2))
    found = read_scores(
        "x.npz", npz(scores=scores, ids=np.array([b"a", "é".encode()]), tag_t=np.array([b"\xff", b"b"]))
    )
    assert found.ids == ["a", "é"] and found.tags["t"].tolist() == ["\ufffd", "b"]
    with pytest.raises(InputError, match=r"'tag_t' is .*texts or numbers"):
        read_scores("x.npz", npz(scores=scores, tag_t=np.zeros(2, dtype="f4,i4")))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_marks_and_line_ends_change_no_number(mark, end):
    text = GOOD.replace("\n", end)
    assert read_scores("x.csv", mark + text.encode()).scores.tolist() == [[[1.5, 2.0]]]
    lines = end.join(['{"c0_i0": 1.5, "c1_i0": 2, "id": "é💥"}', ""])
    found = read_scores("x.jsonl", mark + lines.encode())
    assert (found.scores.tolist(), found.ids) == ([[[1.5, 2.0]]], ["é💥"])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.jsonl", b'{"c0_i0": NaN, "c1_i0": 1}', "nan for 'c0_i0'"),
        ("x.jsonl", b'{"c0_i0": 1e999, "c1_i0": 1}', "must be a finite number"),
        ("x.jsonl", b'{"c0_i0": 1, "c1_i0": 1, "id": "a"}\n{"c0_i0": 1, "c1_i0": 1, "id": "a"}', "id 'a'"),
        ("x.jsonl", b'{"c0_i0": 1, "c1_i0": 1}\n{"c0_i0": 1, "c1_i0": 1, "c2_i0": 1}', "different shapes"),
        (
            "x.jsonl",
            b'{"c0_i0": 1, "c1_i0": 1, "truth": [0]}\n{"c0_i0": 1, "c1_i0": 1}',
            "for all groups or for none",
        ),
        ("x.jsonl", b'{"c0_i0": 1, "c1_i0": 1, "truth": [7]}', "Truth of group '0'"),
        ("x.jsonl", b'{"c0_i0": 1, "c0_i0": 2}', "twice"),
        ("x.jsonl", b"[" * 100_000, "not JSON"),
        ("x.csv", f"{GOOD}b,0,0,1\n".encode(), "group 'b' has 1 caption and group 'a' has 2"),
        ("x.csv", GOOD.replace("1.5", "NaN").encode(), "must be a finite number"),
        ("x.csv", GOOD.replace("1.5", "1,5").encode(), "row 2 has 5 cells, the header 4"),
        ("x.csv", GOOD.encode("latin-1").replace(b"a,0,0", b"\xe4,0,0"), "not UTF-8"),
        ("x.csv", f"{GOOD}a,0,1,2\n".encode(), "is there twice"),
        ("x.csv", b"group,image,caption,score,match\na,0,0,1,1\na,0,1,2,1\n", "cannot be true"),
    ],
)
def test_dirt_in_scores_is_told_with_its_place(name, data, message):
    with pytest.raises(InputError, match=message):
        read_scores(name, data)


def test_column_names_with_line_breaks_still_make_one_sentence():
    with pytest.raises(InputError) as caught:
        read_scores("x.csv", b'"a\r\nb",image,caption\n1,2,3\n')
    assert "\n" not in str(caught.value) and "\r" not in str(caught.value) and "add " in str(caught.value)


def test_a_sentence_is_bounded_and_can_be_written_whatever_it_quotes():
    error = InputError("bad \ud800 name " + "x" * 100_000 + "; choose another.")
    assert len(str(error)) < 2001 and str(error).endswith("choose another.")
    assert str(error).encode()


def npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


# --- traps


def test_a_header_that_is_no_header_or_claims_too_much_is_a_sentence():
    whole = io.BytesIO()
    np.lib.format.write_array(whole, np.zeros(3))
    for claim in (b"(999999999999,)", b"((((((((((", b"(-1,)"):
        header = whole.getvalue().replace(b"(3,)" + b" " * len(claim), claim + b" " * 4)
        start = header.index(b"'shape'")
        header = (
            header[:start]
            + (b"'shape': " + claim + b", }").ljust(header.index(b"\n") - start)
            + header[header.index(b"\n") :]
        )
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("scores.npy", header)
        with pytest.raises(InputError, match="damaged or not an NPZ"):
            read_arrays("x.npz", out.getvalue())


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(_zip, "SLACK", 1000)
    data = npz(scores=np.zeros((50_000, 2, 2)))
    assert len(data) < 5000
    for read in (read_scores, read_embeddings, read_arrays):
        with pytest.raises(InputError, match="holds far more than its size says"):
            read("x.npz", data=data)
    out = io.BytesIO()
    pd.DataFrame({name: ["x" * 1000] * 5000 for name in ("group", "image", "caption", "score")}).to_parquet(
        out
    )
    for read in (read_scores, lambda *file: open_table(*file).frame()):
        with pytest.raises(InputError, match="holds far more than its size says"):
            read("x.parquet", out.getvalue())


def test_pieces_of_a_parquet_file_make_the_same_table(tmp_path):
    scores = np.random.default_rng(0).normal(size=(3000, 2, 2))
    write_scores(tmp_path / "x.parquet", scores)
    np.testing.assert_array_equal(read_scores(tmp_path / "x.parquet").scores, scores)


class Trap:
    """Unpickled, it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def trap(tmp_path):
    """A pickle that shows that it was loaded: `trap.exists()`."""
    path = tmp_path / "sprung"
    yield path, pickle.dumps(Trap(path))
    assert not path.exists()


def test_the_trap_works(tmp_path):
    pickle.loads(pickle.dumps(Trap(tmp_path / "sprung"))).close()
    assert (tmp_path / "sprung").exists()


def test_pickles_are_never_loaded_from_arrays(trap, tmp_path):
    path, raw = trap
    objects = np.empty(1, dtype=object)
    objects[0] = Trap(path)
    for data in (raw, npz(scores=objects, img=objects, cap=objects)):
        for read in (read_scores, read_embeddings, read_arrays):
            with pytest.raises(InputError):
                read("x.npz", data=data)


def test_weights_that_are_pickles_are_never_loaded(trap, tiny_clip_folder, tmp_path):
    import shutil

    from core.scoring.load import load_scorer

    _, raw = trap
    for name in ("pytorch_model.bin", "model.pkl", "open_clip_pytorch_model.bin", "model.pt"):
        folder = tmp_path / name
        shutil.copytree(tiny_clip_folder, folder)
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(raw)
        with pytest.raises(InputError):
            load_scorer(str(folder))
    (folder / "model.safetensors").write_bytes(raw)
    with pytest.raises(InputError):
        load_scorer(str(folder))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: {**c, "auto_map": {"AutoModel": "modeling_evil.Evil", "AutoConfig": "modeling_evil.Evil"}},
        lambda c: {**c, "text_config": {**c["text_config"], "hidden_size": -1}},
        lambda c: {**c, "vision_config": None},
        lambda c: {**c, "projection_dim": "x"},
        lambda c: {"model_type": "clip"},
        lambda c: {**c, "model_type": ["clip"]},
    ],
)
def test_a_model_with_a_spoiled_configuration_loads_or_is_a_sentence_and_runs_no_code(
    tiny_clip_folder, tmp_path, change
):
    import shutil

    from core.scoring.load import load_scorer

    folder = tmp_path / "model"
    shutil.copytree(tiny_clip_folder, folder)
    (folder / "modeling_evil.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\nclass Evil: pass\n")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(change(config)))
    try:
        load_scorer(str(folder))
    except InputError as error:
        assert "\n" not in str(error)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "name", ["x" * 5000, "~nobody-at-all/x", "a\0b", "\ud800", "open_clip:" + "x" * 5000]
)
def test_a_name_that_no_disk_could_hold_is_a_sentence(name, tmp_path):
    from pathlib import Path

    from core.exchange.runs import import_run
    from core.runs.store import RunStore
    from core.scoring.load import load_scorer
    from core.ttm.run import TTMRun

    store = RunStore(tmp_path / "runs")
    for act in (
        load_scorer,
        lambda n: importing.stage_import(Path(n)),
        lambda n: import_run(store, Path(n)),
    ):
        with pytest.raises(InputError):
            act(name)
    assert TTMRun.of("scenes/swap", name).model == name  # refused when it is loaded


def test_a_tag_file_with_dirt_keeps_what_it_can():
    found = read_tags("x.csv", '\ufeffid,note\r\na,"l\r\nr"\r\nb,=1+1\r\n'.encode())
    assert found["note"].tolist() == ["l\r\nr", "=1+1"]
    with pytest.raises(InputError, match="several rows with id 'a'"):
        read_tags("x.csv", b"id,t\na,1\na,2\n")


def test_half_characters_and_bytes_that_are_no_text_are_passed_over(tmp_path):
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    row = {
        "image": "a.png",
        "captions": ["one", "two"],
        "id": "\ud800",
        "tags": {"\ud801": "x", "t": ["\ud802"]},
    }
    (tmp_path / "m.jsonl").write_text(json.dumps({**row, "\ud803": 1}))
    staged = importing.stage_import(tmp_path / "m.jsonl")
    record = json.loads((staged.folder / "groups.jsonl").read_text("utf-8"))
    assert (staged.groups, record["id"], record["tags"]["t"]) == (1, "1", '["\\ud802"]')
    staged.discard()


def test_half_characters_in_json_lines_are_replaced_in_names_tags_and_cells():
    row = {"c0_i0": 1.0, "c1_i0": 2.0, "id": "a\ud800", "tag\udc00": "x\ud800", "list": ["\ud800"]}
    found = read_scores("x.jsonl", json.dumps(row).encode())
    assert found.ids == ["a?"]
    assert found.tags.to_dict("records") == [{"tag?": "x?", "list": '["\\ud800"]'}]


@pytest.mark.parametrize(
    "settings",
    ["[" * 100_000, '{"scale": "x"}', '{"scale": [1]}', '{"keys": 1}', '{"keys": {"images": 3}}', "[]"],
)
def test_a_model_of_maps_with_spoiled_settings_is_one_sentence(tmp_path, settings):
    from core.scorers.embedding import EmbeddingModel
    from core.scoring.load import load_scorer

    EmbeddingModel(np.ones((2, 3)), np.ones((2, 3)), ["a", "b"], ["c", "d"]).save(tmp_path)
    path = tmp_path / "config.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, **json.loads(settings)}) if settings.startswith("{") else settings)
    with pytest.raises(InputError, match=r"cannot be read|is incomplete|holds no JSON object"):
        load_scorer(str(tmp_path), "cpu")


@pytest.mark.parametrize("code", [0xD800, 0x110000, 0xFFFFFFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_that_are_no_characters_are_replaced_in_the_texts_of_an_array_file(code, order):
    texts = np.array([code, ord("b")], dtype=f"{order}u4").view(f"{order}U1")
    found = read_scores("x.npz", npz(scores=np.zeros((2, 1, 2)), ids=texts, tag_t=texts))
    assert found.ids == found.tags["t"].tolist() == ["\ufffd", "b"]


@pytest.mark.parametrize("column", ["group", "note"])
def test_bytes_that_are_no_text_in_a_parquet_file_are_told_when_it_is_read(column):
    """Arrow takes them for text until somebody looks at them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    offsets = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xffb")])
    table = {"group": ["a", "a"], "image": [0, 0], "caption": [0, 1], "score": [1.0, 2.0], "note": ["x", "x"]}
    out = io.BytesIO()
    pq.write_table(pa.table({**table, column: wrong}), out)
    with pytest.raises(InputError, match="UTF8"):
        read_scores("x.parquet", out.getvalue())


@pytest.mark.parametrize("listed", [1, {"a": 1}, [["x"]], [{}], None, "CLIPModel"])
def test_a_list_of_architectures_that_is_none_is_passed_over(tmp_path, listed):
    from core.scorers.score_kinds import natural_kind

    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "architectures": listed}))
    assert natural_kind(tmp_path) == "lm"


def test_missing_answers_and_duplicate_ids_are_told_and_the_rest_is_kept(tmp_path):
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    rows = [("g", "0"), ("g", "0"), ("h", ""), ("i", "5"), ("j", "0")]
    lines = [f"{name},a.png,one,two,{answer}" for name, answer in rows]
    (tmp_path / "m.csv").write_text("\n".join(["id,image,caption_0,caption_1,truth", *lines]))
    staged = importing.stage_import(tmp_path / "m.csv")
    assert (staged.groups, [p.row for p in staged.problems]) == (2, [3, 4, 5, 6])
    assert [p.fatal for p in staged.problems] == [True, True, True, False]  # j has what g has
    staged.discard()
