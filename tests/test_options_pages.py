"""What a page asks for takes effect: every widget of the forms that start runs, and every key of a sweep's file."""

from itertools import product

import pytest
from driving import button, fine

from core.base.errors import InputError
from core.sweeps._plan import FILES, parse_plan

TTM, RETRIEVAL = "pages/4_Test-Time_Matching.py", "pages/5_Retrieval.py"
SET = "scenes/left-right"

# ---- forms

FIELDS = ("number_input", "selectbox", "toggle", "radio", "slider", "text_input", "checkbox")
# What decides which other fields there are; each has modes of its own below.
SHAPING = {
    "method",
    "source",
    "preset",
    "variant",
    "schedule",
    "start",
    "end",
    "transfer",
    "lora",
    "strategy",
}
MODES = {
    "margins": {},
    "values": {"start": "value", "end": "value"},
    "constant": {"schedule": "constant"},
    "one iteration": {"T": "1"},
    "global": {"variant": "global"},
    "oracle": {"variant": "oracle (uses the truth)"},
    "transfer and adapters": {"transfer": "true", "lora": "true"},
    "simplematch": {"method": "SimpleMatch", "transfer": "true"},
}


def fields(test):
    """The fields of the form, by key: what can be set and is no part of the sidebar."""
    aside = {w.key for kind in FIELDS for w in getattr(test.sidebar, kind)}
    found = {w.key: w for kind in FIELDS for w in getattr(test.main, kind)}
    return {key: w for key, w in found.items() if key and key not in aside and not w.disabled}


def another(field):
    """A value that this field does not have."""
    value, kind = field.value, type(field).__name__
    if kind in ("Toggle", "Checkbox"):
        return not value
    if kind in ("Selectbox", "Radio"):
        return field.options[(field.index + 1) % len(field.options)]
    if kind == "TextInput":
        return "q_proj" if value != "q_proj" else "k_proj"
    if value is None:
        return 1 if field.key == "alr" else 7  # a learning rate of 7 is refused
    step = field.step or 1
    return value + step if field.max is None or value + step <= field.max else value - step


def change(test, key):
    """Another value in this field, upwards or, where the form says that this is too much, downwards."""
    field = fields(test)[key]
    field.set_value(another(field)).run()
    if test.error:
        field = fields(test)[key]
        field.set_value(field.value - 2 * field.step).run()
    return fine(test)


@pytest.fixture
def planned(monkeypatch):
    """The descriptions that the form of test-time matching has made, the newest last; nothing is drawn of them."""
    found = []
    monkeypatch.setattr("ui.ttm_preview.preview", lambda job, evaluation: found.append(job))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_field_of_the_run_s_form_changes_the_run(mode, app, planned):
    test = app(TTM, set=SET, **MODES[mode])
    keys = [key for key in fields(test) if key not in SHAPING | {"seeds", "shown", "ledger_set"}]
    assert {"epochs", "lr", "seed", "n", "device"} <= set(keys)
    for key in keys:
        before = planned[-1]
        change(test, key)
        assert planned[-1] != before, key


@pytest.mark.parametrize("key", sorted(SHAPING - {"source", "strategy"}))
def test_what_shapes_the_run_s_form_changes_the_run(key, app, planned):
    test = app(TTM, set=SET)
    before = planned[-1]
    if key == "method":
        fine(test.segmented_control(key="method").set_value("SimpleMatch").run())
    else:
        field = fields(test)[key]
        fine(field.set_value(another(field)).run())
    assert planned[-1] != before


@pytest.mark.parametrize("strategy", ["mm-adapter", "linear"])
def test_every_field_of_a_strategy_s_form_changes_its_run(strategy, app, monkeypatch):
    jobs = []

    def start(store, title, job):
        jobs.append(job)
        raise InputError("This test starts nothing.")

    monkeypatch.setattr("core.runs.engine.start", start)
    test = app(RETRIEVAL, view="train")
    test.selectbox(key="strategy").set_value(strategy).run()
    button(test, "Start the run").click().run()
    assert jobs[-1].settings.strategy == strategy
    keys = [
        key for key in fields(test) if key not in ("arun", "trainon")
    ]  # of other sets the data are not here
    assert ("fusion" in keys) == (strategy == "mm-adapter") and "strategy" in keys
    last = ("adapter", "fusion", "strategy")  # what decides on others
    for key in sorted(keys, key=lambda key: last.index(key) if key in last else -1):
        field = fields(test)[key]
        field.set_value(another(field))
        button(test, "Start the run").click().run()
        assert jobs[-1] != jobs[-2], key


