"""VQAScore of a served model, against a real HTTP server on this machine."""

import hashlib
import logging
import math
import pickle
import threading
import traceback

import numpy as np
import pytest
from conftest import draw
from endpoint import serving, word_log_prob

from core.base.errors import InputError
from core.scorers.api import ApiScorer, _data_url, _image_tokens, _yes_probability
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer, scorer_key
from core.scoring.scores import score_groups

CANARY = "sk-canary-0123456789abcdef"
CAPTIONS = ["a red cube", "a blue ball", "a green cone"]
IMAGES = [draw(("red", "cube"), ("blue", "ball")), draw(("green", "cone"), ("yellow", "ball"))]
PAIRS = np.array([(i, j) for i in range(2) for j in range(3)])


def expected(image, caption: str) -> float:
    question = f'Does this figure show "{caption}"? Please answer yes or no.'
    pixels = np.asarray(image.open()).tobytes()
    return int.from_bytes(hashlib.sha256(pixels + question.encode()).digest()[:4], "big") / 2**32


@pytest.fixture
def endpoint(monkeypatch):
    with serving() as server:
        monkeypatch.setenv("CROSSMATCH_API_BASE", server.url)
        monkeypatch.setenv("CROSSMATCH_API_KEY", CANARY)
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            monkeypatch.delenv(name, raising=False)
        yield server


def scorer(**settings) -> ApiScorer:
    return ApiScorer("api:model-1", "model-1", **settings)


def test_scores_are_the_probability_of_yes(endpoint):
    scores = scorer().score(IMAGES, CAPTIONS, PAIRS)
    assert scores == pytest.approx([expected(IMAGES[i], CAPTIONS[j]) for i, j in PAIRS], rel=1e-5)
    assert scores.dtype == np.float32
    assert endpoint.keys == {f"Bearer {CANARY}"}
    sent = endpoint.requests[0]
    assert (sent["model"], sent["logprobs"], sent["top_logprobs"]) == ("model-1", True, 20)
    assert (sent["max_completion_tokens"], sent["temperature"]) == (1, 0)


def test_the_scorer_is_made_from_a_name_and_the_environment(endpoint):
    made = load_scorer("api:model-1")
    assert made.name == "api:model-1" and made.model == "model-1"
    assert made.score(IMAGES, CAPTIONS, PAIRS[:1])[0] == pytest.approx(expected(IMAGES[0], CAPTIONS[0]))


def test_a_served_model_is_asked_a_question_of_ones_own(endpoint):
    name = "api:model-1?question=is+{caption}+in+{it}%3F"
    made = load_scorer(name)
    made.score(IMAGES, CAPTIONS, PAIRS[:1])
    assert endpoint.requests[0]["messages"][0]["content"][1]["text"] == f"is {CAPTIONS[0]} in {{it}}?"
    assert made.name == name and made.key != load_scorer("api:model-1").key
    assert load_scorer("api:model-1?question=is+{caption}+in+it%3F").key != made.key
    for refused in ("api:model-1?batch=2", "vgpt:api:model-1?prompt=see"):
        with pytest.raises(InputError, match=r"has no (batch|prompt)= to choose"):
            load_scorer(refused)


def test_a_served_model_goes_by_the_environment_of_the_moment(endpoint, monkeypatch):
    first = load_scorer("api:model-1")
    monkeypatch.setenv("CROSSMATCH_API_BASE", "http://localhost:1/v1")
    assert load_scorer("api:model-1").host == "localhost:1" != first.host


def test_order_changes_nothing(endpoint):
    order = np.array([5, 0, 3, 2, 4, 1])
    plain = scorer().score(IMAGES, CAPTIONS, PAIRS)
    assert scorer(concurrency=1).score(IMAGES, CAPTIONS, PAIRS[order]).tolist() == plain[order].tolist()


def test_calls_run_at_once_up_to_the_limit(endpoint):
    endpoint.together = threading.Barrier(3)
    scorer(concurrency=3).score(IMAGES, CAPTIONS, PAIRS)
    assert len(PAIRS) % 3 == 0 and endpoint.most == 3


def test_failures_that_pass_are_tried_again(endpoint):
    endpoint.failures = [(429, "slow down"), (500, "oops"), (503, "busy")]
    scores = scorer(concurrency=1).score(IMAGES, CAPTIONS, PAIRS[:2])
    assert scores == pytest.approx([expected(IMAGES[0], c) for c in CAPTIONS[:2]], rel=1e-5)


