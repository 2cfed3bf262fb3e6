"""The formats that `benchmarks/safety/fuzz.py` spoils: valid files of each, a way to spoil one, and who reads it."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.safety import fuzz_folders as folders
from benchmarks.safety import mutations as change
from benchmarks.safety.fuzz_folders import BY_ENDING, all_of
from core.base.errors import InputError


class Format(NamedTuple):
    """A kind of file: valid ones made in a folder, a way to spoil one, and who reads it."""

    valid: Callable[[Path], list[bytes]]
    change: change.Change
    read: Callable[[bytes, Path], Any]


# --- valid files


def _groups() -> tuple[np.ndarray, list[str], np.ndarray]:
    scores = np.random.default_rng(0).normal(size=(4, 2, 3))
    return scores, ["a", "b", "7", "é"], np.array([[0, 1], [2, 0], [1, 2], [0, 2]])


def _score_files(ending: str, place: Path) -> list[bytes]:
    import pandas as pd

    from core.base.table_formats import READ, table_bytes
    from core.datasets.score_files import write_scores

    scores, ids, truth = _groups()
    tags = pd.DataFrame({"topic": ["x", "y", "", "ü"]})
    write_scores(place / f"a{ending}", scores, ids, truth, tags)
    write_scores(place / f"b{ending}", scores[:, :1, :2])
    files = [(place / name).read_bytes() for name in (f"a{ending}", f"b{ending}")]
    table = pd.DataFrame({"id": ids, "value": [1.5, np.nan, 3.0, 4.0], "count": [1, 2, 3, 4]})
    return [*files, table_bytes(table, ending)] if ending in READ else files


def _read_scores(ending: str, data: bytes, place: Path) -> None:
    """The readers of such files; a page may hand any file to any of them."""
    from core.base.table_formats import READ, open_table
    from core.datasets.score_files import read_scores

    readers = [lambda: read_scores(f"x{ending}", data)]
    if ending in READ:
        readers += [lambda: open_table(f"x{ending}", data).frame()]
        readers += [lambda: list(open_table(f"x{ending}", data).rows())]
    all_of(*readers)


def _tags(_: Path) -> list[bytes]:
    return [b'id,topic,note\na,x,\nb,y,"l, r"\n7,z,q\n', b"\xef\xbb\xbfid,t\r\n1,2\r\n"]


def _read_tags(data: bytes, place: Path) -> None:
    from core.datasets.score_files import read_tags

    read_tags("x.csv", data)


def _embeddings(place: Path) -> list[bytes]:
    files = []
    for names in (("img", "cap"), ("image_embeddings", "texts")):
        rows = np.random.default_rng(1).normal(size=(2, 8, 5)).astype(np.float32)
        buffer = io.BytesIO()
        np.savez(buffer, **dict(zip(names, rows, strict=True)))
        files.append(buffer.getvalue())
    return files


def _read_embeddings(data: bytes, place: Path) -> None:
    from core.datasets.embeddings import read_embeddings

    all_of(
        lambda: read_embeddings("x.npz", "2x2", data).groups(),
        lambda: read_embeddings("x.npz", "1x4", data).group_scores(),
    )


def _pictures(place: Path) -> list[str]:
    from PIL import Image

    names = []
    for i, (mode, ending) in enumerate((("RGB", "png"), ("L", "png"), ("RGB", "jpg"))):
        names.append(f"images/{i}.{ending}")
        (place / "images").mkdir(exist_ok=True)
        Image.new(mode, (20 + i, 16), 40 * i).save(place / names[-1])
    return names


def _wide(place: Path) -> list[dict[str, Any]]:
    a, b, c = _pictures(place)
    return [
        {
            "id": "g1",
            "image_0": a,
            "image_1": b,
            "caption_0": "a cat",
            "caption_1": "a, dog",
            "truth": "1 0",
            "topic": "x",
        },
        {
            "id": "g2",
            "image_0": c,
            "image_1": a,
            "caption_0": "é",
            "caption_1": "two",
            "truth": "0 1",
            "topic": "y",
        },
        {
            "id": "g3",
            "image_0": b,
            "image_1": c,
            "caption_0": "one",
            "caption_1": "two",
            "truth": "0 1",
            "topic": "",
        },
    ]


def _lists(place: Path) -> list[dict[str, Any]]:
    return [
        {
            "id": row["id"],
            "images": [row["image_0"], row["image_1"]],
            "captions": [row["caption_0"], row["caption_1"], "three"],
            "truth": [int(j) for j in row["truth"].split()],
            "tags": {"topic": row["topic"]},
        }
        for row in _wide(place)
    ]


def _manifests(ending: str, place: Path) -> list[bytes]:
    import pandas as pd

    wide, lists = _wide(place), _lists(place)
    long = [
        {"group": r["id"], "image": r[f"image_{i}"], "caption": r[f"caption_{i}"], "t": "x"}
        for r in wide
        for i in (0, 1)
    ]
    tables = [wide, long] if ending == ".csv" else [wide, long, lists]
    if ending == ".csv":
        return [pd.DataFrame(rows).to_csv(index=False).encode() for rows in tables]
    if ending == ".json":
        return [json.dumps(rows).encode() for rows in tables]
    if ending == ".jsonl":
        return ["\n".join(map(json.dumps, rows)).encode() for rows in tables]
    stored = [{**r, "image_0": {"bytes": (place / r["image_0"]).read_bytes(), "path": None}} for r in wide]
    if ending == ".arrow":
        return [_arrow(rows) for rows in (wide, long, lists)]
    return [pd.DataFrame(rows).to_parquet() for rows in (wide, long, stored)]


def _arrow(rows: list[dict[str, Any]]) -> bytes:
    """Rows as `datasets` writes them: a stream of Arrow's."""
    import pyarrow as pa

    table, out = pa.Table.from_pylist(rows), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def _stage(ending: str, data: bytes, place: Path) -> None:
    from core.exchange import importing

    path = place / f"manifest{ending}"
    path.write_bytes(data)
    staged = importing.stage_import(path)
    staged.problem_rows()
    for group in staged.preview():
        for image in group.images:
            image.open()
    staged.discard()


