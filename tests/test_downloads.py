"""Downloads against a server on this machine: resuming, checksums, mirrors, unsafe archives. Nothing leaves it."""

import hashlib
import io
import json
import re
import tarfile
import threading
import types
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.safety.samples import bla
from core import datasets
from core.base.errors import InputError
from core.datasets import downloads
from core.datasets.downloads import (
    Hub,
    _download,
    _DownloadItem,
    _RemoteListing,
    _Source,
    fetch,
    next_step,
    sources,
    unpack,
)
from core.exchange.fetch import _download_keys, fetch_benchmark

CONTENT = bytes(range(256)) * 400  # 102,400 bytes
SUM = hashlib.sha256(CONTENT).hexdigest()


class Site:
    """What a server has, how it misbehaves, and what was asked of it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self.types: dict[str, str] = {}
        self.break_after: int | None = None  # close the connection after so many bytes of a body
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []
        self.url = ""


@pytest.fixture
def site():
    found = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, wanted = self.path.lstrip("/"), self.headers.get("Range")
            found.asked.append((name, wanted))
            if name not in found.files:
                self.send_error(404)
                return
            data, start, etag = found.files[name], 0, found.etags.get(name, "")
            same = self.headers.get("If-Range") in (None, etag)
            if wanted and found.ranges and same:
                start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
                if start >= len(data):
                    self.send_error(416)
                    return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            if etag:
                self.send_header("ETag", etag)
            self.send_header("Content-Type", found.types.get(name, "application/octet-stream"))
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            body = data[start:]
            if found.break_after is not None:
                body, found.break_after = body[: found.break_after], None
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    server.server_close()


def left(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


# --- one file --------------------------------------------------------------------------------------------------------


def test_a_file_arrives_whole_and_leaves_no_part(site, tmp_path):
    site.files["a.bin"] = CONTENT
    shares: list[float] = []
    path = _download(
        [f"{site.url}/a.bin"], tmp_path / "deep/a.bin", SUM, progress=lambda _, share: shares.append(share)
    )
    assert path.read_bytes() == CONTENT
    assert left(tmp_path) == ["deep/a.bin"]
    assert shares[-1] == 1.0


@pytest.mark.parametrize(("etag", "checksum"), [('"v1"', None), ("", SUM), ('"v1"', SUM)])
def test_a_broken_download_continues_where_it_broke(site, tmp_path, etag, checksum):
    site.files["a.bin"], site.etags["a.bin"], site.break_after = CONTENT, etag, 70_000
    with pytest.raises(InputError, match=r"the connection broke after \d+ of 102400 bytes"):
        _download([f"{site.url}/a.bin"], tmp_path / "a.bin", checksum)
    assert not (tmp_path / "a.bin").exists()
    _download([f"{site.url}/a.bin"], tmp_path / "a.bin", checksum)
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    start = int(site.asked[1][1].removeprefix("bytes=").rstrip("-"))
    assert 0 < start <= 70_000
    assert left(tmp_path) == ["a.bin"]


def test_without_a_version_or_a_checksum_a_broken_download_starts_again(site, tmp_path):
    site.files["a.bin"], site.break_after = CONTENT, 70_000
    with pytest.raises(InputError):
        _download([f"{site.url}/a.bin"], tmp_path / "a.bin")
    _download([f"{site.url}/a.bin"], tmp_path / "a.bin")
    assert site.asked == [("a.bin", None)] * 2
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_not_mixed_with_the_old_one(site, tmp_path):
    site.files["a.bin"], site.etags["a.bin"], site.break_after = CONTENT, '"v1"', 70_000
    with pytest.raises(InputError):
        _download([f"{site.url}/a.bin"], tmp_path / "a.bin")
    site.files["a.bin"], site.etags["a.bin"] = CONTENT[::-1], '"v2"'
    _download([f"{site.url}/a.bin"], tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT[::-1]


def test_a_server_that_ignores_ranges_is_read_from_the_start(site, tmp_path):
    site.files["a.bin"], site.ranges = CONTENT, False
    (tmp_path / "a.bin.part").write_bytes(CONTENT[:1000])
    _download([f"{site.url}/a.bin"], tmp_path / "a.bin", SUM)
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_part_that_is_complete_already_gets_its_name(site, tmp_path):
    site.files["a.bin"] = CONTENT
    (tmp_path / "a.bin.part").write_bytes(CONTENT)
    _download([f"{site.url}/a.bin"], tmp_path / "a.bin", SUM)
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_wrong_checksum_is_a_sentence_and_leaves_nothing(site, tmp_path):
    site.files["a.bin"] = CONTENT[:-1] + b"x"
    with pytest.raises(
        InputError, match=r"a.bin could not be fetched \(127.0.0.1:\d+: .*checksum differs"
    ) as told:
        _download([f"{site.url}/a.bin"], tmp_path / "a.bin", SUM)
    assert f"save {site.url}/a.bin as {tmp_path / 'a.bin'}" in str(told.value)
    assert left(tmp_path) == []


def test_mirrors_are_tried_in_order_until_one_delivers(site, tmp_path):
    site.files |= {"bad.bin": b"something else", "good.bin": CONTENT, "later.bin": CONTENT}
    names = ("gone.bin", "bad.bin", "good.bin", "later.bin")
    _download([f"{site.url}/{name}" for name in names], tmp_path / "a.bin", SUM, len(CONTENT))
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert [name for name, _ in site.asked] == ["gone.bin", "bad.bin", "good.bin"]


def test_a_break_is_continued_at_the_next_mirror(site, tmp_path):
    site.files |= {"one.bin": CONTENT, "two.bin": CONTENT}
    site.break_after = 50_000
    _download([f"{site.url}/one.bin", f"{site.url}/two.bin"], tmp_path / "a.bin", SUM)
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert site.asked[1][0] == "two.bin"
    assert site.asked[1][1] is not None


def test_what_no_server_delivers_is_one_sentence_with_every_reason(site, tmp_path):
    site.files["page"], site.types["page"] = b"<html>quota</html>", "text/html; charset=utf-8"
    site.files["long"] = CONTENT
    urls = [
        "http://127.0.0.1:9/x",
        f"{site.url}/none",
        f"{site.url}/page",
        f"{site.url}/long",
        "file:///etc/hosts",
    ]
    with pytest.raises(InputError) as told:
        _download(urls, tmp_path / "a.bin", None, 10)
    message = str(told.value)
    reasons = (
        "refused",
        "HTTP 404",
        "a web page",
        "it offers 102400 bytes, 10 were expected",
        "neither http nor https",
    )
    assert all(reason in message for reason in reasons)
    assert "\n" not in message
    assert left(tmp_path) == []


# --- archives --------------------------------------------------------------------------------------------------------


def zipped(path: Path, members: dict[str, bytes], links: tuple[str, ...] = ()) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        for name in links:
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16
            archive.writestr(info, "/etc/passwd")
    return path


def taped(path: Path, members: dict[str, bytes], links: tuple[str, ...] = ()) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return path


@pytest.mark.parametrize(("pack", "ending"), [(zipped, "zip"), (taped, "tar.gz")])
def test_an_archive_is_unpacked_beside_what_is_there(tmp_path, pack, ending):
    archive = pack(
        tmp_path / f"a.{ending}", {"images/1.jpg": b"one", "images/deep/2.jpg": b"two", "top.txt": b""}
    )
    (tmp_path / "out/images").mkdir(parents=True)
    (tmp_path / "out/images/0.jpg").write_bytes(b"zero")
    unpack(archive, tmp_path / "out")
    assert left(tmp_path / "out") == ["images/0.jpg", "images/1.jpg", "images/deep/2.jpg", "top.txt"]
    assert (tmp_path / "out/images/deep/2.jpg").read_bytes() == b"two"


@pytest.mark.parametrize(("pack", "ending"), [(zipped, "zip"), (taped, "tar.gz")])
@pytest.mark.parametrize(
    "name", ["../evil.txt", "/evil.txt", "a/../../evil.txt", "a\\..\\evil.txt", "C:evil.txt"]
)
def test_names_that_lead_out_of_the_folder_are_refused_and_leave_nothing(tmp_path, pack, ending, name):
    archive = pack(tmp_path / f"a.{ending}", {"good.txt": b"x", name: b"evil"})
    with pytest.raises(InputError, match="unsafe to unpack"):
        unpack(archive, tmp_path / "out")
    assert left(tmp_path) == [archive.name]


@pytest.mark.parametrize(("pack", "ending"), [(zipped, "zip"), (taped, "tar.gz")])
def test_links_are_refused(tmp_path, pack, ending):
    archive = pack(tmp_path / f"a.{ending}", {"good.txt": b"x"}, links=("passwd",))
    with pytest.raises(InputError, match="'passwd', which is unsafe"):
        unpack(archive, tmp_path / "out")
    assert left(tmp_path) == [archive.name]


@pytest.mark.parametrize(("pack", "ending"), [(zipped, "zip"), (taped, "tar.gz")])
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path, pack, ending, monkeypatch):
    """A thousand to one: ten members of 1 MB of zeros each, where only 100 times the archive's size may come out."""
    monkeypatch.setattr(downloads, "UNPACK_SLACK_BYTES", 0)
    archive = pack(tmp_path / f"a.{ending}", {f"{i}.bin": bytes(1 << 20) for i in range(10)})
    assert archive.stat().st_size < 50_000
    with pytest.raises(InputError, match=r"unpacks to more than \d+ bytes"):
        unpack(archive, tmp_path / "out")
    assert left(tmp_path) == [archive.name]


