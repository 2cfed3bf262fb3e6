"""Public mode: what a visitor may do, whose runs he sees, and that no request can turn it off."""

import re

import numpy as np
import pytest
from driving import fine

from core.base import gate, public_mode
from core.base.errors import InputError
from core.base.image_files import MOST_SCANS
from core.runs.store import RunStore
from core.scoring.cache import ScoreCache
from core.scoring.pairs import Pairs
from core.ttm.run import TTMRun
from ui import visitor

JOB = {
    "benchmark": "scenes/left-right",
    "model": "builtin/clip",
    "groups": 300,
    "ttm": {"iterations": 10, "epochs": 5},
}
COOKIES = (
    "2|6edc9447|ad762fce036206eb98b5350d69c4a44c|1795243147",
    "2|32c13ef1|f16b85785f7fac5dc4a89fbb35d90efa|1",
)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Public mode on a home of its own; `opened(name)` is the store as that visitor sees it, from an address of his own
    unless one is named.
    """
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))

    def store(name, address=None):
        monkeypatch.setattr(visitor, "owner", lambda: name)
        monkeypatch.setattr(visitor, "address", lambda: address or f"at {name}'s")
        return visitor.VisitorStore()

    return store


@pytest.mark.parametrize(
    ("value", "on"), [("1", True), ("TRUE", True), ("yes", True), ("", False), ("0", False)]
)
def test_one_environment_variable_turns_it_on(monkeypatch, value, on):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", value)
    assert public_mode.is_public() is on


def test_a_visitor_lists_only_the_own_runs_and_opens_others_by_their_link(opened):
    first = opened("ann").create("ttm", "hers", JOB)
    second = opened("bob").create("ttm", "his", JOB)
    assert [run.id for run in opened("ann").list()] == [first.id]
    assert [run.id for run in opened("bob").list("ttm")] == [second.id]
    assert opened("bob").get(first.id).title == "hers"


@pytest.mark.parametrize("change", ["delete", "request_stop", "queue_up"])
def test_another_visitors_run_cannot_be_changed(opened, change):
    run = opened("ann").create("ttm", "hers", JOB)
    with pytest.raises(InputError, match="another browser"):
        getattr(opened("bob"), change)(run.id)
    with pytest.raises(InputError, match="another browser"):
        opened("bob").rename(run.id, "mine now")
    assert RunStore().get(run.id).title == "hers"


def test_a_visitor_has_a_limited_number_of_live_runs(opened):
    for _ in range(public_mode.MAX_LIVE_RUNS):
        opened("ann").create("ttm", "hers", JOB)
    with pytest.raises(InputError, match="runs queued or running"):
        opened("ann").create("ttm", "one more", JOB)
    assert opened("bob").create("ttm", "his", JOB)


def test_the_queue_of_all_visitors_is_limited(opened, monkeypatch):
    monkeypatch.setattr(public_mode, "MAX_QUEUED_RUNS", 3)
    for name in ("ann", "bob", "cem"):
        opened(name).create("ttm", "one", JOB)
    with pytest.raises(InputError, match="queue of this server is full"):
        opened("dee").create("ttm", "one", JOB)


def test_fresh_cookies_at_one_address_are_no_new_visitors(opened):
    for number in range(public_mode.MAX_LIVE_PER_ADDRESS):
        opened(f"cookie {number}", "an address").create("ttm", "one", JOB)
    with pytest.raises(InputError, match="8 runs from your address are queued"):
        opened("another cookie", "an address").create("ttm", "one more", JOB)
    assert opened("another cookie", "another address").create("ttm", "his", JOB)


def test_where_the_queue_is_full_the_oldest_run_of_whoever_has_most_gives_way(opened, monkeypatch):
    monkeypatch.setattr(public_mode, "MAX_QUEUED_RUNS", 6)
    runs = {}
    for name, count in (("ann", 3), ("bob", 2), ("cem", 1)):
        for i in range(count):
            runs[f"{name}{i}"] = opened(f"{name} with cookie {i}", name).create("ttm", "one", JOB).id
    first = RunStore().queue_up(runs["ann0"])
    RunStore().try_start(runs["ann0"], first, 1)  # what is at work stays
    runs["dee0"] = opened("dee", "dee").create("ttm", "one", JOB).id
    status = {name: RunStore().get(run_id).status for name, run_id in runs.items()}
    assert [name for name, now in status.items() if now == "stopped"] == ["ann1"]
    assert status["ann0"] == "running"
    assert RunStore().get(runs["ann1"]).error == public_mode.GAVE_WAY
    with pytest.raises(InputError, match="queue of this server is full"):
        opened("dee again", "dee").create("ttm", "a second one", JOB)  # 2, 2, 1 and 1
    assert opened("eve", "eve").create("ttm", "one", JOB)  # ann and bob have two each
    assert [RunStore().get(runs[name]).status for name in ("ann2", "bob0", "bob1")] == [
        "stopped",
        "queued",
        "queued",
    ]
    assert opened("ann with cookie 1", "elsewhere").queue_up(runs["ann1"]) == 2  # it can be resumed


def test_a_worker_whose_run_gave_way_has_no_last_word(opened):
    store = opened("ann")
    run = store.create("ttm", "one", JOB)
    attempt = RunStore().queue_up(run.id)
    RunStore().give_up(run.id, public_mode.GAVE_WAY)
    with pytest.raises(InputError, match="deleted or restarted"):
        RunStore().conclude(run.id, attempt, "stopped")
    assert (store.get(run.id).status, store.get(run.id).error) == ("stopped", public_mode.GAVE_WAY)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"split": "train"}, "split 'train' is not available"),
        ({"ttm": {"lora_rank": 100_000}}, "at most 64 lora_rank"),
        ({"ttm": {"epochs": float("nan")}}, "at most 20 epochs"),
        ({"groups": 301}, "at most 300 groups"),
        ({"ttm": {"iterations": 11}}, "at most 10 iterations"),
        ({"ttm": {"epochs": 1000}}, "at most 20 epochs"),
        ({"simplematch": {"rounds": 31}}, "at most 30 rounds"),
        ({"adapt": {"epochs": 21}}, "at most 20 epochs"),
        ({"benchmark": "winoground"}, "not available on this server"),
        ({"model": "openai/clip-vit-base-patch32"}, "not available on this server"),
        ({"device": "cpu:1"}, "leave it at auto"),
    ],
)
def test_a_run_that_is_too_large_is_refused_with_a_sentence(opened, change, said):
    with pytest.raises(InputError, match=said):
        opened("ann").create("ttm", "large", {**JOB, **change})


def test_old_runs_of_a_visitor_go_when_new_ones_come(opened, monkeypatch):
    monkeypatch.setattr(public_mode, "MAX_FINISHED_RUNS", 2)
    ids = []
    for number in range(4):
        run = opened("ann").create("ttm", str(number), JOB)
        RunStore().conclude(run.id, RunStore().queue_up(run.id), "finished")
        ids.append(run.id)
    assert [run.id for run in opened("ann").list()] == ids[:0:-1]


def ended(store, size=0):
    """A run that has ended, with a file of so many bytes."""
    run = store.create("ttm", "one", JOB)
    (RunStore().folder(run.id) / "file").write_bytes(bytes(size))
    RunStore().conclude(run.id, RunStore().queue_up(run.id), "finished")
    return run.id


def test_an_address_keeps_a_limited_number_of_runs_whatever_its_cookies(opened, monkeypatch):
    monkeypatch.setattr(public_mode, "MAX_FINISHED_PER_ADDRESS", 3)
    first = ended(opened("bob", "another address"))
    ids = [ended(opened(f"cookie {i}", "an address")) for i in range(5)]
    live = opened("a last cookie", "an address").create("ttm", "one", JOB).id
    assert {run.id for run in RunStore().list()} == {first, *ids[2:], live}


def test_all_addresses_together_keep_a_limited_number_of_runs(opened, monkeypatch):
    monkeypatch.setattr(public_mode, "MAX_FINISHED_TOTAL", 4)
    many = [ended(opened("ann", "ann")) for _ in range(4)]
    few = [ended(opened("bob", "bob")), ended(opened("cem", "cem"))]
    last = opened("dee", "dee").create("ttm", "one", JOB).id
    assert {run.id for run in RunStore().list()} == {*many[2:], *few, last}


def test_the_score_cache_of_a_public_server_is_bounded(opened, monkeypatch):
    opened("ann")
    keys = [("image", str(i)) for i in range(2000)]
    cache = ScoreCache()
    cache.put("first", Pairs.of(keys), np.ones(2000, np.float32))
    monkeypatch.setattr(public_mode, "MAX_CACHE_BYTES", cache.size().bytes - 1)
    cache.put("second", Pairs.of(keys[:10]), np.ones(10, np.float32))
    assert (
        np.isnan(cache.get("first", Pairs.of(keys))).all()
        and not np.isnan(cache.get("second", Pairs.of(keys[:10]))).any()
    )
    monkeypatch.delenv("CROSSMATCH_PUBLIC")
    monkeypatch.setattr(public_mode, "MAX_CACHE_BYTES", 0)
    cache.put("third", Pairs.of(keys[:10]), np.ones(10, np.float32))
    assert not np.isnan(cache.get("second", Pairs.of(keys[:10]))).any()


def test_runs_on_disk_are_bounded_and_whoever_has_most_gives_the_oldest(opened, monkeypatch):
    kb = 1 << 10
    monkeypatch.setattr(public_mode, "MAX_RUN_BYTES", public_mode._Bytes(0, 60 * kb, 100 * kb))
    nobody = RunStore().create("ttm", "of the server's owner", JOB).id
    (RunStore().folder(nobody) / "file").write_bytes(bytes(500 * kb))
    RunStore().conclude(nobody, RunStore().queue_up(nobody), "finished")
    ann = [ended(opened(f"ann {i}", "ann"), 25 * kb) for i in range(3)]
    bob = [ended(opened("bob", "bob"), 25 * kb) for _ in range(2)]
    assert ann[0] not in {run.id for run in RunStore().list()}  # 75 of 60 kB
    last = opened("cem", "cem").create("ttm", "one", JOB).id
    left = {run.id for run in RunStore().list()}
    assert left == {nobody, last, ann[2], *bob}  # 100 kB and what their descriptions take
    assert not RunStore().folder(ann[1]).exists()


def test_a_run_id_cannot_be_guessed_and_older_ones_are_known_still(opened):
    import re

    store = opened("ann")
    ids = [store.create("ttm", "one", JOB).id for _ in range(3)]
    assert all(re.fullmatch(r"\d{8}-\d{9}-[0-9a-f]{16}", run_id) for run_id in ids)  # 64 random bits
    assert len({run_id[-16:] for run_id in ids}) == 3
    assert RunStore().folder("20260101-120000000-abcdef").name == "20260101-120000000-abcdef"


def test_an_address_is_kept_as_a_hash_and_leaves_the_store_with_no_run(opened, monkeypatch, tmp_path):
    from core.exchange.runs import export_run

    monkeypatch.setattr(visitor, "owner", lambda: "ann")
    monkeypatch.setattr(type(visitor.st.context), "ip_address", "203.0.113.77")
    run = visitor.VisitorStore().create("ttm", "one", JOB)
    RunStore().conclude(run.id, RunStore().queue_up(run.id), "failed", "It broke.")
    kept = b"".join(path.read_bytes() for path in RunStore().root.glob("runs.db*"))
    assert run.address == gate.hashed("203.0.113.77") and run.address.encode() in kept
    assert b"203.0.113" not in kept
    out = export_run(RunStore(), run.id, tmp_path / "out")
    assert not [
        path for path in out.rglob("*") if path.is_file() and run.address.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize(
    "name", ["openai/clip-vit-base-patch32", "/etc", "../secret", "open_clip:ViT-B-32/laion2b"]
)
def test_models_from_outside_are_refused(monkeypatch, name):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError, match="not available on this server"):
        public_mode.check_model(name, ["builtin/clip"])
    monkeypatch.delenv("CROSSMATCH_PUBLIC")
    assert public_mode.check_model(name, ["builtin/clip"]) == name


NOT_OURS = [
    "openai/clip-vit-base-patch32",
    "itm:Salesforce/blip-itm-base-coco",
    "open_clip:ViT-B-32/laion2b_s34b_b79k",
    "open_clip:builtin/clip",
    "python:word-count",
    "python:builtin/clip",
    "api:gpt-4.1",
    "api:builtin/clip",
    "/etc",
    "itc:/etc",
    "../secret",
    "a\0b",
    "~nobody-at-all/x",
    "",
]


@pytest.mark.parametrize("name", NOT_OURS)
def test_no_way_to_resolve_a_model_leads_outside(opened, monkeypatch, tmp_path, name):
    """Whatever page or run a name comes from, the loader itself refuses it."""
    from core.scoring import load as scorers
    from core.scoring.load import load_base

    monkeypatch.setattr(scorers, "locate", None)  # nothing is looked for
    for act in (
        scorers.load_scorer,
        scorers.scorer_key,
        scorers.scorer_kind,
        scorers.model_folder,
        load_base,
    ):
        if act is scorers.scorer_kind and name.startswith(("itm:", "itc:", "api:")):
            continue  # the kind is said by the name, and that is all
        with pytest.raises(InputError, match="not available on this server"):
            act(name)
    with pytest.raises(InputError, match="not available on this server"):
        opened("ann").create("ttm", "t", {**JOB, "model": name})


def test_built_in_models_and_those_of_runs_are_loaded_in_public_mode(opened, tmp_path):
    import shutil

    from core.base.paths import assets
    from core.scoring.load import load_scorer, scorer_key

    store = opened("ann")
    folder = store.folder(store.create("ttm", "t", JOB).id) / "model"
    shutil.copytree(assets() / "models/clip", folder)
    assert load_scorer(str(folder)).key == scorer_key("builtin/clip")
    assert scorer_key("itc:builtin/blip-itm")
    secret = tmp_path / "secret"  # beside the runs, with all that a model needs
    shutil.copytree(assets() / "models/clip", secret)
    for name in (str(secret), f"{store.root}/../secret", str(store.root)):
        with pytest.raises(InputError, match="not available on this server"):
            load_scorer(name)
    (store.root / "link").symlink_to(secret)
    with pytest.raises(InputError, match="not available on this server"):
        load_scorer(str(store.root / "link"))


def test_a_resumed_run_counts_like_a_new_one(opened):
    """Whoever stops his runs to start others cannot resume them all on top."""
    store, stopped = opened("ann"), []
    for _ in range(public_mode.MAX_LIVE_RUNS):
        run = store.create("ttm", "first", JOB)
        assert store.queue_up(run.id) == 1  # it does not stand in its own way
        store.request_stop(run.id)
        stopped.append(run.id)
    for _ in range(public_mode.MAX_LIVE_RUNS):
        store.create("ttm", "second", JOB)
    with pytest.raises(InputError, match="runs queued or running"):
        store.queue_up(stopped[0])
    assert RunStore().get(stopped[0]).status == "stopped"


def test_of_many_that_are_started_at_the_same_instant_no_more_are_admitted(opened):
    from concurrent.futures import ThreadPoolExecutor

    store = opened("ann")

    def start(number):
        try:
            return store.create("ttm", str(number), JOB).id
        except InputError as error:
            return str(error)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(start, range(12)))
    assert len(store.list()) == public_mode.MAX_LIVE_RUNS
    assert sum("runs queued or running" in answer for answer in answers) == 12 - public_mode.MAX_LIVE_RUNS


def test_a_visitor_neither_starts_nor_stops_a_table(opened):
    from core.papers.background import start_table, stop_table

    for act in (start_table, stop_table):
        with pytest.raises(InputError, match="not run or stopped from here"):
            act(opened("ann"), "ttm/1", 1)


BOUND = [  # page, parameter that names a model, what else its widget needs to be there
    ("pages/1_Groups.py", "model", {}),
    ("pages/3_Debias.py", "model", {}),
    ("pages/4_Test-Time_Matching.py", "model", {"run": "new"}),
    ("pages/5_Retrieval.py", "left", {}),
    ("pages/5_Retrieval.py", "right", {}),
    ("pages/5_Retrieval.py", "base", {"view": "train"}),
    ("pages/6_Compare.py", "other", {}),
]


@pytest.mark.parametrize(("page", "name", "more"), BOUND)
def test_no_page_loads_another_model_by_its_address(
    fresh_pages, open_page, monkeypatch, tmp_path, page, name, more
):
    import shutil

    from core.base.paths import assets
    from core.scoring import load as scorers

    folder = tmp_path / "a-model"
    shutil.copytree(assets() / "models/clip-early", folder)
    resolve, asked = scorers._resolve, []
    monkeypatch.setattr(scorers, "_resolve", lambda n: (resolve(n), asked.append(n))[0])
    scores = np.random.default_rng(0).random  # which model is asked is the question, not what it says
    monkeypatch.setattr(
        "ui.retrieval.score_retrieval",
        lambda _, found, *__: scores((len(found.queries), len(found.images)), np.float32),
    )
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    for value in (str(folder), "api:gpt-4.1", "python:x"):
        test = open_page(page, **{name: value, **more})
        assert not test.exception
        assert [e.value for e in test.error if "internal error" in e.value] == []
        assert value not in asked
    assert asked and all("builtin/" in n or "/runs/" in n or "assets/models" in n for n in asked)


def test_a_visitor_is_offered_what_keeps_no_model_busy_for_long(open_page, monkeypatch):
    monkeypatch.setattr(
        "ui.retrieval.score_retrieval", lambda _, f, *__: np.zeros((len(f.queries), len(f.images)))
    )
    alone = open_page("pages/2_Matching.py")
    assert alone.selectbox(key="split").options == ["test", "validation", "train"]
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    shared = open_page("pages/2_Matching.py", split="train")
    assert shared.selectbox(key="split").options == ["test"]
    assert "300 groups" in "".join(c.value for c in shared.caption)
    few = open_page("pages/5_Retrieval.py", images="2000").select_slider(key="images")
    assert few.value in (100, 200) and max(map(int, few.options)) == 200


VIEWS = [  # where one brings files, folders and names: page, address, first words of what asks for it
    ("pages/4_Test-Time_Matching.py", {"run": "new"}, "File of embeddings"),
    ("pages/8_Your_Data.py", {"way": "Images and captions"}, "Or a folder"),
    ("pages/8_Your_Data.py", {"way": "Hugging Face"}, "Data set"),
    ("pages/8_Your_Data.py", {"way": "A model"}, "Model"),
    ("pages/9_Runs.py", {}, "Archives"),
]


def asks(test):
    """Labels of everything that takes text or files outside of the sidebar."""
    return [e.proto.label for kind in ("text_input", "file_uploader") for e in test.main.get(kind)]


@pytest.mark.parametrize(("page", "query", "label"), VIEWS)
def test_what_is_not_for_visitors_is_not_behind_an_address_either(open_page, monkeypatch, page, query, label):
    assert [found for found in asks(open_page(page, **query)) if found.startswith(label)]
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert not [found for found in asks(fine(open_page(page, **query))) if found.startswith(label)]


def test_without_public_mode_everything_is_everybodys(tmp_path, monkeypatch):
    monkeypatch.delenv("CROSSMATCH_PUBLIC", raising=False)
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    for _ in range(public_mode.MAX_LIVE_RUNS + 2):
        visitor.VisitorStore().create("ttm", "one", {**JOB, "groups": 10_000})
    assert len(visitor.VisitorStore().list()) == public_mode.MAX_LIVE_RUNS + 2


def test_the_cookie_names_the_same_visitor_however_it_is_masked():
    mask, masked = (np.frombuffer(bytes.fromhex(part), np.uint8) for part in COOKIES[0].split("|")[1:3])
    token = masked ^ np.resize(mask, len(masked))
    assert visitor._token(COOKIES[0]) == visitor._token(COOKIES[1]) == token.tobytes()
    assert (
        visitor._token("") is None and visitor._token("2|zz|00|1") is None and visitor._token("2|||") is None
    )


def test_pages_offer_built_in_models_and_sets_only_and_refuse_others_in_the_address(open_page, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    fine(open_page("pages/1_Groups.py", set="scenes/left-right", model="builtin/clip"))
    test = open_page("pages/1_Groups.py", set="scenes/left-right", model="/etc")
    shown = next(box for box in test.selectbox if box.key == "model")
    assert all("builtin/" in name or name.startswith("run/") for name in shown.options)
    assert shown.value == "builtin/clip" and "Unknown model '/etc'" in test.warning[0].value


def test_a_link_from_elsewhere_to_a_public_server_says_where_its_set_and_model_are(open_page, monkeypatch):
    """A colleague's link to Winoground is no typing error: "Unknown benchmark" misled."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = open_page("pages/2_Matching.py", set="winoground", model="openai/clip-vit-base-patch32")
    benchmark, model = (line.value.replace("\\", "") for line in test.warning[:2])
    end = "is not available on this server; choose {}, or run Crossmatch yourself."
    assert benchmark == "The benchmark 'winoground' " + end.format("a built-in set")
    assert model == "The model 'openai/clip-vit-base-patch32' " + end.format("one from the list")


