"""Two files of log-likelihoods: sample logs of lm-eval and lmms-eval, several null images, retrieval sets, tuning."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from core import cli
from core.base.errors import InputError
from core.cli._alpha_text import _helps, _spread
from core.datasets.retrieval_files import RetrievalFile
from core.datasets.score_files import read_prior, read_scores
from core.debiasing.priors import Prior

SAMPLES = Path(__file__).parent / "samples"
# Written by hand, with exact numbers; logs that the tools wrote are `REAL_LM_EVAL` and `REAL_LMMS_EVAL`.
LM_EVAL = SAMPLES / "by_hand" / "lm_eval.jsonl"
LMMS_EVAL = SAMPLES / "by_hand" / "lmms_eval.jsonl"
LMMS_NOISE = SAMPLES / "by_hand" / "lmms_eval_noise.jsonl"
REAL_LM_EVAL = SAMPLES / "rejudge" / "lm_eval" / "random-gpt-0"
REAL_LMMS_EVAL = SAMPLES / "rejudge" / "lmms_eval" / "0.6.1" / "work__random-llava-1"


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name, whatever time its tool wrote into it."""
    (found,) = folder.glob(pattern)
    return found


def alpha(*words: object) -> dict:
    found = CliRunner().invoke(cli.app, ["alpha", *map(str, words), "--json"])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return json.loads(found.stdout)


# --- sample logs


def test_a_log_of_lm_eval_holds_scores_targets_captions_and_the_prior_without_context():
    found = read_scores(LM_EVAL)
    assert found.scores.tolist() == [[[-6.0, -5.0]], [[-7.25, -6.5]]]
    assert found.truth.tolist() == [[0], [1]] and found.ids == ["0", "1"]
    assert found.captions[0, 0] == "a red cube left of a blue ball"
    assert found.tags["relation"].tolist() == ["left", "behind"]
    prior = read_prior(LM_EVAL, found.ids, 2, captions=found.captions)
    assert prior.tolist() == [[[-9.0, -5.5], [-7.0, -6.75]]]


def test_one_log_with_mutual_information_gives_the_exact_curve():
    row = alpha("--scores", LM_EVAL, "--prior", LM_EVAL)["metrics"]["text_score"]
    # group 0 leads by -1 + 3.5 alpha, group 1 by 0.75 - 0.25 alpha: both are right beyond 2/7
    assert (row["alpha_0"]["value"], row["best"]["value"]) == (50.0, 100.0)
    assert row["best"]["alpha_low"] == pytest.approx(2 / 7) and row["best"]["alpha_high"] == 1


def test_a_log_of_lmms_eval_holds_losses_whose_minus_is_the_score():
    found = read_scores(LMMS_EVAL)
    assert found.scores.tolist() == [[[-0.75, -0.625]], [[-0.90625, -0.8125]]]
    row = alpha("--scores", LMMS_EVAL, "--prior", LMMS_NOISE)["metrics"]["text_score"]
    assert row["best"]["alpha_low"] == pytest.approx(2 / 7)


def test_logs_that_lmms_eval_wrote_of_pictures_and_of_noise_are_scores_and_their_prior():
    scores, noise = (only(REAL_LMMS_EVAL, f"*_samples_tiny_{n}.jsonl") for n in ("pairs", "pairs_noise"))
    losses = [
        np.array([[float(x) for x, _ in json.loads(line)["filtered_resps"]] for line in file.open()])
        for file in (scores, noise)
    ]
    found = read_scores(scores)
    assert found.scores.tolist() == (-losses[0][:, None]).tolist() and found.captions is None
    assert read_prior(noise, found.ids, 2).tolist() == [(-losses[1]).tolist()]
    own = found.truth[:, 0]
    row = alpha("--scores", scores, "--prior", noise)["metrics"]["text_score"]
    for at, key in ((0.0, "alpha_0"), (1.0, "alpha_1")):
        left = at * losses[1] - losses[0]
        right = left[np.arange(12), own] > left[np.arange(12), 1 - own]
        assert row[key]["value"] == pytest.approx(100 * right.mean(), abs=1e-4)


def test_a_log_that_lm_eval_wrote_with_mutual_information_holds_scores_and_their_prior():
    log = only(REAL_LM_EVAL, "samples_tiny_pairs_prior_*.jsonl")
    rows = [json.loads(line) for line in log.open()]
    numbers = np.array([[float(x) for x, _ in row["filtered_resps"]] for row in rows])
    found = read_scores(log)
    assert found.scores[:, 0].tolist() == numbers[:, :2].tolist()
    assert read_prior(log, found.ids, 2, captions=found.captions)[0].tolist() == numbers[:, 2:].tolist()
    report = json.loads(only(REAL_LM_EVAL, "results_*.json").read_text())["results"]["tiny_pairs_prior"]
    row = alpha("--scores", log, "--prior", log)["metrics"]["text_score"]
    assert row["alpha_0"]["value"] == pytest.approx(100 * report["acc,none"], abs=1e-4)
    assert row["alpha_1"]["value"] == pytest.approx(100 * report["acc_mutual_info,none"], abs=1e-4)


def written(path: Path, source: Path, change) -> Path:
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    rows = change(rows) or rows
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_documents_of_one_group_are_its_images_and_its_prior_their_mean(tmp_path):
    def grouped(rows):
        choices = [f" {c}" for c in rows[0]["doc"]["choices"]]
        for row in rows:
            row["doc"]["group"] = "g"
            for place in (0, 1, 2, 3):
                row["arguments"][f"gen_args_{place}"]["arg_1"] = choices[place % 2]

    path = written(tmp_path / "samples_x.jsonl", LM_EVAL, grouped)
    found = read_scores(path)
    assert found.scores.shape == (1, 2, 2) and found.ids == ["g"] and found.truth.tolist() == [[0, 1]]
    assert read_prior(path, ["g"], 2).tolist() == [[[-9.0, -5.5]], [[-7.0, -6.75]]]  # two samples


