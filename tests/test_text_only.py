"""SugarCrepe++'s text-only test: upstream's two comparisons, by brute force and by the libraries' own text towers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import draw
from driving import text
from typer.testing import CliRunner

import crossmatch as cm
from core.base.errors import InputError
from core.cli import app
from core.datasets.embeddings import RowImage
from core.groups import Group, GroupSet
from core.metrics import groups as metrics
from core.scorers.embedding import EmbeddingModel
from core.scoring.load import lazy_scorer, load_scorer
from core.scoring.text_only import _score_text_only

KEYS = ("caption", "caption2", "negative_caption")
RNG = np.random.default_rng(11)
TRIPLES = (
    ("a red cube next to a blue ball", "a blue ball next to a red cube", "a blue cube next to a red ball"),
    ("a cone in front of the ball", "the ball behind a cone", "a ball in front of the cone"),
    ("a red ball", "the red ball", "a green ball"),
    ("the yellow cone left of a cube", "a cube right of the yellow cone", "a cube left of the yellow cone"),
)


def triples(captions: Sequence[tuple[str, str, str]] = TRIPLES) -> GroupSet:
    """Groups of one image and three captions, the first two true."""
    image = draw(("red", "cube"), ("blue", "ball"))
    return GroupSet("triples", tuple(Group(str(i), (image,), c, (0, 1)) for i, c in enumerate(captions)))


def upstream(first: float, second: float, wrong: float) -> bool:
    """The two comparisons of the authors' code: `first` is the similarity of the two true captions, `second` and
    `wrong` those of each of them with the false one."""
    return first > second and first > wrong


class Given:
    """A scorer whose similarities are given: row g holds those of captions 01, 02 and 12 of group g."""

    name = "given"

    def __init__(self, similarities: np.ndarray) -> None:
        self.table = {
            (f"{g}.{a}", f"{g}.{b}"): value
            for g, row in enumerate(similarities)
            for (a, b), value in zip(((0, 1), (0, 2), (1, 2)), row, strict=True)
        }

    def caption_similarities(self, captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        named = [tuple(sorted((captions[i], captions[j]))) for i, j in pairs]
        return np.array([self.table[pair] for pair in named], dtype=np.float32)


def named(count: int) -> GroupSet:
    return triples([(f"{g}.0", f"{g}.1", f"{g}.2") for g in range(count)])


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 2, 0), (2, 1, 0)])
def test_text_score_is_upstreams_two_comparisons_wherever_the_false_caption_stands(order):
    """With many ties, and with similarities so close that their sums are equal in float32."""
    similarities = np.concatenate(
        [
            RNG.integers(0, 4, (300, 3)).astype(np.float32),
            1 + RNG.integers(0, 3, (300, 3)).astype(np.float32) * np.finfo(np.float32).eps,
        ]
    )
    groups = named(len(similarities))
    turned = [
        replace(g, captions=tuple(g.captions[j] for j in order), truth=(order.index(0), order.index(1)))
        for g in groups
    ]
    groups = GroupSet("turned", tuple(turned))
    scores = _score_text_only(Given(similarities), groups)
    found = metrics.outcomes(scores, groups.truth)["text_score"]
    assert scores.shape == (600, 1, 3) and scores.dtype == np.float32
    assert found.value.tolist() == [upstream(*row) for row in similarities]
    level = similarities[:, 0] == similarities[:, 1:].max(axis=1)
    assert found.tied.tolist() == level.tolist()


def test_a_captions_score_orders_as_the_sum_of_its_similarities_to_the_other_two():
    similarities = RNG.integers(0, 5, (200, 3)).astype(np.float32)  # sums of small integers are exact
    scores = _score_text_only(Given(similarities), named(200))
    a, b, c = similarities.T
    sums = np.stack([a + b, a + c, b + c], axis=1)[:, None]
    assert np.array_equal(scores, sums - similarities.sum(axis=1)[:, None, None])


def test_its_chance_is_one_third():
    similarities = RNG.random((30_000, 3))
    groups = named(30_000)
    found = metrics.evaluate(_score_text_only(Given(similarities), groups), groups.truth, ["text_score"])
    assert found["text_score"].chance == pytest.approx(100 / 3)
    assert found["text_score"].value == pytest.approx(100 / 3, abs=1)


def test_equal_captions_have_equal_scores_to_the_last_bit_and_are_wrong(tiny_clip_folder):
    """As in two groups of upstream's swap_obj, whose false caption is one of the true ones."""
    groups = triples(
        [("a red cube", "the cube", "a red cube"), ("the ball", "a cone", "a cone"), ("it",) * 3]
    )
    scores = _score_text_only(load_scorer(str(tiny_clip_folder), "cpu"), groups)
    assert scores[0, 0, 0] == scores[0, 0, 2] and scores[1, 0, 1] == scores[1, 0, 2]
    found = metrics.outcomes(scores, groups.truth)["text_score"]
    assert not found.value.any() and found.tied.tolist() == [False, False, True]


# ---- against the libraries' own text towers