def test_a_run_that_works_too_long_is_asked_to_stop_and_says_why(opened, monkeypatch):
    from core.runs import attempt

    store = opened("ann")
    run = store.create("ttm", "long", JOB)
    job = attempt.RunAttempt(RunStore(), run.id, RunStore().queue_up(run.id))
    job.progress(0.1, "working")
    job.beat()
    assert not job.stopping()
    monkeypatch.setattr(attempt, "RUN_SECONDS", 0)
    job.beat()
    assert job.stopping()
    job.beat()
    assert "may take at most" in store.get(run.id).message


# --- errors


PATHS = [
    (
        "The file /srv/data/runs/20260101-000000000-abcdef/steps/0001.npz is damaged.",
        "The file 0001.npz is damaged.",
    ),
    ("FileNotFoundError at '/root/x/y.npz'; see ~/z/log.txt", "FileNotFoundError at 'y.npz'; see log.txt"),
    (r"C:\Users\me\secret.csv cannot be read", "secret.csv cannot be read"),
    ("either and/or both of builtin/clip, scenes/left-right, https://a.example/b/c", None),
    ("a score of 1/2, 3 / 4, an open/closed question", None),
]


@pytest.mark.parametrize(("text", "told"), PATHS)
def test_a_visitor_reads_no_path_of_the_server(monkeypatch, text, told):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    assert public_mode.shown(text) == (told or text)
    monkeypatch.delenv("CROSSMATCH_PUBLIC")
    assert public_mode.shown(text) == text