def test_every_filter_of_a_document_counts_once(tmp_path):
    def twice(rows):
        return [{**row, "filter": name} for row in rows for name in ("none", "strict")]

    assert len(read_scores(written(tmp_path / "s.jsonl", LM_EVAL, twice)).ids) == 2


def changed(**fields):
    return lambda rows: rows[0].update(fields)


@pytest.mark.parametrize(
    ("source", "change", "said"),
    [
        (LM_EVAL, changed(filtered_resps=["a cat"]), "no log-likelihood for each of its choices"),
        (LM_EVAL, changed(filtered_resps=[["a", "b"]]), "text where the log-likelihoods"),
        (LM_EVAL, changed(filtered_resps=[["nan", "False"]] * 4), "not a finite number|is nan"),
        (LM_EVAL, changed(target="a dog"), "target 'a dog', which is none of its 2 choices"),
        (LM_EVAL, changed(doc_id=1), "document 1 again"),
        (LM_EVAL, changed(filtered_resps=[["-1", "False"]] * 3), "without context|other `arguments`"),
        (LMMS_EVAL, changed(filtered_resps=[["-1", "False"], ["2", "False"]]), "numbers above and below 0"),
        (LMMS_EVAL, changed(filtered_resps=[["1", "False"]] * 3), "different shapes"),
    ],
)
def test_what_is_wrong_in_a_log_is_one_sentence(source, change, said, tmp_path):
    with pytest.raises(InputError, match=said) as error:
        read_scores(written(tmp_path / "s.jsonl", source, change))
    assert str(error.value).count("\n") == 0


def test_a_log_whose_prior_is_no_number_says_where(tmp_path):
    path = written(
        tmp_path / "p.jsonl", LM_EVAL, changed(filtered_resps=[["-1", "False"]] * 3 + [["nan", "False"]])
    )
    with pytest.raises(
        InputError, match=r"p.jsonl has nan as log P\(t\) of caption '.*' of group '0'; it is a finite"
    ):
        read_prior(path, ["0", "1"], 2)


def test_documents_that_the_scores_lack_are_said(tmp_path):
    found = read_scores(LM_EVAL)
    prior = Prior.from_file(LM_EVAL, found.scores[:1], found.ids[:1], found.captions[:1])
    assert prior.line.endswith("not used: 1 group that the scores lack, '1' first")


def test_a_log_of_other_captions_is_no_prior(tmp_path):
    def other(rows):
        rows[1]["arguments"]["gen_args_1"]["arg_1"] = " a dog"

    path = written(tmp_path / "p.jsonl", LM_EVAL, other)
    with pytest.raises(
        InputError, match="the caption 'a dog' in group '1', where the scores have 'a red ball"
    ):
        alpha("--scores", LM_EVAL, "--prior", path)


def test_log_likelihoods_above_0_are_refused_with_their_place(tmp_path):
    path = written(tmp_path / "s.jsonl", LM_EVAL, changed(filtered_resps=[["0.5", "False"]] * 4))
    with pytest.raises(
        InputError,
        match=r"Group '0', image 0 \(counted from 0\), caption 'a red cube[^']*': the score is 0\.5, but",
    ):
        alpha("--scores", path, "--prior", LM_EVAL)


# --- several null images


def test_columns_of_null_images_are_averaged_as_probabilities(tmp_path):
    (tmp_path / "p.csv").write_text("group,caption,log_prob_1,log_prob_2\na,0,-6,-6\na,1,-1,-3\n")
    assert read_prior(tmp_path / "p.csv", ["a"], 2).tolist() == [[[-6, -1]], [[-6, -3]]]
    (tmp_path / "s.csv").write_text("group,image,caption,score,match\na,0,0,-2,1\na,0,1,-1.5,0\n")
    found = alpha("--scores", tmp_path / "s.csv", "--prior", tmp_path / "p.csv")
    mean = math.log((math.exp(-1) + math.exp(-3)) / 2)
    # the true caption trails by 0.5 and gains alpha (6 + mean)
    assert found["metrics"]["text_score"]["best"]["alpha_low"] == pytest.approx(0.5 / (6 + mean))
    assert found["prior"]["images"] == 2


@pytest.mark.parametrize("own", [["log_prob"], ["log_prob_1", "log_prob_2"]])
def test_only_numbered_columns_are_of_null_images_and_others_are_named(own, tmp_path):
    """`log_prob_sum` and `log_prob_mean` were read as two null images, and their mean as log P(t)."""
    table = {name: [-6.0, -1.0] for name in own} | {
        "log_prob_sum": [-60.0, -10.0],
        "log_prob_mean": [-0.6, -0.1],
    }
    pd.DataFrame({"group": "a", "caption": [0, 1], **table}).to_csv(tmp_path / "p.csv", index=False)
    assert read_prior(tmp_path / "p.csv", ["a"], 2).tolist() == [[[-6, -1]]] * len(own)
    prior = Prior.from_file(tmp_path / "p.csv", np.full((1, 1, 2), -2.0), ["a"])
    assert prior.line.endswith("not used: the columns 'log_prob_sum', 'log_prob_mean'")


def test_where_no_column_is_of_log_prob_the_names_that_would_be_are_said(tmp_path):
    (tmp_path / "p.csv").write_text("group,caption,log_prob_sum,log_prob_mean\na,0,-6,-6\na,1,-1,-3\n")
    with pytest.raises(InputError) as caught:
        read_prior(tmp_path / "p.csv", ["a"], 2)
    assert str(caught.value) == (
        f"{tmp_path / 'p.csv'} has no column 'log_prob' among: group, caption, log_prob_sum, log_prob_mean; name "
        "log P(t) so, or `log_prob_1`, `log_prob_2`, ... where each column is of a null image."
    )


