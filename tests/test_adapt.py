"""Cola's strategies: what each trains, what stays frozen, determinism, files, further adaptation, background runs."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from gates import until
from small_cola import SMALL_COLA
from tiny_models import build_flava

from benchmarks.safety import samples
from core.base.errors import InputError
from core.cola import forgetting, table
from core.cola import run as runs
from core.cola._queries import scene_graphs
from core.cola._training import EncoderInputs, schedule, train
from core.cola._training_data import TrainingQueries, builtin_training_queries, graph_training_queries
from core.cola.run import StrategyRun
from core.runs.attempt import RunAttempt
from core.runs.engine import start
from core.runs.resume import carry_out
from core.runs.store import RunStore
from core.scenes.retrieval import build_retrieval, load_retrieval
from core.scorers._cola_heads import make_fusion
from core.scorers.cola_adapted import AdaptedModel, load
from core.scorers.cola_config import FUSIONS, MIXES, STRATEGIES, AdaptConfig
from core.scorers.cola_features import base_of
from core.scoring.load import load_base, load_scorer
from core.scoring.retrieval import first_images, score_retrieval
from core.ttm.loop import run_ttm

SMALL = {"epochs": 2, "steps": 2, "batch": 4}
CLIP = "builtin/clip"


@pytest.fixture(scope="module")
def material():
    """A few images with a few queries of every kind that the built-in world has."""
    return small_material("combined")


def small_material(mix):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("IMAGES", 30), ("TWINS", 6), ("WORDINGS", 1), ("TEXTS", 12)):
            patch.setattr(f"core.cola._training_data.{name}", value)
        return builtin_training_queries.__wrapped__(mix)


def adapted(strategy, model=CLIP, **settings):
    return AdaptedModel.of(
        load_base(str(model), "cpu"), AdaptConfig(**{**SMALL, "strategy": strategy, **settings})
    )


def pictures(n=3):
    return build_retrieval("test", n, seed=8).images


def everything(images, captions):
    return np.array([(i, j) for i in range(len(images)) for j in range(len(captions))])


TEXTS = ["a red cube", "a small metal blue sphere", "a big green block and a yellow ball"]


# --- what is trained


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_training_changes_what_the_strategy_tunes_and_nothing_else(strategy, material):
    model = adapted(strategy, lr=1e-2)
    before = {name: tensor.clone() for name, tensor in model.module.state_dict().items()}
    for _ in train(model, material, model.config):
        pass
    changed = {name for name, tensor in model.module.state_dict().items() if not tensor.equal(before[name])}
    base = {name for name in changed if name.startswith("base.")}
    if strategy == "ft-all":
        assert any("vision" in name for name in base) and any("text" in name for name in base)
        assert "base.logit_scale" not in base
    else:
        assert base == (
            {"base.text_model.embeddings.token_embedding.weight"} if strategy == "prompt-tune" else set()
        )
    assert "head.calibration.bias" in changed
    assert model.parameters["trained"] == sum(
        p.numel() for n, p in model.module.named_parameters() if p.requires_grad and "calibration" not in n
    )


def test_linear_starts_as_its_base(tmp_path):
    images = pictures()
    model, base = adapted("linear"), load_scorer(CLIP, "cpu")
    pairs = everything(images, TEXTS)
    np.testing.assert_allclose(model.score(images, TEXTS, pairs), base.score(images, TEXTS, pairs), atol=1e-3)


@pytest.mark.parametrize(
    ("fusion", "millions"),
    [("mdetr", 7.8), ("flava", 9.9), ("albef", 10.9), ("fiber", 15.0), ("fiber-mm", 12.0)],
)
def test_fusions_have_the_papers_parameter_counts_at_its_size(fusion, millions):
    """[Cola] Table 5: width 512, 4 heads, 2 layers, and a map from CLIP's 768 numbers of a patch."""
    count = sum(p.numel() for p in make_fusion(fusion, 512, 2, 4).parameters()) + 768 * 512 + 512
    assert count / 1e6 == pytest.approx(millions, abs=0.15)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("strategy", ["mm-pred", "mm-adapter"])
