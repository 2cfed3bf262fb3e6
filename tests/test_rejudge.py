"""A second opinion on results that other tools wrote: `samples/rejudge`, each made by the tool itself."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from core.base.errors import InputError
from core.cli import app
from core.datasets.score_files import read_scores, write_scores
from core.rejudge import rejudge

SAMPLES = Path(__file__).parent / "samples" / "rejudge"
MTEB = SAMPLES / "mteb"
PAIRS = MTEB / "random-clip-0" / "TinyWinoground_predictions.json"
LM_EVAL, INSPECT = SAMPLES / "lm_eval", SAMPLES / "inspect"
LMMS_EVAL = SAMPLES / "lmms_eval"


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name, whatever time its tool wrote into it."""
    (found,) = folder.glob(pattern)
    return found


# --- scores


def test_predictions_of_mteb_are_scores_of_groups_whose_images_own_the_captions_in_order():
    found, written = read_scores(PAIRS), json.loads(PAIRS.read_text())
    np.testing.assert_array_equal(found.scores, written["default"]["test"])
    np.testing.assert_array_equal(found.truth, [[0, 1]] * 12)
    assert found.ids == [str(i) for i in range(12)] and found.tags is None


def test_the_only_file_of_a_zip_is_judged_as_it_is(tmp_path):
    """It was refused: its name did not end in that of a result."""
    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(PAIRS, PAIRS.name)
    plain, found = (rejudge([path]).record()["submissions"] for path in (PAIRS, packed))
    assert [each["metrics"] for each in found] == [each["metrics"] for each in plain]


def test_subsets_and_splits_of_mteb_become_tags(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"mteb_model_meta": {}, "a": {"test": [[[1, 2]]]}, "b": {"dev": [[[3, 4]]]}}))
    found = read_scores(path)
    assert found.ids == ["a/test/0", "b/dev/0"] and found.tags.to_dict("list") == {
        "subset": ["a", "b"],
        "split": ["test", "dev"],
    }


@pytest.mark.parametrize(
    "value, says",
    [
        ({"mteb_model_meta": {}}, "holds no predictions"),
        ({"mteb_model_meta": {}, "default": {"test": {"q1": {"d1": 0.5}}}}, "are no scores of groups"),
        ({"mteb_model_meta": {}, "default": {"test": [[["0.5", 2]]]}}, "are no scores of groups"),
        ({"mteb_model_meta": {}, "default": {"test": [[[True, 0.5]]]}}, "are no scores of groups"),
        ({"mteb_model_meta": {}, "default": {"test": [[[1, 2]], [[1, 2, 3]]]}}, "are no scores of groups"),
        ({"mteb_model_meta": {}, "a": {"t": [[[1, 2]]]}, "b": {"t": [[[1, 2, 3]]]}}, "groups of 1x2 and 1x3"),
        ({"mteb_model_meta": {}, "a": {"t": [[[1, None]]]}}, "not a finite number"),
        ({"task_name": "x"}, "neither predictions of MTEB"),
        ([1, 2], "is not a JSON object"),
    ],
)
def test_other_json_is_refused_in_one_sentence(tmp_path, value, says):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=says) as told:
        read_scores(path)
    assert str(told.value).count("\n") == 0