def test_a_broken_run_resumes_from_the_cache(endpoint, toy_groups, tmp_path):
    cache = ScoreCache(tmp_path / "scores.sqlite")
    endpoint.after = (10, 401)
    with pytest.raises(InputError):
        score_groups(scorer(retries=0, concurrency=2), toy_groups, cache)
    assert cache.size().scores == 10
    endpoint.after = None
    scores = score_groups(scorer(), toy_groups, cache)
    assert len(endpoint.requests) == 24  # each pair was answered once over both runs
    assert scores[0, 0, 0] == pytest.approx(
        expected(toy_groups[0].images[0], toy_groups[0].captions[0]), rel=1e-5
    )


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused the key"),
        (403, "refused the key"),
        (404, "no model"),
        (429, "rate limit"),
        (400, "error 400"),
    ],
)
def test_a_refusal_is_one_sentence_without_the_key(endpoint, status, words, caplog):
    caplog.set_level(logging.DEBUG)
    endpoint.after = (0, status)
    with pytest.raises(InputError) as error:
        scorer(retries=1).score(IMAGES, CAPTIONS, PAIRS)
    text = "".join(traceback.format_exception(error.value))
    assert words in str(error.value) and "\n" not in str(error.value)
    assert CANARY not in text and CANARY not in caplog.text
    assert error.value.__cause__ is None and error.value.__suppress_context__


def test_the_key_is_in_nothing_that_is_shown_stored_or_compared(endpoint, tmp_path, toy_groups):
    made = scorer()
    shown = [repr(made), str(made), made.describe(), made.key, made.name, made.host, str(vars(made))]
    assert not [text for text in shown if CANARY in text]
    assert scorer(api_key="sk-another").key == made.key
    with pytest.raises(TypeError) as error:
        pickle.dumps(made)
    assert CANARY not in str(error.value)
    score_groups(made, toy_groups, ScoreCache(tmp_path / "scores.sqlite"))
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


def test_keys_tell_models_and_endpoints_apart(endpoint):
    first = scorer().key
    others = {
        ApiScorer("api:m", "model-2").key,
        scorer(base_url="http://127.0.0.1:9/v1").key,
        scorer(base_url=f"{endpoint.url}/other").key,
    }
    assert first not in others and len(others) == 3


def test_a_key_kept_for_one_provider_is_not_sent_to_another(endpoint, monkeypatch):
    monkeypatch.delenv("CROSSMATCH_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    scorer().score(IMAGES, CAPTIONS, PAIRS[:1])
    assert endpoint.keys == {"Bearer none"}
    monkeypatch.delenv("CROSSMATCH_API_BASE")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    scorer().score(IMAGES, CAPTIONS, PAIRS[:1])
    assert endpoint.keys == {"Bearer none", f"Bearer {CANARY}"}


def test_an_answer_without_yes_is_bounded_and_counted(endpoint):
    endpoint.answer = lambda *_: [
        {"token": "No", "logprob": math.log(0.9)},
        {"token": "A", "logprob": math.log(0.08)},
    ]
    made = scorer()
    with pytest.warns(UserWarning, match="6 of 6 answers"):
        scores = made.score(IMAGES, CAPTIONS, PAIRS)
    assert scores == pytest.approx(0.02, abs=1e-6)  # at most what is left over
    assert made.bounded == 6


def test_yes_is_summed_over_its_spellings():
    assert _yes_probability({"Yes": math.log(0.5), " YES": math.log(0.25), "No": math.log(0.25)}) == (
        0.75,
        True,
    )
    assert _yes_probability({"No": math.log(0.5), "Maybe": math.log(0.1)})[0] == pytest.approx(0.1)
    assert _yes_probability({"No": 0.0, "Yes": -9999.0}) == (0.0, True)
    assert _yes_probability({"No": 0.0}) == (0.0, False)


def test_the_captions_of_a_served_model_score_by_the_tokens_of_its_prompt(endpoint):
    made = load_scorer("vgpt:api:model-1")
    assert made.name == "vgpt:api:model-1" and made.label == "VisualGPTScore of a served model"
    found = made.score(IMAGES, CAPTIONS, PAIRS)
    urls = [_data_url(image.open()) for image in IMAGES]
    expected = [np.mean([word_log_prob(urls[i], word) for word in CAPTIONS[j].split()]) for i, j in PAIRS]
    assert found == pytest.approx(expected, rel=1e-5) and found.dtype == np.float32
    assert len(endpoint.requests) == len(IMAGES) + len(PAIRS)  # the prompt alone is asked once for an image
    assert made.key != load_scorer("api:model-1").key and scorer_key("vgpt:api:model-1") is None


def _with_last(**entry: object):
    """The last token of a prompt with other entries."""

    def change(tokens: list) -> list:
        name, known = next(iter(tokens[-1].items()))
        return [*tokens[:-1], {name: {**known, **entry}}]

    return change


_ANOTHER = {"999": {"logprob": -0.01, "rank": 1, "decoded_token": "x"}}
BAD_PROMPTS = {
    "nan": (_with_last(logprob=math.nan), "gives nan as a log-probability; it is a finite number, at most 0"),
    "-inf": (
        _with_last(logprob=-math.inf),
        "gives -inf as a log-probability; it is a finite number, at most 0",
    ),
    "a probability": (
        _with_last(logprob=0.7),
        "gives 0.7 as a log-probability; it is a finite number, at most 0",
    ),
    "text": (_with_last(logprob="abc"), "returns no log-probabilities of its prompt; serve it with vLLM"),
    "none": (_with_last(logprob=None), "returns no log-probabilities of its prompt; serve it with vLLM"),
    "candidates": (
        lambda tokens: [None, *({**_ANOTHER, **token} for token in tokens[1:])],
        "lists several candidates for a token of its prompt, and not which one it is; serve it with vLLM",
    ),
    "nothing": (lambda tokens: [], "returns no log-probabilities of its prompt; serve it with vLLM"),
    "numbers alone": (
        lambda tokens: [None, -1.0],
        "returns no log-probabilities of its prompt; serve it with vLLM",
    ),
}


@pytest.mark.parametrize(("change", "said"), BAD_PROMPTS.values(), ids=BAD_PROMPTS)
def test_what_is_wrong_in_the_tokens_of_a_prompt_is_one_sentence(endpoint, change, said):
    """Scores were nan, or of other tokens than the caption's, and text was a traceback."""
    endpoint.change_prompt = change
    with pytest.raises(InputError, match=said) as caught:
        load_scorer("vgpt:api:model-1").score(IMAGES, CAPTIONS, PAIRS)
    assert "model-1 at 127.0.0.1" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, 3.0])