def test_every_fusion_scores_and_learns(fusion, strategy, material):
    model = adapted(strategy, fusion=fusion, lr=1e-3)
    reports = [report for report, _ in train(model, material, model.config)]
    assert [r.epoch for r in reports] == [0, 1, 2]
    assert np.isfinite(np.concatenate([r.losses for r in reports])).all()
    images = pictures(2)
    assert np.isfinite(model.score(images, TEXTS, everything(images, TEXTS))).all()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ft-late", "mm-pred", "mm-adapter"])
def test_a_strategy_can_learn_any_labels_by_heart(strategy, material):
    """One batch, many steps: the loss falls far below that of guessing the share of right pairs."""
    model = adapted(strategy, batch=6)
    data = model.prepare(material.images, material.captions)
    sides = [EncoderInputs(model, data, side) for side in ("image", "caption")]
    images, captions, labels = next(material.batches(model.config, 0))
    seen, read = sides[0].features(images), sides[1].features(captions)
    wanted = torch.from_numpy(labels)
    optimizer = torch.optim.AdamW([p for p in model.module.parameters() if p.requires_grad], lr=3e-3)
    for _ in range(80):
        loss = model.pair_loss(model.head.image(seen), model.head.caption(read), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    share = labels.mean()
    guess = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert float(loss.detach()) < 0.6 * guess


def test_table_and_pairs_agree_for_every_strategy():
    images = pictures()
    for strategy in STRATEGIES:
        model = adapted(strategy)
        data = model.prepare(images, TEXTS)
        seen, read = (model.encode(data, torch.arange(3), side) for side in ("image", "caption"))
        both = model.head.calibration(model.head.table(seen, read)).detach().numpy()
        np.testing.assert_allclose(
            both.ravel(), model.score(images, TEXTS, everything(images, TEXTS)), atol=1e-5
        )


def test_the_loss_is_the_mean_sigmoid_cross_entropy_of_all_pairs():
    images, model = pictures(), adapted("linear")
    data = model.prepare(images, TEXTS)
    labels = torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 0, 1]])
    seen, read = (model.encode(data, torch.arange(3), side) for side in ("image", "caption"))
    logits = model.score(images, TEXTS, everything(images, TEXTS)).reshape(3, 3).astype(float)
    expected = np.mean(np.log1p(np.exp(-np.where(labels.numpy() > 0, logits, -logits))))
    assert float(model.pair_loss(seen, read, labels).detach()) == pytest.approx(expected, rel=1e-4)


def test_the_token_map_scores_each_word_by_its_best_patch_and_learns_contrastively():
    images, model = pictures(), adapted("token-map")
    data = model.prepare(images, TEXTS)
    seen, read = (model.features(data, torch.arange(3), side) for side in ("image", "caption"))
    weight = model.head.map.weight

    def level(tokens):
        centred = tokens - tokens.mean(dim=-1, keepdim=True)
        return centred / centred.norm(dim=-1, keepdim=True)

    patches, words = level(seen.tokens), level(read.tokens) @ weight.T
    words = words / words.norm(dim=-1, keepdim=True)
    expected = torch.empty(3, 3)
    for i in range(3):
        for j in range(3):
            own = words[j][read.mask[j]]
            expected[i, j] = (own @ patches[i].T).max(dim=1).values.mean()
    logits = 10 * expected
    np.testing.assert_allclose(
        model.score(images, TEXTS, everything(images, TEXTS)), logits.detach().ravel(), atol=1e-4
    )
    labels = torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 0, 1]])
    rows, columns = logits.log_softmax(dim=1), logits.log_softmax(dim=0)
    by_image = -(rows[0, 0] + rows[1, 1] + (rows[2, 0] + rows[2, 2]) / 2) / 3
    by_query = -((columns[0, 0] + columns[2, 0]) / 2 + columns[1, 1] + columns[2, 2]) / 3
    seen, read = (model.encode(data, torch.arange(3), side) for side in ("image", "caption"))
    found = model.pair_loss(seen, read, labels)
    assert float(found.detach()) == pytest.approx(float((by_image + by_query).detach() / 2), abs=1e-4)


# --- determinism, features, resuming


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(material):
    states = []
    for seed in (0, 0, 1):
        model = adapted("mm-adapter", seed=seed)
        losses = np.concatenate([report.losses for report, _ in train(model, material, model.config)])
        states.append((losses, {k: v.clone() for k, v in model.module.state_dict().items()}))
    assert states[0][0].tolist() == states[1][0].tolist() != states[2][0].tolist()
    assert all(v.equal(states[1][1][k]) for k, v in states[0][1].items())