@pytest.fixture
def failed(open_page, monkeypatch):
    """A visitor's run that failed because of an internal error, and what its pages show."""
    from core import worker

    def broken(attempt, run, *more):
        raise RuntimeError(f"cannot map {attempt.folder}/steps/0001.npz: /usr/lib/libcuda.so is missing")

    def run():
        monkeypatch.setattr(visitor, "owner", lambda: "ann")
        store = RunStore()
        made = store.create("ttm", "t", TTMRun.of("scenes/left-right", "builtin/clip").written(), "ann")
        with monkeypatch.context() as patch:
            patch.setattr("core.runs.resume.carry_out", broken)
            job = worker.RunAttempt(store, made.id, store.queue_up(made.id))
            store.conclude(made.id, job.attempt, *worker.work(job))
        (store.folder(made.id) / "log.txt").write_text('Traceback\n  File "/srv/app/core/worker.py", line 1')
        return made.id

    return run


def everything_shown(test):
    from google.protobuf.json_format import MessageToDict

    return str(
        [MessageToDict(e.proto) for e in test.main if hasattr(getattr(e, "proto", None), "DESCRIPTOR")]
    )


@pytest.mark.parametrize("page", ["pages/4_Test-Time_Matching.py", "pages/9_Runs.py"])
def test_a_run_that_fails_shows_a_visitor_one_sentence_and_no_traceback(failed, open_page, monkeypatch, page):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    run_id = failed()
    sentence = "The run failed because of an internal error; the server's log has the details."
    assert RunStore().get(run_id).error == sentence
    test = open_page(page, run=run_id)
    shown = everything_shown(test)
    assert not test.exception and not [
        word for word in ("Traceback", "/srv", "/usr", "libcuda") if word in shown
    ]
    if "Test-Time" in page:
        assert [e.value.translate(BARE) for e in test.error] == [sentence]