def test_a_damaged_or_encrypted_archive_is_a_sentence(tmp_path):
    whole = zipped(tmp_path / "a.zip", {"a.txt": bytes(range(256)) * 100})
    data = bytearray(whole.read_bytes())
    data[60] ^= 0xFF
    (tmp_path / "b.zip").write_bytes(data)
    (tmp_path / "c.zip").write_bytes(data[:50])
    tape = taped(tmp_path / "d.tar.gz", {"a.txt": CONTENT}).read_bytes()
    (tmp_path / "d.tar.gz").write_bytes(tape[: len(tape) // 2])
    for name in ("b.zip", "c.zip", "d.tar.gz"):
        with pytest.raises(InputError, match="damaged or not an archive"):
            unpack(tmp_path / name, tmp_path / "out")
    locked = bytearray(whole.read_bytes())
    central = locked.index(b"PK\x01\x02")
    locked[6] |= 1  # the flag of encryption, in the member's own header and in the directory
    locked[central + 8] |= 1
    (tmp_path / "e.zip").write_bytes(locked)
    with pytest.raises(InputError, match="unsafe to unpack"):
        unpack(tmp_path / "e.zip", tmp_path / "out")
    assert not left(tmp_path / "out")


# --- whole data sets -------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(site, tmp_path, monkeypatch) -> _Source:
    """A data set of a list, an archive, and images whose addresses stand in the list."""
    listed = [[f"{site.url}/img/{i}.jpg", "a caption"] for i in (1, 2, 1)] + [f"{site.url}/img/../x.jpg"]
    site.files["list.json"] = json.dumps(listed).encode()
    site.files |= {f"img/{i}.jpg": b"image" for i in (1, 2)}
    site.files["pack.zip"] = zipped(tmp_path / "pack.zip", {"val/3.jpg": b"three"}).read_bytes()
    source = _Source(
        "main",
        (
            _DownloadItem(
                "list.json", (f"{site.url}/list.json",), hashlib.sha256(site.files["list.json"]).hexdigest()
            ),
            _DownloadItem("pack.zip", (f"{site.url}/pack.zip",), unpack="", makes="val"),
        ),
        _RemoteListing("list.json", f"{site.url}/img/", "images"),
    )
    known = {"toy": source, "gated": _Source("main", (), step="accept https://example.org into {folder}")}
    monkeypatch.setattr(downloads, "sources", lambda: known)
    return source


def test_fetching_gets_files_archives_and_listed_images_once(site, tmp_path, toy):
    folder = tmp_path / "toy"
    fetch("toy", folder)
    assert left(folder) == ["images/1.jpg", "images/2.jpg", "list.json", "val/3.jpg"]
    asked = len(site.asked)
    fetch("toy", folder)
    assert len(site.asked) == asked
    assert next_step("toy", folder) == ""
    (folder / "val/3.jpg").unlink()
    (folder / "val").rmdir()
    assert next_step("toy", folder) == f"download {site.url}/pack.zip into {folder}, archives unpacked"


def test_an_archive_saved_by_hand_is_used(site, tmp_path, toy):
    folder = tmp_path / "toy"
    folder.mkdir()
    (tmp_path / "pack.zip").rename(folder / "pack.zip")
    fetch("toy", folder)
    assert "pack.zip" not in [name for name, _ in site.asked]
    assert (folder / "val/3.jpg").read_bytes() == b"three"


def test_an_archive_that_lacks_what_it_should_leave_is_kept_and_told(site, tmp_path, toy):
    site.files["pack.zip"] = zipped(tmp_path / "other.zip", {"other/3.jpg": b"three"}).read_bytes()
    with pytest.raises(InputError, match="does not hold val; unpack it manually"):
        fetch("toy", tmp_path / "toy")
    assert (tmp_path / "toy/pack.zip").is_file()


@pytest.mark.parametrize("top", ["", "BLA_benchmark/", "bla_benchmark/"])
def test_bla_is_fetched_whatever_its_archive_calls_its_folder(site, tmp_path, monkeypatch, top):
    """Nobody here has seen the archive; upstream writes the folder in three ways."""
    (item,) = sources()["bla"].items
    assert item.urls[0].startswith("https://www.dropbox.com/") and item.urls[0].endswith("&dl=1")
    bla(tmp_path / "sample")
    files = {
        str(p.relative_to(tmp_path / "sample")): p.read_bytes() for p in (tmp_path / "sample").rglob("*.*")
    }
    packed = zipped(tmp_path / "pack.zip", {f"{top}{name}": data for name, data in files.items()})
    site.files["BLA_benchmark.zip"] = packed.read_bytes()
    here = replace(item, urls=(f"{site.url}/BLA_benchmark.zip",))
    monkeypatch.setattr(downloads, "sources", lambda: {"bla": _Source("main", (here,))})
    folder = tmp_path / "bla"
    assert fetch("bla", folder) == [folder / f"{top}annotations"]
    assert len(datasets.load("bla/active-passive", folder=folder, partial=True)) == 3


@pytest.mark.parametrize("part", ["coco", "voc2007"])
def test_negbench_fetches_its_pictures_and_says_why_its_table_takes_a_browser(part, tmp_path):
    name = f"negbench/{part}"
    assert _download_keys(name) == [name] and sources()[name].items
    assert "which a browser has to do: Google Drive tells no program" in next_step(name, tmp_path)
    (table, *_), (pictures, *_) = (each.split(" | ") for each in datasets.benchmark_entry(name).layout)
    assert f"save {table} of https://drive.google.com" in next_step(name, tmp_path)
    assert sources()[name].items[0].makes.startswith(pictures.removesuffix("JPEGImages"))


NATURALBENCH = {  # what the hub lists of BaiqiL/NaturalBench, as seen in February 2025
    ".gitattributes",
    "NaturalBench-Retrieval.zip",
    "NaturalBenchDataset.tsv",  # 3.07 GB that no reader here reads
    "README.md",
    "pictures/logo.png",
    *(f"data/train-0000{i}-of-00003.parquet" for i in range(3)),
}


def test_a_set_of_the_hub_is_fetched_without_what_its_reader_does_not_read(tmp_path, monkeypatch):
    import huggingface_hub
    from huggingface_hub.utils import filter_repo_objects

    def download(repo, local_dir, allow_patterns, **_):
        for name in filter_repo_objects(listed, allow_patterns=allow_patterns):
            (local_dir / name).parent.mkdir(parents=True, exist_ok=True)
            (local_dir / name).write_bytes(b"")

    listed = sorted(NATURALBENCH)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert fetch_benchmark("naturalbench/questions", tmp_path / "whole") == [tmp_path / "whole"]
    tables = [name for name in listed if name.startswith("data/")]
    assert left(tmp_path / "whole") == ["README.md", *tables]  # what says whose it is comes along
    listed = ["README.md", "all-00000-of-00001.parquet"]
    with pytest.raises(InputError) as told:
        fetch_benchmark("naturalbench/questions", tmp_path / "renamed")
    assert str(told.value).startswith(
        "'BaiqiL/NaturalBench' on the hub has no data/train-*.parquet any more; look at"
    )


def test_the_files_taken_of_a_hub_set_are_those_that_its_readers_ask_for_and_its_step_names():
    chosen = {key: source for key, source in sources().items() if source.hub and source.hub.files}
    assert set(chosen) == {"winoground", "naturalbench/questions"}  # the other repositories hold little else
    entries = [datasets.benchmark_entry(name) for name in datasets.names(None)]
    for key, source in chosen.items():
        parts = [part for e in entries if e and (e.download or e.family) == key for part in e.layout]
        assert parts and all(set(part.split(" | ")) & set(source.hub.files) for part in parts)
        assert all(f"--include '{file}'" in source.step for file in source.hub.files)


def test_what_only_a_person_can_get_says_the_step_and_an_unknown_name_the_nearest(tmp_path, toy):
    with pytest.raises(
        InputError,
        match=f"gated cannot be downloaded automatically: accept https://example.org into {tmp_path}",
    ):
        fetch("gated", tmp_path)
    with pytest.raises(InputError, match="Unknown data set 'toyy'; did you mean 'toy'"):
        fetch("toyy", tmp_path)


def test_the_manifest_has_an_entry_for_every_benchmark_and_says_what_is_checked():
    manifest = sources()
    entries = [datasets.benchmark_entry(name) for name in datasets.names(None)]
    keys = {e.download or e.family for e in entries if e is not None}
    assert keys == set(manifest)
    for key, source in manifest.items():
        assert source.items or source.step, key
        for item in source.items:
            assert item.urls, item.file
            assert all(re.match(r"https?://[\w.-]+/", url) for url in item.urls)
            assert item.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", item.sha256)
            assert (item.unpack is None) == (item.makes is None)
        text = next_step(key, Path("/data/x"))
        assert "/data/x" in text
        assert "\n" not in text


def test_pinned_checksums_are_those_of_the_real_files(real_data):
    seen = [sources()[key] for key in ("winoground", "sugarcrepe", "cola")]  # what lies in real data
    pinned = [item for source in seen for item in source.items if item.sha256]
    assert len(pinned) == 9
    sums = {hashlib.sha256(path.read_bytes()).hexdigest() for path in real_data("").rglob("*.json")}
    assert {item.sha256 for item in pinned} <= sums


# --- crossmatch fetch ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("sugarcrepe/swap_obj", ["sugarcrepe"]),
        ("sugarcrepe", ["sugarcrepe"]),
        ("aro", ["aro/vg", "aro/coco-order", "aro/flickr30k-order"]),
        ("aro/vg-relation", ["aro/vg"]),
        ("aro/vg", ["aro/vg"]),
        ("eqben/mini", ["eqben/mini"]),
    ],
)
def test_a_benchmark_a_family_or_a_part_stands_for_its_sources(name, keys):
    assert _download_keys(name) == keys


