"""A served model on the pages: its address and key, the estimate before it starts, and a key that is kept nowhere."""

import pytest
from driving import whole_app
from test_api_scorer import CANARY, endpoint  # noqa: F401

from core.datasets import load
from core.scorers.api import ApiScorer
from core.scoring.cache import ScoreCache
from core.scoring.scores import planned_calls, score_groups

MODEL = "api:model-1"
ASKING = f"{MODEL}?question=is+{{caption}}+there%3F"


@pytest.fixture
def few(fresh_pages, monkeypatch):
    """Three groups of the built-in world instead of three hundred."""
    whole = load
    monkeypatch.setattr("core.datasets.load", lambda *args, **more: whole(*args, **more).select(range(3)))
    # AppTest knows no value of a select box that is not among its options, as a typed name is not.
    monkeypatch.setattr(
        "ui.selection.scorer_list", lambda: {"builtin/clip": "itc", MODEL: "api", ASKING: "api"}
    )


def opened(model=MODEL):
    test = whole_app()
    test.query_params["set"], test.query_params["model"] = "scenes/left-right", model
    test.switch_page("pages/2_Matching.py")
    return test.run()


def start_button(test):
    return [b for b in test.button if b.key and b.key.startswith("api_start")]


def test_a_price_below_zero_is_said_and_starts_nothing(endpoint, few, tmp_path):  # noqa: F811
    test = opened()
    next(box for box in test.number_input if "in" in box.label.split()).set_value(-1.0).run()
    assert not test.exception
    assert [each.value for each in test.error] == [r"Price per million tokens in must be at least 0\."]
    (start,) = start_button(test)
    assert start.disabled


def test_nothing_is_asked_before_the_estimate_was_seen_and_everything_once_after(endpoint, few, tmp_path):  # noqa: F811
    test = opened()
    assert not test.exception and not test.error
    assert not endpoint.requests
    assert any("**12 calls**" in m.value for m in test.markdown)
    start_button(test)[0].click().run()
    assert not test.exception and len(endpoint.requests) == 12
    assert {"GroupScore", "GroupMatch"} <= {m.label for m in test.metric}
    again = opened()
    assert len(endpoint.requests) == 12 and not start_button(again)
    assert any("are cached" in c.value for c in again.caption)


def test_a_served_model_is_asked_a_question_of_ones_own(endpoint, few):  # noqa: F811
    test = opened()
    test.session_state["model-options"] = True
    next(f for f in test.run().text_input if f.label == "VQA question").set_value("is {caption} there?")
    test = next(b for b in test.button if b.label == "Use these options").click().run()
    assert test.session_state["model"] == ASKING
    start_button(test)[0].click().run()
    texts = {request["messages"][0]["content"][1]["text"] for request in endpoint.requests}
    captions = {c for g in load("scenes/left-right", "test").groups[:3] for c in g.captions}
    assert texts == {f"is {caption} there?" for caption in captions}


def test_a_price_gives_a_cost(endpoint, few):  # noqa: F811
    test = opened()
    for way in ("in", "out"):
        test.number_input(key=f"api_{way}-{MODEL}").set_value(2.0)
    test.run()
    assert any("in the prices' currency" in m.value for m in test.markdown)


def test_a_typed_key_goes_to_its_endpoint_alone_and_into_no_link_and_no_file(endpoint, few, tmp_path):  # noqa: F811
    test = opened()
    typed = "typed-key-4711"
    test.text_input(key=f"api_key-{MODEL}").set_value(typed).run()
    start_button(test)[0].click().run()
    assert endpoint.keys == {f"Bearer {typed}"}
    assert typed not in str(test.query_params)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not any(typed.encode() in path.read_bytes() for path in files)


def test_the_environments_key_is_not_sent_to_an_address_that_somebody_types(endpoint, few, monkeypatch):  # noqa: F811
    monkeypatch.setenv("CROSSMATCH_API_BASE", "http://localhost:1/v1")
    test = opened()
    test.text_input(key=f"api_base-{MODEL}").set_value(endpoint.url).run()
    start_button(test)[0].click().run()
    assert len(endpoint.requests) == 12
    assert not any(CANARY in str(key) for key in endpoint.keys)


def test_the_plan_counts_only_what_the_cache_lacks(endpoint, toy_groups, tmp_path):  # noqa: F811
    scorer, cache = ApiScorer(MODEL, "model-1"), ScoreCache(tmp_path / "c.sqlite")
    assert planned_calls(scorer, toy_groups, cache).calls == 24
    score_groups(scorer, toy_groups.select([0, 1]), cache)
    left = planned_calls(scorer, toy_groups, cache, 2.0, 8.0)
    assert left.calls == 24 - len(endpoint.requests)
    assert left.cost == pytest.approx((2.0 * left.tokens_in + 8.0 * left.tokens_out) / 1e6)


def test_the_command_says_what_it_will_ask_before_it_asks(endpoint, few):  # noqa: F811
    from typer.testing import CliRunner

    from core import cli

    done = CliRunner().invoke(
        cli.app, ["evaluate", "--benchmark", "scenes/left-right", "--model", MODEL, "--json"]
    )
    assert done.exit_code == 0, done.output
    assert "12 calls" in done.stderr and len(endpoint.requests) == 12