def _zips(place: Path) -> list[bytes]:
    out = []
    for ending in (".csv", ".jsonl"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in _pictures(place):
                archive.write(place / name, f"set/{name}")
            archive.writestr(f"set/manifest{ending}", _manifests(ending, place)[0])
        out.append(buffer.getvalue())
    return out


def _images(place: Path) -> list[bytes]:
    return [(place / name).read_bytes() for name in _pictures(place)]


def _read_image(data: bytes, place: Path) -> None:
    from core.exchange._import_images import RowError, verify_image
    from core.groups import BytesImage

    def check() -> None:
        try:
            verify_image(data, "x.png")
        except RowError as wrong:
            raise InputError(wrong.what) from None

    all_of(check, lambda: BytesImage(data).open())


def _runs(place: Path) -> list[bytes]:
    from core.base import files
    from core.exchange.runs import export_run
    from core.runs.store import RunStore

    store = RunStore(place / "runs")
    config = {"model": "m", "benchmark": "scenes/swap", "ttm": {"seed": 1, "iterations": 2}, "device": "cpu"}
    run = store.create("ttm", "a run", config)
    attempt = store.queue_up(run.id)
    for i in range(3):
        files.write_arrays(store.arrays_path(run.id, i), {"scores": np.zeros((3, 2, 2), np.float32)})
        metrics = {"group_match": {"value": 50.0 + i, "low": 1.0, "high": 99.0, "chance": 50.0, "ties": 0}}
        record = {
            "iteration": i,
            "metrics": metrics,
            "coverage": 0.5,
            "threshold": 1.0,
            "note": "",
            "selected": 3,
        }
        store.append_step(run.id, record, attempt, total=2, started=1000.0)
    model = store.folder(run.id) / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    files.write_manifest(model, kind="model")
    store.conclude(run.id, attempt, "finished")
    return [export_run(store, run.id, place / f"r{i}.zip", bool(i)).read_bytes() for i in (0, 1)]


def _seal(inside: dict[str, bytes]) -> None:
    """Checksums of a run's manifest as its changed files want them."""
    import hashlib

    name = next((n for n in inside if n.endswith("manifest.json") and n.count("/") == 1), None)
    if name is None:
        return
    top = name.partition("/")[0] + "/"
    try:
        facts = json.loads(inside[name])
        sums = {n.removeprefix(top): hashlib.sha256(d).hexdigest() for n, d in inside.items() if n != name}
        inside[name] = json.dumps({**facts, "files": sums}).encode()
    except (ValueError, TypeError, RecursionError):
        return


def _read_run(data: bytes, place: Path) -> None:
    """A run comes in, and what a page shows of it can be shown."""
    from core.exchange.runs import import_run
    from core.runs.store import RunStore

    (place / "x.zip").write_bytes(data)
    store = _store(place / "imported")
    run = import_run(store, place / "x.zip")
    try:
        for step in store.steps(run.id):
            all_of(functools.partial(store.arrays, run.id, step["iteration"]))
        json.dumps(RunStore.get(store, run.id).record(), allow_nan=False)
    finally:
        store.delete(run.id)


@functools.cache
def _store(place: Path) -> Any:
    from core.runs.store import RunStore

    return RunStore(place)


def _sweeps(place: Path) -> list[bytes]:
    return [
        b"kind: ttm\nmodels: [builtin/clip]\nbenchmarks:\n  - scenes/left-right\n  - scenes/swap\nseeds: 3\ngroups: 5\n"
        b"settings:\n  - {label: short, epochs: 2}\n  - epochs: 5\n    lr: 1e-4\ngrid: {tau_first: [1, 2]}\ngpus: 1\n",
        b"models: builtin/clip\nbenchmarks: scenes/swap\nshard: 20\nretries: 2\ncpus: 1\n",
    ]


def _read_sweep(data: bytes, place: Path) -> None:
    from core.sweeps._plan import parse_plan

    parse_plan(data, "x.yaml")


def _configs(place: Path) -> list[bytes]:
    from core.base.paths import assets

    return [path.read_bytes() for path in sorted((assets() / "models").glob("*/config.json"))]


def _read_config(data: bytes, place: Path) -> None:
    """A model folder as far as a list of models looks into it; nothing is loaded."""
    from core.scoring.load import scorer_key, scorer_kind

    folder = place / "model"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_bytes(data)
    all_of(
        lambda: scorer_key(str(folder)),
        lambda: scorer_kind(str(folder)),
        lambda: scorer_kind(f"itm:{folder}"),
    )


def _own_sets(place: Path) -> list[bytes]:
    rows = [{**row, "images": ["0" * 32 + ".png", "1" * 32 + ".jpg"]} for row in _lists(place)]
    return ["\n".join(map(json.dumps, rows)).encode()]


def _read_own(data: bytes, place: Path) -> None:
    from core.datasets import user_sets

    (place / user_sets.GROUPS_FILE).write_bytes(data)
    (place / user_sets.FACTS_FILE).write_bytes(data.partition(b"\n")[0])
    user_sets.read_folder(place, "mine/x")


_part = functools.partial
_CSV, _LINES, _JSON = (
    change.either(c) for c in (change.changed_csv, change.changed_lines, change.changed_json)
)
_NPZ, _PARQUET = change.either(change.changed_npz), change.either(change.changed_parquet)
FORMATS: dict[str, Format] = {
    "csv": Format(_part(_score_files, ".csv"), _CSV, _part(_read_scores, ".csv")),
    "jsonl": Format(_part(_score_files, ".jsonl"), _LINES, _part(_read_scores, ".jsonl")),
    "npz": Format(_part(_score_files, ".npz"), _NPZ, _part(_read_scores, ".npz")),
    "parquet": Format(_part(_score_files, ".parquet"), _PARQUET, _part(_read_scores, ".parquet")),
    "tags": Format(_tags, _CSV, _read_tags),
    "embeddings": Format(_embeddings, _NPZ, _read_embeddings),
    "manifest-csv": Format(_part(_manifests, ".csv"), _CSV, _part(_stage, ".csv")),
    "manifest-json": Format(_part(_manifests, ".json"), _JSON, _part(_stage, ".json")),
    "manifest-jsonl": Format(_part(_manifests, ".jsonl"), _LINES, _part(_stage, ".jsonl")),
    "manifest-parquet": Format(_part(_manifests, ".parquet"), _PARQUET, _part(_stage, ".parquet")),
    "manifest-arrow": Format(
        _part(_manifests, ".arrow"), change.either(change.changed_words), _part(_stage, ".arrow")
    ),
    "zip": Format(_zips, change.either(change.changed_zip(BY_ENDING), share=0.2), _part(_stage, ".zip")),
    "image": Format(_images, change.either(change.changed_image), _read_image),
    "run": Format(_runs, change.either(change.changed_zip(BY_ENDING, _seal), share=0.1), _read_run),
    "yaml": Format(_sweeps, change.either(change.changed_yaml), _read_sweep),
    "model": Format(_configs, _JSON, _read_config),
    "own-set": Format(_own_sets, _LINES, _read_own),
    "benchmark": Format(folders.benchmarks, folders.changed_folder, folders.read_benchmark),
    "maps": Format(folders.maps, folders.changed_folder, folders.read_maps),
}