def test_what_needs_no_fetching_or_is_unknown_says_so():
    with pytest.raises(InputError, match="scenes/swap is already available"):
        _download_keys("scenes/swap")
    with pytest.raises(InputError, match="Unknown benchmark 'sugarcrep'; did you mean 'sugarcrepe'"):
        _download_keys("sugarcrep")


def test_fetching_by_name_goes_to_the_data_folder_and_says_what_only_a_person_can_get(
    tmp_path, monkeypatch, site
):
    site.files["list.json"] = b"[]"
    known = {
        "sugarcrepe": _Source("main", (_DownloadItem("list.json", (f"{site.url}/list.json",)),)),
        "flickr30k": _Source(
            "main", (_DownloadItem("list.json", (f"{site.url}/list.json",)),), step="ask for {folder}/images"
        ),
        "crepe": _Source("main", (), step="clone it into {folder}"),
    }
    monkeypatch.setattr(downloads, "sources", lambda: known)
    monkeypatch.setattr("core.exchange.fetch.sources", lambda: known)
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "disk"))
    assert fetch_benchmark("sugarcrepe/swap_obj") == [tmp_path / "disk/sugarcrepe/list.json"]
    assert fetch_benchmark("sugarcrepe", tmp_path / "own") == [tmp_path / "own/list.json"]
    with pytest.raises(
        InputError,
        match=f"crepe/atom has to be downloaded manually: crepe: clone it into {tmp_path}/disk/crepe",
    ):
        fetch_benchmark("crepe/atom")
    with pytest.raises(
        InputError, match="The rest of flickr30k has to be downloaded manually: flickr30k: ask for"
    ):
        fetch_benchmark("flickr30k")
    assert (tmp_path / "disk/flickr30k/list.json").is_file()