def test_an_answer_whose_log_probability_is_none_is_no_confident_yes(endpoint, value):
    """The score was 1."""
    endpoint.answer = lambda image_url, question: [{"token": "Yes", "logprob": value}]
    with pytest.raises(InputError, match=f"gives {value} as a log-probability; it is a number, at most 0"):
        scorer().score(IMAGES, CAPTIONS, PAIRS)


def test_a_server_that_does_not_repeat_its_prompt_is_one_sentence(endpoint):
    endpoint.without_prompts = True
    with pytest.raises(InputError, match="returns no log-probabilities of its prompt; serve it with vLLM"):
        load_scorer("vgpt:api:model-1").score(IMAGES, CAPTIONS, PAIRS)
    with pytest.raises(InputError, match="not as noise"):
        load_scorer("blind:api:model-1")


def test_a_model_without_log_probabilities_is_one_sentence(endpoint):
    endpoint.answer = lambda *_: None
    with pytest.raises(InputError, match="no log-probabilities"):
        scorer().score(IMAGES, CAPTIONS, PAIRS)


def test_an_endpoint_that_is_not_there_is_one_sentence(endpoint):
    with pytest.raises(InputError, match="cannot be reached"):
        scorer(base_url="http://127.0.0.1:9/v1", retries=0).score(IMAGES, CAPTIONS, PAIRS)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"base_url": "http://example.com/v1"}, "unencrypted to example.com"),
        ({"base_url": "example.com"}, "needs an address"),
    ],
)
def test_unsafe_or_senseless_settings_are_refused(endpoint, settings, words):
    with pytest.raises(InputError, match=words) as error:
        scorer(**settings)
    assert CANARY not in str(error.value)


def test_what_is_missing_is_one_sentence(endpoint, monkeypatch):
    with pytest.raises(InputError, match="after the colon"):
        load_scorer("api:")
    monkeypatch.delenv("CROSSMATCH_API_BASE")
    monkeypatch.delenv("CROSSMATCH_API_KEY")
    with pytest.raises(InputError, match="CROSSMATCH_API_KEY"):
        scorer()
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(InputError, match=r"crossmatch\[api\]"):
        scorer()


def test_the_estimate_counts_calls_tokens_and_cost(endpoint):
    found = scorer().estimate(IMAGES, CAPTIONS, PAIRS, price_in=2.0, price_out=8.0)
    assert (found.calls, found.tokens_out) == (6, 6)
    # 255 an image of one tile; 10 a message; a token for 4 of the question's 50 letters and the caption's.
    assert found.tokens_in == pytest.approx(6 * (255 + 10 + 50 / 4) + 2 * sum(map(len, CAPTIONS)) / 4, abs=1)
    assert (_image_tokens((1024, 1024)), _image_tokens((2048, 4096))) == (765, 1105)  # OpenAI's own examples
    assert found.cost == pytest.approx((found.tokens_in * 2 + 6 * 8) / 1e6)
    assert scorer().estimate(IMAGES, CAPTIONS, PAIRS).cost is None
    assert endpoint.requests == []