@pytest.mark.parametrize(("who", "may"), [("ann", True), ("bob", False)])
def test_whoever_opens_the_run_of_another_is_offered_no_way_to_change_it(
    failed, open_page, monkeypatch, who, may
):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    name = failed()
    monkeypatch.setattr(visitor, "owner", lambda: who)
    test = open_page("pages/4_Test-Time_Matching.py", run=name)
    assert ("Resume" in [button.label for button in test.button]) is may


def test_whoever_runs_the_server_reads_what_went_wrong(failed, open_page):
    test = open_page("pages/4_Test-Time_Matching.py", run=failed())
    assert "libcuda" in test.error[0].value and "Traceback" in everything_shown(test)


NUMBERS = [
    ("pages/4_Test-Time_Matching.py", name, {"run": "new"}) for name in ("T", "epochs", "seeds", "n", "batch")
]
NUMBERS += [("pages/3_Debias.py", "samples", {}), ("pages/7_Papers.py", "seeds", {})]


@pytest.mark.parametrize(("page", "name", "more"), NUMBERS)
def test_a_number_in_the_address_that_is_none_is_one_sentence_at_most(open_page, page, name, more):
    for value in ("nan", "inf", "-1e999"):
        test = open_page(page, **{name: value, **more})
        assert not test.exception and len(test.error) <= 1
        said = [re.sub("[“”]", "", e.value.translate(BARE)) for e in test.error]
        assert all(f"remove {name} from the address" in each for each in said)