def test_frozen_features_are_computed_once_and_give_the_same_scores(material, monkeypatch):
    model = adapted("ft-late")
    data = model.prepare(material.images, material.captions)
    kept = EncoderInputs(model, data, "caption")
    kept.freeze(len(material.captions))
    fresh = EncoderInputs(model, data, "caption")
    index = np.array([5, 0, 7])
    for one, other in zip(kept.features(index), fresh.features(index), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)
    calls = []
    real = type(base_of(model._base.model)).images
    monkeypatch.setattr(
        type(model._base), "images", lambda self, x: calls.append(len(x["pixel_values"])) or real(self, x)
    )
    fresh_material = replace(material)  # nobody has read it yet
    for _ in train(model, fresh_material, model.config):
        pass
    for _ in train(
        adapted("mm-adapter"), fresh_material, model.config
    ):  # the same base: nothing is read again
        pass
    assert sum(calls) == len(material.images)


def test_a_run_that_goes_on_from_a_checkpoint_ends_where_an_uninterrupted_one_does(material, tmp_path):
    whole = adapted("mm-adapter")
    losses = [report.losses for report, _ in train(whole, material, whole.config)][1:]
    first = adapted("mm-adapter")
    steps = train(first, material, first.config)
    next(steps)
    _, state = next(steps)
    steps.close()
    first.save(tmp_path / "model")
    runs._save_state(tmp_path, state)
    again = load("again", str(tmp_path / "model"), "cpu", load_base=load_base)
    rest = [r.losses for r, _ in train(again, material, again.config, state=runs._load_state(tmp_path))]
    assert len(rest) == 1
    np.testing.assert_array_equal(rest[0], losses[1])
    assert all(v.equal(whole.module.state_dict()[k]) for k, v in again.module.state_dict().items())


def test_stopping_ends_between_two_steps(material):
    model = adapted("linear")
    assert [r.epoch for r, _ in train(model, material, model.config, stop=lambda: True)] == [0]