@torch.no_grad()
def embedded(folder: Path, captions: Sequence[str], length: int | None = None) -> torch.Tensor:
    """Unit embeddings of captions by transformers' own text tower, each caption by itself as upstream reads it."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer, rows = (
        AutoModel.from_pretrained(folder),
        AutoTokenizer.from_pretrained(folder),
        [],
    )
    for caption in captions:
        padding = {} if length is None else {"padding": "max_length", "max_length": length}
        ids = tokenizer(caption, return_tensors="pt", truncation=True, **padding)["input_ids"]
        found = model.get_text_features(input_ids=ids)
        rows.append(getattr(found, "pooler_output", found)[0])
    return torch.nn.functional.normalize(torch.stack(rows), dim=-1)


def direct(folder: Path, length: int | None = None) -> np.ndarray:
    """Cosines of captions 01, 02 and 12 of every group."""
    features = embedded(folder, [c for group in TRIPLES for c in group], length).reshape(len(TRIPLES), 3, -1)
    cosines = torch.einsum("gad,gbd->gab", features, features).numpy()
    return cosines[:, [0, 0, 1], [1, 2, 2]]


@pytest.mark.parametrize(
    ("model", "length"), [("clip", None), ("siglip", 24), ("builtin/clip", None), ("builtin/siglip", 64)]
)
def test_scores_are_direct_cosines_of_the_text_tower(model, length, make):
    from core.scoring.load import builtin_models

    folder = builtin_models()[model] if model.startswith("builtin/") else make(model)
    name = model if model.startswith("builtin/") else str(folder)
    if model.startswith("builtin/siglip"):
        length = json.loads((folder / "config.json").read_text())["text_config"]["max_position_embeddings"]
    groups, cosines = triples(), direct(folder, length)
    scores = _score_text_only(lazy_scorer(name), groups)
    np.testing.assert_allclose(-scores[:, 0], cosines[:, [2, 1, 0]], atol=1e-5)
    close = np.abs(cosines[:, :1] - cosines[:, 1:]).min(axis=1) < 1e-5
    right = metrics.outcomes(scores, groups.truth)["text_score"].value
    assert not close.any() and right.tolist() == [upstream(*row) for row in cosines.tolist()]


def test_embeddings_are_compared_as_they_are_mapped():
    captions = [c for group in TRIPLES for c in group]
    rows = RNG.normal(size=(len(captions), 8))
    model = EmbeddingModel(RNG.normal(size=(1, 8)), rows, ["x"], captions)
    scores = _score_text_only(
        model, GroupSet("x", tuple(replace(g, images=(RowImage("x"),)) for g in triples()))
    )
    unit = (rows / np.linalg.norm(rows, axis=1)[:, None]).reshape(len(TRIPLES), 3, 8)
    cosines = np.einsum("gad,gbd->gab", unit, unit)
    np.testing.assert_allclose(-scores[:, 0], cosines[:, [1, 0, 0], [2, 2, 1]], atol=1e-6)


def test_a_model_of_sentence_transformers_compares_captions_as_the_library_does(sentence_transformers, make):
    from sentence_transformers import SentenceTransformer

    folder = make("st-qwen2-vl")
    library = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    first, second, third = (library.encode([{"text": g[i]} for g in TRIPLES]) for i in range(3))
    wanted = [
        library.similarity_pairwise(a, b) for a, b in ((second, third), (first, third), (first, second))
    ]
    scores = _score_text_only(load_scorer(f"st:{folder}", "cpu"), triples())
    np.testing.assert_allclose(-scores[:, 0].T, np.stack(wanted), atol=1e-5)


def test_a_wrapper_of_mteb_compares_captions_by_cosine(mteb, make):
    from mteb_model import wrap_for_mteb

    wrap_for_mteb("tiny/clip", make("clip"))
    found = _score_text_only(load_scorer("mteb:tiny/clip", "cpu"), triples())
    np.testing.assert_allclose(
        found, _score_text_only(load_scorer(str(make("clip")), "cpu"), triples()), atol=1e-5
    )


# ---- what is refused


@pytest.mark.parametrize("model", ["builtin/blip-caption", "builtin/blip-itm"])
def test_a_model_that_reads_no_caption_by_itself_is_refused_in_one_sentence(model):
    with pytest.raises(
        InputError, match=rf"{model} has no text tower .*choose a model of two towers"
    ) as error:
        _score_text_only(lazy_scorer(model), triples())
    assert "\n" not in str(error.value)


def test_groups_of_another_shape_are_refused_in_one_sentence(toy_groups, toy_groups_1x4, tiny_clip_folder):
    for groups, shape in ((toy_groups, "2x2"), (toy_groups_1x4, "1x4")):
        with pytest.raises(InputError, match=f"{groups.name} has groups of {shape}"):
            _score_text_only(load_scorer(str(tiny_clip_folder), "cpu"), groups)


# ---- the command and the page


@pytest.fixture
def scpp(tmp_path, monkeypatch) -> str:
    """A subset of upstream's size in upstream's layout, without a picture."""
    folder = tmp_path / "data/sugarcrepe-pp/data"
    folder.mkdir(parents=True)
    rows = [dict(zip(KEYS, TRIPLES[i % 4], strict=True), id=i, filename=f"{i}.jpg") for i in range(245)]
    (folder / "swap_obj.json").write_text(json.dumps(rows))
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "data"))
    return "sugarcrepe-pp/swap_obj"


@pytest.fixture
def pictured(scpp, tmp_path) -> str:
    """The same with its pictures."""
    folder = tmp_path / "data/sugarcrepe-pp/val2017"
    folder.mkdir()
    for i in range(245):
        (folder / f"{i}.jpg").write_bytes(draw(("red", "cube"), ("blue", "ball"), (40 + i % 40, 40)).data)
    return scpp


def said(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_measures_it_without_an_image_and_exports_scores_that_are_read_again(scpp, tmp_path):
    found = json.loads(said("evaluate", scpp, "--text-only", "--json"))
    assert found["text_only"] is True and list(found["metrics"]) == ["text_score"]
    assert found["metrics"]["text_score"]["chance"] == pytest.approx(100 / 3, abs=0.01)
    assert "text only (TOT, as TextScore)" in said("evaluate", scpp, "--text-only")
    out = str(tmp_path / "tot.csv")
    said("export", "scores", "--benchmark", scpp, "--text-only", "--out", out)
    again = json.loads(said("evaluate", "--scores", out, "--json"))
    assert again["metrics"]["text_score"]["value"] == found["metrics"]["text_score"]["value"]


# ---- the Python face


def test_the_face_measures_what_the_command_does_without_an_image(scpp):
    groups = cm.load_benchmark(scpp, images=False)
    scores = cm.score("builtin/clip", groups, text_only=True)
    found = cm.evaluate(scores, groups.truth, text_only=True)
    wanted = json.loads(said("evaluate", scpp, "--text-only", "--json"))["metrics"]
    assert list(found.metrics) == ["text_score"] and len(scores) == 245
    assert {name: found.metrics["text_score"].record()[name] for name in ("value", "chance", "ties")} == {
        name: wanted["text_score"][name] for name in ("value", "chance", "ties")
    }
    with pytest.raises(InputError, match=r"0\.jpg"):  # the images are not here, and nothing else misses them
        cm.load_benchmark(scpp)


def test_the_face_takes_a_scorer_of_ones_own():
    found = cm.score(Given(np.array([[0.9, 0.1, 0.2], [0.3, 0.5, 0.1]])), named(2), text_only=True)
    assert cm.evaluate(found, [[0, 1]] * 2, text_only=True).outcomes["text_score"].value.tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("scores", "truth", "more", "sentence"),
    [
        (
            np.zeros((5, 2, 2)),
            None,
            {},
            r"they are \(5, 2, 2\) and left out; score groups that have two true",
        ),
        (np.zeros((5, 1, 3)), [[0]] * 5, {}, r"they are \(5, 1, 3\) and \(5, 1\)"),
        (np.zeros((5, 1, 3)), [[0, 1]] * 4, {}, r"Truth has shape \(4, 2\)"),
        (np.zeros((5, 1, 3)), [[0, 1]] * 5, {"prior": np.zeros((5, 3)), "alpha": 1.0}, "no use for `prior`"),
        (np.zeros((5, 1, 3)), [[0, 1]] * 5, {"alpha": 1.0}, "there is no prior"),
        (np.zeros((5, 1, 3)), [[0, 1]] * 5, {"global_scores": np.zeros((5, 15))}, "use for `global_scores`"),
    ],
)
def test_the_face_refuses_what_is_no_text_only_test_in_one_sentence(scores, truth, more, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        cm.evaluate(scores, truth, text_only=True, **more)
    assert "\n" not in str(error.value)


def test_a_set_with_one_true_caption_is_refused_by_the_command(monkeypatch):
    one = GroupSet("one-true", tuple(replace(g, truth=(0,)) for g in triples()))
    monkeypatch.setattr("core.datasets.load", lambda *_, **__: one)
    done = CliRunner().invoke(app, ["evaluate", "one-true", "--text-only"])
    assert "asks which two of three captions are true, and one is in one-true" in str(done.exception)


def test_the_page_of_groups_shows_the_same_beside_the_answers_with_the_image(app, fresh_pages, pictured):
    test = app("pages/1_Groups.py", set=pictured, model="builtin/clip")
    assert [each.label for each in test.expander].count("The captions alone (TOT)") == 1
    assert "No image is read" not in text(test)
    test.session_state["text-only"] = True
    shown = text(test.run()).replace("\\", "")
    found = json.loads(said("evaluate", pictured, "--text-only", "--json"))["metrics"]["text_score"]
    assert f"{found['value']:.1f} % (95 % interval" in shown and "Of 245 groups" in shown


def test_the_page_says_why_a_captioner_cannot_and_other_sets_have_no_such_part(app, fresh_pages, pictured):
    test = app("pages/1_Groups.py", set=pictured, model="builtin/blip-caption")
    test.session_state["text-only"] = True
    assert "has no text tower" in text(test.run()).replace("\\", "")
    assert not [each for each in app("pages/1_Groups.py").expander if "TOT" in each.label]
