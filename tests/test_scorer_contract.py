"""What every family of `core/scorers/families.py` promises, on tiny random models of the real classes.

A new family is tested as soon as it has a tiny model: one line in `EXAMPLES` (and how to build it in `tiny_models.py`).
"""

from __future__ import annotations

import shutil
import threading
import warnings
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import packages
import pytest
import torch
from conftest import draw
from endpoint import serving
from mteb_model import wrap_for_mteb

from core.base.errors import InputError
from core.groups import BytesImage, Group, GroupSet
from core.scorers._pairwise import PairScorer
from core.scorers.base import ModelScorer, Scorer, Trainable
from core.scorers.cola_adapted import AdaptedModel
from core.scorers.cola_config import STRATEGIES, AdaptConfig
from core.scorers.contrastive import ContrastiveModel
from core.scorers.embedding import EmbeddingModel
from core.scorers.families import FAMILIES, kind_by_family
from core.scorers.score_kinds import KINDS
from core.scoring.cache import ScoreCache
from core.scoring.load import load_base, load_scorer, scorer_key, scorer_kind
from core.scoring.scores import score_groups

IMAGES = [
    draw((left, "cube"), (right, "ball"), size)
    for left, right, size in (
        ("red", "blue", (48, 40)),
        ("blue", "red", (40, 64)),
        ("green", "yellow", (33, 48)),
        ("yellow", "green", (48, 48)),
    )
]
CAPTIONS = [
    "a red cube",
    "a blue cube next to a red ball",
    "a green cube in front of a yellow ball and a red cone behind the blue ball",
    "the ball",
]
GROUPS = GroupSet(
    "contract",
    tuple(
        Group(str(i), tuple(IMAGES[2 * i : 2 * i + 2]), tuple(CAPTIONS[2 * i : 2 * i + 2]), truth)
        for i, truth in enumerate([(0, 1), (1, 0)])
    ),
)
ALL = np.array([(i, j) for i in range(4) for j in range(4)])

CHAT = ("llava", "qwen2-vl", "smolvlm")
BLIP_2 = ("blip2-opt", "blip2-t5", "instructblip-t5", "instructblip-llama")
# Family -> its tiny models: every branch of its code at least once.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "clip": ("clip",),
    "siglip": ("siglip",),
    "siglip2": ("siglip2",),
    "open_clip": ("open_clip", "open_clip-siglip"),
    "crossmatch-embedding": ("maps",),
    "crossmatch-adapted": (*STRATEGIES, "mm-adapter on siglip", "mm-adapter on flava"),
    "st": ("st-clip", "st-siglip", "st-dense", "st-qwen2-vl"),
    "mteb": ("tiny/clip",),
    "python": ("wordcount",),
    "api": ("served",),
    "itm": ("blip-itm", "blip2-itm", "flava"),
    "itc": ("blip-itm", "blip2-itm", "flava", "flava-model"),
    "vgpt": ("blip-caption", *BLIP_2, *CHAT),
    "blind": ("blip-caption", "llava"),
    "mass": ("blip-caption", "llava"),
    "vqa": ("blip-vqa", *BLIP_2, *CHAT),
    "vqa-log": ("blip-vqa", "llava"),
    "lm": ("gpt2", "gpt2-framed", "opt", "t5", "bart"),
}
NEEDED = {
    "st": pytest.mark.sentence_transformers,
    "mteb": pytest.mark.mteb,
}  # families of libraries that not every machine has
EVERY = [(family, name) for family, names in EXAMPLES.items() for name in names]
FILES = [(family, name) for family, name in EVERY if family not in ("python", "api", "mteb")]
ON_NULLS = ("blind", "mass")  # each is a captioner and its null images
MODELS = [(family, name) for family, name in FILES if family not in ON_NULLS]
TOWERS = ("clip", "siglip", "siglip2", "open_clip", "crossmatch-embedding", "crossmatch-adapted", "itc")
PAIRS = ("blip-itm", "blip-caption", "blip-vqa", *CHAT)  # that are read together, and can be adapted
TRAINABLE = [
    e
    for e in EVERY
    if (e[0] in ("itm", "vgpt", "vqa", "vqa-log") and e[1] in PAIRS)
    or (e[0] in TOWERS and e != ("itc", "blip2-itm"))
    or e[1] in ("st-clip", "st-siglip")
]


ROUNDING = 1e-6  # where weights lie in memory decides how some kernels round the last bit


