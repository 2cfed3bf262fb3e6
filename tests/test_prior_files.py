"""Files of log P(t): arrays with names of their own, numbers that are none, and what the line about a prior says."""

import io

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.datasets.retrieval_files import RetrievalFile
from core.datasets.score_files import read_prior, read_tags
from core.debiasing.priors import Prior
from core.exchange.file_kinds import _kind_of_file

IDS = ["a", "b", "c"]
CAPTIONS = np.array([[f"{g} one", f"{g} two"] for g in IDS])
PRIOR = -np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
SCORES = np.full((3, 1, 2), -9.0)


def npz(**arrays: object) -> bytes:
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


def test_a_column_called_prior_is_log_p_of_t_as_the_array_of_that_name_is():
    rows = [f"{g},{text},{PRIOR[i, j]}" for i, g in enumerate(IDS) for j, text in enumerate(CAPTIONS[i])]
    table = "\n".join(["group,caption,prior", *rows]).encode()
    found = Prior.from_file("p.csv", SCORES, IDS, CAPTIONS, table)
    assert found.values.tolist() == PRIOR.tolist() and "not used" not in found.line
    both = "\n".join(["group,caption,prior,log_prob", *(f"{row},-1" for row in rows)]).encode()
    assert read_prior("p.csv", IDS, 2, both, CAPTIONS).tolist() == [[[-1.0, -1.0]] * 3]


def test_a_name_is_a_text_only_where_it_is_as_likely_in_every_group():
    """Of `cap0` in each of 240 groups some log P(t) of one decimal were equal: these hung together, and an interval
    was 0 to 100 % where names of numbers gave 36 to 49."""
    names = np.array([["cap0", "a dog"], ["cap0", "a dog"], ["cap0", "cap1"]])
    values = -np.array([[1.0, 2.0], [1.0, 2.000001], [3.0, 4.0]])
    rows = [f"{g},{text},{values[i, j]}" for i, g in enumerate(IDS) for j, text in enumerate(names[i])]
    table = "\n".join(["group,caption,log_prob", *rows]).encode()
    found = Prior.from_file("p.csv", SCORES, IDS, names, table)
    assert found.caption_index.tolist() == [[0, 1], [2, 1], [4, 5]]
    assert found.values == pytest.approx(values)
    clusters = found.clusters(None)
    assert clusters is not None and clusters.labels.tolist() == [0, 0, 1]


def test_likelihoods_however_small_are_no_log_likelihoods():
    """Those of whole sentences, about 1e-8, passed as rounded zeros: "little language prior to take out"."""
    rows = [
        f"{g},{text},{np.exp(15 * PRIOR[i, j] / 6)}" for i, g in enumerate(IDS) for j, text in enumerate("xy")
    ]
    table = "\n".join(["group,caption,log_prob", *rows]).encode()
    with pytest.raises(InputError, match="at most 0: give logarithms of likelihoods, not probabilities"):
        Prior.from_file("p.csv", SCORES, IDS, np.array([["x", "y"]] * 3), table)
    rare = np.exp(15 * PRIOR / 6)
    rare[0, 0] = 0.0  # what exp leaves of a long sentence
    with pytest.raises(InputError, match="give logarithms of likelihoods, not probabilities"):
        read_prior("p.npz", IDS, 2, npz(prior=rare))
    assert not read_prior("p.npz", IDS, 2, npz(prior=np.zeros_like(PRIOR))).any()  # certain captions
    rounded = np.where(PRIOR == -1, 1e-9, PRIOR)  # one of them: log 1, as floats have it
    assert read_prior("p.npz", IDS, 2, npz(prior=rounded)).tolist() == [rounded.tolist()]


# --- arrays with names


@pytest.mark.parametrize("named", [False, True])
def test_arrays_with_ids_are_put_into_the_order_of_the_scores(named):
    """They were taken in their own order, without a word."""
    data = npz(prior=PRIOR[::-1], ids=np.array(IDS[::-1]))
    captions = CAPTIONS if named else None
    assert read_prior("p.npz", IDS, 2, data, captions).tolist() == [PRIOR.tolist()]
    samples = npz(samples=np.stack([PRIOR, PRIOR - 1])[:, [2, 0, 1]], ids=np.array(["c", "a", "b"]))
    assert read_prior("p.npz", IDS, 2, samples).tolist() == [PRIOR.tolist(), (PRIOR - 1).tolist()]


