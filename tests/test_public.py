"""Public mode: what a visitor may do, whose runs he sees, and that no request can turn it off."""

import numpy as np
import pytest
from driving import fine

from core import public
from core.errors import InputError
from core.runs import RunStore
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
    """Public mode on a home of its own; `opened(name)` is the store as that visitor sees it."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))

    def store(name):
        monkeypatch.setattr(visitor, "owner", lambda: name)
        return visitor.VisitorStore()

    return store


@pytest.mark.parametrize(
    ("value", "on"), [("1", True), ("TRUE", True), ("yes", True), ("", False), ("0", False)]
)
def test_one_environment_variable_turns_it_on(monkeypatch, value, on):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", value)
    assert public.public() is on


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
    for _ in range(public.LIVE):
        opened("ann").create("ttm", "hers", JOB)
    with pytest.raises(InputError, match="runs waiting or working"):
        opened("ann").create("ttm", "one more", JOB)
    assert opened("bob").create("ttm", "his", JOB)


def test_the_queue_of_all_visitors_is_limited(opened, monkeypatch):
    monkeypatch.setattr(public, "WAITING", 3)
    for name in ("ann", "bob", "cem"):
        opened(name).create("ttm", "one", JOB)
    with pytest.raises(InputError, match="queue of this server is full"):
        opened("dee").create("ttm", "one", JOB)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"groups": 301}, "at most 300 groups"),
        ({"ttm": {"iterations": 11}}, "at most 10 iterations"),
        ({"ttm": {"epochs": 1000}}, "at most 20 epochs"),
        ({"benchmark": "winoground"}, "not offered here"),
    ],
)
def test_a_run_that_is_too_large_is_refused_with_a_sentence(opened, change, said):
    with pytest.raises(InputError, match=said):
        opened("ann").create("ttm", "large", {**JOB, **change})


def test_old_runs_of_a_visitor_go_when_new_ones_come(opened, monkeypatch):
    monkeypatch.setattr(public, "KEPT", 2)
    ids = []
    for number in range(4):
        run = opened("ann").create("ttm", str(number), JOB)
        RunStore().conclude(run.id, RunStore().queue_up(run.id), "finished")
        ids.append(run.id)
    assert [run.id for run in opened("ann").list()] == ids[:0:-1]


@pytest.mark.parametrize(
    "name", ["openai/clip-vit-base-patch32", "/etc", "../secret", "open_clip:ViT-B-32/laion2b"]
)
def test_models_from_outside_are_refused(monkeypatch, name):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    with pytest.raises(InputError, match="not offered here"):
        public.check_model(name, ["builtin/clip"])
    monkeypatch.delenv("CROSSMATCH_PUBLIC")
    assert public.check_model(name, ["builtin/clip"]) == name


def test_without_public_mode_everything_is_everybodys(tmp_path, monkeypatch):
    monkeypatch.delenv("CROSSMATCH_PUBLIC", raising=False)
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    for _ in range(public.LIVE + 2):
        visitor.VisitorStore().create("ttm", "one", {**JOB, "groups": 10_000})
    assert len(visitor.VisitorStore().list()) == public.LIVE + 2


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
    assert shown.value != "/etc" or "not offered here" in test.error[0].value


def test_a_run_that_works_too_long_is_asked_to_stop_and_says_why(opened, monkeypatch):
    from core import worker

    store = opened("ann")
    run = store.create("ttm", "long", JOB)
    job = worker.Job(RunStore(), run.id, RunStore().queue_up(run.id))
    job.progress(0.1, "working")
    job.beat()
    assert not job.stopping()
    monkeypatch.setattr(worker, "RUN_SECONDS", 0)
    job.beat()
    assert job.stopping()
    job.beat()
    assert "minutes at most" in store.get(run.id).message