BARE = str.maketrans("", "", "`\\")


def test_every_field_for_a_number_says_so_in_a_sentence():
    """Streamlit's own field makes a whole number of infinity, and fails."""
    from driving import ROOT

    own = ROOT / "ui/fields.py"
    for path in [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "ui").rglob("*.py")]:
        bound = [
            line for line in path.read_text().splitlines() if ".number_input(" in line and "bind=" in line
        ]
        assert path == own or not bound, path


# --- what SECURITY.md says


def mib(*sizes):
    return [f"{size >> 20:,} MiB" for size in sizes if size is not None]


LIMITS = gate.Limits()
SAID = {
    "gate.requests": [f"{number:,}" for number in LIMITS.requests],
    "gate.pace": [f"{LIMITS.pace[1]:,} an address", f"{LIMITS.pace[0]:g} a second"],
    "gate.connections": map(str, LIMITS.connections),
    "gate.openings": [f"{LIMITS.openings[1]} an address", f"{LIMITS.openings[0]:g} a second"],
    "gate.messages": [f"{LIMITS.messages[1]} a web socket", f"{LIMITS.messages[0]:g} a second"],
    "gate.message": [f"{LIMITS.message >> 10} KiB"],
    "gate.states": [f"{LIMITS.states} values"],
    "gate.uploads": map(str, LIMITS.uploads),
    "gate.sendings": [f"{LIMITS.sendings[1]} an address", f"{LIMITS.sendings[0]:g} a second"],
    "gate.quota": [*mib(*LIMITS.quota), f"{LIMITS.window:g} s"],
    "gate.body": [
        *mib(LIMITS.body, LIMITS.file),
        f"{LIMITS.marks:,}",
        f"{LIMITS.patience:g} s",
        f"{LIMITS.query:,} characters",
    ],
    "MAX_UPLOAD_BYTES": mib(*public_mode.MAX_UPLOAD_BYTES),
    "MAX_UPLOADS_PER_ADDRESS": [
        f"| {public_mode.MAX_UPLOADS_PER_ADDRESS} an address | {public_mode.MAX_UPLOADS_TOTAL:,} |"
    ],
    "MAX_LIVE_RUNS": [
        f"{public_mode.MAX_LIVE_RUNS} a cookie, {public_mode.MAX_LIVE_PER_ADDRESS} an address",
        f"| {public_mode.MAX_QUEUED_RUNS} |",
    ],
    "MAX_SETTINGS": [*map(str, public_mode.MAX_SETTINGS.values()), f"{public_mode.RUN_SECONDS} s"],
    "MAX_FINISHED_RUNS": [
        f"{public_mode.MAX_FINISHED_RUNS} a cookie, {public_mode.MAX_FINISHED_PER_ADDRESS} an address",
        f"| {public_mode.MAX_FINISHED_TOTAL} |",
    ],
    "MAX_RUN_BYTES": mib(*public_mode.MAX_RUN_BYTES[1:]),
    "MAX_CACHE_BYTES": mib(public_mode.MAX_CACHE_BYTES),
    "MOST_SCANS": [f"| {MOST_SCANS} | {MOST_SCANS} |"],
}


@pytest.mark.parametrize("name", SAID)
def test_security_says_every_limit_of_a_stranger_with_its_number(name):
    from driving import ROOT

    rows = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if f"`{name}`" in line]
    assert len(rows) == 1 and rows[0].startswith("| ")
    for number in SAID[name]:
        assert number in rows[0]


def test_every_number_of_the_gate_is_in_that_table():
    told = {
        "file",
        "body",
        "marks",
        "patience",
        "query",
        "window",
    }  # one row for all of a request, and the quota's
    assert {f"gate.{name}" for name in LIMITS._fields if name not in told} <= SAID.keys()


def test_the_largest_message_is_as_security_says():
    import re
    import tomllib

    from driving import ROOT

    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())["server"]["maxMessageSize"]
    (container,) = re.findall(r"maxMessageSize=(\d+)", (ROOT / "Dockerfile").read_text())
    assert f"| {config} MB; in the container {container} MB |" in (ROOT / "SECURITY.md").read_text()