def test_arrays_with_captions_find_those_of_the_scores_by_name():
    data = npz(prior=PRIOR[::-1, ::-1], ids=np.array(IDS[::-1]), captions=CAPTIONS[::-1, ::-1])
    assert read_prior("p.npz", IDS, 2, data, CAPTIONS).tolist() == [PRIOR.tolist()]
    assert read_prior(
        "p.npz", IDS, 2, npz(prior=PRIOR[:, ::-1], captions=CAPTIONS[:, ::-1]), CAPTIONS
    ).tolist() == [PRIOR.tolist()]


def test_groups_and_arrays_that_are_not_needed_are_named():
    data = npz(prior=PRIOR, ids=np.array(IDS), captions=CAPTIONS, truth=np.zeros((3, 1)))
    found = Prior.from_file("p.npz", SCORES[:2], IDS[:2], None, data)
    assert found.values.tolist() == PRIOR[:2].tolist()
    assert found.line == (
        "your file p.npz; not used: 1 group that the scores lack, 'c' first; not used: the arrays 'captions', 'truth'"
    )


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (
            {"prior": PRIOR, "ids": np.array(["x", "y", "z"])},
            "has none of the scores' 3 groups: `ids` begins with 'x', the scores with 'a'; name them as the scores do, "
            "or leave `ids` out where both files have one order.",
        ),
        (
            {"prior": PRIOR, "ids": np.array(["a", "b", "z"])},
            "lacks 1 of the scores' 3 groups in `ids`: 'c'; add its log P",
        ),
        (
            {"prior": PRIOR, "ids": np.array(["a", "b", "b"])},
            "has the group 'b' twice in `ids`; leave one out",
        ),
        ({"prior": PRIOR, "ids": np.array([IDS])}, "'ids' has shape \\(1, 3\\); it needs one name per group"),
        (
            {"prior": PRIOR, "captions": CAPTIONS[:, :1]},
            "'captions' has shape \\(3, 1\\); it needs \\(3, 2\\)",
        ),
        (
            {"prior": PRIOR, "captions": np.char.add(CAPTIONS, "!")},
            "the caption 'a one!' in group 'a', which the",
        ),
        ({"prior": PRIOR, "captions": CAPTIONS[:, [0, 0]]}, "the caption 'a one' of group 'a' twice"),
        ({"logp": PRIOR, "truth": PRIOR}, "has no array 'prior' or 'samples' among: logp, truth; name log P"),
        (
            {"prior": np.where(PRIOR == -4, np.nan, PRIOR), "ids": np.array(IDS)},
            r"of group 'b', prior\[1, 1\]",
        ),
        (
            {"prior": np.where(PRIOR == -4, 0.5, PRIOR)[::-1], "ids": np.array(IDS[::-1])},
            r"has 0.5 as log P\(t\) of caption 1 \(counted from 0\) of group 'b', prior\[1, 1\]",
        ),
    ],
)
def test_names_that_do_not_fit_are_one_sentence(arrays, said):
    with pytest.raises(InputError, match=said) as caught:
        read_prior("p.npz", IDS, 2, npz(**arrays), CAPTIONS)
    assert "\n" not in str(caught.value)


def test_a_prior_of_other_groups_is_refused_with_how_many_it_lacks():
    """“No finite log P(t) for caption '0' of group 'g7'” sent its reader to one cell, where the file was another's."""
    ids = [f"g{place}" for place in range(20)]
    rows = [f"{name},{caption},-1" for name in ids for caption in (0, 1) if name not in ("g7", "g8", "g12")]
    data = "\n".join(["group,caption,log_prob", *rows]).encode()
    with pytest.raises(InputError) as caught:
        read_prior("p.csv", ids, 2, data)
    assert (
        str(caught.value) == "p.csv lacks 3 of the scores' 20 groups: the first is 'g7'; add their log P(t)."
    )


# --- retrieval sets


def retrieval() -> RetrievalFile:
    scores, match = -np.arange(1.0, 7).reshape(2, 3), np.array([[1, 1, 0], [0, 0, 1]])
    found = RetrievalFile.read(
        "s.npz", npz(scores=scores, match=match, images=["i", "j"], captions=["x", "y", "z"])
    )
    assert found is not None
    return found


