"""What a browser is shown of data, and what it can make the server do: words stay words, paths and keys stay inside."""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from driving import ROOT, fine, whole_app
from google.protobuf.json_format import MessageToDict
from streamlit.proto.RootContainer_pb2 import RootContainer  # noqa: F401  the messages are registered by it
from streamlit.testing.v1 import AppTest

from core.base import public_mode as public
from core.base.errors import InputError
from core.exchange import importing
from core.runs.store import RunStore
from core.ttm.run import TTMRun

HOSTILE = (
    '<canary onload="x">**canary** [canary](http://canary.example) $canary$ `canary` :red[canary] '
    "<script>canary()</script>"
)
SET = "mine/hostile"
PAGES = ["app.py", *sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("[0-9]*.py"))]
# What may not stand anywhere that Markdown is rendered, unless a backslash escapes it.
MARKUP = re.compile(
    r"(?<!\\)(<canary|<script>canary|\*\*canary|\]\(http://canary|\$canary|`canary|:red\[canary)"
)
# Fields of Streamlit's messages that are shown as they are: no markup in them is acted upon.
PLAIN = {
    "options",
    "default",
    "value",
    "placeholder",
    "data",
    "id",
    "url",
    "rawValues",
    "setValue",
    "query",
    "command",
}
PLAIN |= {
    "defaults",
    "strings",
    "stringValue",
    "rawValue",
    "pageHash",
    "page",
    "queryString",
    "config",
    "queryParamKey",
}
# Shown letter by letter; a column's head is drawn on a canvas, and plain in the menus of its table.
PLAIN_PLACES = {
    "text.body",
    "code.codeText",
    "dataframe.columnOrder",
    "dataframe.columns.settings.label",
    "plotly_chart.alt",
}