def test_scores_are_not_written_as_predictions_of_mteb(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.csv, \.parquet, \.npz, \.jsonl\."):
        write_scores(tmp_path / "x.json", np.zeros((1, 2, 2)))


# --- MTEB


def test_a_constant_scorer_to_which_mteb_gives_100_percent_has_none_of_them():
    (found,) = rejudge([MTEB / "constant" / "TinySugarCrepe_predictions.json"]).record()["submissions"]
    assert (found["model"], found["benchmark"], found["version"]) == (
        "tiny/constant",
        "TinySugarCrepe",
        "2.26.24",
    )
    assert found["reported"] == {
        "text_acc": 100,
        "image_acc": 0,
        "accuracy": 0,
    }  # MTEB's own, from the file beside it
    score = found["metrics"]["group_score"]
    assert (score["value"], score["ties"], score["chance"]) == (0, 12, 50)
    told = " ".join(found["findings"])
    assert "image_acc and accuracy are 0 by construction" in told
    assert "its text_acc is 100.00, and 0.00 without the 12 tied groups" in told


def test_image_acc_of_mteb_is_0_for_scores_that_are_all_right(tmp_path):
    """What the sentence claims, by MTEB's own formula: `argmax(dim=0) == arange(captions)`."""
    scores = np.array([[[0.9, 0.1]]])
    assert (scores[0].argmax(axis=0) == np.arange(2)).all() == np.False_
    path = tmp_path / "Set_predictions.json"
    path.write_text(
        json.dumps({"mteb_model_meta": {"model_name": "x"}, "default": {"test": scores.tolist()}})
    )
    (found,) = rejudge([path]).record()["submissions"]
    assert found["metrics"]["group_score"]["value"] == 100 and "by construction" in found["findings"][0]


def test_scores_of_mteb_have_the_metrics_that_it_leaves_out():
    (found,) = rejudge([PAIRS]).record()["submissions"]
    scores = np.array(json.loads(PAIRS.read_text())["default"]["test"])
    right = (
        scores[:, 0, 0] + scores[:, 1, 1] > scores[:, 0, 1] + scores[:, 1, 0]
    )  # by hand: the true total is larger
    match, interval = found["metrics"]["group_match"], binomtest(int(right.sum()), 12).proportion_ci()
    assert match["value"] == pytest.approx(100 * right.mean(), abs=1e-4) and match["chance"] == 50
    np.testing.assert_allclose([match["low"], match["high"]], [100 * x for x in interval], atol=1e-4)
    assert found["reported"]["accuracy"] == found["metrics"]["group_score"]["value"] == 0


def test_a_report_that_its_own_scores_deny_is_told(tmp_path):
    for name in ("TinySugarCrepe.json", "TinySugarCrepe_predictions.json"):
        shutil.copy(MTEB / "random-clip-0" / name, tmp_path / name)
    shutil.copy(MTEB / "constant" / "TinySugarCrepe.json", tmp_path / "TinySugarCrepe.json")
    (found,) = rejudge([tmp_path]).record()["submissions"]
    assert (
        "The report's text_acc is 100.00, and its own metric on these scores gives 41.67"
        in found["findings"][0]
    )


def test_systems_on_the_same_benchmark_are_compared_in_pairs_and_corrected_together():
    found = rejudge([MTEB])
    assert len(found.judged) == 6 and len(found.differences) == 6  # of two sets, every two of three systems
    systems = [(a.submission.model, b.submission.model) for a, b, _ in found.differences[3:]]
    names = ["tiny/constant", "tiny/random-clip-0", "tiny/random-clip-1"]
    assert systems == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    first, second, metrics = found.differences[-1]
    wrong, right = (e.evaluation.outcomes["group_match"].value for e in (first, second))
    fixed, broken = int((right & ~wrong).sum()), int((wrong & ~right).sum())
    assert (metrics["group_match"].fixed, metrics["group_match"].broken) == (fixed, broken)
    assert metrics["group_match"].p_value == pytest.approx(binomtest(fixed, fixed + broken).pvalue)
    tests = 3 * 1 + 3 * 5  # on groups of one image all metrics are one
    smallest = min((c for *_, each in found.differences for c in each.values()), key=lambda c: c.p_value)
    assert smallest.p_holm == pytest.approx(smallest.p_value * tests)


def test_a_result_of_mteb_alone_says_what_its_zeros_mean():
    (found,) = rejudge([MTEB / "random-clip-0" / "TinySugarCrepe.json"]).record()["submissions"]
    assert found["metrics"] == {} and "exactly 0" in found["findings"][0]
    assert "nothing is counted again" in found["limits"][0]


def test_subsets_and_splits_of_mteb_are_judged_apart_each_with_its_own_report(tmp_path):
    predictions, report = (
        json.loads((MTEB / "random-clip-0" / f"TinyWinoground{end}.json").read_text())
        for end in ("_predictions", "")
    )
    test = predictions["default"]["test"]
    predictions["default"] = {"test": test, "train": test[:5]}
    (tmp_path / "TinyWinoground_predictions.json").write_text(json.dumps(predictions))
    report["scores"]["train"] = [{**report["scores"]["test"][0], "text_acc": 0.4}]
    (tmp_path / "TinyWinoground.json").write_text(json.dumps(report))
    whole, part = rejudge([tmp_path]).record()["submissions"]
    assert [s["benchmark"] for s in (whole, part)] == [
        "TinyWinoground, default/test",
        "TinyWinoground, default/train",
    ]
    assert (whole["n_groups"], part["n_groups"], part["reported"]["text_acc"]) == (12, 5, 40)
    assert "has 2 subsets and splits; these numbers are of default/train alone" in part["findings"][0]


# --- lm-eval


def test_questions_with_the_same_choices_are_groups_and_the_report_beside_them_is_read():
    folder = LM_EVAL / "random-gpt-0"
    found = rejudge([only(folder, "samples_tiny_pairs_2*"), only(folder, "results_*")]).record()[
        "submissions"
    ][0]
    assert (found["model"], found["benchmark"]) == ("work/random-gpt-0", "tiny_pairs")
    assert (found["n_groups"], found["shape"], found["reported"]["acc"]) == (6, "2x2", 50)
    rows = [json.loads(line) for line in only(folder, "samples_tiny_pairs_2*").read_text().splitlines()]
    logs = np.array([[float(value) for value, _ in row["filtered_resps"]] for row in rows]).reshape(6, 2, 2)
    match = (logs[:, 0, 0] + logs[:, 1, 1] > logs[:, 0, 1] + logs[:, 1, 0]).mean()
    assert found["metrics"]["group_match"]["value"] == pytest.approx(100 * match, abs=1e-4)
    assert found["metrics"]["individual_match"]["chance"] == 50


def test_answers_in_words_have_accuracies_and_no_matching():
    found = {s["benchmark"]: s for s in rejudge([LM_EVAL / "random-gpt-0"]).record()["submissions"]}[
        "tiny_words"
    ]
    metrics = found["metrics"]
    assert found["reported"] == {"exact_match,letter": 25} and set(metrics) == {
        "question_accuracy",
        "group_accuracy",
    }
    assert (metrics["question_accuracy"]["value"], metrics["question_accuracy"]["ties"]) == (25, None)
    assert (metrics["group_accuracy"]["chance"], metrics["question_accuracy"]["chance"]) == (25, 50)
    assert (
        "6 of 12 answers without a choice" in found["findings"][0]
        and "100 % of the answers are choice A" in found["findings"][1]
    )
    assert "no GroupMatch" in found["limits"][0]


def test_a_log_that_is_shorter_than_its_report_is_half_a_log(tmp_path):
    folder = LM_EVAL / "random-gpt-0"
    shutil.copy(only(folder, "results_*"), tmp_path)
    log = only(folder, "samples_tiny_pairs_2*")
    (tmp_path / log.name).write_text("".join(log.read_text().splitlines(keepends=True)[:10]))
    with pytest.raises(InputError, match="holds 10 of the 12 items that the report beside it measured"):
        rejudge([tmp_path])
    (tmp_path / log.name).write_text(log.read_text()[:-200])
    with pytest.raises(InputError, match="line 12 is not JSON"):
        rejudge([tmp_path])


def test_a_log_named_alone_is_held_against_the_report_beside_it_and_nothing_else_of_that_is_told(tmp_path):
    folder = LM_EVAL / "random-gpt-0"
    log = only(folder, "samples_tiny_pairs_2*")
    (found,) = rejudge([log]).record()["submissions"]
    assert found["model"] and found["reported"] == {"acc": 50.0}
    shutil.copy(only(folder, "results_*"), tmp_path)
    (tmp_path / log.name).write_text("".join(log.read_text().splitlines(keepends=True)[:6]))
    with pytest.raises(InputError, match="holds 6 of the 12 items that the report beside it measured"):
        rejudge([tmp_path / log.name])


@pytest.mark.parametrize("task", ["pairs", "words"])
def test_a_log_cut_at_a_lines_end_without_its_report_says_that_most_questions_have_a_partner(tmp_path, task):
    log = only(LM_EVAL / "random-gpt-0", f"samples_tiny_{task}_2*")
    (tmp_path / log.name).write_text("".join(log.read_text().splitlines(keepends=True)[:7]))
    (found,) = rejudge([tmp_path]).record()["submissions"]
    told = " ".join([*found["findings"], *found["limits"]])
    assert "6 of 7 questions share their choices with another one, but" in told
    assert "if the file was cut, give all of it" in told and "No two questions" not in told


@pytest.mark.parametrize("task", ["pairs", "words"])
def test_a_log_in_another_order_gives_the_same_paired_tests(tmp_path, task):
    logs = [only(LM_EVAL / f"random-gpt-{i}", f"samples_tiny_{task}_2*") for i in (0, 1)]
    (ordered,) = rejudge(logs).record()["differences"]
    for log in logs:
        (tmp_path / log.parent.name).mkdir()
        shutil.copy(only(log.parent, "results_*"), tmp_path / log.parent.name)
    first, second = (tmp_path / log.parent.name / log.name for log in logs)
    shutil.copy(logs[0], first)
    lines = logs[1].read_text().splitlines(keepends=True)
    second.write_text("".join(np.random.default_rng(3).permutation(lines)))
    (shuffled,) = rejudge([first, second]).record()["differences"]
    assert shuffled == ordered and set(ordered["metrics"]) >= (
        {"group_accuracy"} if task == "words" else {"group_match"}
    )


# --- lmms-eval


def test_losses_of_lmms_eval_are_scores_and_agree_with_its_own_report():
    folder = LMMS_EVAL / "0.6.1" / "work__random-llava-0"
    (found,) = rejudge([only(folder, "*_samples_tiny_pairs.jsonl")]).record()["submissions"]
    assert (found["tool"], found["model"], found["benchmark"]) == (
        "lmms-eval",
        "work/random-llava-0",
        "tiny_pairs",
    )
    rows = [json.loads(x) for x in only(folder, "*_samples_tiny_pairs.jsonl").read_text().splitlines()]
    losses = np.array([[float(loss) for loss, _ in row["filtered_resps"]] for row in rows])
    right = losses.argmin(axis=1) == [
        int(row["target"]) for row in rows
    ]  # lmms-eval's own rule: the smallest
    assert found["reported"] == {"acc": 100 * right.mean()}
    assert (found["n_groups"], found["shape"]) == (12, "1x2")
    assert found["metrics"]["text_score"]["value"] == 100 * right.mean()


@pytest.mark.parametrize("version", ["0.6.1", "0.7.3"])
def test_answers_of_lmms_eval_to_the_same_question_about_other_pictures_are_groups(version):
    logs = sorted((LMMS_EVAL / version).glob("*/*_samples_tiny_words.jsonl"))
    always, mixed = rejudge(logs).record()["submissions"]
    for found in (always, mixed):
        assert (found["benchmark"], found["n_questions"], found["n_groups"]) == ("tiny_words", 12, 6)
        assert found["metrics"]["group_accuracy"]["chance"] == 25
    assert always["reported"] == {"exact_match": 50} and mixed["reported"] == {"exact_match": 33.33333333}
    assert always["metrics"]["group_accuracy"]["value"] == 0  # B to every question
    assert mixed["metrics"]["question_accuracy"]["value"] == 33.33333333
    assert "4 of 12 answers without a choice" in mixed["findings"][0]  # "red"


# --- Inspect


def test_logs_of_inspect_are_answers_in_groups():
    found = rejudge([only(INSPECT / "some", "*.eval"), INSPECT / "always-a"])
    some, always = found.record()["submissions"]
    assert (some["n_questions"], some["n_groups"], some["version"]) == (12, 6, "0.3.285")
    assert some["reported"]["accuracy"] == some["metrics"]["question_accuracy"]["value"] == 75
    assert some["metrics"]["group_accuracy"]["value"] == pytest.approx(100 * 4 / 6, abs=1e-4)
    assert (
        "which is right in 50 %" in always["findings"][0]
        and always["metrics"]["group_accuracy"]["value"] == 0
    )
    metrics = found.differences[0][2]
    assert (metrics["question_accuracy"].fixed, metrics["question_accuracy"].broken) == (1, 4)
    assert metrics["question_accuracy"].clustered.clusters == 6


def test_both_forms_of_inspects_logs_say_the_same_of_the_same_questions():
    whole, part = (
        rejudge([only(INSPECT / "some", f"*.{end}")]).judged[0].submission for end in ("eval", "json")
    )
    assert part.answers.ids == whole.answers.ids[:2] and part.model == whole.model
    np.testing.assert_array_equal(part.answers.chosen, whole.answers.chosen[:2])


# --- VLMEvalKit


def test_tables_of_vlmevalkit_are_answers_in_groups_with_what_it_counted_as_right():
    found = rejudge([SAMPLES / "vlmevalkit"])
    always, tiny = found.record()["submissions"]
    assert (tiny["model"], tiny["benchmark"], tiny["n_groups"]) == ("tiny-vlm", "TinyPairs", 6)
    assert tiny["reported"] == {"Overall": 66.66666667, "hit": 66.66666667}
    assert tiny["metrics"]["question_accuracy"]["value"] == 66.66666667
    assert tiny["metrics"]["group_accuracy"]["value"] == 50  # groups 0, 2 and 4, by hand
    assert tiny["findings"] == ["1 of 12 answers without a choice that can be read: wrong."]
    assert "choice A, which is right in 50 %" in always["findings"][0]


def test_an_answer_that_vlmevalkit_drew_at_random_is_no_answer(tmp_path):
    """Its sentence, `Failed to predict, thus randomly generate one. `, as `extract_answer_from_item` writes it."""
    table = only(SAMPLES / "vlmevalkit" / "tiny-vlm", "*_result.tsv").read_text().splitlines()
    cells = table[11].split("\t")
    drawn = [*cells[:6], '"1"', '"Match Log: Failed to predict, thus randomly generate one. . "']
    path = tmp_path / "x.tsv"
    path.write_text("\n".join([*table[:11], "\t".join(drawn), *table[12:]]))
    (found,) = rejudge([path]).record()["submissions"]
    assert (
        "drew 1 answer at random" in found["findings"][0]
        and "counted 1 of them right" in found["findings"][0]
    )
    assert (found["reported"]["hit"], found["metrics"]["question_accuracy"]["value"]) == (75, 66.66666667)
    assert any("The report says 75.00 and its own answers give 66.67" in told for told in found["findings"])


# --- numbers alone


def test_a_table_of_a_paper_is_checked_for_what_cannot_be(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text(
        "model,benchmark,metric,value,groups\n"
        "CLIP,Winoground,text_score,30.75,400\nCLIP,Winoground,image_score,10.5,400\n"
        "CLIP,Winoground,group_score,30.9,400\n"
    )
    (found,) = rejudge([path]).record()["submissions"]
    assert found["reported"] == {"text_score": 30.75, "image_score": 10.5, "group_score": 30.9}
    told = " ".join(found["findings"])
    assert "group_score (30.90) is larger than text_score (30.75)" in told
    assert "No number of 400 groups is 30.9 %" in told and "30.75 %" not in told  # 123 of 400 are 30.75 %


def test_a_papers_table_whose_metrics_have_other_names_says_which_names_they_have_here(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text("model,text,image,group\nCLIP,30.75,10.5,8.0\n")
    with pytest.raises(
        InputError, match=r"metric by its name here \(model, text, image, group\); call them text_score"
    ):
        rejudge([path])
    path.write_text(
        "group,image,caption,score,model\n0,0,0,2,a\n0,0,1,1,a\n"
    )  # scores, and a tag of that name
    assert rejudge([path]).record()["submissions"][0]["metrics"]["text_score"]["value"] == 100


def test_a_table_with_a_column_for_each_metric_is_read_as_the_long_one(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_text(
        "system,benchmark,groups,text_score,group_score,year\n"
        "CLIP,Winoground,400,30.75,30.9,2021\nBLIP,Winoground,400,44.0,,2022\n"
    )
    first, second = rejudge([path]).record()["submissions"]
    assert first["model"] == "CLIP" and first["reported"] == {"text_score": 30.75, "group_score": 30.9}
    assert "group_score (30.90) is larger than text_score (30.75)" in " ".join(first["findings"])
    assert second["reported"] == {"text_score": 44.0}  # an empty cell is no number
    path.write_text("model,text_score\nCLIP,about 30\n")
    with pytest.raises(InputError, match="the value of text_score of CLIP is 'about 30'; write a number"):
        rejudge([path])


# --- what is refused


class Boom:
    def __reduce__(self):
        return (print, ("loaded",))


@pytest.mark.parametrize("name", ["x.pkl", "x.pt", "x.json", "x.csv", "x.eval"])
def test_pickles_are_refused_by_name_and_by_content_and_nothing_is_loaded(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Boom()))
    with pytest.raises(InputError, match="pickles can run code and are never loaded"):
        rejudge([path])
    assert "loaded" not in capsys.readouterr().out


def test_what_is_no_result_is_refused_in_one_sentence(tmp_path):
    half = only(INSPECT / "stops-early", "*.eval")
    cut = tmp_path / "cut.eval"
    cut.write_bytes(only(INSPECT / "some", "*.eval").read_bytes()[:-500])
    with zipfile.ZipFile(tmp_path / "other.eval", "w") as archive:
        archive.writestr("a.txt", "a")
    wrong = {
        "old.json": '{"mteb_dataset_name": "Winoground", "test": {}}',
        "eee.json": '{"schema_version": "0.1.0", "evaluation_results": []}',
        "any.json": '{"a": 1}',
        "broken.json": '{"mteb_model_meta": ',
        "strange.json": '{"eval": {}, "status": "success", "samples": [1]}',
        "inf.json": '{"dataset": "a", "model": "b", "task": "c", "metrics": {"acc": 1e999}}',
        "x.xlsx": "PK",
        "x.doc": "a",
        "x.yaml": "a: [",
        "y.yaml": "a: 1",
        "z.tsv": "a\tb\n1\t2\n",
    }
    for name, text in wrong.items():
        (tmp_path / name).write_text(text)
    says = {
        half: "is half a log: Inspect ended with status 'error' after 6 of 12 samples",
        cut: "is no complete log of Inspect",
        tmp_path / "other.eval": "is half a log",
        tmp_path / "old.json": "MTEB 1.0 or older",
        tmp_path / "eee.json": "schema 0.1.0, and 0.3.0 is read here",
        tmp_path / "any.json": "holds no results that are known here",
        tmp_path / "broken.json": "is not complete JSON",
        tmp_path / "strange.json": "is not as its tool writes it today",
        tmp_path / "inf.json": "no finite number",
        tmp_path / "x.xlsx": "PRED_FORMAT=tsv",
        tmp_path / "x.doc": "is no file of results",
        tmp_path / "x.yaml": "is not YAML",
        tmp_path / "y.yaml": "neither `model-index` nor",
        tmp_path / "z.tsv": "has no columns of results",
        tmp_path / "absent.json": "does not exist; check its name",
        tmp_path / "nosuch": "does not exist; check its name",
    }
    for path, sentence in says.items():
        with pytest.raises(InputError) as told:
            rejudge([path])
        assert sentence in str(told.value) and "\n" not in str(told.value), (path, told.value)


def stated(value: dict, *keys: str, version: object) -> str:
    """A report as its tool wrote it, but for the version that it states."""
    *path, last = keys
    place = value
    for key in path:
        place = place[key]
    assert place[last], "its tool states one"
    place[last] = version
    return json.dumps(value)


@pytest.mark.parametrize(
    ("source", "key", "version", "says"),
    [
        ("mteb/constant/TinyWinoground.json", "mteb_version", "3.0.1", "MTEB 3.0.1; 1 and 2 are read here"),
        ("lm_eval/random-gpt-0/results_*", "lm_eval_version", "0.5.0", "lm-eval 0.5.0; 0.4 is read here"),
        (
            "lmms_eval/0.7.3/*llava-0/*_results.json",
            "lmms_eval_version",
            "1.2.0",
            "lmms-eval 1.2.0; 0 is read",
        ),
        ("inspect/some/*.json", "version", 3, "Inspect's log 3; 2 is read here"),
        ("inspect/some/*.json", "version", 1, "Inspect's log 1; 2 is read here"),
    ],
)
def test_a_file_that_states_another_version_is_refused_with_it(tmp_path, source, key, version, says):
    original = only(SAMPLES, source)
    path = tmp_path / original.name
    path.write_text(stated(json.loads(original.read_text()), key, version=version))
    with pytest.raises(InputError) as told:
        rejudge([path])
    assert says in str(told.value) and str(path) in str(told.value) and "\n" not in str(told.value)


def test_reports_of_older_tools_without_a_version_are_known_by_their_form(tmp_path):
    path = tmp_path / "results.json"  # lm-eval 0.3: `evaluator.simple_evaluate` of its last release
    path.write_text(json.dumps({"results": {"x": {"acc": 0.5}}, "versions": {"x": 0}, "config": {}}))
    with pytest.raises(InputError, match=r"lm-eval 0\.3 or older.*0\.4 is read here"):
        rejudge([path])
    table = only(SAMPLES / "vlmevalkit" / "tiny-vlm", "tiny-vlm_TinyPairs.tsv").read_text()
    path = tmp_path / "x.tsv"  # VLMEvalKit states no version at all: another one is one with other columns
    path.write_text(table.replace("prediction", "response", 1))
    with pytest.raises(InputError, match=r"has no columns of results \(.*response.*\)"):
        rejudge([path])


def test_two_systems_on_different_items_are_refused():
    with pytest.raises(InputError, match="hold different items of tiny_pairs, 12 and 2"):
        rejudge([INSPECT / "some"])


def test_two_logs_with_the_same_ids_of_other_documents_are_refused(tmp_path):
    for number in (0, 1):
        log = only(LM_EVAL / f"random-gpt-{number}", "samples_tiny_pairs_2*")
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        if number:
            rows[3]["doc_hash"] = "f" * 64
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / log.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        InputError, match=r"different items of tiny_pairs under the same names, 1 of 12 \(the first is '3'\)"
    ):
        rejudge([tmp_path])


def test_a_log_without_documents_is_held_by_its_right_answers(tmp_path):
    logs = sorted((LMMS_EVAL / "0.7.3").glob("*/*_samples_tiny_words.jsonl"))
    rows = [json.loads(line) for line in logs[1].read_text().splitlines()]
    rows[0], rows[1] = ({**rows[i], "target": rows[1 - i]["target"]} for i in (0, 1))
    other = tmp_path / logs[1].name
    other.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="under the same names, 2 of 12"):
        rejudge([logs[0], other])


def test_two_systems_on_different_revisions_of_a_benchmark_are_refused(tmp_path):
    for number in (0, 1):
        folder = tmp_path / f"random-clip-{number}"
        folder.mkdir()
        for name in ("TinyWinoground.json", "TinyWinoground_predictions.json"):
            shutil.copy(MTEB / folder.name / name, folder / name)
    result = tmp_path / "random-clip-1" / "TinyWinoground.json"
    result.write_text(stated(json.loads(result.read_text()), "dataset_revision", version="2"))
    with pytest.raises(InputError, match="different items of TinyWinoground, of revisions 1 and 2; give"):
        rejudge([tmp_path])
    result.unlink()  # where one of both tells none, nothing can be said
    assert len(rejudge([tmp_path]).differences) == 1


def test_more_systems_than_can_be_compared_in_pairs_are_refused(tmp_path):
    for number in range(21):
        (tmp_path / f"s{number:02}.csv").write_text("group,image,caption,score\n0,0,0,2\n0,0,1,1\n")
    with pytest.raises(InputError, match=r"21 systems on one benchmark are too many.*name 20 at most"):
        rejudge([tmp_path])
    (tmp_path / "s20.csv").unlink()
    assert len(rejudge([tmp_path]).differences) == 190


def test_an_unfinished_log_of_a_folder_is_left_out_and_told(tmp_path):
    half, whole = only(INSPECT / "stops-early", "*.eval"), only(INSPECT / "some", "*.eval")
    for log in (half, whole):
        shutil.copy(log, tmp_path / log.name)
    found = rejudge([tmp_path]).record()
    assert [s["source"] for s in found["submissions"]] == [whole.name]
    (told,) = found["left_out"]
    assert half.name in told and "is half a log: Inspect ended with status 'error'" in told
    shown = CliRunner().invoke(app, ["rejudge", str(tmp_path)])
    assert shown.exit_code == 0 and f"left out: {tmp_path / half.name} is half a log" in shown.output
    for paths in ([tmp_path, tmp_path / half.name], [half.parent]):  # named, or nothing else there
        with pytest.raises(InputError, match="is half a log"):
            rejudge(paths)


# --- the command


def test_the_command_prints_and_writes_what_it_found(tmp_path):
    shown = CliRunner().invoke(app, ["rejudge", str(MTEB / "constant"), "--out", str(tmp_path / "o.json")])
    assert shown.exit_code == 0, shown.output
    assert (
        "reported: text_acc 100.00" in shown.stdout
        and "- MTEB gives a tie to the first caption" in shown.stdout
    )
    written = json.loads((tmp_path / "o.json").read_text())
    asked = CliRunner().invoke(app, ["rejudge", str(MTEB / "constant"), "--json"])
    assert json.loads(asked.stdout) == written and len(written["submissions"]) == 2


def test_image_acc_of_clip_benchmark_is_100_where_there_is_one_image():
    (found,) = rejudge([SAMPLES / "clip_benchmark" / "result.json"]).record()["submissions"]
    assert found["reported"] == {"text_acc": 75, "image_acc": 100, "acc": 75}
    assert "image_acc is 100 by construction" in found["findings"][0] and found["metrics"] == {}


# --- results of ours, and back


def written(tmp_path: Path, form: str, name: str, scores: Path = PAIRS) -> Path:
    out = tmp_path / name
    command = ["export", "results", "--scores", str(scores), "--out", str(out), "--format", form]
    system = [] if form == "mteb" else ["--system", "ada/clip"]  # MTEB's file names no model
    done = CliRunner().invoke(app, [*command, *system, "--on", "TinyWinoground"])
    assert done.exit_code == 0, done.output
    return out


FORMS = {
    "every-eval-ever": "x.json",
    "eval-results": "x.yaml",
    "mteb": "TinyWinoground.json",
    "model-index": "README.md",
}


@pytest.mark.parametrize("form", FORMS)
def test_exported_results_come_back(tmp_path, form):
    (found,) = rejudge([written(tmp_path, form, FORMS[form])]).record()["submissions"]
    (measured,) = rejudge([PAIRS]).record()["submissions"]
    for name, estimate in measured["metrics"].items():
        assert found["reported"][name] == pytest.approx(estimate["value"], abs=1e-3)
    assert found["benchmark"] == "TinyWinoground" and "nothing is counted again" in found["limits"][0]
    assert found["model"] == ("ada/clip" if form in ("every-eval-ever", "model-index") else "")


def test_hugging_faces_own_readers_take_what_is_exported(tmp_path):
    import yaml
    from huggingface_hub import ModelCard, parse_eval_result_entries

    text = written(tmp_path, "eval-results", "x.yaml").read_text()
    entries = {entry.task_id: entry for entry in parse_eval_result_entries(yaml.safe_load(text))}
    assert entries["group_match"].value == 58.3333 and entries["group_match"].dataset_id == "TinyWinoground"
    card = ModelCard.load(written(tmp_path, "model-index", "README.md"))
    results = {result.metric_type: result for result in card.data.eval_results}
    assert results["group_match"].metric_value == 58.3333 and card.data.model_name == "ada/clip"


def test_every_eval_ever_holds_interval_chance_and_ties_beside_each_share(tmp_path):
    value = json.loads(written(tmp_path, "every-eval-ever", "x.json").read_text())
    (found,) = [
        r for r in value["evaluation_results"] if r["metric_config"]["metric_id"] == "crossmatch.group_match"
    ]
    details, interval = found["score_details"], binomtest(7, 12).proportion_ci()
    assert details["score"] == pytest.approx(7 / 12) and details["details"] == {
        "chance": "0.500000",
        "tied_groups": "0",
    }
    bounds = details["uncertainty"]["confidence_interval"]
    np.testing.assert_allclose([bounds["lower"], bounds["upper"]], interval)
    assert details["uncertainty"]["num_samples"] == 12


@pytest.mark.parametrize("scores", [PAIRS, MTEB / "constant" / "TinySugarCrepe_predictions.json"])
def test_every_eval_evers_schema_takes_what_is_exported(tmp_path, scores):
    from jsonschema.validators import validator_for

    schema = json.loads((SAMPLES.parent / "every_eval_ever" / "eval.schema.json").read_text())
    kind = validator_for(schema)
    kind.check_schema(schema)
    value = json.loads(written(tmp_path, "every-eval-ever", "x.json", scores).read_text())
    assert value["schema_version"] == schema["version"] == "0.3.0"
    assert [error.message for error in kind(schema).iter_errors(value)] == []
    del value["evaluation_results"][0]["metric_config"]["lower_is_better"]
    assert not kind(schema).is_valid(value)  # it does look


def test_every_eval_evers_own_validator_takes_what_is_exported(tmp_path, every_eval_ever):
    from every_eval_ever.validator.validate import validate_file

    value = json.loads(written(tmp_path, "every-eval-ever", "x.json").read_text())
    name = "0b9a6f0e-6a0c-4d55-9d0e-3b0a7c1d2e3f.json"  # a UUID of version 4, as its datastore asks
    path = tmp_path / "data" / "TinyWinoground" / "ada" / "clip" / name
    path.parent.mkdir(parents=True)
    for spoilt in (False, True):
        value["evaluation_results"][0]["score_details"]["score"] = 2.0 if spoilt else 0.5
        path.write_text(json.dumps(value))
        report = validate_file(
            path, repo_path=str(path.relative_to(tmp_path)), available_files=set(), run_semantic_checks=True
        )
        assert report.valid is not spoilt, report.errors


def test_results_in_an_unknown_format_or_under_another_ending_are_refused(tmp_path):
    command = ["export", "results", "--scores", str(PAIRS), "--out", str(tmp_path / "x.txt")]
    for more, says in (((), "ends in .json"), (("--format", "helm"), "Unknown format of results")):
        done = CliRunner().invoke(app, [*command, *more])
        assert isinstance(done.exception, InputError) and says in str(done.exception)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\na: &a [1, 1]\nb: [*a, *a]\n---\n", "aliases"),
        ("---\n" + "[" * 900_000 + "\n---\n", "nested too deeply"),
        ("---\n" + "- " * 400_000 + "\n---\n", "nested too deeply"),
        ("---\na: " + "x" * 1_000_001 + "\n---\n", "characters of YAML"),
    ],
)
def test_front_matter_that_unfolds_is_one_sentence(tmp_path, text, said):
    from core.rejudge._results import read_yaml_results

    with pytest.raises(InputError, match=said):
        read_yaml_results(tmp_path / "README.md", text)


@pytest.mark.parametrize(
    ("style", "ending"),
    [("every-eval-ever", ".json"), ("eval-results", ".yaml"), ("model-index", ".md"), ("mteb", ".json")],
)
def test_results_of_a_score_file_name_no_split_that_nobody_gave(tmp_path, style, ending):
    (tmp_path / "s.csv").write_text("group,image,caption,score\na,0,0,2\na,0,1,1\n")
    out = tmp_path / f"out{ending}"
    words = ["export", "results", "--scores", str(tmp_path / "s.csv"), "--format", style, "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception or done.output
    text = out.read_text()
    assert "unknown" in text and not any(said in text for said in ("split test", '"test"', "split: test"))
    assert "1 groups" not in text