def test_captions_of_arrays_find_those_of_a_retrieval_set_by_name():
    """They were taken in their own order, without a word."""
    data = npz(samples=-np.array([[3.0, 1.0, 2.0, 9.0]]), captions=np.array(["z", "x", "y", "more"]))
    found = retrieval().prior("p.npz", data)
    assert found.values.tolist() == [[-1, -2, -3]]
    assert found.notes == ("not used: 1 caption that the scores lack, 'more' first",)
    plain = retrieval().prior("p.npz", npz(prior=-np.array([1.0, 2.0, 3.0])))
    assert plain.values.tolist() == [[-1, -2, -3]] and plain.notes == ()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["x", "y", "q"], "lacks 1 of the scores' 3 captions in `captions`: 'z'; add its log P"),
        (
            ["u", "v", "w"],
            "none of the scores' 3 captions: `captions` begins with 'u', the scores with 'x'; name",
        ),
        (["x", "y", "y"], "has the caption 'y' twice in `captions`; leave one out"),
        ([["x", "y", "z"]], "'captions' has shape \\(1, 3\\); it needs one name per caption"),
    ],
)
def test_captions_of_arrays_that_do_not_fit_are_one_sentence(names, said):
    with pytest.raises(InputError, match=said):
        retrieval().prior("p.npz", npz(prior=-np.ones(3), captions=np.array(names)))


@pytest.mark.parametrize(
    ("cell", "shown", "rule"),
    [
        ("abc", "'abc'", "it is a finite number"),
        ("", "an empty cell", "it is a finite number"),
        ("-1,5", "'-1,5'", "write the decimal comma as a point"),
        ("-inf", "'-inf'", "it is a finite number"),
    ],
)
def test_a_cell_that_is_no_number_is_shown_as_it_is_written(cell, shown, rule):
    """Of a retrieval set each of them was called nan."""
    text = f'caption,log_prob\nx,-1\ny,"{cell}"\nz,-1\n'.encode()
    with pytest.raises(InputError, match=rf"p.csv has {shown} as log P\(t\) of caption 'y'; {rule}"):
        retrieval().prior("p.csv", text)


def test_tags_of_images_are_said_to_need_every_image():
    with pytest.raises(
        InputError, match=r"no row for 'i'; its column `group` .* every group, or every image of"
    ):
        read_tags("t.csv", b"group,t\nx,1\n", ["i"])