def over(examples: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """Run a test over these examples."""
    params = [pytest.param(e, id="-".join(e), marks=NEEDED.get(e[0], ())) for e in examples]
    return pytest.mark.parametrize("example", params, indirect=True)


@dataclass(frozen=True)
class Example:
    """One tiny model of a family. folder : None for one without files."""

    family: str
    label: str  # in `EXAMPLES`
    name: str  # for `load_scorer`
    folder: Path | None

    @property
    def kind(self) -> str:
        return kind_by_family(self.family, "") or "itc"

    def copied(self, folder: Path) -> str:
        """The name of the same model in another folder, which a test may spoil."""
        shutil.copytree(self.folder, folder)
        return self.name.replace(str(self.folder), str(folder))


def adapted(folder: Path, strategy: str, base: str) -> Path:
    config = AdaptConfig(strategy=strategy, layers=1, width=16, heads=2)
    AdaptedModel.of(load_base(base, "cpu"), config, base).save(folder)
    return folder


def maps(folder: Path) -> Path:
    rows = np.random.default_rng(0).normal(size=(2, 4, 6))
    EmbeddingModel(rows[0], rows[1], [image.key for image in IMAGES], CAPTIONS).save(folder)
    return folder


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A package with a scorer, and a served model."""
    site = packages.install(
        tmp_path_factory.mktemp("site"), packages.WORD_COUNT, {"wordcount": "ten_lines_of_scorer:WordCount"}
    )
    with pytest.MonkeyPatch.context() as patch, serving() as server:
        patch.syspath_prepend(str(site))
        patch.setenv("CROSSMATCH_API_BASE", server.url)
        patch.setenv("CROSSMATCH_API_KEY", "none")
        yield


@pytest.fixture
def example(request, make, elsewhere, tmp_path_factory) -> Example:
    family, name = request.param
    if family in NEEDED:
        request.getfixturevalue(NEEDED[family].name)
    if family == "mteb":
        wrap_for_mteb(name, make("clip"))
    if family in ("python", "api", "mteb"):
        return Example(family, name, f"{family}:{name}", None)
    root = tmp_path_factory.getbasetemp() / "contract"
    if family == "crossmatch-embedding":
        folder = root / name
        return Example(family, name, str(folder), folder if folder.is_dir() else maps(folder))
    if family == "crossmatch-adapted":
        strategy, _, base = name.partition(" on ")
        folder = root / name.replace(" ", "-")
        if not folder.is_dir():
            adapted(folder, strategy, str(make(base or "clip")))
        return Example(family, name, str(folder), folder)
    folder = make(name)
    return Example(family, name, f"{family}:{folder}" if family in KINDS else str(folder), folder)


@pytest.fixture(scope="module")
def loaded() -> dict[str, Scorer]:
    """Every scorer by name, in memory until all tests of them are done: `load_scorer` would free some."""
    return {}


@pytest.fixture
def scorer(example, loaded) -> Scorer:
    if example.name not in loaded:
        loaded[example.name] = load_scorer(example.name, "cpu")
    return loaded[example.name]


@pytest.fixture
def model(scorer) -> Trainable:
    return scorer


def matrix(scorer: Scorer, images=IMAGES, captions=CAPTIONS) -> np.ndarray:
    pairs = np.array([(i, j) for i in range(len(images)) for j in range(len(captions))])
    return scorer.score(images, captions, pairs).reshape(len(images), len(captions))


def assert_close(found: np.ndarray, expected: np.ndarray, share: float = 1e-4) -> None:
    """Equal up to a share of how far the expected scores are apart."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=share * max(np.ptp(expected), 1e-6))


def weights(scorer: Scorer) -> bytes:
    return b"".join(t.detach().cpu().numpy().tobytes() for t in scorer.module.state_dict().values())


def train_a_little(model: Trainable) -> None:
    data, own = model.prepare(IMAGES, CAPTIONS), torch.arange(4)
    free = [p for p in model.module.parameters() if p.requires_grad]
    model.loss(data, own, own).backward()
    torch.optim.SGD(free, lr=0.05).step()


def one_sentence(caught: pytest.ExceptionInfo) -> str:
    text = str(caught.value)
    assert "\n" not in text and text.endswith("."), text
    return text


def test_every_family_has_an_example():
    missing = {family for family, module in FAMILIES.items() if module} ^ EXAMPLES.keys()
    assert not missing, f"give {missing} a tiny model in EXAMPLES"


# Scores


@over(EVERY)
def test_scores_are_finite_float32_numbers_of_the_requested_pairs_alone(example, scorer):
    whole = matrix(scorer)
    assert scorer.name == example.name and isinstance(scorer, Scorer)
    assert isinstance(scorer, Trainable) == ((example.family, example.label) in TRAINABLE)
    assert whole.dtype == np.float32 and np.isfinite(whole).all()
    assert np.ptp(whole, axis=1).min() > 0
    reads_image = KINDS[example.kind].reads_image
    assert (np.ptp(whole, axis=0).min() > 0) == reads_image and scorer_kind(example.name) == example.kind
    pairs = np.array([(2, 0), (0, 3), (2, 0), (1, 1)])
    some = scorer.score(IMAGES, CAPTIONS, pairs)
    assert some.shape == (4,) and some.dtype == np.float32
    assert_close(some, whole[pairs[:, 0], pairs[:, 1]])
    assert scorer.score(IMAGES, CAPTIONS, np.empty((0, 2), int)).shape == (0,)


@over(EVERY)
def test_the_order_of_images_captions_and_pairs_only_reorders_the_scores(scorer):
    whole, images, captions = matrix(scorer), [2, 0, 3, 1], [3, 1, 0, 2]
    turned = matrix(scorer, [IMAGES[i] for i in images], [CAPTIONS[j] for j in captions])
    assert_close(turned, whole[np.ix_(images, captions)])
    order = np.random.default_rng(0).permutation(len(ALL))
    assert_close(scorer.score(IMAGES, CAPTIONS, ALL[order]), whole.ravel()[order])


@over(MODELS)
def test_the_sizes_of_batches_change_no_score(scorer):
    small = copy(scorer)
    small.image_batch, small.caption_batch = 3, 1
    assert_close(matrix(small), matrix(scorer))


@over([e for e in EVERY if e[0] != "python"])
def test_a_stream_gives_every_row_once_and_the_same_scores(scorer):
    rows, values = map(np.concatenate, zip(*scorer.stream(IMAGES, CAPTIONS, ALL), strict=True))
    assert sorted(rows) == list(range(len(ALL)))
    np.testing.assert_array_equal(values[np.argsort(rows)], scorer.score(IMAGES, CAPTIONS, ALL))


@over(EVERY)
def test_cached_scores_are_the_plain_ones_and_truth_plays_no_part(scorer, tmp_path, monkeypatch):
    plain = score_groups(scorer, GROUPS)
    assert plain.shape == (2, 2, 2)
    assert_close(plain, np.stack([matrix(scorer)[2 * g : 2 * g + 2, 2 * g : 2 * g + 2] for g in range(2)]))
    other = replace(GROUPS, groups=tuple(replace(g, truth=g.truth[::-1]) for g in GROUPS.groups))
    cache = ScoreCache(tmp_path / "scores.sqlite")
    for groups in (GROUPS, GROUPS.blind(), other):
        np.testing.assert_array_equal(score_groups(scorer, groups, cache), plain)
        for way in ("score", "stream"):  # from now on the cache alone may answer
            monkeypatch.setattr(scorer, way, None, raising=False)


@pytest.mark.slow
@over(EVERY)
def test_threads_may_share_a_scorer(scorer):
    expected, found = matrix(scorer), []
    threads = [threading.Thread(target=lambda: found.append(matrix(scorer))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for scores in found:
        assert_close(scores, expected)


@over(EVERY)
def test_an_image_that_does_not_open_is_one_sentence_where_it_is_read(example, scorer):
    images = [IMAGES[0], BytesImage(b"no image", "broken.png")]
    if not KINDS[example.kind].reads_image:
        assert_close(matrix(scorer, images), matrix(scorer)[:2])
        return
    missing = "The embeddings hold no image" if example.family == "crossmatch-embedding" else "broken.png"
    with pytest.raises(InputError, match=missing) as caught:
        matrix(scorer, images)
    one_sentence(caught)


@over(MODELS)
def test_captions_beyond_what_a_model_reads_are_cut_with_a_warning_that_counts_them(scorer):
    long = "a red cube and " * 30
    if scorer.context is None:
        assert_no_warning(scorer)
        return
    with pytest.warns(
        UserWarning, match=rf"2 of 3 captions are longer than the \d+ tokens that {scorer.name}"
    ):
        assert np.isfinite(matrix(scorer, captions=[long + "ball", "a red cube", long + "cone"])).all()
    assert_no_warning(scorer)


def assert_no_warning(scorer: Scorer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix(scorer)


# Keys, devices, precisions


@over(EVERY)
def test_a_key_is_the_same_each_time_and_known_without_loading_or_not_at_all(example, scorer):
    assert len(scorer.key) == 64
    assert scorer_key(example.name) in (scorer.key, None)
    known = example.folder is not None and example.family != "crossmatch-embedding"
    assert (scorer_key(example.name) is not None) == known


@over(EVERY)
def test_a_device_takes_effect_or_is_refused_in_one_sentence(example, scorer, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for device in ("gpu", "cuda:1"):
        with pytest.raises(InputError, match="device") as caught:
            load_scorer(example.name, device)
        one_sentence(caught)
    if isinstance(scorer, ModelScorer):
        places = {tensor.device.type for tensor in scorer.module.state_dict().values()}
        assert places == {scorer.device.type} == {"cpu"}


@pytest.mark.slow
@over(EVERY)
def test_half_precision_gives_near_scores_under_a_key_of_its_own_or_is_refused(example, scorer):
    name = f"bfloat16:{example.name}"
    try:
        half = load_scorer(name, "cpu")
    except InputError as error:
        assert "has no precision to choose" in str(error)
        assert not isinstance(scorer, ContrastiveModel | PairScorer)
        return
    exact, found = matrix(scorer), matrix(half)
    assert found.dtype == np.float32 and half.name == name
    assert 0 < np.abs(found - exact).max() < 0.1 * max(1.0, np.abs(exact).max())
    assert half.key != scorer.key and scorer_key(name) == half.key
    np.testing.assert_array_equal(matrix(scorer), exact)


# Folders


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


# What is done to which files.
DAMAGES = {
    "truncated weights": ("*.safetensors", truncate),
    "a pickle for weights": ("*.safetensors", lambda file: file.rename(file.with_name("pytorch_model.bin"))),
    "a broken configuration": ("*config.json", lambda file: file.write_text("{")),
    "no tokenizer": ("[tv]o[kc][ea]*", Path.unlink),  # tokenizer.json, vocab.txt, ...
}


@over(FILES)
def test_a_broken_folder_is_refused_in_one_sentence(example, tmp_path):
    for damage, (pattern, act) in DAMAGES.items():
        folder = tmp_path / damage
        name, files = example.copied(folder), list(folder.glob(pattern))
        if damage == "no tokenizer" and (not files or example.family in ("open_clip", "crossmatch-adapted")):
            continue
        for file in files:
            act(file)
        with pytest.raises(InputError) as caught:
            load_scorer(name, "cpu")
        assert str(folder) in one_sentence(caught), damage


@pytest.mark.slow
@over(FILES)
def test_a_model_is_loaded_once_and_keeps_its_key_when_its_folder_becomes_another_models(example, tmp_path):
    name = example.copied(tmp_path / "same")
    first = load_scorer(name, "cpu")
    assert load_scorer(name, "cpu") is first
    for file in (tmp_path / "same").glob("*config.json"):
        file.write_text(file.read_text() + " ")
    assert load_scorer(name, "cpu") is not first
    if example.family not in ON_NULLS:
        assert first.key != scorer_key(name)  # asked only now, when the files are no longer what was loaded


# Models that can be adapted


@over(TRAINABLE)
def test_prepared_scores_are_the_plain_ones(model):
    data, plain = model.prepare(IMAGES, CAPTIONS), matrix(model).ravel()
    for batch in (1, 3, 256):
        assert_close(model.score_prepared(data, ALL, batch), plain)
    order = np.random.default_rng(0).permutation(len(ALL))[:7]
    assert_close(model.score_prepared(data, ALL[order]), plain[order])
    assert model.score_prepared(data, np.empty((0, 2), int)).shape == (0,)


@over(TRAINABLE)
def test_neither_scoring_nor_a_copy_in_training_changes_a_cached_model(model):
    before, scores, key = weights(model), matrix(model), model.key
    free = [p.requires_grad for p in model.module.parameters()]
    twin = model.copy()
    np.testing.assert_allclose(matrix(twin), scores, rtol=ROUNDING)
    fresh = twin.key
    twin.module.train()
    twin.score_prepared(twin.prepare(IMAGES, CAPTIONS), ALL)
    assert twin.module.training and all(p.grad is None for p in twin.module.parameters())
    twin.module.eval()
    train_a_little(twin)
    assert twin.key != fresh
    assert not np.array_equal(matrix(twin), scores)
    assert weights(model) == before and model.key == key and not model.module.training
    assert [p.requires_grad for p in model.module.parameters()] == free
    assert all(p.grad is None for p in model.module.parameters())
    np.testing.assert_array_equal(matrix(model), scores)


@pytest.mark.slow
@over(TRAINABLE)
def test_what_is_saved_scores_as_what_was_trained_even_over_the_folder_that_it_came_from(example, tmp_path):
    name = example.copied(tmp_path / "model")
    model = load_scorer(name, "cpu")
    twin, before = model.copy(), matrix(model)
    train_a_little(twin)
    trained = matrix(twin)
    for _ in range(2):  # the second time over the first
        twin.save(tmp_path / "model")
        again = load_scorer(name, "cpu")
        np.testing.assert_allclose(matrix(again), trained, rtol=ROUNDING)
        assert again.key == scorer_key(name) or scorer_key(name) is None
        np.testing.assert_array_equal(matrix(model), before)
    assert not [p.name for p in (tmp_path / "model").iterdir() if p.suffix in (".bin", ".pt")]