def test_a_short_name_typed_into_a_page_is_the_hub_s():
    from ui.loaders import model_source

    assert model_source("itc:siglip-b16") == "itc:google/siglip-base-patch16-224"
    assert model_source("builtin/clip") == "builtin/clip"


# ---- a sweep's file

SWEEP = {
    "evaluate": "kind: evaluate\nmodels: [builtin/clip]\nbenchmarks: [scenes/swap]\n",
    "ttm": "kind: ttm\nmodels: [builtin/clip]\nbenchmarks: [scenes/swap]\n",
    "simplematch": "kind: simplematch\nmodels: [builtin/clip]\nbenchmarks: [scenes/swap]\n",
}
# Key -> another value, and for a key that has no effect by itself a part of the sentence that says so.
KEYS = {
    "name": ("name: other", ""),
    "kind": ("", ""),
    "models": ("models: [siglip-b16]", ""),
    "benchmarks": ("benchmarks: [scenes/add]", ""),
    "split": ("split: validation", ""),
    "groups": ("groups: 8", ""),
    "device": ("device: cpu", ""),
    "gpus": ("gpus: 1", ""),
    "cpus": ("cpus: 2", ""),
    "retries": ("retries: 1", ""),
    "seeds": ("seeds: [3]", ""),
    "settings": ("settings: {epochs: 2}", ""),
    "grid": ("grid: {lr: [1e-4, 1e-3]}", ""),
    "preset": ("preset: PRESET", ""),
    "adapt_on": ("adapt_on: 0.4", ""),
    "split_seed": ("split_seed: 3", "set adapt_on too"),
    "oracle": ("oracle: true", ""),
    "shard": ("shard: 5", ""),
}
OTHER = {"ttm": "default", "simplematch": "simplematch/embeddings"}


def plan(kind, *lines):
    """The plan of a file of this kind in which these lines replace those of the same key."""
    new = {line.partition(":")[0] for line in lines}
    old = [line for line in SWEEP[kind].splitlines() if line.partition(":")[0] not in new]
    found = parse_plan("\n".join([*old, *lines]), "study")
    return found.name, found.cells, found.gpus, found.cpus, found.retries


@pytest.mark.parametrize("kind", FILES)
def test_every_key_of_a_sweep_s_file_is_declared(kind):
    assert set(FILES[kind].model_fields) <= set(KEYS)


@pytest.mark.parametrize(("kind", "key"), [(k, key) for k in FILES for key in FILES[k].model_fields])
def test_a_key_of_a_sweep_s_file_changes_the_sweep_or_is_refused(kind, key):
    line, refusal = KEYS[key]
    line = line.replace("PRESET", OTHER.get(kind, ""))
    if key == "kind":
        line = f"kind: {next(other for other in FILES if other != kind)}"
    if refusal:
        with pytest.raises(InputError, match=refusal):
            plan(kind, line)
        assert plan(kind, "adapt_on: 0.5", line) != plan(kind, "adapt_on: 0.5")
        return
    assert plan(kind, line) != plan(kind)


@pytest.mark.parametrize(
    ("kind", "key"), [(k, key) for k, key in product(FILES, KEYS) if key not in FILES[k].model_fields]
)
def test_a_key_of_another_kind_of_sweep_is_refused(kind, key):
    with pytest.raises(InputError, match=f"kind {kind}.*: Unknown setting {key!r}"):
        plan(kind, KEYS[key][0])


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["oracle: 'no'"], "must be true or false"),
        (["oracle: true", "settings: {tau_first: 1.0}"], "tau_first has no effect"),
        (["settings: {schedule: constant, tau_last: 0.5}"], "tau_last has no effect"),
        (["device: gpu"], "Unknown device"),
        (["preset: winoground/siglip-l16"], "units of the scores of google/siglip-large"),
    ],
)
def test_what_would_have_no_effect_in_a_sweep_is_one_sentence(lines, says):
    with pytest.raises(InputError, match=says):
        plan("ttm", *lines)


def test_a_short_name_in_a_sweep_is_the_hub_s_model():
    cells = plan("ttm", "models: [siglip-b16]", "benchmarks: [winoground]")[1]
    assert [c.job.model for c in cells] == ["google/siglip-base-patch16-224"]
    assert cells[0].job.preset == "winoground/siglip-b16"