# --- numbers that are no log-likelihoods


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, "a log-likelihood is at most 0: give logarithms of likelihoods, not probabilities or losses"),
        (7.25, "a log-likelihood is at most 0: give logarithms of likelihoods, not probabilities or losses"),
        (
            -3.4028235e38,
            "has -3.403e\\+38 as log P.*; so low a number stands for none: score that caption again",
        ),
        (-1.7e308, "has -1.7e\\+308 as log P.*; so low a number stands for none: score that caption again"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_what_no_likelihood_has_as_its_logarithm_is_refused(value, said, ending, tmp_path):
    """The lowest number of float32 or float64, which some write for none, made an overflow."""
    values = np.where(PRIOR == -4, value, PRIOR)
    table = pd.DataFrame({"group": np.repeat(IDS, 2), "caption": [0, 1] * 3, "log_prob": values.ravel()})
    path = tmp_path / f"p.{ending}"
    if ending == "npz":
        np.savez(path, prior=values)
    else:
        table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.raises(InputError, match=said):
        read_prior(path, IDS, 2)
    captions = {"caption": ["x", "y", "z"], "log_prob": [-1, value, -1]}
    with pytest.raises(InputError, match=said):
        retrieval().prior("p.csv", pd.DataFrame(captions).to_csv(index=False).encode())


def test_a_score_that_stands_for_none_is_refused():
    with pytest.raises(
        InputError, match=r"Group 'b', .* the score is -1e\+300; so low a number stands for none"
    ):
        Prior.from_file("p.npz", np.where(np.arange(3)[:, None, None] == 1, -1e300, SCORES), IDS, None, b"")
    with pytest.raises(
        InputError, match="-1e\\+300 for image 'i' with caption 'x'; so low a number stands for none"
    ):
        RetrievalFile.read("s.csv", b"image,caption,score,match\ni,x,-1e300,1\ni,y,-1,0\n")


@pytest.mark.parametrize("values", [[False] * 6, pd.to_datetime([0] * 6), pd.to_timedelta([0] * 6)])
def test_a_column_of_truth_values_or_of_times_is_no_log_likelihood(values, tmp_path):
    """They were read as numbers."""
    table = pd.DataFrame({"group": np.repeat(IDS, 2), "caption": [0, 1] * 3, "log_prob": values})
    table.to_parquet(tmp_path / "p.parquet")
    with pytest.raises(
        InputError, match=r"p.parquet: column 'log_prob' holds .*; log P.* is a number, at most 0"
    ):
        read_prior(tmp_path / "p.parquet", IDS, 2)


@pytest.mark.parametrize("name", ["log_p", "logp", "logprob", "log_probability"])
def test_log_p_under_its_other_usual_names_is_read_alike(name, tmp_path):
    """A file with `log_p` was refused: only `log_prob` was known."""
    text = "group,caption,{}\na,0,-1\na,1,-2\nb,0,-3\nb,1,-4\nc,0,-5\nc,1,-6\n"
    (tmp_path / "p.csv").write_text(text.format(name))
    assert read_prior(tmp_path / "p.csv", IDS, 2).tolist() == [[[-1, -2], [-3, -4], [-5, -6]]]
    assert "not used" not in Prior.from_file(tmp_path / "p.csv", SCORES, IDS).line
    found = RetrievalFile.read("s.csv", b"image,caption,score,match\ni,x,-1,1\ni,y,-2,0\n")
    assert found.prior("p.csv", f"caption,{name}\nx,-1\ny,-2\n".encode())[0].tolist() == [[-1, -2]]
    assert _kind_of_file("p.csv", text.format(name).encode()) == "a prior"


@pytest.mark.parametrize("names", ["log_p,logprob", "log_prob,logp", "log_prob_1,log_p", "log_p,prior"])
def test_a_table_that_may_mean_either_of_two_columns_is_refused(names):
    first, second = names.split(",")
    with pytest.raises(InputError) as caught:
        read_prior("p.csv", ["a"], 2, f"group,caption,{names}\na,0,-1,-2\na,1,-2,-1\n".encode())
    assert (
        str(caught.value)
        == f"p.csv has the columns {first!r} and {second!r}, which may differ; leave one out."
    )


# --- what is matched by order


def test_names_where_the_scores_only_number_their_captions_are_matched_in_order_and_it_is_said():
    table = b"group,caption,log_prob\na,cat,-1\na,dog,-2\nb,dog,-3\nb,cow,-4\nc,x,-5\nc,y,-6\n"
    found = Prior.from_file("p.csv", SCORES, IDS, data=table)
    assert found.values.tolist() == PRIOR.tolist()
    assert (
        found.line
        == "your file p.csv; captions matched in the order of the file, as the scores only number theirs"
    )


def test_numbers_where_the_scores_name_their_captions_are_matched_in_order_and_it_is_said():
    table = b"group,caption,log_prob\na,1,-1\na,2,-2\nb,1,-3\nb,2,-4\nc,1,-5\nc,2,-6\n"
    found = Prior.from_file("p.csv", SCORES, IDS, CAPTIONS, table)
    assert found.values.tolist() == PRIOR.tolist()
    assert (
        found.line
        == "your file p.csv; captions matched by number, in the order in which the scores name theirs"
    )


def test_groups_by_other_names_are_shown_beside_those_of_the_scores():
    with pytest.raises(
        InputError, match=r"none of the scores' 3 groups: it has '0.0', the scores have 'a'; name them"
    ):
        read_prior("p.csv", IDS, 2, b"group,caption,log_prob\n0.0,1,-1\n")
    with pytest.raises(
        InputError, match="none of the scores' captions: it has 'q', the scores have 'x'; name them"
    ):
        retrieval().prior("p.csv", b"caption,log_prob\nq,-1\n")


def test_of_several_mistakes_the_others_are_named_too(tmp_path):
    """One was named, and the next one after it was mended."""
    prior = np.full((4, 2), -1.0)
    prior[1, 0], prior[2, 1], prior[3, 0] = 0.5, np.nan, 2.0
    np.savez(tmp_path / "p.npz", prior=prior)
    with pytest.raises(InputError) as said:
        read_prior(tmp_path / "p.npz", list("abcd"), 2)
    assert "has 0.5 as log P(t) of caption 0 (counted from 0) of group 'b'" in str(said.value)
    assert str(said.value).endswith(
        "Wrong likewise: caption 1 (counted from 0) of group 'c', prior[2, 1]; caption 0 (counted from 0) of group "
        "'d', prior[3, 0]."
    )
    prior[:] = 1.0
    np.savez(tmp_path / "p.npz", prior=prior)
    with pytest.raises(InputError, match=r"and 3 more\.$"):
        read_prior(tmp_path / "p.npz", list("abcd"), 2)