# --- retrieval sets


def retrieval(folder: Path, name: str = "", seed: int = 0) -> tuple[Path, Path]:
    """Six images with two captions each; the prior of every second caption hides it, the more the later."""
    rng = np.random.default_rng(seed)
    likely = rng.normal(-6, 1.5, 12)
    rows = []
    for i, j in np.ndindex(6, 12):
        score = round(-8 + likely[j] / 2 + 1.2 * (j // 2 == i) + rng.normal(0, 0.3), 4)
        rows.append((f"image {i}", f"caption {j}", score, int(j // 2 == i), "odd" if i % 2 else "even"))
    scores, prior = folder / f"s{name}.csv", folder / f"p{name}.csv"
    pd.DataFrame(rows, columns=["image", "caption", "score", "match", "side"]).to_csv(scores, index=False)
    pd.DataFrame({"caption": [f"caption {j}" for j in reversed(range(12))], "log_prob": likely[::-1]}).to_csv(
        prior, index=False
    )
    return scores, prior


def test_a_retrieval_set_of_two_files_is_measured_both_ways(tmp_path):
    scores, prior = retrieval(tmp_path)
    found = alpha("--scores", scores, "--prior", prior, "--by", "side", "--out", tmp_path / "out")
    assert (found["images"], found["captions"]) == (6, 12)
    table = pd.read_csv(scores)
    matrix = table["score"].to_numpy().reshape(6, 12)
    own = pd.read_csv(prior).set_index("caption")["log_prob"][[f"caption {j}" for j in range(12)]].to_numpy()
    for at, value in {"alpha_0": 0.0, "alpha_1": 1.0, "best": found["best"]["alpha"]}.items():
        best = (matrix - value * own).argmax(axis=1)
        expected = 100 * (best // 2 == np.arange(6)).mean()
        assert found[at]["metrics"]["image_to_text_r1"]["value"] == pytest.approx(expected, abs=1e-4)
    sizes = {v: (part["images"], part["captions"]) for v, part in found["slices"]["side"].items()}
    assert sizes == {"even": (3, 6), "odd": (3, 6)}
    assert json.loads((tmp_path / "out" / "alpha.json").read_text()) == found
    curve = pd.read_csv(tmp_path / "out" / "curves.csv")
    assert set(curve["ends"]) == {"open", "closed"} and curve["percent"].max() == pytest.approx(
        found["best"]["metrics"]["image_to_text_r1"]["value"], abs=1e-3
    )


def test_the_best_alpha_of_a_retrieval_set_is_printed_within_its_span(tmp_path):
    """As of groups: of a span from 0.1231 to 0.1234 “0.123” lies beside it."""
    scores = [("i", "x", -0.8769, 0), ("i", "y", -1.0, 1), ("j", "x", -0.8766, 1), ("j", "y", -1.0, 0)]
    scores += [("i", "z", -9.0, 0), ("j", "z", -9.0, 0)]
    pd.DataFrame(scores, columns=["image", "caption", "score", "match"]).to_csv(
        tmp_path / "s.csv", index=False
    )
    prior = {"caption": ["x", "y", "z"], "log_prob": [-1.0, -2.0, -3.0]}
    pd.DataFrame(prior).to_csv(tmp_path / "p.csv", index=False)
    words = ["alpha", "--scores", str(tmp_path / "s.csv"), "--prior", str(tmp_path / "p.csv")]
    plain = CliRunner().invoke(cli.app, words).stdout
    assert "alpha = 0.1232, the middle of 0.1231–0.1234, tuned on test" in plain


def test_alpha_of_a_retrieval_set_is_tuned_on_another_pair_of_files(tmp_path):
    scores, prior = retrieval(tmp_path)
    other, its = retrieval(tmp_path, "_val", seed=1)
    found = alpha("--scores", scores, "--prior", prior, "--tune-on", other, "--tune-prior", its)
    alone = alpha("--scores", other, "--prior", its)
    assert found["tuned_on"]["alpha"] == alone["best"]["alpha"] and found["tuned_on"]["split"] == str(other)
    assert "p_value" in found["tuned_on"]["gain"]
    with pytest.raises(InputError, match="give both or none"):
        alpha("--scores", scores, "--prior", prior, "--tune-on", other)
    with pytest.raises(InputError, match="groups of another shape"):
        alpha("--scores", scores, "--prior", prior, "--tune-on", LM_EVAL, "--tune-prior", LM_EVAL)


def test_arrays_hold_a_retrieval_set_with_samples_of_null_images(tmp_path):
    scores, match = np.array([[-1.0, -2.0, -3.0], [-2.0, -1.5, -1.0]]), np.array([[1, 1, 0], [0, 0, 1]])
    np.savez(tmp_path / "s.npz", scores=scores, match=match, captions=np.array(["a", "b", "c"]))
    np.savez(tmp_path / "p.npz", samples=np.log([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]))
    found = RetrievalFile.read(tmp_path / "s.npz")
    assert found.captions == ["a", "b", "c"] and found.images == ["0", "1"]
    assert found.relevant.tolist() == [[True, False], [True, False], [False, True]]
    record = alpha("--scores", tmp_path / "s.npz", "--prior", tmp_path / "p.npz")
    assert record["prior"]["images"] == 2 and record["alpha_0"]["metrics"]["image_to_text_r1"]["value"] == 100
    np.savez(tmp_path / "groups.npz", scores=np.zeros((1, 2, 2)))
    assert RetrievalFile.read(tmp_path / "groups.npz") is None and RetrievalFile.read(LM_EVAL) is None


BAD_SCORES = {
    "image,caption,score,match\ni,a,-1,1\ni,b,-2,0\nj,a,-1,1\n": "no score for image 'j' with caption 'b'",
    "image,caption,score,match\ni,a,-1,1\ni,a,-2,0\n": "image 'i' with caption 'a' twice",
    "image,caption,score,match\ni,a,0.5,1\n": "0.5 for image 'i' with caption 'a'; log P",
    "image,caption,score,match\ni,a,nan,1\n": "nan for image 'i' with caption 'a'",
    "image,caption,score,match\ni,a,-1,perhaps\n": "'perhaps' as `match`; write 1 or 0",
    "image,caption,score,match\ni,a,-1,0\n": "no caption with match = 1 for image 'i'",
    "image,caption,score\ni,a,-1\n": "no column 'match'",
}
BAD_PRIORS = {
    "caption,log_prob\na,-1\nc,-1\n": "no row of caption 'b'; add its log P.* has 'c', which they lack",
    "caption,log_prob\nc,-1\nd,-1\n": "none of the scores' captions: it has 'c', the scores have 'a'; name",
    "caption,log_prob_sum\na,-1\nb,-1\n": "no column 'log_prob' among: caption, log_prob_sum; name log P",
    "caption,log_prob\na,-1\n": "no row of caption 'b'; add its log P\\(t\\)\\.$",
    "caption,log_prob\na,-1\nb,\n": "an empty cell as log P\\(t\\) of caption 'b'",
    "caption,log_prob,log_prob_1\na,-1,-1\nb,-1,-1\n": "'log_prob' and 'log_prob_1', which may differ",
    "caption,log_prob\na,-1\nb,0.2\n": "0.2 as log P\\(t\\) of caption 'b'",
    "caption,log_prob\na,-1\na,-1\nb,-1\n": "the caption 'a' twice",
    "caption\na\n": "no column 'log_prob'",
}


@pytest.mark.parametrize(("text", "said"), BAD_SCORES.items())
def test_what_is_wrong_in_a_retrieval_file_is_one_sentence(text, said):
    with pytest.raises(InputError, match=said):
        RetrievalFile.read("s.csv", text.encode())


@pytest.mark.parametrize(("text", "said"), BAD_PRIORS.items())
def test_what_is_wrong_in_its_prior_is_one_sentence(text, said):
    found = RetrievalFile.read("s.csv", b"image,caption,score,match\ni,a,-1,1\ni,b,-2,0\n")
    with pytest.raises(InputError, match=said):
        found.prior("p.csv", text.encode())


_SIX, _OWN = -np.arange(1.0, 37).reshape(6, 6), np.eye(6)
_NPZ = {
    "samples of three axes": (
        {},
        {"samples": -np.ones((2, 3, 6))},
        "needs an array 'samples' .* float64 of shape",
    ),
    "a prior of two axes": (
        {},
        {"prior": -np.ones((2, 6))},
        "'prior' of log P.* shape \\(6,\\), and has float64 of shape",
    ),
    "no samples": (
        {},
        {"samples": np.zeros((0, 6))},
        "p.npz needs an array 'samples' .* of shape \\(0, 6\\)",
    ),
    "a match of NaN": ({"match": _OWN * np.nan}, {}, "s.npz has nan as `match`; write 1 or 0"),
    "a match of 2": ({"match": 2 * _OWN}, {}, "s.npz has 2.0 as `match`; write 1 or 0"),
    "complex scores": ({"scores": _SIX + 0j}, {}, "array 'scores' of numbers and has complex128"),
    "scores of text": ({"scores": _SIX.astype(str)}, {}, "array 'scores' of numbers and has <U"),
}


@pytest.mark.parametrize(("scores", "prior", "said"), _NPZ.values(), ids=_NPZ)
def test_arrays_of_a_retrieval_set_that_are_not_what_they_should_be_are_refused(
    scores, prior, said, tmp_path
):
    """Samples of three axes counted as six null images, a prior of two as two, NaN as a match."""
    np.savez(tmp_path / "s.npz", **({"scores": _SIX, "match": _OWN} | scores))
    np.savez(tmp_path / "p.npz", **(prior or {"prior": -np.ones(6)}))
    with pytest.raises(InputError, match=said):
        RetrievalFile.read(tmp_path / "s.npz").prior(tmp_path / "p.npz")


def test_a_prior_by_name_of_captions_that_share_a_name_is_refused(tmp_path):
    """It ended in a traceback."""
    np.savez(tmp_path / "s.npz", scores=_SIX, match=_OWN, captions=list("aabcde"))
    found = RetrievalFile.read(tmp_path / "s.npz")
    with pytest.raises(InputError, match="the scores have the caption 'a' twice; name their captions apart"):
        found.prior("p.csv", b"caption,log_prob\na,-1\n")


def test_what_a_prior_of_a_retrieval_set_has_beside_is_named(tmp_path, monkeypatch):
    """It refused captions that the scores lack, where a prior of groups names them; columns went without a word."""
    monkeypatch.chdir(tmp_path)
    scores, prior = retrieval(Path())
    expected = alpha("--scores", scores, "--prior", prior)
    table = pd.read_csv(prior).assign(log_prob_sum=-1.0)
    more = pd.DataFrame(
        {"caption": ["one more", "two more"], "log_prob": [-3.0, np.nan], "log_prob_sum": 1.0}
    )
    pd.concat([more, table]).to_csv(prior, index=False)
    found = alpha("--scores", scores, "--prior", prior)
    assert found["prior"].pop("line") == (
        "your file p.csv; not used: 2 captions that the scores lack, 'one more' first; not used: the column "
        "'log_prob_sum'"
    )
    del expected["prior"]["line"]
    assert found == expected


def test_captions_of_a_group_that_the_scores_lack_are_named_where_all_others_are_there(tmp_path):
    (tmp_path / "p.csv").write_text(
        "group,caption,log_prob\na,a cow,nan\na,a dog,-1\na,a cat,-2\nb,a cat,-4\nb,a dog,-3\nb,a cow,-9\n"
    )
    captions = np.array([["a dog", "a cat"]] * 2)
    prior = Prior.from_file(tmp_path / "p.csv", np.full((2, 1, 2), -2.0), ["a", "b"], captions)
    assert prior.values.tolist() == [[-1, -2], [-3, -4]]
    assert prior.line.endswith("not used: 1 caption that the scores lack, 'a cow' first")


# --- groups: whole sentences


NUMBERED = "group,image,caption,score\n" + "".join(
    f"{group},{image},{caption},-{1 + image + caption}\n"
    for group in "ab"
    for image in (0, 1)
    for caption in (0, 1)
)
NAMED = NUMBERED.replace("0,-", "a dog,-").replace("1,-", "a cat,-")
PRIOR = "group,caption,log_prob\na,0,-1\na,1,-2\nb,0,-3\nb,1,-1\n"
PLACE = "s.csv: the score in row 2 (group 'a', image '0', caption '0') is {}; it must be a finite number."
BAD_FILES = {
    "another caption": (
        NAMED,
        PRIOR.replace(",0,", ",a dog,").replace(",1,", ",a cow,"),
        "p.csv has the caption 'a cow' in group 'a', which the scores do not have there; name captions as they do.",
    ),
    "other groups": (
        NUMBERED,
        PRIOR.replace("a,", "x,").replace("b,", "y,"),
        "p.csv has none of the scores' 2 groups: it has 'x', the scores have 'a'; name them as the scores do.",
    ),
    "a group without": (
        NUMBERED,
        PRIOR[: PRIOR.index("b,0")],
        "p.csv lacks 1 of the scores' 2 groups: 'b'; add its log P(t).",
    ),
    "more captions": (
        NUMBERED,
        f"{PRIOR}a,2,-1\n",
        "p.csv has more than 2 captions of group 'a', where the scores have 2.",
    ),
    "a prior above 0": (
        NUMBERED,
        PRIOR.replace("a,1,-2", "a,1,0.25"),
        "p.csv has 0.25 as log P(t) of caption '1' of group 'a'; a log-likelihood is at most 0: give logarithms of "
        "likelihoods, not probabilities or losses.",
    ),
    "a prior of NaN": (
        NUMBERED,
        PRIOR.replace("a,1,-2", "a,1,nan"),
        "p.csv has 'nan' as log P(t) of caption '1' of group 'a'; it is a finite number, at most 0.",
    ),
    "a prior with a decimal comma": (
        NUMBERED,
        PRIOR.replace(",", ";").replace("a;1;-2", "a;1;-2,0"),
        "p.csv has '-2,0' as log P(t) of caption '1' of group 'a'; write the decimal comma as a point.",
    ),
    "a prior of -inf": (
        NUMBERED,
        PRIOR.replace("a,1,-2", "a,1,-inf"),
        "p.csv has '-inf' as log P(t) of caption '1' of group 'a'; it is a finite number, at most 0.",
    ),
    "a score above 0": (
        NUMBERED.replace("a,1,1,-3", "a,1,1,3"),
        PRIOR,
        "Group 'a', image 1, caption 1 (counted from 0): the score is 3, but log P(t | image) is at most 0; give "
        "logarithms of likelihoods, which `crossmatch export scores` writes for a vgpt: model, not probabilities, "
        "similarities or losses (of a loss, −log P, turn the sign).",
    ),
    "a score above 0 and a prior under another header": (
        NUMBERED.replace("a,1,1,-3", "a,1,1,3"),
        PRIOR.replace("log_prob", "score"),
        "Group 'a', image 1, caption 1 (counted from 0): the score is 3, but log P(t | image) is at most 0; give "
        "logarithms of likelihoods, which `crossmatch export scores` writes for a vgpt: model, not probabilities, "
        "similarities or losses (of a loss, −log P, turn the sign). p.csv has no column 'log_prob' among: "
        "group, caption, score; name log P(t) so, or `log_prob_1`, "
        "`log_prob_2`, ... where each column is of a null image.",
    ),
    "a score of NaN": (NUMBERED.replace("a,0,0,-1", "a,0,0,nan"), PRIOR, PLACE.format("'nan'")),
    "a score of -inf": (NUMBERED.replace("a,0,0,-1", "a,0,0,-inf"), PRIOR, PLACE.format("'-inf'")),
}


@pytest.mark.parametrize(("scores", "prior", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_what_is_wrong_in_two_files_of_groups_is_one_sentence(scores, prior, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text(scores)
    Path("p.csv").write_text(prior)
    with pytest.raises(InputError) as caught:
        alpha("--scores", "s.csv", "--prior", "p.csv")
    assert str(caught.value) == said


def test_scores_as_their_own_prior_and_two_priors_in_one_file_are_refused(tmp_path):
    scores = -np.arange(1.0, 7).reshape(2, 1, 3)
    np.savez(tmp_path / "s.npz", scores=scores)
    np.savez(tmp_path / "p.npz", prior=scores[:, 0])
    with pytest.raises(InputError, match=r"has the numbers of .*s\.npz as log P"):
        alpha("--scores", tmp_path / "s.npz", "--prior", tmp_path / "p.npz")
    np.savez(tmp_path / "p.npz", prior=scores[:, 0], samples=scores[None, :, 0])
    with pytest.raises(InputError, match="the arrays 'prior' and 'samples', which may differ; leave one out"):
        alpha("--scores", tmp_path / "s.npz", "--prior", tmp_path / "p.npz")


def test_a_curve_that_is_flat_has_no_best_and_unnamed_truth_is_noted_once_at_the_end(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("here", "there"):
        np.savez(tmp_path / f"{name}.npz", scores=-rng.uniform(10, 11, (6, 1, 2)) - [0.0, 5.0])
        np.savez(tmp_path / f"{name}_p.npz", prior=-rng.uniform(1, 2, (6, 2)))
    words = ["alpha", "--scores", str(tmp_path / "here.npz"), "--prior", str(tmp_path / "here_p.npz")]
    tune = ["--tune-on", str(tmp_path / "there.npz"), "--tune-prior", str(tmp_path / "there_p.npz")]
    found = CliRunner().invoke(cli.app, [*words, *tune])
    assert "one test: no alpha changes its value" in found.stdout and "the best is" not in found.stdout
    assert found.stderr.count("image i is taken to belong to caption i") == 1
    assert "here.npz or " in found.stderr and "there.npz" in found.stderr
    assert not CliRunner().invoke(cli.app, [*words, "--by", "kind"]).stderr


def test_the_files_that_those_are_made_from_are_sound(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for scores in (NUMBERED, NAMED):
        Path("s.csv").write_text(scores)
        Path("p.csv").write_text(PRIOR)
        assert alpha("--scores", "s.csv", "--prior", "p.csv")["n_groups"] == 2


def test_groups_of_files_that_share_captions_or_images_hang_together(tmp_path):
    """Three pairs of captions in thirty groups; names that only count a group's captions or images share nothing."""
    rng, rows = np.random.default_rng(0), []
    likely = -rng.uniform(3, 9, (3, 2)).round(4)
    for group, caption in ((g, c) for g in range(30) for c in range(2)):
        rows.append([f"g{group}", f"{group}.png", f"text {group % 3} {caption}", likely[group % 3, caption]])
    table = pd.DataFrame(rows, columns=["group", "image", "caption", "log_prob"])
    table["score"], table["match"] = -rng.uniform(1, 9, 60), [1, 0] * 30
    files = tmp_path / "scores.csv", tmp_path / "prior.csv"

    def clustered(**columns) -> dict | None:
        new = table.assign(**columns)
        new.drop(columns="log_prob").to_csv(files[0], index=False)
        new[["group", "caption", "log_prob"]].to_csv(files[1], index=False)
        found = alpha("--scores", files[0], "--prior", files[1])
        return found["language"]["true_caption_likelier"].get("clustered")

    def known() -> list[str]:
        words = ["alpha", "--scores", str(files[0]), "--prior", str(files[1])]
        said = CliRunner().invoke(cli.app, words).stdout
        return [line for line in said.splitlines() if line.startswith("by caption: ")]

    found = clustered()
    assert found["by"] == "caption" and found["clusters"] == 3
    assert known() == [
        "by caption: groups that share one count as one; a caption is known by its name, where all of that name are "
        "equally likely"
    ]
    counted = table["caption"].str[-1]
    assert clustered(caption=counted, log_prob=-rng.uniform(3, 9, 60), image="A") is None
    assert known() == []
    shared = clustered(
        caption=counted, log_prob=-rng.uniform(3, 9, 60), image=[f"{i // 4}.png" for i in range(60)]
    )
    assert shared["by"] == "image" and shared["clusters"] == 15


# --- alpha from other groups


def known_by_text(folder, name, seed, groups="g", words="a {} cube left of a ball") -> tuple[Path, Path]:
    """Ten groups 1x2 with scores and a prior of their own; `words` are what its captions say."""
    rng, rows = np.random.default_rng(seed), []
    for group, (place, likely) in ((g, x) for g in range(10) for x in enumerate(-rng.uniform(3, 9, 2))):
        caption = words.format(f"{groups}{group}{place}")
        rows.append([f"{groups}{group}", "i", caption, -rng.uniform(1, 9), 1 - place, likely])
    table = pd.DataFrame(rows, columns=["group", "image", "caption", "score", "match", "log_prob"])
    scores, prior = folder / f"{name}.csv", folder / f"{name}_prior.csv"
    table.drop(columns="log_prob").to_csv(scores, index=False)
    table[["group", "caption", "log_prob"]].to_csv(prior, index=False)
    return scores, prior


def tuned(here: tuple[Path, Path], there: tuple[Path, Path]) -> dict:
    return alpha("--scores", here[0], "--prior", here[1], "--tune-on", there[0], "--tune-prior", there[1])


def test_alpha_is_not_tuned_on_the_groups_that_are_measured(tmp_path):
    """Known by their numbers, whatever they are called and in any order, or by their names and captions."""
    here = known_by_text(tmp_path, "here", 0)
    shuffled = pd.read_csv(here[0]).sample(frac=1, random_state=0)
    prior = pd.read_csv(here[1])
    for table in (shuffled, prior):
        table["group"] += " again"
    again = tmp_path / "again.csv", tmp_path / "again_prior.csv"
    shuffled[shuffled["group"] != "g3 again"].to_csv(again[0], index=False)
    prior[prior["group"] != "g3 again"].to_csv(again[1], index=False)
    other_model = known_by_text(tmp_path, "other", 1)
    for same, count in ((here, 10), (again, 9), (other_model, 10)):
        with pytest.raises(
            InputError, match=rf"^{count} of {count} groups or images of .* are in .*here\.csv"
        ):
            tuned(here, same)
    assert "tuned_on" in tuned(here, known_by_text(tmp_path, "apart", 1, groups="h"))
    for file in other_model:  # renamed copies, scored by another model
        table = pd.read_csv(file)
        table["group"] = "another " + table["group"].str[1:]
        table.to_csv(file, index=False)
    with pytest.raises(InputError, match=r"^10 of 10 groups or images of .* are in .*here\.csv"):
        tuned(here, other_model)
    table = pd.read_csv(other_model[0])  # four of ten captions alone may be true of other pictures
    new = {c: f"{c} now" for c in table["caption"].unique()[8:]}
    for file in other_model:
        table = pd.read_csv(file)
        table.assign(caption=table["caption"].replace(new)).to_csv(file, index=False)
    assert "tuned_on" in tuned(here, other_model)


def test_names_that_only_count_do_not_make_groups_the_same(tmp_path):
    """Two files may both call their groups g0, g1, ... and their captions "caption 1" and "caption 2"."""
    files = [known_by_text(tmp_path, name, seed, words="caption {}") for seed, name in enumerate("ab")]
    assert tuned(*files)["tuned_on"]["split"] == str(files[1][0])


def test_alpha_is_not_tuned_on_the_images_that_are_measured(tmp_path):
    here, other = retrieval(tmp_path), retrieval(tmp_path, "_val", seed=1)
    table = pd.read_csv(here[0])
    part = tmp_path / "part.csv"
    table[
        table["image"].isin(["image 1", "image 4"]) & table["caption"].str[8:].astype(int).isin([2, 3, 8, 9])
    ].to_csv(part, index=False)
    its = tmp_path / "part_prior.csv"
    prior = pd.read_csv(here[1])
    prior[prior["caption"].str[8:].astype(int).isin([2, 3, 8, 9])].to_csv(its, index=False)
    with pytest.raises(InputError, match=r"^2 of 2 groups or images"):
        tuned(here, (part, its))
    assert "tuned_on" in tuned(here, other)


# --- what the JSON says


def test_the_json_holds_the_exact_curves_with_what_holds_on_their_edges(tmp_path):
    record = alpha("--scores", LM_EVAL, "--prior", LM_EVAL)
    curve = record["curves"]["text_score"]
    # group 0 leads by -1 + 3.5 alpha, group 1 by 0.75 - 0.25 alpha
    assert curve["edges"] == pytest.approx([0, 2 / 7, 1]) and curve["values"] == [50, 100]
    assert curve["at"] == [50, 50, 100]  # on 2/7 group 0 ties, and a tie is wrong
    assert set(record["curves"]) == set(record["metrics"])
    scores, prior = retrieval(tmp_path)
    found = alpha("--scores", scores, "--prior", prior)
    curve = found["curves"]["image_to_text_r1"]
    assert len(curve["edges"]) == len(curve["at"]) == len(curve["values"]) + 1
    assert max(curve["values"]) == found["best"]["metrics"]["image_to_text_r1"]["value"]


def test_a_prior_that_prefers_nothing_is_a_state_of_its_own(tmp_path):
    scores, prior = known_by_text(tmp_path, "here", 0)
    table = pd.read_csv(prior)
    states = []
    for values in (table["log_prob"], -5.0, np.tile([-1.0, -9.0], 10), np.tile([-9.0, -1.0], 10)):
        table.assign(log_prob=values).to_csv(prior, index=False)
        language = alpha("--scores", scores, "--prior", prior)["language"]
        assert language["says"]
        states.append((language["state"], language["scenario"]))
    assert states == [
        ("cannot_tell", None), ("constant_prior", None), ("false_less_likely", 1), ("false_as_likely", 2)
    ]  # fmt: skip


def test_alpha_prints_ties_interval_and_chance_beside_every_number_and_whether_any_alpha_is_better(tmp_path):
    scores, prior = known_by_text(tmp_path, "here", 0)
    found = CliRunner().invoke(cli.app, ["alpha", "--scores", str(scores), "--prior", str(prior)]).stdout
    rows = [line for line in found.splitlines() if re.search(r"\[\d", line)]
    assert rows and all(re.search(r"\d\.\d\d +\[.+\] +50\.00 +\d+$", row) for row in rows)
    one = "text_score, group_score, group_match, individual_match, one test: These "
    assert re.search(
        one + r"\d+ groups are too few to tell whether removing the language prior helps: the best", found
    )
    assert found.count("which is no interval; ties are not counted") == 1
    scores, prior = retrieval(tmp_path)
    found = CliRunner().invoke(cli.app, ["alpha", "--scores", str(scores), "--prior", str(prior)]).stdout
    assert (
        "R@1 from image to text: cannot tell whether alpha helps" in found
        and "held out (half/half x 10): " in found
        and "standard deviation (n - 1) over the 10 halvings, which is no interval; ties are not counted"
        in found
    )


def test_the_held_out_value_has_that_of_alpha_0_on_the_same_halves_beside_it_as_the_headline_has(tmp_path):
    """The table began at alpha 0 of all groups, which is another value than the first of the headline's two."""
    out = tmp_path / "out"
    given = [
        "alpha",
        "scenes/triples",
        "--model",
        "builtin/blip-caption",
        "--split",
        "test",
        "--out",
        str(out),
    ]
    found = CliRunner().invoke(cli.app, given).stdout
    rows = [line for line in found.splitlines() if "held out (half/half x 10)" in line][:2]
    zero, best = (re.search(r"x 10\) +(\d+\.\d)", row)[1] for row in rows)
    assert rows[0].split()[0] == "0," and f"held-out TextScore {zero} → {best} %" in found
    held = json.loads((out / "alpha.json").read_text())["metrics"]["text_score"]["validated"]
    assert (f"{held['alpha_0']['mean']:.1f}", f"{held['value']['mean']:.1f}") == (zero, best)
    table = pd.read_csv(out / "metrics.csv").query("metric == 'text_score'").set_index("chosen")
    assert table.loc["held out, alpha 0", "value"] == pytest.approx(held["alpha_0"]["mean"])


def test_a_held_out_value_of_an_exact_half_is_rounded_as_in_the_headline():
    """The headline said 44.3 and the table below it 44.2, of 44.25."""
    assert _spread({"mean": 44.25, "std": 5.0}, 1) == "44.3 ± 5.0"


def test_the_text_of_a_retrieval_set_names_the_tag_that_its_images_have(tmp_path):
    """Also where it is the one alpha of slices: it is the best of those images, not of all."""
    scores, prior = retrieval(tmp_path)
    table = pd.read_csv(scores)
    table["size"] = table["image"].map(lambda name: "large" if int(name[-1]) < 4 else "small")
    table.to_csv(scores, index=False)
    words = ["alpha", "--scores", str(scores), "--prior", str(prior)]
    found = CliRunner().invoke(cli.app, [*words, "--tag", "size: large", "--by", "side"]).stdout
    assert "\n4 images with size: large, 8 captions;" in found
    assert (
        found.count("the best of 0 to 1 of the images with size: large, tuned on test") == 2
        and "all images" not in found
    )
    assert "6 images, 12 captions;" in CliRunner().invoke(cli.app, words).stdout


@pytest.mark.parametrize(
    ("difference", "probably", "verdict"),
    [
        (7.3, False, "over all alphas tried its gain may be luck (p = 0.85): "),
        (0.0, False, "no alpha gives more: "),
        (
            7.3,
            True,
            "likely, but not proven: alpha helps: ",
        ),
    ],
)
def test_a_gain_that_may_be_luck_is_not_called_none(difference, probably, verdict):
    """The best alpha's own interval leaves out 0 here, and with many alphas tried one of them would by luck."""
    gain = {"difference": difference, "low": 2.9, "high": 11.6, "p_value": 0.00058}
    best = {
        "alpha_low": 0.2,
        "alpha_high": 0.3,
        "gain": gain,
        "p_any_alpha": 0.31,
        "p_any_alpha_holm": 0.85,
        "p_random_signs": 0.002,
        "p_random_signs_holm": 0.006,
        "better_than_0": False,
        "probably": probably,
        "says": "a gain below 8.1 points could not be told",
    }
    said = _helps(best, {"value": 42.3}, {"value": 42.3 + difference})
    both = "tuned on test; p over all alphas, of random signs after Holm, 0.006; a gain below"
    assert (both in said) is probably
    assert said.startswith(verdict) and said.endswith("could not be told")
    assert f" {difference:+.2f} points against alpha 0 (95 % interval +2.90 to +11.60)" in said
    assert said.count("p over") + said.count("p = ") == (difference > 0)  # four stood beside one verdict


def test_the_gain_to_quote_is_the_first_line_as_on_the_page_and_slices_are_summed_up_before_the_tables(
    tmp_path,
):
    """The page said what to quote; the command that it exports said only what is held out at its alpha."""
    from core.debiasing.study import AlphaStudy
    from core.debiasing.verdicts import _headline

    rng = np.random.default_rng(3)
    prior = rng.normal(size=(40, 2)) - 20
    scores = rng.normal(size=(40, 1, 2)) + 0.8 * prior[:, None]
    ids = [f"g{i}" for i in range(40)]
    np.savez(tmp_path / "s.npz", scores=scores, truth=np.zeros((40, 1), int), ids=ids)
    np.savez(tmp_path / "p.npz", prior=prior)
    (tmp_path / "t.csv").write_text(
        "group,topic\n" + "".join(f"{g},{'ab'[i % 2]}\n" for i, g in enumerate(ids))
    )
    words = ["--scores", tmp_path / "s.npz", "--prior", tmp_path / "p.npz", "--tags", tmp_path / "t.csv"]
    found = CliRunner().invoke(cli.app, ["alpha", *map(str, words)])
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    study = AlphaStudy(scores, prior, np.zeros((40, 1), int), ids)
    assert lines[0] == _headline(study, "text_score")
    held = study.validated("text_score")
    gains = held.values - held.zero
    # Its alpha 0 is that of the same halves, which stood nowhere.
    ends = f": held-out TextScore {held.zero.mean():.1f} → {held.values.mean():.1f} % (chance 50.0 %)"
    assert ends in lines[0]
    parts = {}
    for i, value in enumerate("ab"):
        part = study.select(np.arange(40) % 2 == i).validated("text_score")
        parts[value] = part.values - part.zero
    gained = f"Held-out gain: {gains.mean():+.1f} points (± {gains.std(ddof=1):.1f} SD over splits). "
    every = f"The 10 paired gains: {gains.min():+.1f} to {gains.max():+.1f} points.".replace("-", "−")
    assert lines[1] == gained + every
    assert [line.replace("−", "-") for line in lines[2:5]] == [
        *(f"  topic = {v} (20 groups): {g.mean():+.1f} ± {g.std(ddof=1):.1f} points" for v, g in parts.items()), "",
    ]  # fmt: skip
    record = alpha(*words)
    quoted = record["to_quote"]
    assert (quoted["metric"], quoted["line"], quoted["held_out"]) == ("text_score", *lines[:2])
    assert (quoted["alpha_0"], quoted["value"]) == pytest.approx(
        (held.zero.mean(), held.values.mean()), abs=1e-6
    )
    assert (quoted["mean"], quoted["std"]) == pytest.approx((gains.mean(), gains.std(ddof=1)), abs=1e-6)
    assert record["slices"]["topic"]["b"]["to_quote"]["mean"] == pytest.approx(parts["b"].mean(), abs=1e-6)


def test_the_gain_to_quote_of_a_retrieval_set_is_that_of_its_halves(tmp_path):
    scores, prior = retrieval(tmp_path)
    found = CliRunner().invoke(cli.app, ["alpha", "--scores", str(scores), "--prior", str(prior)]).stdout
    assert re.fullmatch(
        r"Chosen on one half of the data, α (gains|loses) \d+\.\d points of R@1 from image to text on the other: "
        r"quote this \(± \d+\.\d, SD of ten splits\)\.",
        found.splitlines()[0],
    )
    ends = r"Held out: R@1 from image to text \d+\.\d % at α = 0 → \d+\.\d % at the chosen α\. The 10 paired gains: .*"
    assert re.fullmatch(ends, found.splitlines()[1])