def test_every_step_is_said_before_what_failed_and_one_failure_ends_nothing_else(tmp_path, monkeypatch, site):
    """A picture archive that did not come hid the table that only a browser can save."""
    site.files |= {"there.json": b"[]", "list.json": b"[]"}
    item = {
        name: _DownloadItem(name, (f"{site.url}/{name}",)) for name in ("gone.zip", "lost.zip", "there.json")
    }
    known = {
        "negbench/coco": _Source("main", (item["gone.zip"],), step="save table.csv in {folder}"),
        "negbench/voc2007": _Source("main", (item["there.json"],), step="save voc.csv in {folder}"),
        "sugarcrepe": _Source("main", (item["gone.zip"],)),
        "aro/vg": _Source("main", (item["gone.zip"],)),
        "aro/coco-order": _Source("main", (item["lost.zip"],)),
        "winoground": _Source(
            "main", (item["gone.zip"],), step="run it into {folder}", hub=Hub("facebook/winoground")
        ),
    }
    monkeypatch.setattr(downloads, "sources", lambda: known)
    monkeypatch.setattr("core.exchange.fetch.sources", lambda: known)

    def said(name: str) -> str:
        with pytest.raises(InputError) as told:
            fetch_benchmark(name, tmp_path)
        return str(told.value)

    where = f"{site.url.removeprefix('http://')}: HTTP 404 Not Found"
    by_hand = f"save {site.url}/gone.zip as {tmp_path}/gone.zip"
    failed = f"gone.zip could not be fetched ({where}); try again later, or {by_hand}"
    steps = f"save table.csv in {tmp_path}; download {site.url}/gone.zip into {tmp_path}"
    assert said("negbench/coco") == (
        f"negbench/coco has to be downloaded manually: negbench/coco: {steps}; and this failed: {failed}."
    )
    assert said("negbench") == (
        f"The rest of negbench has to be downloaded manually: negbench/coco: {steps}; "
        f"negbench/voc2007: save voc.csv in {tmp_path}; and this failed: {failed}."
    )
    assert (tmp_path / "there.json").is_file()  # of the part after the one that failed
    assert said("sugarcrepe") == f"{failed}."
    assert said("aro") == f"{failed}; {failed.replace('gone', 'lost')}."
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert said("winoground") == (
        f"{failed}; the Hugging Face hub cannot be asked for 'facebook/winoground' while HF_HUB_OFFLINE is set; "
        f"unset it, or download it manually: run it into {tmp_path}; download {site.url}/gone.zip into {tmp_path}."
    )


def test_a_set_of_the_hub_is_fetched_with_the_users_login_or_told_by_hand(tmp_path, monkeypatch):
    import huggingface_hub
    from huggingface_hub import constants, errors

    known = {
        "mmvp-vlm": _Source("main", (), step="run it into {folder}", hub=Hub("MMVP/MMVP_VLM", "abc", "in"))
    }
    monkeypatch.setattr("core.exchange.fetch.sources", lambda: known)
    monkeypatch.setattr(downloads, "sources", lambda: known)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repo, **more: asked.append((repo, more)))
    assert fetch_benchmark("mmvp-vlm", tmp_path) == [tmp_path / "in"]
    assert asked == [
        (
            "MMVP/MMVP_VLM",
            {
                "repo_type": "dataset",
                "revision": "abc",
                "local_dir": tmp_path / "in",
                "allow_patterns": None,
            },
        )
    ]

    def refuse(*args, **more):
        raise errors.GatedRepoError(
            "x", response=types.SimpleNamespace(status_code=403, headers={}, request=None)
        )

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(
        InputError,
        match=f"is gated: accept its conditions .*, or download it manually: run it into {tmp_path}",
    ):
        fetch_benchmark("mmvp-vlm", tmp_path)