@pytest.fixture(scope="module")
def hostile_home(scored_home, tmp_path_factory):
    """A home with a benchmark, a model folder and a finished run whose every name is markup."""
    from adapted import finish

    from core.base.paths import assets

    home = tmp_path_factory.mktemp("hostile")
    shutil.copytree(scored_home, home, dirs_exist_ok=True)
    model = home / HOSTILE.replace("/", "")[:100]
    shutil.copytree(assets() / "models/clip", model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSMATCH_HOME", str(home))
        importing.stage_import(manifest(home / "source")).add_benchmark(
            "hostile", title=HOSTILE, licence=HOSTILE, citation=HOSTILE
        )
        job = TTMRun.of(SET, str(model), options={"iterations": 1, "epochs": 1})
        run = finish(RunStore(), HOSTILE, job)
    return home, str(model), run


def manifest(folder):
    from PIL import Image

    folder.mkdir()
    rows = []
    for i in range(8):
        for j in range(2):
            Image.new("RGB", (32, 32), (20 * i, 200 * j, 90)).save(folder / f"{i}{j}.png")
        texts = [f"{HOSTILE} {i} {word}" for word in ("one", "two")]
        rows.append(
            {
                "id": f"{HOSTILE} {i}",
                "images": [f"{i}0.png", f"{i}1.png"],
                "captions": texts,
                HOSTILE: HOSTILE + str(i % 2),
            }
        )
    (folder / "manifest.json").write_text(json.dumps(rows))
    return folder


@pytest.fixture
def opened(hostile_home, tmp_path, monkeypatch):
    from ui.loaders import load_groups

    load_groups.clear()  # of the test before, whose pictures were in a home that is gone
    home, model, run = hostile_home
    place = tmp_path / "home"
    shutil.copytree(home, place, dirs_exist_ok=True)
    monkeypatch.setenv("CROSSMATCH_HOME", str(place))

    def start(page, **query):
        test = whole_app()
        for name, value in query.items():
            test.query_params[name] = value
        if page != "app.py":
            test.switch_page(page)
        return test.run()

    return start, model, run


def shown(test):
    """(where, text) of every text in the page's messages that may be rendered as Markdown or HTML."""
    stack = list(test._tree.children.values())
    while stack:
        node = stack.pop()
        stack += list(getattr(node, "children", {}).values())
        proto = getattr(node, "proto", None)
        if proto is not None and hasattr(proto, "DESCRIPTOR"):
            yield from texts(MessageToDict(proto), node.type)


def texts(value, where):
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in PLAIN or where.rpartition(".")[2] in ("radio", "button_group"):
                yield from texts(each, f"{where}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from texts(each, where)
    elif isinstance(value, str) and where == "dataframe.columns":
        yield from texts(list(json.loads(value or "{}").values()), f"{where}.settings")
    elif isinstance(value, str):
        yield where, value


def check(test):
    """Nothing from the data is markup; returns how many texts were looked at that hold any of it at all."""
    seen = 0
    for where, found in shown(test):
        seen += "canary" in found
        if where in PLAIN_PLACES:
            continue  # shown letter by letter
        if where == "plotly_chart.spec":  # Plotly acts upon tags alone, which its JSON spells like this
            assert "\\u003ccanary" not in found and "\\u003cscript" not in found, (where, found[:500])
        elif where.startswith(("html", "iframe")):
            assert "<canary" not in found and "<script>canary" not in found and 'onload="x"' not in found, (
                where,
                found[:500],
            )
        else:
            hit = MARKUP.search(found)
            assert hit is None, (where, found[max(0, hit.start() - 150) : hit.end() + 100])
    return seen


def test_the_check_notices_markup():
    def page():
        import streamlit as st

        st.radio("x", ["a **canary**"])

    with pytest.raises(AssertionError, match="canary"):
        check(AppTest.from_function(page).run())


@pytest.mark.parametrize("page", PAGES)
def test_words_from_data_are_never_rendered_as_markup(opened, page):
    start, model, run = opened
    test = start(page, set=SET, model=model)
    assert not test.exception
    check(test)
    if "Test-Time" in page or "Runs" in page:
        test = start(page, set=SET, model=model, run=run, step="1")
        assert not test.exception
        check(test)


def test_the_words_are_there_all_the_same(opened):
    start, model, _ = opened
    assert check(start("pages/1_Groups.py", set=SET, model=model)) > 3
    assert check(start("pages/2_Matching.py", set=SET, model=model)) > 3


ADDRESSES = [(page, name) for page in PAGES for name in ("set", "model", "run")]
ADDRESSES += [
    ("pages/1_Groups.py", name) for name in ("split", "tag", "shape", "group")
]  # one sidebar for all


@pytest.mark.slow
@pytest.mark.parametrize(("page", "name"), ADDRESSES)
def test_markup_and_paths_in_the_address_are_one_sentence_at_most(opened, page, name):
    for value in (HOSTILE, "../../../../etc/passwd"):
        test = opened[0](page, **{name: value})
        assert not test.exception
        check(test)
        assert not [text for _, text in shown(test) if "root:" in text or "Traceback" in text]
        assert not [e.value for e in test.error if "internal error" in e.value]


# --- paths and uploads


def test_a_file_that_an_error_quotes_is_not_sent_back_whole(open_page, monkeypatch):
    """`truth` of three million numbers came back as a message of 9 MB."""
    from core.exchange.uploads import UploadStore

    content = b'{"c0_i0": 1, "c1_i0": 0, "truth": [' + b"0, " * 100_000 + b"0]}\n"
    UploadStore().add("x.jsonl", content)
    page = open_page("pages/2_Matching.py", set="upload/x.jsonl")
    (box,) = page.error
    assert "list the caption index" in box.value and len(box.value) < 4000


def test_cross_site_requests_are_refused_and_uploads_bounded():
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    assert config["server"]["enableXsrfProtection"] is True
    assert config["server"]["enableCORS"] is True
    assert config["server"]["maxUploadSize"] <= 100
    assert config["client"]["showErrorDetails"] == "none"
    assert config["browser"]["gatherUsageStats"] is False


def test_every_uploader_says_how_much_it_takes_or_takes_the_bounded_default():
    import ast

    for path in [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "ui").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "file_uploader":
                names = {keyword.arg for keyword in node.keywords}
                assert names & {"type", "max_upload_size"}, (
                    f"{path.name}: an uploader takes anything of any size"
                )


@pytest.mark.parametrize("way", ["Images and captions", "Scores or embeddings"])
def test_a_field_promises_no_larger_file_than_the_server_takes(open_page, way):
    """Your data said 500 MB where the server refuses more than 100."""
    field = open_page("pages/8_Your_Data.py", way=way).get("file_uploader")[0]
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    assert field.proto.max_upload_size_mb <= config["server"]["maxUploadSize"]


UPLOADERS = [("pages/2_Matching.py", {}), ("pages/8_Your_Data.py", {"way": "Scores or embeddings"})]


@pytest.mark.parametrize("public", ["0", "1"])
@pytest.mark.parametrize(("page", "query"), UPLOADERS)
def test_names_and_content_of_an_upload_are_words_and_no_paths(
    open_page, monkeypatch, tmp_path, page, query, public
):
    import csv
    import io

    monkeypatch.setenv("CROSSMATCH_PUBLIC", public)
    out = io.StringIO()
    rows = [["group", "image", "caption", "score", HOSTILE]]
    for group in (HOSTILE, f"{HOSTILE} 2"):
        rows += [[group, i, j, i + 2 * j, HOSTILE] for i in range(2) for j in range(2)]
    csv.writer(out).writerows(rows)
    for content in (out.getvalue(), out.getvalue().replace(",score,", f",{HOSTILE},"), HOSTILE):
        for name in (f"{HOSTILE}.csv", "../../../outside.csv"):
            test = open_page(page, **query)
            test.get("file_uploader")[0].upload(name, content.encode(), "text/csv")
            test = test.run()
            assert not test.exception
            assert not [e.value for e in test.error if "internal error" in e.value]
            seen = check(test)
            assert bool(test.error) is (content != out.getvalue())
            assert seen or not test.error or "canary" not in name  # the sentence names the file
    uploads = tmp_path / "home/uploads"  # a folder for each, of a name that is no path
    stored = [path for path in tmp_path.parent.rglob("*.csv") if tmp_path in path.parents]
    assert all(path.parent.parent == uploads and re.fullmatch(r"[\w.-]+", path.name) for path in stored)
    assert all(path.parent.parent.name == "uploads" for path in tmp_path.parent.rglob("outside.csv"))


PATHS = [
    "../../etc/passwd",
    "/etc/passwd",
    "/etc",
    "..",
    "~root/x",
    "run/../../x",
    "itc:/etc",
    "itm:../x",
    "mine/../../etc",
]


@pytest.mark.parametrize("name", PATHS)
def test_in_public_mode_no_name_becomes_a_path(monkeypatch, tmp_path, name):
    from core.scoring.load import load_scorer

    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError):
        public.check_benchmark(name)
    with pytest.raises(InputError):
        load_scorer(public.check_model(name, ["builtin/clip"]))
    store = RunStore(tmp_path / "runs")
    for act in (store.folder, store.get, store.delete):
        with pytest.raises(InputError):
            act(name)


def test_the_run_of_a_model_name_is_checked_before_it_is_a_path(open_page, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    for name in ("run/../../../etc", "run//etc", "itc:run/../x", "run/"):
        test = open_page("pages/2_Matching.py", model=name)
        assert not test.exception
        assert not [e.value for e in test.error if "internal error" in e.value]


@pytest.mark.parametrize(
    "query", [{"public": "0"}, {"CROSSMATCH_PUBLIC": "0"}, {"embed": "true"}, {"debug": "1"}]
)
def test_public_mode_cannot_be_left_by_the_address(open_page, monkeypatch, query):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = fine(open_page("pages/8_Your_Data.py", **query))
    assert not [w.key for w in test.text_input if w.key == "set_folder"]
    assert public.is_public() and os.environ["CROSSMATCH_PUBLIC"] == "1"


def test_public_mode_is_read_from_the_process_alone():
    """Nothing in pages writes to the environment, and nothing but core/base/public_mode.py reads the variable."""
    for path in [
        ROOT / "app.py",
        *(ROOT / "pages").glob("*.py"),
        *(ROOT / "ui").rglob("*.py"),
        *(ROOT / "core").rglob("*.py"),
    ]:
        source = path.read_text()
        if path.relative_to(ROOT) != Path("core/base/public_mode.py"):
            assert not re.search(r"environ[^\n]*CROSSMATCH_PUBLIC", source), path
        if "core" not in path.relative_to(ROOT).parts:
            assert not re.search(r"environ\[[^\]]*\]\s*=|putenv|environ\.(update|setdefault|pop)", source), (
                path
            )


# --- keys

KEY = "sk-canary-0123456789abcdef"
TALK = """
import logging, os, sys
logging.basicConfig(level=logging.DEBUG)
from core.base.errors import InputError
from core.scorers.api import ApiScorer
from core.groups import BytesImage
import io
from PIL import Image
out = io.BytesIO()
Image.new("RGB", (8, 8)).save(out, "PNG")
try:
    scorer = ApiScorer("api:some-model", "some-model", retries=0)
    print(scorer, repr(scorer), scorer.describe(), vars(scorer).keys())
    scorer.score([BytesImage(out.getvalue())], ["a"], [(0, 0)])
except InputError as error:
    print(error)
"""


def test_a_key_in_the_environment_is_in_no_output_log_or_file_even_when_the_call_fails(tmp_path):
    environment = {
        **os.environ,
        "CROSSMATCH_HOME": str(tmp_path),
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",  # nobody listens on the discard port
        "HF_TOKEN": KEY,
    }
    found = subprocess.run(
        [sys.executable, "-c", TALK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert found.stdout.strip(), found.stderr
    assert KEY not in found.stdout + found.stderr
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written


def test_a_key_reaches_no_page_address_store_or_export(open_page, monkeypatch, tmp_path, caplog):
    from core.exchange.runs import export_run

    for name in ("OPENAI_API_KEY", "HF_TOKEN", "CROSSMATCH_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with caplog.at_level(logging.DEBUG):
        for page in ("app.py", "pages/8_Your_Data.py", "pages/9_Runs.py"):
            test = open_page(None if page == "app.py" else page)
            assert KEY not in json.dumps([text for _, text in shown(test)])
            assert KEY not in json.dumps(dict(test.query_params))
        store = RunStore()
        run = store.create("ttm", "t", TTMRun.of("scenes/swap", "builtin/clip").written())
        store.conclude(run.id, store.queue_up(run.id), "failed", "It broke.")
        out = export_run(store, run.id, tmp_path / "out")
    assert KEY not in caplog.text
    for folder in (tmp_path / "home", out):
        assert not [p for p in folder.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


# --- what is shipped


def test_every_shipped_asset_has_its_licence_stated():
    told = (ROOT / "assets/LICENSES.md").read_text()
    for folder in (p for p in (ROOT / "assets").iterdir() if p.is_dir()):
        assert f"`{folder.name}/" in told, f"assets/LICENSES.md says nothing of assets/{folder.name}"
    for model in (ROOT / "assets/models").iterdir():
        assert f"`models/{model.name}`" in told


def test_the_container_runs_without_root():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users and users[-1] not in ("root", "0")


def test_the_container_is_built_from_pinned_parts_alone():
    dockerfile, makefile = ((ROOT / name).read_text() for name in ("Dockerfile", "Makefile"))
    bases = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert bases and all(re.search(r"@sha256:[0-9a-f]{64}$", base) for base in bases), bases
    uv = {re.search(r"pip install [^\n]*\buv(\S*)", text).group(1) for text in (dockerfile, makefile)}
    assert len(uv) == 1 and uv.pop().startswith("==")  # one version in both


def test_the_lock_pins_every_package_with_its_hashes_and_has_all_that_is_asked_for():
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().strip())
    pinned = {}
    for block in blocks:
        first, *hashes = [line.strip().removesuffix("\\").strip() for line in block.splitlines()]
        found = Requirement(first)
        (pin,) = found.specifier
        assert pin.operator == "==" and "*" not in pin.version and found.url is None, first
        assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line) for line in hashes), first
        pinned.setdefault(canonicalize_name(found.name), []).append(pin.version)
    asked = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    for wanted in map(Requirement, asked):
        name = canonicalize_name(wanted.name)
        if name == canonicalize_name(project["name"]):
            continue  # an extra that is made of others
        assert all(version in wanted.specifier for version in pinned[name]), wanted


def test_an_audit_that_could_ask_nobody_fails():
    recipe = (ROOT / "Makefile").read_text().partition("\naudit:")[2].partition("\n\n")[0]
    assert "pip-audit" in recipe and "--strict" in recipe and "--require-hashes" in recipe


@pytest.mark.parametrize(("public", "address"), [("", "localhost"), ("1", "0.0.0.0")])
def test_make_app_lets_other_machines_in_in_public_mode_alone(public, address):
    """It listened everywhere, and whoever reached it could read folders by it."""
    env = {**os.environ, "CROSSMATCH_PUBLIC": public}
    env.pop("HOST", None)
    root = Path(__file__).parents[1]
    shown = subprocess.run(
        ["make", "-n", "app"], cwd=root, env=env, capture_output=True, text=True, check=True
    )
    assert f"--server.address {address} " in shown.stdout


def test_no_message_is_left_out_because_the_browser_should_still_have_it():
    """Under a fast slider the browser had dropped it, and the page ended in “Cached ForwardMsg MISS”: in 1 of 30 bursts
    of 15 keys on Debias, and in none of 45 since."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["global"]["minCachedMessageSize"] > settings["server"]["maxMessageSize"] * 2**20