def test_the_schedule_rises_and_falls():
    rates = [schedule(step, 100) for step in range(100)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert rates[-1] == pytest.approx(0.05, abs=0.01)


def test_a_loss_that_is_not_finite_says_so(material):
    model = adapted("linear", lr=1e30, epochs=4)
    with pytest.raises(InputError, match="lower lr"):
        list(train(model, material, model.config))


@pytest.mark.parametrize("strategy", ["linear", "mm-pred"])
def test_scores_that_are_not_finite_after_training_are_its_rate_s_fault(strategy, quick):
    """After so few steps the loss is still a number; the first scores are not."""
    with pytest.raises(InputError, match=r"learning rate of 1e\+30.*; lower lr"):
        list(job(strategy, lr=1e30, epochs=1, steps=2).execute())


# --- bases


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("base", ["builtin/siglip", "flava"])
def test_every_strategy_works_on_siglip_and_flava(strategy, base, material, tmp_path):
    name = str(build_flava(tmp_path / "flava")) if base == "flava" else base
    model = adapted(strategy, name, lr=1e-3, width=16, heads=2)
    assert all(np.isfinite(r.losses).all() for r, _ in train(model, material, model.config))
    model.save(tmp_path / "saved")
    again = load_scorer(str(tmp_path / "saved"), "cpu")
    images = pictures(2)
    pairs = everything(images, TEXTS)
    np.testing.assert_allclose(
        again.score(images, TEXTS, pairs), model.score(images, TEXTS, pairs), atol=1e-5
    )


def test_flavas_towers_score_as_its_contrastive_head(tmp_path, toy_groups):
    folder = str(build_flava(tmp_path / "flava"))
    images = toy_groups[0].images
    one, other = load_base(folder, "cpu"), load_scorer(f"itc:{folder}", "cpu")
    pairs = everything(images, TEXTS)
    np.testing.assert_allclose(one.score(images, TEXTS, pairs), other.score(images, TEXTS, pairs), rtol=1e-4)


def test_padding_of_siglip_and_flava_is_masked(tmp_path):
    for name in ("builtin/siglip", str(build_flava(tmp_path / "flava"))):
        base = base_of(load_base(name, "cpu").copy())
        found = base.captions(base.model.prepare(pictures(1), TEXTS).tokens["input_ids"])
        lengths = found.mask.sum(dim=1).tolist()
        assert lengths == sorted(lengths) and lengths[0] < lengths[2]


def test_a_model_without_tokens_to_give_is_refused():
    with pytest.raises(InputError, match="CLIP, SigLIP and FLAVA"):
        load_base("builtin/blind-lm")


# --- files, scoring, adapting further


def test_a_folder_whose_base_is_another_model_by_now_is_refused(tmp_path):
    adapted("linear").save(tmp_path / "m")
    config = json.loads((tmp_path / "m/config.json").read_text())
    (tmp_path / "m/config.json").write_text(json.dumps({**config, "base_key": "0" * 64}))
    with pytest.raises(InputError, match="another builtin/clip"):
        load_scorer(str(tmp_path / "m"), "cpu")


def test_a_damaged_folder_is_one_sentence(tmp_path):
    adapted("linear").save(tmp_path / "m")
    (tmp_path / "m/model.safetensors").write_bytes(b"no")
    with pytest.raises(InputError, match="does not open"):
        load_scorer(str(tmp_path / "m"), "cpu")


@pytest.mark.parametrize("strategy", ["linear", "prompt-tune", "mm-adapter"])
def test_test_time_matching_adapts_a_trained_strategy_further(strategy, groups_2x2):
    from core.ttm.config import TTMConfig

    model = adapted(strategy)
    config = TTMConfig(iterations=1, epochs=1, coverage_first=0.5, lr=1e-3)
    steps = list(run_ttm(model, groups_2x2, config))
    assert len(steps) == 2
    assert not np.array_equal(steps[0].scores, steps[1].scores)
    assert steps[1].model.config.strategy == strategy


@pytest.fixture
def groups_2x2():
    from core.scenes.sets import load

    return load("scenes/attribute-swap", "test").select(range(8)).blind()


# --- material


@pytest.mark.parametrize("mix", [m for m in MIXES if m != "region"])
def test_built_in_material_never_names_what_is_held_out(mix):
    from core.scenes.world import HELD_OUT_COMBINATIONS

    found = small_material(mix)
    nouns = {"block": "cube", "ball": "sphere"}
    for caption in found.captions:
        words = [nouns.get(w, w) for w in caption.replace(",", "").split()]
        for colour, shape in HELD_OUT_COMBINATIONS:
            pairs = [(a, b) for i, a in enumerate(words) for b in words[i + 1 : i + 3]]
            assert (colour, shape) not in pairs, caption


def test_labels_are_what_the_scenes_say(material):
    """Against `holds` of the built-in captions, for the queries that name one object."""
    graphs = [image.scene for image in material.images]
    config = AdaptConfig(mix="single", steps=3, batch=8)
    for images, queries, labels in material.batches(config, 1):
        assert labels.shape == (8, 8)
        assert (np.diag(labels) == 1).all()
        for column, query in enumerate(queries):
            words = set(material.captions[query].split())
            for row, image in enumerate(images):
                if labels[row, column]:
                    shapes = {o.shape for o in graphs[image].objects}
                    said = {"cube": {"cube", "block"}, "sphere": {"sphere", "ball"}, "cylinder": {"cylinder"}}
                    assert any(words & said[shape] for shape in shapes)


def test_hard_negatives_come_with_their_swapped_partner_and_the_picture_of_each():
    """Each brings its own picture, though other pictures are true of it too."""
    material = small_material("hard")
    config, seen, others = AdaptConfig(mix="hard", steps=20, batch=8), 0, 0
    for images, queries, labels in material.batches(config, 1):
        for i, query in enumerate(queries[:-1]):
            partner = material.partner[query]
            if partner >= 0 and queries[i + 1] == partner:
                seen += 1
                assert images[i] == material.pictures[query] and images[i + 1] == material.pictures[partner]
                assert labels[i, i] == labels[i + 1, i + 1] == 1
                assert labels[i, i + 1] == labels[i + 1, i] == 0
                others += material.links[[query]].sum() > 1
    assert seen > 5 and others


def test_a_mix_draws_its_own_kinds_alone(material):
    for mix, kinds in (("single", {"single"}), ("multi", {"single", "multi"}), ("region", {"region"})):
        drawn = {
            str(material.kinds[q])
            for _, queries, _ in material.batches(AdaptConfig(mix=mix, steps=10, batch=8), 1)
            for q in queries
        }
        assert drawn == kinds


def test_material_from_scene_graphs_asks_for_region_captions_where_there_are_none():
    world = build_retrieval("train", 40, seed=2)
    graphs = scene_graphs("scenes", "train", [image.scene for image in world.images])
    found = graph_training_queries(graphs, "hard", most=40)
    assert isinstance(found, TrainingQueries)
    assert {"single", "swap"} == set(found.kinds)
    with pytest.raises(InputError, match="region"):
        graph_training_queries(graphs, "combined")
    regions = [(0, "something red"), (3, "a corner of the floor")]
    region = graph_training_queries(graphs, "region", regions=regions)
    assert sorted(region.captions) == sorted(text for _, text in regions)


# --- settings


def test_a_setting_out_of_range_is_one_sentence():
    for wrong in (
        {"strategy": "mm-adaptor"},
        {"fusion": "blip"},
        {"mix": "all"},
        {"lr": 0.0},
        {"batch": 1},
        {"width": 30},
        {"tau": 1},
    ):
        with pytest.raises(InputError):
            AdaptConfig(**wrong)
    with pytest.raises(InputError, match="scenes/retrieval"):
        StrategyRun.of("scenes/retrieva")
    with pytest.raises(InputError, match="images is 1"):
        StrategyRun.of(images=1)


def test_learning_rates_are_the_papers_for_large_bases():
    assert AdaptConfig(strategy="linear").rate("CLIP", 512) == 1e-5
    assert AdaptConfig(strategy="linear").rate("FLAVA", 768) == 1e-3
    assert AdaptConfig(strategy="linear").rate("CLIP", 128) == STRATEGIES["linear"].lr
    assert AdaptConfig(strategy="linear", lr=0.5).rate("CLIP", 512) == 0.5


# --- runs


@pytest.fixture
def quick(monkeypatch):
    """Small material, small sets: a whole run in a second."""
    monkeypatch.setattr("core.cola.tasks.builtin_training_queries", builtin_training_queries.__wrapped__)
    for path, value in SMALL_COLA.items():
        monkeypatch.setattr(path, value)


def job(strategy="linear", **more):
    return StrategyRun.of(images=12, device="cpu", options={**SMALL, "strategy": strategy, **more})


def test_a_run_measures_its_base_before_and_itself_after(quick):
    records = [epoch.record for epoch in job().execute()]
    assert [r["iteration"] for r in records] == [0, 1, 2]
    json.dumps(records, allow_nan=False)
    for record in (records[0], records[-1]):
        assert set(record["test"]["retrieval"]["cola_map"]) >= {"all", "seen", "unseen", "attributes-1"}
        assert record["test"]["multi_object"]["chance"] == 25.0
        assert record["test"]["crepe"]["chance"] == 50.0
    assert "test" not in records[1]
    assert records[0]["validation"]["cola_map"]["all"]["queries"] > 0
    base = load_scorer(CLIP, "cpu")
    test = first_images(load_retrieval("test"), 12)
    scores = score_retrieval(base, test)
    from core.metrics.retrieval import RetrievalEvaluation

    expected = RetrievalEvaluation.of(test, scores).record()["cola_map"]["all"]["value"]
    assert records[0]["test"]["retrieval"]["cola_map"]["all"]["value"] == pytest.approx(expected)


def in_process(store, run):
    attempt = store.queue_up(run.id)
    work = RunAttempt(store, run.id, attempt)
    work.wait_for_turn()
    return work


@pytest.mark.slow
def test_a_run_stopped_twice_is_not_taken_for_a_whole_one(quick, tmp_path):
    """Resumed from the checkpoint of epoch 0, which comes again: the record that is there twice counts once."""
    store = RunStore(tmp_path / "runs")
    run = store.create("adapt", "linear", job(epochs=2).written())
    for last in (0, 1):
        work = in_process(store, run)

        def append(record, real=work.append, work=work, last=last):
            real(record)
            work.asked = record["iteration"] == last

        work.append = append
        assert carry_out(work, job(epochs=2)) is False
        store.conclude(run.id, work.attempt, "stopped")
    assert [s["iteration"] for s in store.steps(run.id)] == [0, 1]
    assert carry_out(in_process(store, run), job(epochs=2)) is True
    assert [s["iteration"] for s in store.steps(run.id)] == [0, 1, 2]


@pytest.mark.slow
def test_a_background_run_stops_resumes_and_ends_with_a_model_that_loads(quick, tmp_path):
    store = RunStore(tmp_path / "runs")
    run = store.create("adapt", "linear", job(epochs=3).written())
    work = in_process(store, run)
    real = work.append

    def append(record):
        real(record)
        if record["iteration"] == 1:
            work.asked = True

    work.append = append
    assert carry_out(work, job(epochs=3)) is False
    assert [s["iteration"] for s in store.steps(run.id)] == [0, 1]
    store.conclude(run.id, work.attempt, "stopped")
    assert carry_out(in_process(store, run), job(epochs=3)) is True
    steps = store.steps(run.id)
    assert [s["iteration"] for s in steps] == [0, 1, 2, 3]
    assert not list(store.folder(run.id).glob("checkpoint-*"))
    model = load_scorer(str(store.folder(run.id) / "model"), "cpu")
    assert model.config.epochs == 3
    whole = [epoch.record for epoch in job(epochs=3).execute()]
    assert steps[-1]["loss"] == pytest.approx(whole[-1]["loss"])
    assert steps[-1]["test"]["retrieval"] == whole[-1]["test"]["retrieval"]
    assert "base model: `builtin/clip`" in (store.folder(run.id) / "model/README.md").read_text()


def test_a_run_is_a_process_of_its_own(quick, tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path))
    store = RunStore()
    endless = job("linear", epochs=1_000_000)  # no machine comes to its end before it is told
    run = start(store, endless.title, endless)
    assert run.pid not in (None, os.getpid())
    store.request_stop(run.id)
    until(lambda: not store.get(run.id).live)
    assert store.get(run.id).status == "stopped"


# --- the table and what adaptation costs


@pytest.mark.slow
def test_the_table_keeps_results(quick, tmp_path, monkeypatch):
    asked = table.jobs(images=12, strategies=["linear", "mm-adapter"], seeds=(0, 1), options=SMALL)
    rows = table.run_jobs(asked, cache=tmp_path)
    assert set(rows["strategy"]) == {"base", "linear", "mm-adapter"}
    assert (rows[rows.strategy == "base"]["seed"] == -1).all()
    found = table.summary(rows).set_index("strategy")
    assert found.loc["linear", "seeds"] == 2
    mine = rows[(rows.strategy == "linear") & (rows.metric == "cola_map") & (rows.part == "all")]["value"]
    assert found.loc["linear", "cola_map all"] == pytest.approx(mine.mean(), abs=0.01)
    assert found.loc["linear", "cola_map all sd"] == pytest.approx(mine.std(ddof=1), abs=0.01)
    monkeypatch.setattr(
        StrategyRun, "execute", lambda *a, **k: pytest.fail("a finished run is not run again")
    )
    assert table.run_jobs(asked, cache=tmp_path).equals(rows)


def test_what_adaptation_costs_is_measured_against_the_base_with_a_paired_interval(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_HOME", str(tmp_path / "home"))
    adapted("linear").save(tmp_path / "m")  # untrained: the base itself, up to the calibration
    found = forgetting.cost_table(
        str(tmp_path / "m"), sets=["scenes/left-right", "scenes/replace"], groups=20, device="cpu"
    )
    assert set(found["set"]) == {"scenes/left-right", "scenes/replace"}
    assert (
        (found["difference"] == 0).all()
        and (found["low"] < 0).all()
        and (found["high"] == -found["low"]).all()
    )
    assert (found["before"] == found["after"]).all()
    assert (found["groups"] == 20).all()


def test_cost_wants_to_know_the_base(tmp_path):
    load_scorer(CLIP, "cpu").save(tmp_path / "m")
    with pytest.raises(InputError, match="name its base"):
        forgetting._origin(str(tmp_path / "m"))
    assert forgetting._origin(str(tmp_path / "m"), CLIP).base == CLIP


def test_cost_leaves_out_the_groups_a_model_was_adapted_on():
    for own in ("scenes/left-right", "scenes/left-right@global"):
        others = forgetting.unadapted_sets(own)
        assert "scenes/left-right" not in others and "scenes/front-behind" in others
        assert not [name for name in others if "@" in name]  # the same groups once more


# --- retrieval scores


def test_scores_of_queries_come_from_any_scorer():
    class Counting:
        name, key = "counting", "k"

        def score(self, images, captions, pairs):
            return np.array(
                [len(captions[j]) + 0.5 * int(images[i].key[:2], 16) for i, j in pairs], dtype=np.float32
            )

    found = first_images(build_retrieval("test", 70, seed=4), 65, every=60)
    scores = score_retrieval(Counting(), found)
    assert scores.shape == (4, 65)
    expected = [[len(q) + 0.5 * int(i.key[:2], 16) for i in found.images] for q in found.queries]
    np.testing.assert_allclose(scores, expected)
    with pytest.raises(InputError, match="choose 2 or more"):
        first_images(found, 66)


def test_a_score_that_is_not_finite_is_named():
    class Broken:
        name, key = "broken", "b"

        def score(self, images, captions, pairs):
            return np.full(len(pairs), np.nan, dtype=np.float32)

    with pytest.raises(InputError, match="score that is not a finite number"):
        score_retrieval(Broken(), first_images(build_retrieval("test", 5, seed=4), 5, every=60))


# --- command line


def test_the_command_prints_one_json_record_per_epoch(quick, capsys, tmp_path):
    from core.cli.cola import adapt

    adapt(
        strategy="linear",
        epochs=2,
        steps=2,
        batch=4,
        images=12,
        device="cpu",
        save=tmp_path / "m",
        as_json=True,
    )
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [r["iteration"] for r in records] == [0, 1, 2]
    assert records[-1]["test"]["multi_object"]["chance"] == 25.0
    assert load_scorer(str(tmp_path / "m"), "cpu").config.strategy == "linear"


def test_the_command_prints_test_results_before_and_after_as_text(quick, capsys):
    from core.cli.cola import adapt

    adapt(strategy="linear", epochs=1, steps=2, batch=4, images=12, device="cpu")
    told = capsys.readouterr().out
    assert "weights are trained" in told and "query_all_map" in told and "skipped" in told


def test_the_cost_command_writes_its_table(tmp_path, capsys):
    from core.cli.cola import cost as command

    adapted("linear").save(tmp_path / "m")
    command(
        str(tmp_path / "m"),
        sets="scenes/swap",
        groups=8,
        device="cpu",
        out=tmp_path / "cost.csv",
        as_json=True,
    )
    (row,) = json.loads(capsys.readouterr().out)
    assert row["set"] == "scenes/swap" and row["difference"] == 0 and row["shape"] == "1x2"
    assert (tmp_path / "cost.csv").read_text().startswith("set,shape,metric")


# --- tasks from other scene graphs


def gqa_folder(folder, counts):
    """Scene graphs and pictures in GQA's layout: a plate and a table, each with two of three attributes."""
    from itertools import product

    from PIL import Image

    (folder / "images").mkdir(parents=True)
    pairs = [("red", "small"), ("blue", "small"), ("red", "large"), ("blue", "large")]
    number = 0
    for split, count in counts.items():
        graphs = {}
        for (first, second), _ in zip(list(product(pairs, pairs)) * 3, range(count), strict=False):
            box = {"x": 1, "y": 2, "w": 3, "h": 4}
            on = [{"name": "on", "object": "2"}]
            objects = {
                "1": {"name": "plate", "attributes": list(first), "relations": on, **box},
                "2": {"name": "table", "attributes": list(second), "relations": [], **box},
            }
            graphs[str(number)] = {"width": 8, "height": 8, "objects": objects}
            Image.new("RGB", (16, 16), (number % 256, 20, 60)).save(folder / f"images/{number}.jpg")
            number += 1
        (folder / f"{split}_sceneGraphs.json").write_text(json.dumps(graphs))
    return folder


@pytest.fixture
def gqa(tmp_path, monkeypatch):
    """A small GQA that passes for the whole one."""
    from core.datasets import DATASETS

    source = DATASETS["gqa"].benchmarks
    monkeypatch.setitem(source, "gqa", replace(source["gqa"], counts={}))
    return gqa_folder(tmp_path / "gqa", {"train": 40, "val": 16})


@pytest.fixture
def cifar10(tmp_path, monkeypatch):
    """Three images of CIFAR-10 that pass for the whole of it, where data sets are looked for."""
    from core.datasets import DATASETS

    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    source = DATASETS["cifar-10"].benchmarks
    monkeypatch.setitem(source, "cifar-10", replace(source["cifar-10"], counts={}))
    samples.cifar10(tmp_path / "data/cifar-10")


def test_a_strategy_trains_and_is_measured_on_scene_graphs_of_gqas_layout(gqa, cifar10):
    wanted = StrategyRun.of(
        "gqa", folder=gqa, device="cpu", options={**SMALL, "strategy": "mm-adapter", "mix": "hard"}
    )
    first, *_, last = (epoch.record for epoch in wanted.execute())
    assert first["validation"] == {} and first["metrics"] == {}
    found = last["test"]["retrieval"]
    assert set(found["cola_map"]) == {"all", "seen", "unseen", "attributes-2"}
    assert found["cola_map"]["unseen"]["queries"] > 0
    assert last["test"]["multi_object"]["chance"] == 25.0
    assert "crepe" not in last["test"]  # the real one, whose files are not here
    assert {name: last["test"]["cifar10"][name] for name in ("groups", "chance")} == {
        "groups": 3,
        "chance": 10.0,
    }
    assert first["test"]["cifar10"]["value"] in (0.0, 33.3333, 66.6667, 100.0)


def test_training_graphs_hold_nothing_of_an_unseen_query(gqa):
    from core.cola.tasks import AdaptationTask

    task = AdaptationTask.load("gqa", AdaptConfig(mix="single"), folder=gqa)
    hidden = {q for q, u in zip(task.test.queries, task.test.unseen, strict=True) if u}
    assert hidden and not hidden & set(task.material.captions)


def test_a_published_cola_file_says_which_queries_training_never_held(gqa, tmp_path, monkeypatch):
    from core.cola.tasks import AdaptationTask
    from core.datasets import DATASETS

    source = DATASETS["cola"].benchmarks
    name = "cola/single-gqa"
    monkeypatch.setitem(source, name, replace(source[name], counts={}, queries=None))
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    folder = tmp_path / "cola"
    (folder / "images").mkdir(parents=True)
    for i in range(2):
        (folder / f"images/{i}.jpg").write_bytes((gqa / f"images/{i}.jpg").read_bytes())
    labels = ["red small plate", "green small plate"]
    rows = [["0.jpg", [], [1, 0], [1, 1]], ["1.jpg", [], [0, 1], [1, 1]]]
    (folder / "COLA_singleobjects_benchmark_GQA.json").write_text(
        json.dumps({"labels": labels, "data": rows})
    )
    task = AdaptationTask.load(name, AdaptConfig(mix="single"), folder=folder)
    assert task.test.unseen.tolist() == [False, True]
    assert len(task.material.images) == 40
    made = task.multi_object.groups[0].captions
    # Cola's own pairs take the place of made ones where their file lies beside the queries.
    several = "cola/multi-object"
    monkeypatch.setitem(source, several, replace(source[several], counts={}))
    pair = [["0.jpg", "red cup, blue plate", "1.jpg", "blue cup, red plate"]]
    (folder / "COLA_multiobjects_matching_benchmark.json").write_text(json.dumps(pair))
    published = AdaptationTask.load(name, AdaptConfig(mix="single"), folder=folder).multi_object
    assert published.groups[0].captions == ("red cup, blue plate", "blue cup, red plate")
    assert published.groups[0].captions != made and published.shape == (2, 2)


def test_a_benchmark_whose_files_are_not_here_says_what_it_needs(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    with pytest.raises(InputError, match="needs: download"):
        next(StrategyRun.of("clevr", options=SMALL).execute())


def test_a_model_that_is_adapted_already_is_said_to_be(tmp_path):
    adapted("linear").save(tmp_path / "adapted")
    with pytest.raises(InputError, match="adapted by a strategy of Cola already; adapt "):
        AdaptedModel.of(load_scorer(str(tmp_path / "adapted"), "cpu"), AdaptConfig(strategy="linear"))


def test_results_of_changed_data_are_not_those_of_the_old(tmp_path):
    (tmp_path / "train_sceneGraphs.json").write_text("{}")
    job = StrategyRun.of("gqa", folder=tmp_path)
    first = table._address(job), table._base_address(job)
    assert (table._address(job), table._base_address(job)) == first
    (tmp_path / "train_sceneGraphs.json").write_text("{ }")
    assert table._address(job) != first[0] and table._base_address(job) != first[1]
