"""The page Your data, driven without a browser: the whole way from a folder to a benchmark, and every fault on it."""

import ast
import csv
import io
import json
import tomllib
import zipfile
from itertools import product
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from driving import ROOT, button, fine, html, text
from PIL import Image

from core import datasets
from core.audit import Audit
from core.base.errors import InputError
from core.base.table_formats import open_table
from core.datasets import user_sets
from core.datasets.score_faults import ScoreFault
from core.datasets.score_files import read_scores
from core.debiasing.priors import Prior
from core.exchange import importing
from core.exchange.file_kinds import _is_tags
from core.exchange.uploads import UploadStore
from core.metrics.evaluation import Evaluation
from core.scoring.cache import ScoreCache
from core.scoring.pairs import Pairs
from ui.formatting import against_chance

PAGE = "pages/8_Your_Data.py"
COLUMNS = ("id", "image_0", "image_1", "caption_0", "caption_1", "truth", "topic")


def brought(folder, *lines):
    (folder / "images").mkdir(parents=True)
    for i in range(4):
        Image.new("RGB", (12, 9), (60 * i, 90, 30)).save(folder / f"images/{i}.png")
    with open(folder / "manifest.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *lines])
    return folder


GOOD = ("a", "images/0.png", "images/1.png", "<b>one</b> *x*", "two", "0 1", "t")
BAD = ("b", "images/0.png", "images/7.png", "three", "four", "0 1", "t")


def checked(app, folder):
    """The page with a folder named and everything checked."""
    test = app(PAGE)
    fine(test.text_input(key="set_folder").set_value(str(folder)).run())
    return fine(button(test, "Check everything").click().run())


def test_a_folder_becomes_a_benchmark_on_every_page(app, tmp_path, monkeypatch):
    test = checked(app, brought(tmp_path / "set", GOOD))
    assert "1 usable group (1 of 2×2); no problems found" in text(test)
    shown = html(test)
    assert "&lt;b&gt;one&lt;/b&gt; *x*" in shown and "<b>one</b>" not in shown
    assert "A–1, B–2" in shown and [f'cm-badge">{name}<' in shown for name in "AB"] == [
        True,
        True,
    ]  # on the pictures
    name = next(w for w in test.text_input if w.label == "Name")
    name.set_value("kitchen")
    fine(next(b for b in test.button if b.label == "Add it to the benchmarks").click().run())
    assert "mine/kitchen" in text(test).replace("\\", "")
    # The form offered to check what had just been added, and other tabs said still that it was.
    assert "Check everything" not in [each.label for each in test.button]
    assert "Added mine/kitchen" in text(test)
    (line,) = [e.label for e in test.expander if e.label.startswith("Audit of")]
    monkeypatch.setattr(Audit, "of", lambda *_, **__: pytest.fail("audited again"))
    fine(test.run())
    assert "mine/kitchen: Too small to tell any two models apart" in line.replace("\\", "")  # one group
    assert datasets.load("mine/kitchen").ids == ["a"]
    there = app("pages/1_Groups.py", set="mine/kitchen")
    assert "1 of 1 groups" in text(there)
    fine(test.segmented_control(key="way").set_value("Stored data").run())
    assert "Added mine/kitchen" not in text(test)


def test_every_mistake_of_a_manifest_has_a_card_of_its_own_for_phones(app, tmp_path):
    """A phone's table ended after “there is no image 'nope.pn”: what to do and the effect were off the screen."""
    rows = [(f"b{i}", *BAD[1:]) for i in range(7)]
    shown = html(checked(app, brought(tmp_path / "set", GOOD, *rows)))
    assert shown.count("<dt>what to do</dt>") == shown.count("<dt>effect</dt><dd>left out</dd>") == 7
    assert "<b>Row 3, image_1</b>" in shown and "The other 2 mistakes" in shown


def test_groups_that_are_there_twice_are_said_again_once_the_set_is_added_with_the_way_to_its_audit(
    app, tmp_path
):
    test = checked(app, brought(tmp_path / "set", GOOD, ("b", *GOOD[1:]), ("c", *GOOD[1:])))
    next(w for w in test.text_input if w.label == "Name").set_value("twice")
    fine(next(b for b in test.button if b.label == "Add it to the benchmarks").click().run())
    (said,) = [each.value.replace("\\", "") for each in test.warning]
    assert said.startswith("Added mine/twice.")
    assert said.endswith("2 of its 3 groups repeat another group and count twice: its audit names them.")
    fine(button(test, "Open its audit").click().run())
    assert "2 of 3 groups repeat another group" in text(test).replace("\\", "")


def test_what_is_wrong_is_shown_row_by_row_and_nothing_is_added_until_agreed(app, tmp_path):
    test = checked(app, brought(tmp_path / "set", GOOD, BAD))
    (table,) = [d.value for d in test.dataframe if "what is wrong" in d.value.columns]
    (row,) = table.to_dict("records")
    assert (row["row"], row["column"]) == ("3", "image_1")
    assert row["what is wrong"] == "there is no image 'images/7.png'"
    assert row["what to do"].startswith("did you mean 'images/")
    next(w for w in test.text_input if w.label == "Name").set_value("half")
    add = next(b for b in test.button if b.label == "Add it to the benchmarks")
    test = add.click().run()
    assert "has 1 problem; fix them, or agree" in test.error[0].value.replace("\\", "")
    assert user_sets.sets() == []
    assert "The first group" in [each.value for each in test.header]  # the page goes on
    next(c for c in test.checkbox if c.label.startswith("Leave out")).check()
    fine(next(b for b in test.button if b.label == "Add it to the benchmarks").click().run())
    assert user_sets.sets() == ["half"]


def test_what_is_wrong_with_the_name_of_a_set_is_said_at_its_field(app, tmp_path):
    """It stood below the button, off a laptop's screen."""
    test = checked(app, brought(tmp_path / "set", GOOD))
    next(w for w in test.text_input if w.label == "Name").set_value("My Set")
    test = next(b for b in test.button if b.label == "Add it to the benchmarks").click().run()
    drawn = [each for each in test.main if each.type in ("error", "text_input", "button")]
    places = [each.type == "error" or getattr(each, "label", "") for each in drawn]
    assert "not a valid name" in test.error[0].value.replace("\\", "")
    assert places[places.index("Name") + 1] is True


def test_a_file_that_was_mended_is_read_again(app, tmp_path):
    folder = brought(tmp_path / "set", GOOD, BAD)
    test = checked(app, folder)
    manifest = folder / "manifest.csv"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("7.png", "2.png"), encoding="utf-8")
    fine(button(test, "Check everything").click().run())
    assert "2 usable groups (2 of 2×2); no problems found" in text(test)


def test_other_columns_ask_for_another_check(app, tmp_path):
    test = checked(app, brought(tmp_path / "set", GOOD))
    fine(test.selectbox(key="col_answer").set_value("(none)").run())
    assert "check again" in text(test)
    assert not [b for b in test.button if b.label == "Add it to the benchmarks"]


def test_the_button_and_its_result_stand_above_the_columns_which_are_folded_once_they_are_known(
    app, tmp_path
):
    """The table of columns pushed the button below the edge of the screen, and its result further still."""
    test = checked(app, brought(tmp_path / "set", GOOD))
    (columns,) = [each for each in test.expander if each.label.startswith("What the columns mean")]
    assert not columns.proto.expanded and columns.multiselect and columns.dataframe
    found = "(images: image_0, image_1; captions: caption_0, caption_1; answer: truth; id: id)"
    assert found in columns.label.replace("\\", "")
    kinds = [each.type for each in test.main]
    assert kinds.index("button") < kinds.index("success") < kinds.index("multiselect")


def test_columns_without_a_known_meaning_stand_open(app, tmp_path):
    folder = brought(tmp_path / "set", GOOD)
    (folder / "manifest.csv").write_text("a,b,c\n1,2,3\n")
    test = fine(app(PAGE).text_input(key="set_folder").set_value(str(folder)).run())
    (columns,) = [each for each in test.expander if each.label.startswith("What the columns mean")]
    assert columns.proto.expanded


def test_enter_in_a_name_does_not_add_the_set_before_its_licence(app, tmp_path):
    test = checked(app, brought(tmp_path / "set", GOOD))
    (form,) = [each.proto.form for each in test.get("form")]
    assert form.form_id == "register" and not form.enter_to_submit


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: "relative/path", "Give the absolute path"),
        (lambda p: str(p / "nowhere"), "does not exist"),
        (lambda p: str(p), "holds no manifest"),
    ],
)
def test_a_folder_that_is_none_is_one_sentence(app, tmp_path, make, message):
    (tmp_path / "empty").mkdir()
    test = app(PAGE)
    test = test.text_input(key="set_folder").set_value(make(tmp_path / "empty")).run()
    assert not test.exception
    assert message in test.error[0].value.replace("\\", "")


def test_an_upload_is_read_and_bounded_to_what_it_is(app, tmp_path):
    import zipfile

    source, data = brought(tmp_path / "set", GOOD), io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for file in sorted(p for p in source.rglob("*") if p.is_file()):
            archive.write(file, file.relative_to(source).as_posix())
    test = app(PAGE)
    fine(test.get("file_uploader")[0].upload("set.zip", data.getvalue(), "application/zip").run())
    fine(button(test, "Check everything").click().run())
    assert "1 usable group (" in text(test)


def test_an_upload_that_is_no_zip_is_named_as_it_was_uploaded(app):
    """The sentence named the folder of this machine that uploads are put into."""
    test = app(PAGE)
    test = test.get("file_uploader")[0].upload("my set.zip", b"no zip at all", "application/zip").run()
    said = test.error[0].value.replace("\\", "")
    assert said == (  # the same as among scores: see test_a_file_among_scores_that_is_called_an_archive...
        "my set.zip is damaged or not an archive, though its name ends in .zip; pack it again, or give it the ending "
        "of what it is, such as .csv."
    )
    assert "staging" not in said


def test_sets_and_cache_are_shown_and_cleared(app, tmp_path):
    importing.stage_import(brought(tmp_path / "set", GOOD)).add_benchmark("kitchen")
    ScoreCache().put("m", Pairs.of([("i", "c")]), np.ones(1, np.float32))
    before = ScoreCache().size().scores
    test = app(PAGE, way="Stored data")
    assert "mine/kitchen" in text(test).replace("\\", "")
    assert f"**{before}** scores" in text(test)
    fine(next(b for b in test.button if b.label == "Clear").click().run())
    assert ScoreCache().size().scores == 0
    assert "**0** scores" in text(test)
    assert "**mine/kitchen** · 1 group of 2×2 · " in text(test).replace("\\", "")
    assert not [each.value for each in test.caption if "`" in each.value and "\\`" in each.value]
    opened = app(PAGE, way="Stored data")
    fine(next(b for b in opened.button if b.key == "open-mine/kitchen").click().run())
    assert opened.session_state["set"] == "mine/kitchen"
    fine(next(b for b in test.button if b.label == "Remove mine/kitchen").click().run())
    assert user_sets.sets() == []
    for topic in ("device", "memory", "score cache", "missing data"):
        assert f"**{topic}**" in text(test)


def test_uploaded_files_are_among_the_stored_data_with_what_lies_beside_them_to_open_and_to_remove(app):
    """Five files lay in the store and the page said "None yet."."""
    rng = np.random.default_rng(0)
    content = io.BytesIO()
    np.savez(content, img=rng.normal(size=(6, 4)), cap=rng.normal(size=(6, 4)))
    fine(uploaded(app, "s.csv", _csv(40, 0.9)))
    fine(uploaded(app, "e.npz", content.getvalue()))
    store = UploadStore()
    store.put_beside(
        store.get("s.csv"),
        "tags",
        "topics.csv",
        ("group,topic\n" + "".join(f"{g},a\n" for g in range(40))).encode(),
    )
    test = app(PAGE, way="Stored data")
    said = text(test).replace("\\", "")
    assert "**s.csv** · scores, 40 groups of 2×2 · " in said and " · tags: topics.csv" in said
    assert "**e.npz** · embeddings, 3 groups of 2×2 · " in said
    fine(next(b for b in test.button if b.key == "remove-upload/e.npz").click().run())
    assert [each.value.replace("\\", "") for each in test.toast] == ["e.npz removed"]
    assert [each.name for each in store.list()] == ["s.csv"] and "e.npz" not in text(test)
    fine(next(b for b in test.button if b.key == "open-upload/s.csv").click().run())
    assert [each.value.replace("\\", "") for each in test.subheader] == ["s.csv: 40 groups of 2×2"]
    assert test.segmented_control(key="way").value == "Scores or embeddings"


@pytest.mark.parametrize(
    ("name", "content", "how"),
    [
        ("s.csv", "\n".join(["group,image,caption,score", *(f"a,{i},{j},{i == j:d}" for i in (0, 1) for j in (0, 1))]),
         "add a column `match`: 1 where the caption belongs to the image, 0 elsewhere."),
        ("s.jsonl", '{"c0_i0": 1, "c1_i0": 0, "c0_i1": 0, "c1_i1": 1}\n', "add `truth` to each group: the"),
        ("s.npz", {"scores": np.eye(2)[None]}, "add an array `truth`: for each group the caption of each image"),
        ("e.npz", {"img": np.eye(4), "cap": np.eye(4)}, None),
    ],
)  # fmt: skip
def test_a_file_without_truth_is_told_how_to_give_it(app, name, content, how):
    """The page said what it assumes, and not that a column `match` says otherwise."""
    if isinstance(content, dict):
        np.savez(data := io.BytesIO(), **content)
        content = data.getvalue()
    test = fine(uploaded(app, name, content if isinstance(content, bytes) else content.encode()))
    (said,) = [each.value for each in test.caption if each.value.startswith("The file has no ground truth")]
    assert said.startswith("The file has no ground truth: image i is assumed to belong to caption i.")
    assert ("Where that is wrong" not in said) if how is None else (f" Where that is wrong, {how}" in said)


CAPTIONED = (
    "id,caption_0,caption_1,tag\n0,a dog on a cat,a cat on a dog,O\n1,red on it,blue on red,Both\n2,,x,Both\n"
)


def test_columns_of_a_tags_table_that_name_captions_are_the_captions_of_embeddings_and_no_tags(app):
    """Winoground's own table pushed its real tags off the screen by its captions, of which the file "has none"."""
    rng, content = np.random.default_rng(0), io.BytesIO()
    np.savez(content, img=rng.normal(size=(6, 4)), cap=rng.normal(size=(6, 4)))
    fine(uploaded(app, "e.npz", content.getvalue()))
    store = UploadStore()
    store.put_beside(store.get("e.npz"), "tags", "captions.csv", CAPTIONED.encode())
    test = app(PAGE, set="upload/e.npz", way="Scores or embeddings")
    said = (
        "Tags: captions.csv, 3 of 3 groups matched (tag). caption_0 and caption_1 are shown as the captions."
    )
    assert said in [each.value.replace("\\", "") for each in test.success]
    groups = app("pages/1_Groups.py", set="upload/e.npz")
    (table,) = [each.value for each in groups.dataframe]
    assert "tag" in table and not [name for name in table if str(name).startswith("caption_")]
    assert "no captions" not in text(groups)
    one, last = (html(app("pages/1_Groups.py", set="upload/e.npz", group=name)) for name in "02")
    assert "a dog on a cat" in one and "a cat on a dog" in one and "no text" in last
    assert "its captions are those of captions.csv" in text(groups).replace("\\", "")


def test_a_file_whose_name_is_too_long_for_its_field_in_the_sidebar_is_named_whole_below_it(app):
    """On a laptop the field read "…ion2b_embeddings.npz"."""
    name = "clip_vit_b32_laion2b_scores.csv"
    fine(uploaded(app, name, _csv(3, 0.9)))
    fine(uploaded(app, "seventeen_abc.csv", _csv(4, 0.9)))

    def said(**view):
        return [each.value.replace("\\", "") for each in app("pages/1_Groups.py", **view).sidebar.caption]

    assert name in said(set=f"upload/{name}")
    assert not [each for each in said(set="upload/seventeen_abc.csv") if "abc" in each]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ("caption_0,caption_1,caption_2,tag", "each group has 2 captions, numbered from 0."),
        ("caption_1,caption_2,note,tag", "each group has 2 captions, numbered from 0."),
    ],
)
def test_caption_columns_that_are_not_one_per_caption_are_left_out_of_the_tags_and_said(app, columns, why):
    fine(uploaded(app, "s.csv", _csv(3, 0.9)))
    store = UploadStore()
    rows = "".join(f"{g},a,b,c,d\n" for g in range(3))
    store.put_beside(store.get("s.csv"), "tags", "t.csv", f"group,{columns}\n{rows}".encode())
    test = app(PAGE, set="upload/s.csv", way="Scores or embeddings")
    (said,) = [each.value.replace("\\", "") for each in test.success]
    tags = ", ".join(name for name in columns.split(",") if not name.startswith("caption"))
    assert said.startswith(f"Tags: t.csv, 3 of 3 groups matched ({tags}). caption_")
    assert said.endswith(f"are left out: {why}")


def test_a_stored_file_that_can_be_read_no_more_is_listed_and_can_be_removed(app):
    fine(uploaded(app, "s.csv", _csv(40, 0.9)))
    store = UploadStore()
    store.put_beside(store.get("s.csv"), "tags", "topics.csv", b"nothing\n")
    test = app(PAGE, way="Stored data")
    assert "· not read: topics.csv " in text(test).replace("\\", "")
    fine(next(b for b in test.button if b.key == "remove-upload/s.csv").click().run())
    assert store.list() == []


def test_of_several_tables_one_is_chosen(app, tmp_path):
    folder = brought(tmp_path / "set", GOOD)
    (folder / "manifest.csv").rename(folder / "one.csv")
    (folder / "two.csv").write_text((folder / "one.csv").read_text().replace("two", "deux"))
    test = app(PAGE)
    fine(test.text_input(key="set_folder").set_value(str(folder)).run())
    fine(test.selectbox(key="set_table").set_value("two.csv").run())
    fine(button(test, "Check everything").click().run())
    assert "deux" in html(test)
    fine(test.selectbox(key="set_table").set_value("one.csv").run())
    assert "deux" not in html(test) and "check again" in text(test)


def test_a_hub_set_offline_says_what_to_do(app):
    test = app(PAGE, way="Hugging Face")
    test = test.text_input(key="hub").set_value("ada/pets").run()
    assert not test.exception
    assert "while HF_HUB_OFFLINE is set; unset it, or add a folder" in test.error[0].value.replace("\\", "")


def test_a_model_by_folder_is_tried_and_a_wrong_name_is_a_sentence(app, tiny_clip_folder):
    test = app(PAGE, way="A model")
    fine(test.text_input(key="try_model").set_value(str(tiny_clip_folder)).run())
    fine(button(test, "Try it on eight groups").click().run())
    assert "loads and gives scores" in text(test)
    test.text_input(key="try_model").set_value("builtin/clop").run()
    test = button(test, "Try it on eight groups").click().run()
    assert "did you mean" in test.error[0].value


def test_the_scorer_tab_shows_ten_lines_and_takes_no_upload(app):
    test = app(PAGE, way="A scorer in Python")
    toml, code = (each.value for each in test.code[:2])  # one block of both was no file
    assert tomllib.loads(toml)["project"]["entry-points"]["crossmatch.scorers"]
    assert "class WordCount" in code and ast.parse(code)
    assert "crossmatch.scorers" in test.code[0].value
    assert not test.get("file_uploader")


def test_a_score_file_is_measured_with_ties_and_chance(app):
    data = io.BytesIO()
    np.savez(data, scores=np.array([[[2.0, 1.0], [0.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]]))
    test = app(PAGE, way="Scores or embeddings")
    fine(test.get("file_uploader")[0].upload("s.npz", data.getvalue(), "application/octet-stream").run())
    shown = text(test)
    assert "2 groups of 2×2" in shown
    assert "The file has no ground truth" in shown
    bad = app(PAGE, way="Scores or embeddings")
    bad = bad.get("file_uploader")[0].upload("s.csv", b"group,image\n1,2\n", "text/csv").run()
    assert "s.csv has 2 mistakes; the table below" in text(bad).replace("\\", "")
    assert len(bad.error) == 1  # the table has no second red box
    assert list(bad.dataframe[-1].value["column"]) == ["caption", "score"]


def test_predictions_of_mteb_are_measured_and_what_its_report_hides_is_said(app):
    found = ROOT / "tests/samples/rejudge/mteb/constant/TinySugarCrepe_predictions.json"
    test = app(PAGE, way="Scores or embeddings")
    fine(test.get("file_uploader")[0].upload(found.name, found.read_bytes(), "application/json").run())
    assert "12 groups of 1×2" in text(test) and "no ground truth" not in text(test)
    said = test.info[0].value.replace("\\", "")
    assert "are 0 by construction" in said and "0.00 without the 12 tied groups" in said
    assert test.selectbox(key="set").value == f"upload/{found.name}"


def test_plain_scores_hide_nothing_in_a_report(app):
    """“The report hides that the right pairing often has the highest total”, of scores that report nothing."""
    groups = [{"id": f"g{n}", "c0_i0": 3, "c1_i0": 4, "c0_i1": 0, "c1_i1": 2} for n in range(40)]
    test = app(PAGE, way="Scores or embeddings")
    field = test.get("file_uploader")[0]
    fine(field.upload("plain.json", json.dumps(groups).encode(), "application/json").run())
    assert "40 groups of 2×2" in text(test) and not test.info and "report hides" not in text(test)


@pytest.mark.parametrize("another", [False, True])
def test_scores_without_a_column_of_captions_say_first_that_it_is_missing_in_one_box(app, another):
    """A box said “other headers”, another one that again, and “Read it as scores” in full colour could not work."""
    rows = ["group,image,score", "a,0,0.5", "a,1,0.25"]
    test = several(app, **({"good__csv": score_rows()} if another else {}), s__csv=rows)
    (said,) = said_of(test)
    assert said.removeprefix("**Not stored**: ").startswith(
        "The column “caption” is missing: s.csv has group, image, score."
    )
    send = button(test, "Read it as scores")
    assert send.proto.type == "secondary" and "Add it, or choose below" in text(test)


def test_the_address_names_the_file_that_is_shown_also_the_newest(app):
    """The newest was the field's default, which an address leaves out: after another upload it was another file's."""
    store = UploadStore()
    for name, high in (("a.csv", 2), ("b.csv", 3)):
        rows = [f"g,{i},{j},{high if i == j else 0}" for i in range(2) for j in range(2)]
        store.add(name, "\n".join(["group,image,caption,score", *rows]).encode())
    test = app(PAGE, way="Scores or embeddings")
    newest = test.selectbox(key="set").value
    assert newest in ("upload/a.csv", "upload/b.csv") and test.query_params["set"] in (newest, [newest])
    there = app(PAGE, way="Scores or embeddings", set="upload/a.csv")
    assert there.selectbox(key="set").value == "upload/a.csv"


def test_a_link_to_the_stored_data_by_their_former_name_opens_them(app):
    assert app(PAGE, way="Kept here").segmented_control(key="way").value == "Stored data"


def test_in_public_mode_nothing_is_stored_and_no_folder_of_the_server_is_read(app, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    for way in ("Images and captions", "Hugging Face", "A model", "Stored data"):
        test = app(PAGE, way=way)
        assert "public server" in text(test)
        assert not test.text_input
        assert test.get("file_uploader")[0].label == "File of scores or embeddings"


def test_a_zip_without_a_table_is_called_by_its_own_name(app):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.txt", "x")
    test = app(PAGE)
    test.file_uploader(key="set_upload").upload("photos.zip", content.getvalue())
    (error,) = test.run().error
    assert error.value.replace("\\", "").startswith("photos.zip holds no manifest (")


def test_the_example_of_a_score_file_reads_as_it_says(app, monkeypatch):
    test = app(PAGE, way="Scores or embeddings")
    assert "scores.csv" in [b.label for b in test.get("download_button")]
    page = ast.parse((ROOT / PAGE).read_text("utf-8"))
    (example,) = (
        ast.literal_eval(node.value)
        for node in page.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXAMPLE"
    )
    file = read_scores("scores.csv", example.encode())
    assert file.scores.shape == (2, 2, 2) and list(file.tags.columns) == ["topic"]
    found = Evaluation.of(file.scores, file.truth, file.ids).outcomes
    assert found["group_score"].value.tolist() == [0, 1] and found["group_match"].value.tolist() == [1, 1]


def test_the_examples_fit_each_other_and_each_says_how_many_it_matched(app):
    """Scores, tags and prior as they are downloaded; without its prior both groups are right under TextScore."""
    page = ast.parse((ROOT / PAGE).read_text("utf-8"))
    given = {
        ast.unparse(node.targets[0]): node.value.value.encode()
        for node in page.body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]).startswith("EXAMPLE")
        and isinstance(node.value, ast.Constant)
    }
    test = app(PAGE, way="Scores or embeddings")
    labels = [b.label for b in test.get("download_button")]
    assert labels == [
        "scores.csv",
        "tags.csv",
        "prior.csv",
        "embeddings.npz",
    ] and "Download examples:" in text(test)
    fine(test.get("file_uploader")[0].upload("scores.csv", given["EXAMPLE"], "text/csv").run())
    assert "IndividualMatch" in [each.label for each in test.metric]
    fields = {u.label.partition(":")[0]: u for u in test.get("file_uploader")}
    assert "`group` (or `id`)" in text(test) and "group,topic\na,kitchen" in [c.value for c in test.code]
    more = given["EXAMPLE_TAGS"] + b"c,one,Lin\n"
    fine(fields["Tags"].upload("tags.csv", more, "text/csv").run())
    fields = {u.label.partition(":")[0]: u for u in test.get("file_uploader")}
    fine(fields["Language prior"].upload("prior.csv", given["EXAMPLE_PRIOR"], "text/csv").run())
    said = [each.value.replace("\\", "") for each in test.success]
    assert (
        "Tags: tags.csv, 2 of 2 groups matched (objects, photographer). 1 row of other groups left out."
        in said
    )
    assert "Language prior: prior.csv, 4 of 4 captions matched." in said
    file = read_scores("scores.csv", given["EXAMPLE"])
    prior = Prior.from_file("prior.csv", file.scores, file.ids, data=given["EXAMPLE_PRIOR"])
    without = file.scores - prior.values[:, None, :]
    right = [
        Evaluation.of(s, file.truth).outcomes["text_score"].value.tolist() for s in (file.scores, without)
    ]
    assert right == [[0, 1], [1, 1]]


def test_one_warning_and_one_group_are_told_in_the_singular(app, tmp_path):
    twice = ("b", "images/0.png", "images/0.png", "three", "four", "0 1", "t")
    told = text(checked(app, brought(tmp_path / "set", twice)))
    assert "1 usable group (1 of 2×2); 0 problems to fix, 1 warning." in told and "The first group" in told


def uploaded(app, name: str, content: bytes):
    test = app(PAGE, way="Scores or embeddings")
    return test.get("file_uploader")[0].upload(name, content).run()


def test_the_way_that_was_open_is_open_again_after_another_page(app):
    """It was back at “Images and captions”, and nothing said that the file was still there."""
    test = fine(uploaded(app, "s.csv", _csv(4, 0.9)))
    del test.query_params["way"]  # the menu's links say nothing of it
    fine(test.switch_page("app.py").run())
    fine(test.switch_page(PAGE).run())
    assert test.segmented_control(key="way").value == "Scores or embeddings"
    assert "".join(test.query_params["way"]) == "Scores or embeddings"
    assert "Uploaded already, and still here: s.csv." in text(test).replace("\\", "")
    fine(test.segmented_control(key="way").set_value("Images and captions").run())
    said = "Under “Scores or embeddings”, uploaded already and still here: s.csv."
    assert said in text(test).replace("\\", "")
    fine(test.switch_page("app.py").run())
    fine(test.switch_page(PAGE).run())
    assert test.segmented_control(key="way").value == "Images and captions"


def test_the_result_of_a_file_comes_before_formats_and_examples(app):
    """It stood below examples and two boxes, under the first screen of a laptop."""
    test = app(PAGE, way="Scores or embeddings")
    assert not test.expander and "Download examples:" in text(test)  # open until there is a file
    test = fine(uploaded(app, "s.csv", _csv(40, 0.9)))
    (fold,) = [each for each in test.expander if each.label == "File formats and examples"]
    assert any("Download examples:" in each.value for each in fold.markdown)
    assert not test.success and not test.info
    assert [each.value.replace("\\", "") for each in test.subheader] == ["s.csv: 40 groups of 2×2"]


def test_embeddings_are_offered_no_language_prior(app):
    """Debias explained then why cosines have none."""
    data = io.BytesIO()
    rows = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    np.savez(data, img=rows, cap=rows)
    test = fine(uploaded(app, "e.npz", data.getvalue()))
    labels = [each.label for each in test.button]
    assert "Adapt at test time" in labels and "Debias: subtract a language prior" not in labels
    assert "Add tags (and why no language prior)" in [each.label for each in test.expander]
    assert not any("prior" in u.label for u in test.get("file_uploader"))
    logarithms = b"group,image,caption,score\na,0,0,-1\na,0,1,-2\na,1,0,-2\na,1,1,-1\n"
    scores = fine(uploaded(app, "s.csv", logarithms))
    assert "Debias: subtract a language prior" in [each.label for each in scores.button]


def _csv(n: int, share: float) -> bytes:
    """Groups of which this share is right in every way, and the others wrong."""
    rows = ["group,image,caption,score"]
    for g in range(n):
        right = g < share * n
        rows += [f"{g},{i},{j},{int((i == j) == right)}" for i in range(2) for j in range(2)]
    return "\n".join(rows).encode()


def test_a_result_is_said_against_chance_in_a_sentence(app):
    def said(share: float) -> str:
        test = fine(uploaded(app, "s.csv", _csv(40, share)))
        return next(each.value for each in test.markdown if "chance by" in each.value)

    every = "all five metrics. "
    every += "Each by its own 95 % interval, uncorrected."  # one of five was picked out without saying so
    assert said(1.0) == f"Better than chance by {every}"
    assert said(0.0) == f"Worse than chance by {every}"
    assert said(0.5).startswith(
        "Better than chance by TextScore, ImageScore and GroupScore. Not distinguishable from"
    )


def test_what_no_metric_tells_from_chance_is_said_of_any_of_them():
    """“Not distinguishable from chance by all five metrics” could be read as by some of them."""
    few = Evaluation.of(np.array([[[1.0, 0.0], [0.0, 1.0]]]), None)
    assert against_chance(few.metrics).startswith(
        "Not distinguishable from chance by any of the five metrics. Each by"
    )
    two = dict(list(few.metrics.items())[:2])
    assert against_chance(two).startswith(
        "Not distinguishable from chance by TextScore or ImageScore. Each by"
    )


def test_one_metric_alone_is_said_against_chance_without_a_word_on_others():
    of_one_image = Evaluation.of(np.tile([[[1.0, 0.0]]], (40, 1, 1)), None)
    assert against_chance(of_one_image.metrics) == "Better than chance by TextScore."


def test_matching_begins_with_the_same_sentence(app):
    """It led with the groups that GroupMatch gains, of a file that is no better than chance."""
    here = fine(uploaded(app, "s.csv", _csv(40, 0.5)))
    (said,) = [each.value for each in here.markdown if "chance by" in each.value]
    there = fine(app("pages/2_Matching.py", set="upload/s.csv"))
    verdict, remark = said.split(" Each ")
    shown = f"**{verdict}** :small[Each {remark}]"
    assert [each.value for each in there.markdown if "chance by" in each.value] == [shown]
    assert not any(
        "groups**" in each.value for each in there.markdown if "matched correctly" in each.value[:60]
    )


@pytest.mark.parametrize("page", ["pages/1_Groups.py", "pages/2_Matching.py", PAGE])
def test_the_metrics_are_exported_as_a_table_with_intervals_chance_and_ties(app, monkeypatch, page):
    """There was a table with a row per group, and none of the metrics."""
    given = {}
    monkeypatch.setattr("ui.export._file_button", lambda label, data, *_, **__: given.update({label: data}))
    fine(uploaded(app, "s.csv", _csv(40, 0.5)))
    fine(app(page, set="upload/s.csv", **({"way": "Scores or embeddings"} if page == PAGE else {})))
    rows = list(csv.DictReader(io.StringIO(given["Metrics (CSV)"]().decode())))
    found = Evaluation.of(read_scores("s.csv", _csv(40, 0.5)).scores, None)
    assert [row["metric"] for row in rows][:2] == ["TextScore", "ImageScore"] and len(rows) == 5
    for row, estimate in zip(rows, found.metrics.values(), strict=True):
        numbers = [float(row[name]) for name in ("percent", "low", "high", "chance")]
        assert numbers == pytest.approx(
            [estimate.value, estimate.low, estimate.high, estimate.chance], abs=1e-4
        )
        assert row["groups"] == "40" and row["ties"] == str(estimate.ties)


def test_a_group_without_pictures_has_its_verdicts_first_and_no_search_for_words(app):
    """They began below the fold of a laptop, beside an empty column; the filters offered words of captions."""
    fine(uploaded(app, "s.csv", _csv(40, 0.5)))
    test = fine(app("pages/1_Groups.py", set="upload/s.csv", group="3"))
    whole = html(test)
    assert whole.index("cm-verdicts") < whole.index("image A")
    assert [each.value.replace("\\", "") for each in test.header if "verdicts" in each.value.lower()] == [
        "Group 3: verdicts, with its numbers"
    ]
    gallery = fine(app("pages/1_Groups.py", set="upload/s.csv", q="cube"))
    assert not [each for each in gallery.text_input if each.label == "Words in the captions"]
    assert any(each.value.startswith("40 of 40 groups") for each in gallery.caption)
    gallery = fine(app("pages/1_Groups.py", set="scenes/left-right"))
    assert [each for each in gallery.text_input if each.label == "Words in the captions"]


def test_a_file_with_a_byte_order_mark_is_read_and_an_empty_one_is_a_sentence_above_what_files_hold(app):
    test = uploaded(app, "empty.csv", b"")
    assert test.error[0].value.replace("\\", "") == "empty.csv is empty; choose another file."
    assert "Download examples:" in text(test) and not test.subheader
    test = fine(uploaded(app, "bom.csv", b"\xef\xbb\xbf" + _csv(3, 1.0)))
    assert "bom.csv: 3 groups of 2×2" in test.subheader[0].value.replace("\\", "")
    test = uploaded(app, "empty.csv", b"")
    assert test.error[0].value.replace("\\", "") == "**Not stored**: empty.csv is empty; choose another file."
    # Below the red box the result of the file before looked like that of the file which was refused.
    assert test.subheader[0].value.replace("\\", "") == "Stored before: bom.csv, 3 groups of 2×2"


def test_a_command_in_an_error_is_quoted_and_its_place_is_said_once(app):
    """`image 0 (from 0) with caption 1 (from 0)`, and backticks as they were written."""
    fine(uploaded(app, "s.csv", _csv(3, 1.0)))
    test = app("pages/3_Debias.py", set="upload/s.csv")
    said = test.info[0].value
    assert "which “crossmatch export scores” writes" in said and "`" not in said
    assert "Group '0', image 0, caption 0 (counted from 0): the score is 1, but log P" in said.replace(
        "\\", ""
    )


BROKEN = """group,image,caption,score,match
a,0,0,1.5,1
a,0,1,"0,5",0
a,1,0,nan,0
a,1,1,2,maybe
b,0,0,1,1
b,0,0,1,1
b,0,1,,0
b,1,1,3,1
c,0,0,1,1
c,0,1,2,1
c,1,0,2,0
c,1,1,2,1
"""


def test_every_mistake_of_a_score_file_is_listed_with_row_and_remedy(app, open_page):
    """Of five kinds of mistake the first alone was said, and the next after an upload anew."""
    test = app(PAGE, way="Scores or embeddings")
    (field,) = test.get("file_uploader")
    test = field.upload("x.csv", BROKEN.encode()).run()
    assert not test.exception and len(test.error) == 1
    table = test.dataframe[0].value
    rows = {(row, column) for row, column in zip(table["row"], table["column"], strict=True)}
    assert {
        ("3", "score"),
        ("4", "score"),
        ("5", "match"),
        ("7", ""),
        ("8", "score"),
        ("10", "match"),
    } <= rows
    assert any("no score of image '1' with caption '0'" in what for what in table["what is wrong"])
    assert (table["what to do"] != "").all() and "Nothing of it is stored" in test.error[0].value
    assert not UploadStore().list()


def test_the_box_above_a_table_of_mistakes_counts_them_and_repeats_none(app, open_page):
    """It repeated the first three of those that the table lists."""
    said = [each.value.replace("\\", "") for each in uploaded(app, "x.csv", BROKEN.encode()).error]
    count = len(ScoreFault.of_file("x.csv", BROKEN.encode()))
    assert count > 5 and said == [
        f"x.csv has {count} mistakes; the table below lists each with its row and what to do. Nothing of it is stored: "
        "mend them, and upload it again."
    ]


@pytest.mark.parametrize(("mark", "called"), [(",", "commas"), (";", "semicolons"), ("\t", "tabs")])
def test_a_row_longer_than_its_header_is_told_with_the_separator_of_the_file(mark, called):
    """A file between semicolons was told to put texts with commas in quotation marks, and had no list of mistakes."""
    lines = ("group,image,caption,score", "a,0,0,0.5,x", "a,0,1,0.25")
    faults = ScoreFault.of_file("x.csv", "\n".join(lines).replace(",", mark).encode())
    assert [(each.row, each.what) for each in faults] == [(2, "the row has 5 cells, the header 4")]
    assert faults[0].fix.startswith(f"put texts with {called} in quotation marks")
    assert faults[0].fix.endswith("or add the name that the header lacks")


def faulty_arrays() -> dict[str, bytes]:
    """An NPZ of scores and one of embeddings, each with several mistakes."""
    scores = np.tile(np.eye(2), (12, 1, 1))
    for cell in ((3, 0, 1), (10, 0, 0), (10, 1, 0), (11, 1, 1)):
        scores[cell] = np.nan
    scores[5, 0, 0] = np.inf
    images = np.eye(24)
    images[2], images[9] = np.nan, 0
    return {
        "bad.npz": npz(scores=scores, truth=np.tile([0, 1], (12, 1))),
        "emb.npz": npz(img=images, cap=np.eye(24)),
    }


def test_every_faulty_cell_of_an_npz_stands_in_the_table_of_mistakes(app, open_page):
    """It said the first group alone, where a CSV had a table."""
    test = uploaded(app, "bad.npz", faulty_arrays()["bad.npz"])
    assert [each.value.replace("\\", "") for each in test.error] == [
        "bad.npz has 5 mistakes; the table below lists each with its cell and what to do. Nothing of it is stored: "
        "mend them, and upload it again."
    ]
    (table,) = [each.value for each in test.dataframe]
    cells = ["[3, 0, 1]", "[5, 0, 0]", "[10, 0, 0]", "[10, 1, 0]", "[11, 1, 1]"]
    assert table["cell"].tolist() == [f"scores{cell}" for cell in cells]
    assert table["what is wrong"][3] == "group '10', image 1, caption 0: nan is no finite number"
    assert set(table["what to do"]) == {"score the group again, or leave it out"}
    assert [each.label for each in test.get("download_button") if "Mistakes" in each.label] == [
        "Mistakes (CSV)"
    ]
    assert not UploadStore().list()


def test_every_row_of_embeddings_without_a_direction_stands_in_the_table(app):
    (table,) = [each.value for each in uploaded(app, "emb.npz", faulty_arrays()["emb.npz"]).dataframe]
    assert table["cell"].tolist() == ["img[2]", "img[9]"]
    assert "no finite number" in table["what is wrong"][0] and "zero" in table["what is wrong"][1]


def test_embeddings_that_lack_an_array_have_it_as_the_first_row_of_the_table(app, open_page):
    """82 rows of zeros were listed, each, and the array without which nothing is read was not."""
    content = npz(foo=np.eye(8), cap=np.zeros((8, 4)))
    test = uploaded(app, "emb.npz", content)
    assert "emb.npz has 9 mistakes" in test.error[0].value.replace("\\", "")
    (table,) = [each.value for each in test.dataframe]
    assert table["cell"].tolist() == ["img", *(f"cap[{i}]" for i in range(8))]
    assert table["what is wrong"][0] == "no array holds the image embeddings; the file has foo, cap"
    assert table["what to do"][0] == "add it, or name it img"


@pytest.mark.parametrize(
    ("arrays", "cell", "said"),
    [
        ({"img": np.eye(4), "images": np.eye(4)}, "img", "2 times: img, images"),
        ({"img": np.ones((4, 3))}, "img", "its rows have 3 numbers, those of cap 4"),
        ({"img": np.ones(4)}, "img", "float64 of shape (4,)"),
        ({"img": np.array(["a", "b"])}, "img", "of shape (2,)"),
    ],
)
def test_what_is_wrong_with_a_whole_array_stands_before_its_rows(arrays, cell, said):
    faults = ScoreFault.of_file("emb.npz", npz(cap=np.diag([1.0, 1, 1, 0]), **arrays))
    assert [fault.column for fault in faults] == [cell, "cap[3]"] and said in faults[0].what
    assert len(ScoreFault.of_file("emb.npz", npz(foo=np.eye(4)))) == 0  # one sentence says what it needs


def test_ids_and_truth_of_an_npz_have_their_mistakes_in_the_table_too():
    scores = np.tile(np.eye(2), (4, 1, 1))
    sound = {"scores": scores, "ids": np.array(list("abcd")), "truth": np.tile([0, 1], (4, 1))}
    assert ScoreFault.of_file("x.npz", npz(**sound)) == []
    truth = [[0, 1], [1, 1], [0, 2], [1, 0]]
    found = ScoreFault.of_file("x.npz", npz(scores=scores, ids=np.array(list("abca")), truth=truth))
    assert [fault.column for fault in found] == ["ids[3]", "truth[1]", "truth[2]"]
    assert (
        found[0].what == "'a' is the id of group 0 already" and found[2].what == "that of group 'c' is [0, 2]"
    )
    for scores in (np.eye(2), np.array("x")):  # a shape is wrong, which is one sentence
        assert ScoreFault.of_file("x.npz", npz(scores=scores)) == []


FAULTY_LINES = [
    {"id": "a", "c0_i0": 1.0, "c1_i0": 0.0, "c0_i1": 0.0, "c1_i1": 1.0, "truth": [0, 1]},
    {"id": "b", "c0_i0": "x", "c1_i0": None, "c0_i1": 0.0, "c1_i1": 1.0, "truth": [0, 1]},
    {"id": "a", "c0_i0": 1.0, "c1_i0": 0.0, "c1_i1": 1.0, "truth": [1, 1]},
    "{",
    {"id": "d", "c0_i0": 1.0, "c1_i0": 0.0, "truth": [0]},
    {"id": "e", "c0_i0": 1.0, "c1_i0": 0.0, "c0_i1": 0.0, "c1_i1": 1.0},
]
FAULTS_BY_LINE = [
    (2, "c0_i0"),
    (2, "c1_i0"),
    (3, "c0_i1"),
    (3, "id"),
    (3, "truth"),
    (4, ""),
    (5, ""),
    (6, "truth"),
]


def faulty_lines() -> bytes:
    return "\n".join(each if isinstance(each, str) else json.dumps(each) for each in FAULTY_LINES).encode()


def test_every_mistake_of_json_lines_stands_in_the_table(app):
    """The first one alone was named, and after mending that the next."""
    test = uploaded(app, "scores.jsonl", faulty_lines())
    (table,) = [each.value for each in test.dataframe]
    places = [*zip(map(int, table["line"]), table["key"], strict=True)]
    assert places == FAULTS_BY_LINE
    assert " has 8 mistakes; the table below lists each with its line" in test.error[0].value
    of = dict(zip(places, table["what is wrong"], strict=True))
    assert of[2, "c0_i0"] == "'x' is no finite number" and of[3, "c0_i1"] == "it is missing"
    assert of[3, "id"] == "'a' is the id of row 1 already" and of[3, "truth"] == "it is [1, 1]"
    assert of[5, ""] == "the group has 1 image and 2 captions, most groups 2 and 2"


def test_sound_json_lines_and_tables_by_group_have_no_mistakes_and_faulty_ones_all():
    sound = "\n".join(json.dumps(FAULTY_LINES[0] | {"id": name}) for name in "abc").encode()
    assert ScoreFault.of_file("x.jsonl", sound) == ScoreFault.of_file("x.jsonl", b'{"doc": 1}\n') == []
    assert ScoreFault.of_file("x.json", b"{}") == ScoreFault.of_file("x.jsonl", b"\x00") == []
    table = b"id,c0_i0,c1_i0,c0_i1,c1_i1\na,1,0,0,1\nb,x,0,0,1\nb,1,,0,1\n"
    found = [(each.row, each.column) for each in ScoreFault.of_file("x.csv", table)]
    assert found == [(3, "c0_i0"), (4, "c1_i0"), (4, "id")]


def opens(test, name: str):
    """The button that opens a file where it belongs."""
    return next(b for b in test.button if b.label.replace("\\", "") == f"Open {name} there")


def npz(**arrays):
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


_PAIRS = [{f"c{j}_i{i}": float(i == j) for i in (0, 1) for j in (0, 1)}] * 2
SCORES = {
    "s.csv": _csv(60, 0.5),
    "s.tsv": _csv(3, 1.0).replace(b",", b"\t"),
    "s.jsonl": "\n".join(map(json.dumps, _PAIRS)).encode(),
    "s.json": json.dumps(_PAIRS).encode(),
    "s.npz": npz(scores=np.eye(2)[None]),
}


@pytest.mark.parametrize("name", SCORES)
def test_a_score_file_among_images_is_told_where_it_belongs_and_opens_there_by_one_click(app, name):
    """It got 240 problems: there is no image '0'."""
    test = app(PAGE)
    test = fine(test.file_uploader(key="set_upload").upload(name, SCORES[name]).run())
    called = name.replace("tsv", "csv")
    (said,) = [each.value.replace("\\", "") for each in test.info]
    assert said == f"{called} looks like a score file: open “Scores or embeddings”."
    assert not [b for b in test.button if b.label == "Check everything"]
    fine(opens(test, f"{called}").click().run())
    assert [each.value.replace("\\", "").partition(":")[0] for each in test.subheader] == [called]
    assert test.selectbox(key="set").value == f"upload/{called}"


def test_scores_in_a_zip_and_in_a_folder_are_known_and_a_set_with_a_column_of_scores_stays_one(app, tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("scores.csv", _csv(3, 1.0))
    test = app(PAGE)
    fine(test.file_uploader(key="set_upload").upload("my set.zip", data.getvalue()).run())
    assert "scores.csv looks like a score file" in text(test).replace("\\", "")
    fine(button(test, r"Open scores\.csv there").click().run())
    assert test.selectbox(key="set").value == "upload/scores.csv"
    test = app(PAGE)
    folder = brought(tmp_path / "set")
    (folder / "manifest.csv").write_bytes(_csv(3, 1.0))
    test = app(PAGE)
    fine(test.text_input(key="set_folder").set_value(str(folder)).run())
    assert "manifest.csv looks like a score file" in text(test).replace("\\", "")
    rows = "group,image,caption,score\na,images/0.png,one,1\na,images/1.png,two,2\n"
    (folder / "manifest.csv").write_text(rows)
    assert "1 usable group (1 of 2×2); no problems" in text(checked(app, folder))


OTHER_HEADERS = (
    "item,img,cap,sim,topic\n"
    "a,x,c1,0.9,k\na,x,c2,0.1,k\na,y,c1,0.2,k\na,y,c2,0.5,k\n"
    "b,x,c1,0.3,l\nb,x,c2,0.4,l\nb,y,c1,0.1,l\nb,y,c2,0.5,l\n"
)
WIDE_SCORES = "pair,picture,sim_a,sim_b\na,0,0.3,0.1\na,1,0.2,0.4\nb,0,0.3,0.1\nb,1,0.2,0.4\n"


def meaning(test, name: str, form: int = 0):
    """The field of the form of columns that says which one is the group, say. form : of several, from the top."""
    fields = [
        each for each in (*test.selectbox, *test.multiselect) if str(each.key).startswith("score_columns-")
    ]
    return [each for each in fields if each.key.endswith(f"_{name}")][form]


@pytest.mark.parametrize("key", ["set_upload", "scores_upload"])
@pytest.mark.parametrize("content", [OTHER_HEADERS, WIDE_SCORES])
def test_scores_under_other_headers_are_read_once_their_columns_are_named(app, key, content):
    """They were taken for images and captions, and the message was odd."""
    test = app(PAGE, **({"way": "Scores or embeddings"} if key == "scores_upload" else {}))
    fine(test.file_uploader(key=key).upload("mine.csv", content.encode(), "text/csv").run())
    (said,) = [each.value.replace("\\", "") for each in test.info if "other headers" in each.value]
    assert "Needed are a group, an image, a caption and the score of each pair" in said
    wide = content == WIDE_SCORES
    picked = [meaning(test, name).value for name in ("group", "image", "caption", "match")]
    assert picked == (["pair", "picture", "(none)", "(none)"] if wide else ["item", "img", "cap", "(none)"])
    assert meaning(test, "score").value == (["sim_a", "sim_b"] if wide else ["sim"])
    fine(button(test, "Read it as scores").click().run())
    assert test.selectbox(key="set").value == "upload/mine.csv"
    assert "2 groups of 2×2" in text(test) and not test.error
    assert not [each for each in test.info if "other headers" in each.value]


def foreign(header: str, number=lambda g, i, j: g / 1000 + (i == j) / 2) -> bytes:
    """200 groups of 2x2 with a row per pair, whose images are files and whose captions are sentences."""
    rows = [
        f"{g},imgs/{g}_{i}.jpg,a photo of thing {g} number {j},{number(g, i, j)}"
        for g, i, j in product(range(200), (0, 1), (0, 1))
    ]
    return "\n".join([header, *rows]).encode()


@pytest.mark.parametrize(
    "header",
    ["sample_id,img_path,text,clip_sim", "item,picture,sentence,similarity", "a_id,image_id,text,logit"],
)
def test_scores_with_names_of_pictures_and_sentences_get_the_form_of_columns(app, header):
    """They were called images and captions, with no way to say that they are scores."""
    names = header.split(",")
    test = fine(uploaded(app, "foreign.csv", foreign(header)))
    (said,) = [each for each in said_of(test) if "looks like" in each]
    assert said.startswith(f"foreign.csv looks like scores under other headers ({', '.join(names)}).")
    picked = [meaning(test, name).value for name in ("group", "image", "caption", "score")]
    assert picked == [*names[:3], names[3:]]
    if "image_id" not in names:  # it may be images and captions all the same
        assert opens(test, "foreign.csv")
    fine(button(test, "Read it as scores").click().run())
    assert "200 groups of 2×2" in text(test)


def test_columns_whose_names_say_nothing_are_called_a_guess_by_position(app):
    """They were called scores as surely as columns with the names of scores."""
    rows = [f"{g},{i},{j},{0.5 + (i == j)}" for g, i, j in product(range(6), (0, 1), (0, 1))]
    test = fine(uploaded(app, "f.csv", "\n".join(["foo,bar,baz,qux", *rows]).encode()))
    (said,) = [each for each in said_of(test) if "looks like" in each]
    assert said.endswith("What is chosen for group, image and caption is a guess by position; please check.")
    named = fine(uploaded(app, "n.csv", foreign("item,picture,sentence,similarity")))
    assert not [each for each in said_of(named) if "guess" in each]


def test_a_table_taken_for_images_with_a_column_of_numbers_can_be_called_scores_too(app):
    """Whole numbers of no name that scores have: the page cannot know."""
    rating = lambda g, i, j: 1 + 3 * (i == j)  # noqa: E731
    test = fine(uploaded(app, "rated.csv", foreign("item,picture,sentence,rating", rating)))
    (said,) = [each for each in said_of(test) if "looks like" in each]
    assert said.startswith("rated.csv looks like images and captions: open")
    assert opens(test, "rated.csv") and "These are scores" in [each.label for each in test.expander]
    assert meaning(test, "score").value == ["rating"]
    fine(button(test, "Read it as scores").click().run())
    assert "200 groups of 2×2" in text(test)


def test_a_file_among_scores_that_is_called_an_archive_and_is_none_is_refused_at_once(app):
    """It was said to look like images and captions; only a click further on was it no archive."""
    test = uploaded(app, "notzip.zip", b"group,image,caption,score\na,0,0,1\n")
    (said,) = [each.value.replace("\\", "") for each in test.error]
    assert said.startswith(
        "notzip.zip is damaged or not an archive, though its name ends in .zip; pack it again"
    )
    assert not test.info and not [b for b in test.button if b.label.endswith("there")]


def test_a_public_server_reads_scores_under_other_headers_too(app, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    test = app(PAGE)
    fine(test.file_uploader(key="scores_upload").upload("mine.csv", OTHER_HEADERS.encode(), "text/csv").run())
    fine(button(test, "Read it as scores").click().run())
    assert "2 groups of 2×2" in text(test) and not test.error


def test_a_wrong_choice_of_columns_is_one_sentence_and_the_form_stays(app):
    test = app(PAGE, way="Scores or embeddings")
    fine(test.file_uploader(key="scores_upload").upload("mine.csv", OTHER_HEADERS.encode(), "text/csv").run())
    meaning(test, "score").set_value(["cap"])
    meaning(test, "caption").set_value("topic")
    test = button(test, "Read it as scores").click().run()
    (said,) = [each.value.replace("\\", "") for each in test.error]
    assert said == (
        "mine.csv: column 'cap' holds 'c1' in row 2, which is no number; choose the column that has the scores."
    )
    meaning(test, "score").set_value(["sim"])
    meaning(test, "caption").set_value("cap")
    fine(button(test, "Read it as scores").click().run())
    assert test.selectbox(key="set").value == "upload/mine.csv"


def test_every_file_under_other_headers_has_a_form_of_its_own_with_its_own_guess_until_it_is_mapped(app):
    """The form kept the fields of the file before it, which the new one had not: they stood at "(none)"."""
    other = OTHER_HEADERS.replace("item,img,cap,sim", "sample_id,img_idx,txt_idx,similarity")
    files = [("mine.csv", OTHER_HEADERS), ("wide.csv", WIDE_SCORES), ("foreign.csv", other)]
    files = [(name, content.encode(), "text/csv") for name, content in files]
    test = app(PAGE, way="Scores or embeddings")
    for count in range(1, 4):
        fine(test.file_uploader(key="scores_upload").set_value(files[:count]).run())
        assert not test.error and len([b for b in test.button if b.label == "Read it as scores"]) == count
    picked = [
        [meaning(test, name, k).value for name in ("group", "image", "caption", "score")] for k in range(3)
    ]
    assert picked == [  # the newest first
        ["sample_id", "img_idx", "txt_idx", ["similarity"]],
        ["pair", "picture", "(none)", ["sim_a", "sim_b"]],
        ["item", "img", "cap", ["sim"]],
    ]
    test = [b for b in test.button if b.label == "Read it as scores"][2].click().run()
    assert not test.error and before_this(test) == ["foreign.csv", "wide.csv"]
    assert test.selectbox(key="set").value == "upload/mine.csv"
    assert [meaning(test, "group", k).value for k in range(2)] == ["sample_id", "pair"]


def test_a_table_whose_columns_name_caption_and_image_is_read_and_how_is_said(app):
    rows = "id,s_c0_i0,s_c0_i1,s_c1_i0,s_c1_i1\na,0.9,0.4,0.3,0.8\nb,0.1,0.6,0.7,0.2\n"
    test = app(PAGE, way="Scores or embeddings")
    fine(test.file_uploader(key="scores_upload").upload("mine.csv", rows.encode(), "text/csv").run())
    shown = text(test).replace("\\", "")
    assert "2 groups of 2×2" in shown and "read as the scores of 2 captions with 2 images" in shown
    two = "id,a_c0_i0,a_c0_i1,a_c1_i0,a_c1_i1,b_c0_i0,b_c0_i1,b_c1_i0,b_c1_i1\nx,9,4,3,8.5,1,6,7,2.5\n"
    test = app(PAGE, way="Scores or embeddings")
    test = test.file_uploader(key="scores_upload").upload("two.csv", two.encode(), "text/csv").run()
    assert "two.csv looks like scores under other headers" in test.error[0].value.replace("\\", "")
    assert meaning(test, "score").value == ["a_c0_i0", "a_c0_i1", "a_c1_i0", "a_c1_i1"]
    assert "It has scores of several models; choose those of one. The columns a_c0_i0 to a_c1_i1" in text(
        test
    ).replace("\\", "")
    fine(button(test, "Read it as scores").click().run())
    assert "1 group of 2×2" in text(test).replace("\\", "")


def test_the_page_says_which_files_are_stored_when_its_field_is_empty_again(app):
    """After another page the field was empty, as if nothing had been uploaded."""
    fine(uploaded(app, "s.csv", _csv(3, 1.0)))
    said = "Uploaded already, and still here: s.csv."
    test = app(PAGE, way="Scores or embeddings")
    assert said in text(test).replace("\\", "")
    fine(test.file_uploader(key="scores_upload").upload("s.csv", _csv(3, 1.0), "text/csv").run())
    assert said not in text(test).replace("\\", "")


def test_the_file_that_is_shown_is_the_one_that_the_other_pages_open(app):
    """They opened the last upload, whichever was chosen here."""
    for name, n in (("a.csv", 3), ("b.csv", 4)):
        test = fine(uploaded(app, name, _csv(n, 1.0)))
    assert test.session_state["selected"]["set"] == "upload/b.csv"
    fine(test.selectbox(key="set").set_value("upload/a.csv").run())
    assert "a.csv: 3 groups" in text(test).replace("\\", "") and "other pages" not in text(test)
    for name in ("set", "way"):  # the menu's links say nothing of these
        test.query_params.pop(name, None)
    fine(test.switch_page("pages/2_Matching.py").run())
    assert test.selectbox(key="set").value == "upload/a.csv"


def test_where_the_other_pages_have_another_set_it_is_named_and_one_button_selects_the_file(app):
    fine(uploaded(app, "a.csv", _csv(3, 1.0)))
    test = app(PAGE, way="Scores or embeddings")  # a later visit, on which nothing is selected yet
    assert "The other pages show scenes/attribute-swap." in text(test).replace("\\", "")
    fine(button(test, r"Select a\.csv there").click().run())
    assert "other pages" not in text(test) and test.session_state["selected"]["set"] == "upload/a.csv"


def test_a_removed_file_is_no_longer_what_the_other_pages_show(app):
    """The file was gone, and until the next action “The other pages show s.npz”, as the address still had it."""
    for name in ("a.csv", "b.csv"):
        test = fine(uploaded(app, name, _csv(3, 1.0)))
    assert test.session_state["set"] == "upload/b.csv"
    assert [each.key for each in test.button if "Remove" in each.label] == ["remove-upload/b.csv"]
    fine(next(b for b in test.button if b.key == "remove-upload/b.csv").click().run())
    assert [each.name for each in UploadStore().list()] == ["a.csv"]
    assert [each.value.replace("\\", "") for each in test.toast] == ["b.csv removed"]
    said = text(test).replace("\\", "")
    assert "The other pages show scenes/attribute-swap." in said and "show b.csv" not in said


def test_a_file_that_the_first_of_two_clicks_has_removed_is_no_error_for_the_second(app):
    """The second click left a page with nothing but “The file is not stored here”."""
    fine(uploaded(app, "a.csv", _csv(3, 1.0)))
    test = fine(uploaded(app, "b.csv", _csv(3, 1.0)))
    UploadStore().remove("b.csv")
    fine(next(b for b in test.button if b.key == "remove-upload/b.csv").click().run())
    assert "a.csv: 3 groups" in text(test).replace("\\", "")


def test_a_wrong_table_of_tags_is_refused_and_the_page_goes_on(app):
    """Chart, Export, Remove and “File formats” were gone until the file was taken out of its field."""
    fine(uploaded(app, "a.csv", _csv(3, 1.0)))
    test = app(PAGE, way="Scores or embeddings", set="upload/a.csv")
    (field,) = [each for each in test.get("file_uploader") if each.label == "Tags"]
    test = field.upload("tags.csv", b"group,topic\n0,x\n", "text/csv").run()
    assert not test.exception
    (fold,) = [each for each in test.expander if each.label.startswith("Add tags (")]
    assert [each.value.startswith("tags") for each in fold.error] == [True]
    assert "#### Margins of right and wrong matchings" in text(test)
    assert "File formats and examples" in [each.label for each in test.expander]
    assert "remove-upload/a.csv" in [each.key for each in test.button]


def test_embeddings_and_a_prior_among_images_are_told_where_they_belong(app):
    rows = np.random.default_rng(0).normal(size=(4, 3))
    test = app(PAGE)
    fine(test.file_uploader(key="set_upload").upload("e.npz", npz(img=rows, cap=rows)).run())
    assert "e.npz looks like a file of embeddings: open" in text(test).replace("\\", "")
    fine(opens(test, "e.npz").click().run())
    assert "2 groups of 2×2" in test.subheader[0].value
    for name, content in {
        "p.csv": b"group,caption,log_prob\na,0,-1\n",
        "p.npz": npz(prior=np.zeros((1, 2))),
    }.items():
        test = app(PAGE)
        fine(test.file_uploader(key="set_upload").upload(name, content).run())
        assert f"{name} looks like a language prior: open" in text(test).replace("\\", "")
        fine(button(test, "Open “Scores or embeddings”").click().run())
        assert test.get("file_uploader")[0].label == "File of scores or embeddings"


def test_a_table_of_captions_and_a_prior_among_scores_are_told_where_they_belong(app, open_page):
    manifest = b"id,image_0,image_1,caption_0,caption_1\na,0.png,1.png,one,two\n"
    test = fine(uploaded(app, "m.csv", manifest))
    assert "m.csv looks like images and captions: open" in text(test).replace("\\", "")
    fine(opens(test, "m.csv").click().run())
    assert test.multiselect(key="col_images").value == ["image_0", "image_1"]
    fine(button(test, "Check everything").click().run())
    (table,) = [d.value for d in test.dataframe if "what is wrong" in d.value.columns]
    assert set(table["what to do"]) == {"put the table and its images into one zip"}
    for name, content in {
        "p.csv": b"group,caption,log_prob\na,0,-1\n",
        "p.npz": npz(prior=np.zeros((1, 2))),
    }.items():
        test = fine(uploaded(app, name, content))
        assert f"{name} looks like a language prior: upload the scores" in text(test).replace("\\", "")
        assert not UploadStore().list()


def test_scores_given_for_tags_and_a_prior_given_for_tags_are_called_what_they_are(app, open_page):
    """Scores were sent to the page Your data, on which they were given; what the field takes was not said."""
    logarithms = b"group,image,caption,score\na,0,0,-1\na,0,1,-2\na,1,0,-2\na,1,1,-1\n"
    prior = b"group,caption,log_prob\na,0,-1\na,1,-2\n"
    for field, name, content, said in (
        (
            "Tags",
            "x.csv",
            logarithms,
            "looks like a score file; upload tags here: a column group, and one for each tag.",
        ),
        ("Tags", "x.csv", prior, "looks like a language prior; add it under “Language prior”"),
        (
            "Language prior",
            "x.csv",
            logarithms,
            "looks like a score file; upload a language prior here: the columns group, caption and log_prob.",
        ),
        # One number per caption and no image: a prior whose column has another name, no scores.
        (
            "Language prior",
            "x.csv",
            prior.replace(b"log_prob", b"score"),
            "has no column 'log_prob' among: group, caption, score; name log P(t) so, or",
        ),
    ):
        test = fine(uploaded(app, "s.csv", logarithms))
        fields = {u.label.partition(":")[0]: u for u in test.get("file_uploader")}
        test = fields[field].upload(name, content).run()
        assert f"x.csv {said}" in test.error[0].value.replace("\\", ""), field


def _zip(**members: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return data.getvalue()


WIDE = b"id,image_0,image_1,caption_0,caption_1\na,1.png,2.png,one,two\n"
DAMAGED = {
    "a bad (1).zip": b"no zip",
    "cut (1).zip": _zip(manifest__csv=WIDE, image__png=b"x" * 3000)[:-30],
    "no table.zip": _zip(a__txt=b"x"),
    "nested (1).zip": _zip(a__zip=b"x", manifest__csv=WIDE),
    "long name.zip": _zip(**{"n" * 300: b"x"}),
    "outside (1).zip": _zip(**{"../../evil.csv": b"x"}),
    "bad table.zip": _zip(manifest__csv=b"\xff\xfe\x00"),
    "bad parquet.zip": _zip(manifest__parquet=b"PAR1 no parquet PAR1"),
    "bad image.zip": _zip(**{"manifest.csv": WIDE, "1.png": b"no image", "2.png": b"\x89PNG\r\n\x1a\n"}),
    "long cell (1).csv": WIDE.replace(b"1.png", b"n" * 300),
    "alone (1).csv": WIDE,
    "no text (1).csv": b"a,b\n\xff\xff,1\n",
    "twice (1).csv": b"a,a\n1,2\n",
    "ragged (1).csv": WIDE + b"b,1.png\n",
    "bad (1).parquet": b"PAR1 no parquet PAR1",
    "bad (1).arrow": b"ARROW1",
    "bad (1).json": b"{",
    "object (1).json": b"{}",
    "bad (1).jsonl": b"{\n[1]\n",
    "bad (1).npz": b"PK no zip",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_no_message_about_an_upload_shows_where_it_was_put(app, open_page, name):
    """The folder aside, `.staging-…`, stood in every row of a table's problems."""
    test = app(PAGE)
    test = test.file_uploader(key="set_upload").upload(name, DAMAGED[name]).run()
    for check in [b for b in test.button if b.label == "Check everything"]:
        test = check.click().run()
    assert not test.exception
    shown = "\n".join([text(test), *(e.value for e in test.error)]).replace("\\", "")
    shown += "".join(d.value.to_csv() for d in test.dataframe)
    assert "staging" not in shown and str(user_sets.root()) not in shown and "_1_" not in shown
    assert test.error or [d for d in test.dataframe if "what is wrong" in d.value.columns], shown


def test_a_full_disk_shows_no_folder_aside(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    folder = brought(tmp_path / "set", GOOD)
    monkeypatch.setattr("core.exchange._import_images.ImageStore.add", full)
    with pytest.raises(InputError, match="No space left") as said:
        importing.stage_import(folder)
    assert "staging" not in str(said.value)


def test_a_sound_score_file_has_no_faults_and_each_kind_is_found_alone():
    sound = "group,image,caption,score,match\n" + "".join(
        f"{g},{i},{j},{i + 2 * j},{int(i == j)}\n" for g in "ab" for i in (0, 1) for j in (0, 1)
    )
    assert ScoreFault.of_file("x.csv", sound.encode()) == []
    for old, new, row in (
        ("a,0,0,0,1", "a,0,0,x,1", 2),
        ("b,0,0,0,1\n", "", 6),
        ("a,1,1,3,1", "a,1,1,3,0", 4),
        ("a,1,1,3,1", ",1,1,3,1", 5),
    ):
        assert row in [fault.row for fault in ScoreFault.of_file("x.csv", sound.replace(old, new).encode())]
        with pytest.raises(InputError):
            read_scores("x.csv", sound.replace(old, new).encode())
    assert [f.column for f in ScoreFault.of_file("x.csv", sound.replace("score", "points").encode())] == [
        "score"
    ]
    # A row with a cell too many hid all other mistakes; its group is not asked to be complete.
    torn = sound.splitlines()
    torn[1] += ",5"
    torn[-1] = torn[-1].replace(torn[-1].split(",")[3], "x")
    assert [fault.row for fault in ScoreFault.of_file("x.csv", "\n".join(torn).encode())] == [2, len(torn)]
    assert ScoreFault.of_file("x.csv", b"a,b\n1,2\n") == ScoreFault.of_file("x.npz", b"") == []


def test_the_link_to_a_result_opens_this_file_and_no_newer_one(app, monkeypatch):
    """It was the address of the page, which opens the newest upload."""
    monkeypatch.setattr("ui.export.st.context", SimpleNamespace(url="http://h/Your_Data"))
    scores = "group,image,caption,score\n" + "".join(f"a,{i},{j},{i}\n" for i in (0, 1) for j in (0, 1))
    for name in ("old.csv", "new.csv"):
        UploadStore().add(name, scores.encode())
    test = app(PAGE, way="Scores or embeddings")
    shown = test.selectbox(key="set").value
    (link,) = {each.value for each in test.code if each.value.startswith("http://h/Your_Data")}
    asked = {key: of[0] for key, of in parse_qs(urlsplit(link).query).items()}
    assert asked["set"] == shown
    UploadStore().add("newest.csv", scores.replace("a,", "z,").encode())
    assert app(PAGE, **asked).selectbox(key="set").value == shown


def test_the_example_of_images_is_a_zip_that_can_be_uploaded(app):
    """The page with nothing uploaded offered nothing to try it with."""
    import runpy

    content = runpy.run_path(str(ROOT / "pages/8_Your_Data.py"), run_name="data")["example_images"]()
    test = app("pages/8_Your_Data.py")
    assert "Example of four groups (ZIP)" in [b.label for b in test.get("download_button")]
    fine(test.file_uploader(key="set_upload").upload("example.zip", content, "application/zip").run())
    fine(button(test, "Check everything").click().run())
    assert "4 groups" in text(test) and "left-right/test/0000" in html(test) + text(test)


def test_the_example_of_embeddings_can_be_uploaded(app):
    import runpy

    content = runpy.run_path(str(ROOT / "pages/8_Your_Data.py"), run_name="data")["example_embeddings"]()
    test = app(PAGE, way="Scores or embeddings")
    fine(test.file_uploader(key="scores_upload").upload("embeddings.npz", content).run())
    assert "4 groups of 2×2" in text(test) and len(content) < 3000


def test_an_archive_among_the_scores_is_opened_where_it_belongs(app):
    """The field answered “application/zip files are not allowed.”, and led nowhere."""
    content = _zip(manifest__csv=b"id,image_0,image_1,caption_0,caption_1\na,1.png,2.png,x,y\n")
    test = app(PAGE, way="Scores or embeddings")
    fine(test.file_uploader(key="scores_upload").upload("my set.zip", content, "application/zip").run())
    assert "my set.zip looks like images and captions" in text(test).replace("\\", "")
    fine(button(test, "Open my set\\.zip there").click().run())
    assert button(test, "Check everything")


def test_two_files_are_uploaded_at_once_and_compared(app):
    """A comparison took two rounds of uploading."""
    rows = ["group,image,caption,score"] + [
        f"{g},{i},{j},{i == j:d}" for g in "ab" for i in (0, 1) for j in (0, 1)
    ]
    content = "\n".join(rows).encode()
    test = app(PAGE, way="Scores or embeddings")
    field = test.file_uploader(key="scores_upload").upload("one.csv", content, "text/csv")
    test = fine(field.upload("two.csv", content + b"\nc,0,0,1\nc,0,1,0\nc,1,0,0\nc,1,1,1", "text/csv").run())
    assert test.session_state["set"] == "upload/one.csv" and "one.csv: 2 groups" in text(test).replace(
        "\\", ""
    )
    test = fine(button(test, r"Compare one\.csv with two\.csv").click().run())
    assert (test.query_params["set"], test.query_params["other"]) == ("upload/one.csv", "upload/two.csv")


def test_a_file_that_was_mended_takes_the_place_of_the_one_with_mistakes(app):
    rows = ["group,image,caption,score"] + [f"a,{i},{j},{i == j:d}" for i in (0, 1) for j in (0, 1)]
    good, bad = "\n".join(rows).encode(), "\n".join([*rows[:-1], "a,1,1,x"]).encode()
    test = app(PAGE, way="Scores or embeddings")
    field = test.file_uploader(key="scores_upload").upload("mine.csv", bad, "text/csv")
    test = field.upload("other.csv", good, "text/csv").run()
    assert "is 'x'; it must be a finite number" in test.error[0].value  # named, though another one is stored
    assert "other.csv: 1 group" in text(test).replace(
        "\\", ""
    )  # whose result the mistakes of the first one hid
    test = fine(test.file_uploader(key="scores_upload").upload("mine.csv", good, "text/csv").run())
    assert "mine.csv: 1 group" in text(test).replace("\\", "")


def score_rows(value=lambda i, j: f"{i == j:d}", header="group,image,caption,score"):
    return [header, *(f"{g},{i},{j},{value(i, j)}" for g in "ab" for i in (0, 1) for j in (0, 1))]


def several(app, **content):
    """The page with these files of scores in its field, uploaded in this order."""
    test = app(PAGE, way="Scores or embeddings")
    field = test.file_uploader(key="scores_upload")
    for name, rows in content.items():
        field = field.upload(name.replace("__", "."), "\n".join(rows).encode(), "text/csv")
    return field.run()


def before_this(test):
    """The files that the fold of those refused before names, as it does."""
    folds = [each for each in test.expander if "before this" in each.label]
    lines = [each.value.replace("\\", "") for fold in folds for each in fold.markdown]
    return [line.split()[0].rstrip(":") for line in lines]


def said_of(test):
    return [each.value.replace("\\", "") for each in (*test.info, *test.error)]


def test_of_several_refused_files_the_newest_has_its_table_of_mistakes_and_each_its_form(app):
    """It was the first one; whoever brought another looked at that one."""
    bad, others = score_rows()[:-2] + ["b,1,0,x", "b,1,1,y"], score_rows(header="item,img,cap,sim")
    test = several(app, bad__csv=bad, others__csv=others)
    assert meaning(test, "group").value == "item"
    assert [each.partition(" ")[0] for each in said_of(test)] == ["others.csv", "bad.csv:"]
    assert not [each for each in test.dataframe if "what is wrong" in each.value.columns]
    fine_form = fine_button(test)
    assert fine_form.selectbox(key="set").value == "upload/others.csv"
    assert not fine_form.error and before_this(fine_form) == ["bad.csv"]  # the form's outcome is the last one
    assert "bad.csv has 2 mistakes" in text(fine_form).replace("\\", "")
    test = several(app, others__csv=others, bad__csv=bad)
    (table,) = [each.value for each in test.dataframe if "what is wrong" in each.value.columns]
    assert table["row"].tolist() == ["8", "9"]
    assert test.error[0].value.count("Not stored") == 2
    assert {each.partition(" ")[0] for each in said_of(test)} == {"**Not"}  # one box, then forms and list
    assert meaning(test, "group").value == "item"  # the older one keeps its form


def fine_button(test):
    return button(test, "Read it as scores").click().run()


def test_a_refused_file_is_named_until_one_of_its_name_is_stored(app):
    """A prior was named no more once embeddings were stored after it."""
    test = several(app, prior__csv=["group,caption,prior", "a,0,-1"], good__csv=score_rows())
    named = "**Not stored**: prior.csv looks like a language prior"
    assert [each for each in said_of(test) if each.startswith(named)]
    assert test.session_state["set"] == "upload/good.csv"
    assert [each for each in said_of(test.run()) if each.startswith(named)]
    test = several(app, good__csv=score_rows(), prior__csv=["group,caption,prior", "a,0,-1"])
    test = test.file_uploader(key="scores_upload").upload("prior.csv", "\n".join(score_rows()).encode()).run()
    assert not [each for each in said_of(test) if "language prior" in each]
    test = app(PAGE, way="Scores or embeddings")
    field = test.file_uploader(key="scores_upload").upload("a.csv", b"group,caption,prior\na,0,-1\n")
    test = (
        field.upload("b.csv", "\n".join(score_rows()).encode())
        .upload("a.csv", "\n".join(score_rows()).encode())
        .run()
    )
    assert not said_of(test) and test.session_state["set"] == "upload/b.csv"


def test_a_refused_file_is_named_aside_once_another_is_chosen_or_uploaded(app):
    """Its red box stood above the result of every file that somebody looked at later; without it, a refused and an
    accepted file looked the same in the field."""

    def uploaded_too(test, name, content):
        field = test.file_uploader(key="scores_upload")
        before = test.session_state["scores_upload"]
        field._files = [(file.file_id, file.name, file.getvalue(), file.type) for file in before]
        return field.upload(name, content, "text/csv").run()

    bad = "\n".join([*score_rows()[:-1], "b,1,1,x"]).encode()
    test = several(app, good__csv=score_rows(), first__csv=LOGARITHMS, bad__csv=bad.decode().split("\n"))
    assert test.error[0].value.startswith("**Not stored**: bad")
    chosen = fine(test.selectbox(key="set").set_value("upload/first.csv").run())
    assert not chosen.error and "first.csv: 2 groups" in text(chosen).replace("\\", "")
    assert before_this(chosen) == ["bad.csv"]
    again = uploaded_too(chosen, "worse.csv", bad)
    (told,) = again.error[:1]
    assert "worse" in told.value and "bad.csv" not in told.value.replace("\\", "")
    assert before_this(again) == ["bad.csv"]
    other = "\n".join(score_rows(lambda i, j: f"{3 + (i != j)}")).encode()
    gone = uploaded_too(again, "other.csv", other)
    assert not gone.error and gone.session_state["set"] == "upload/other.csv"
    assert before_this(gone) == ["worse.csv", "bad.csv"]
    assert "**other.csv**: scores, 2 groups of 2×2, read." in said_in(gone.success)
    mended = fine(uploaded_too(gone, "worse.csv", other))
    assert before_this(mended) == ["bad.csv"]
    taken_out = mended.file_uploader(key="scores_upload")
    taken_out._files = [
        (f.file_id, f.name, f.getvalue(), f.type)
        for f in mended.session_state["scores_upload"]
        if f.name != "bad.csv"
    ]
    assert not before_this(fine(taken_out.run()))


def said_in(boxes):
    return " ".join(each.value.replace("\\", "") for each in boxes)


def test_a_form_of_columns_stays_in_reach_once_another_file_is_stored_and_a_spare_column_of_0_and_1_is_its_match(
    app,
):
    """It was gone with the next file, and the result said that the file had no ground truth."""
    rows = [
        "grp,img,cap,sc,m",
        *(f"{g},{i},{j},{g + (i == j)}.5,{int(i == j)}" for g in range(4) for i in (0, 1) for j in (0, 1)),
    ]
    test = several(app, headers__csv=rows)
    assert meaning(test, "match").value == "m"
    field, (before,) = test.file_uploader(key="scores_upload"), test.session_state["scores_upload"]
    field._files = [(before.file_id, before.name, before.getvalue(), before.type)]
    test = field.upload("good.csv", "\n".join(score_rows()).encode(), "text/csv").run()
    assert before_this(test) == ["headers.csv"] and not said_of(test)
    read = fine_button(test)
    assert read.selectbox(key="set").value == "upload/headers.csv" and not before_this(read)
    assert "no ground truth" not in text(read)
    test = several(app, headers__csv=rows)
    meaning(test, "match").set_value("(none)")
    told = text(fine_button(test)).replace("\\", "")
    assert "No column was chosen as match: image i is assumed to belong to caption i. If m says" in told
    assert "no ground truth" not in told


def test_a_file_with_the_ids_of_a_built_in_set_opens_beside_it_by_one_button(app):
    rows = [
        f"left-right/test/{g:04},{i},{j},{g + (i == j)}" for g in range(300) for i in (0, 1) for j in (0, 1)
    ]
    UploadStore().add("made.csv", "\n".join(["group,image,caption,score", *rows]).encode())
    test = app(PAGE, way="Scores or embeddings", set="upload/made.csv")
    assert "select the benchmark that it was made on" not in text(test)
    there = fine(button(test, "Open beside scenes/left-right").click().run())
    assert there.selectbox(key="set").value == "scenes/left-right"
    assert there.session_state["model"] == "upload/made.csv" and html(there).count("cm-card") == 12


def test_why_files_are_refused_stands_in_one_box_below_the_field_and_what_to_do_below_the_good_file_s_result(
    app,
):
    """The reasons stood below the metrics, the histogram and the export of the file that was right at last."""
    bad = score_rows()[:-1] + ["b,1,1,x"]
    test = several(
        app, cols__csv=["a,b", "1,2"], bad__csv=bad, fake__zip=["no archive"], good__csv=score_rows()
    )
    shown, (reasons,) = list(test.main), test.error
    told = [line.replace("\\", "") for line in reasons.value.split("  \n")]
    assert [line.removeprefix("**Not stored**: ").split()[0].rstrip(":") for line in told] == [
        *("fake.zip", "bad.csv", "cols.csv")
    ]
    (result,) = [each for each in test.subheader if "good" in each.value]
    assert shown.index(reasons) < shown.index(result)
    assert "What to do about" not in text(test)  # these sentences say it
    others = score_rows(header="item,img,cap,sim")
    test = several(app, others__csv=others, good__csv=score_rows())
    (reasons,) = test.error
    assert "others.csv looks like scores under other headers (item, img, cap, sim)." in reasons.value.replace(
        "\\", ""
    )
    assert "What to do about files that are not stored ↓](#files-that-are-not-stored)" in text(test)
    assert meaning(test, "group").value == "item"
    test = several(app, good__csv=score_rows(), last__csv=bad)
    shown = list(test.main)  # so too where the newest is the one that could not be read
    assert test.error[0].value.replace("\\", "").startswith("**Not stored**: last.csv")
    assert shown.index(test.error[0]) < shown.index(test.subheader[-1])


def test_a_refused_second_file_is_a_line_below_the_field_with_its_form_or_mistakes_until_another_is_chosen(
    app,
):
    """Whoever brings a file goes on with it: its form, or its mistakes, stood two screens down, below a result that was
    seen before. Once another is chosen, the result comes first again."""
    wrong = score_rows()[:-2] + ["b,1,0,x", "b,1,1,y"]
    for name, rows, told in (
        ("names.csv", score_rows(header="group,image,caption,scor"), "scor is probably score, misspelt."),
        ("values.csv", wrong, "2 scores are no finite numbers: 'x' in row 8"),
    ):
        fine(uploaded(app, "good.csv", "\n".join(score_rows()).encode()))
        test = app(PAGE, way="Scores or embeddings")  # later: its field is empty again
        field = test.file_uploader(key="scores_upload")
        test = field.upload(name, "\n".join(rows).encode(), "text/csv").run()
        shown = list(test.main)
        above = test.error[0]
        line = above.value.replace("\\", "")
        assert line.startswith(f"**Not stored**: {name}") and told in line
        (result,) = [each for each in test.subheader if "good" in each.value]
        before = shown[: shown.index(result)]
        assert not test.error[1:] and not test.info  # one box says it
        ways = [each for each in before if each in test.caption and name in each.value.replace("\\", "")]
        assert ways and shown.index(above) < shown.index(ways[0])
        assert not [each for each in test.subheader if each.value == "Files that are not stored"]


LOGARITHMS = score_rows(lambda i, j: f"{-1 - (i != j)}.5")
PRIOR_ROWS = ["group,caption,prior", *(f"{g},{j},{-1.5 - j}" for g in "ab" for j in (0, 1))]


def test_a_prior_among_scores_is_added_beside_those_it_is_of_by_one_button(app):
    """It was taken for scores under other headers."""
    fine(several(app, plain__csv=score_rows(), logarithms__csv=LOGARITHMS))
    test = several(app, prior__csv=PRIOR_ROWS)
    assert any(
        each.startswith("prior.csv looks like a language prior: add it to the sc") for each in said_of(test)
    )
    assert not any("other headers" in each for each in said_of(test))
    assert not [each for each in test.button if "plain" in each.label and each.label.startswith("Add it")]
    test = fine(button(test, r"Add it to logarithms\.csv").click().run())
    assert test.selectbox(key="set").value == "upload/logarithms.csv"
    assert not any("language prior" in each for each in said_of(test))
    assert UploadStore().get("logarithms.csv").beside("prior")[0] == "prior.csv"
    assert "Language prior: prior.csv, 4 of 4 captions matched." in text(test).replace("\\", "")


def taken(test):
    """What each of the files that came at once was taken for, a line each."""
    lines = [each.value.replace("\\", "") for each in test.success]
    return next((each.split("  \n") for each in lines if each.startswith("**")), [])


TAG_ROWS = ["group,topic,length", "a,kitchen,3", "b,garden,4"]


def test_tags_and_a_prior_that_come_with_their_scores_are_put_beside_them_and_each_file_has_its_line(app):
    """They were taken for scores under other headers, and had to be uploaded again below the result."""
    test = fine(several(app, prior__csv=PRIOR_ROWS, tags__csv=TAG_ROWS, mine__csv=LOGARITHMS))
    assert taken(test) == [
        "**mine.csv**: scores, 2 groups of 2×2, read.",
        "**prior.csv**: a language prior, added to mine.csv; Debias removes it.",
        "**tags.csv**: tags, added to mine.csv.",
    ]
    stored = UploadStore().get("mine.csv")
    assert (stored.beside("tags")[0], stored.beside("prior")[0]) == ("tags.csv", "prior.csv")
    assert "Tags: tags.csv, 2 of 2 groups matched (topic, length)." in text(test).replace("\\", "")
    UploadStore().remove_beside(stored, "tags")
    assert "tags" not in str(taken(fine(test.run())))  # what is no more where it was put is said no more


def test_tags_belong_to_all_scores_of_their_groups_that_come_with_them_and_to_no_others(app):
    more = [*score_rows(), *(f"c,{i},{j},1.5" for i in (0, 1) for j in (0, 1))]
    test = several(app, plain__csv=score_rows(), tags__csv=TAG_ROWS, more__csv=more, logs__csv=LOGARITHMS)
    assert taken(fine(test))[-1] == "**tags.csv**: tags, added to plain.csv and logs.csv."
    assert UploadStore().get("more.csv").beside("tags") is None


def test_tags_that_come_alone_are_added_to_the_file_in_view_by_one_button(app):
    fine(several(app, mine__csv=score_rows()))
    test = fine(several(app, tags__csv=TAG_ROWS))
    assert "tags.csv looks like a table of tags: add it to the scores that it belongs to." in said_of(test)
    test = fine(button(test, r"Add it to mine\.csv").click().run())
    assert UploadStore().get("mine.csv").beside("tags")[0] == "tags.csv"
    assert not [each for each in said_of(test) if "looks like" in each]
    assert taken(test) == ["**tags.csv**: tags, added to mine.csv."]  # a toast is gone before it is read
    test = fine(several(app, other__csv=[TAG_ROWS[0], "a,hall,1", "b,hall,2"]))
    fine(button(test, r"Add it to mine\.csv, in place of tags\.csv").click().run())
    assert UploadStore().get("mine.csv").beside("tags")[0] == "other.csv"


def test_tags_that_are_there_already_are_not_offered_in_place_of_themselves(app):
    """The button read “Add it to mine.csv, in place of tags.csv”, of the very same table."""
    fine(several(app, mine__csv=score_rows(), tags__csv=TAG_ROWS))
    test = several(app, tags__csv=TAG_ROWS)
    assert said_of(test) == ["tags.csv is stored beside mine.csv already."]
    assert not [each.label for each in test.button if "in place of" in each.label]


def test_a_group_that_is_twice_in_a_table_of_tags_is_named(app):
    """It was taken for scores that lack their columns."""
    fine(several(app, mine__csv=score_rows()))
    test = several(app, tags__csv=[*TAG_ROWS, TAG_ROWS[-1]])
    (said,) = said_of(test)
    assert said.endswith("tags.csv has several rows with id 'b'; leave all but one of them out.")


def test_tags_wait_for_their_scores_and_those_of_other_groups_are_one_sentence(app):
    test = several(app, tags__csv=TAG_ROWS)
    assert said_of(test) == [
        "tags.csv looks like a table of tags: upload the scores that it belongs to, and they get these tags."
    ]
    field = test.file_uploader(key="scores_upload").upload("tags.csv", "\n".join(TAG_ROWS).encode())
    test = field.upload("mine.csv", "\n".join(score_rows()).encode()).run()
    assert taken(fine(test))[-1] == "**tags.csv**: tags, added to mine.csv."
    test = several(app, other__csv=TAG_ROWS[:-1])
    assert said_of(test) == [
        "**Not stored**: other.csv looks like a table of tags and has no row for 1 group of mine.csv; complete it, or "
        "upload the scores that it belongs to."
    ]


def test_tags_that_were_offered_to_a_file_go_to_no_later_one_by_themselves(app):
    """They were added to whatever was uploaded next, and the choice was gone."""
    fine(several(app, mine__csv=score_rows()))
    test = fine(several(app, tags__csv=TAG_ROWS))
    field = test.file_uploader(key="scores_upload")
    held = field._get_files_to_register()  # with their ids, as the field of a browser has them
    field.upload("next.csv", "\n".join(LOGARITHMS).encode())
    field._files = [*held, *field._files]
    test = fine(field.run())
    assert UploadStore().get("next.csv").beside("tags") is None
    assert button(test, r"Add it to mine\.csv") and button(test, r"Add it to next\.csv")


def test_scores_without_their_column_are_told_which_one_they_lack(app):
    rows = ["group,image,caption", *(f"{g},{i},{j}" for g in "ab" for i in (0, 1) for j in (0, 1))]
    test = fine(several(app, missing__csv=rows))
    assert any("lacks the column “score”" in each for each in said_of(test)), said_of(test)


@pytest.mark.parametrize(
    ("rows", "is_tags"),
    [
        (TAG_ROWS, True),
        (["id,topic", "a,x"], True),
        (["id,hardness", "a,0.5", "b,0.25"], True),
        (["group,caption_0,caption_1", "a,one,two"], True),
        (["group,topic", "a,x", "a,y"], False),  # a row for each image
        (["group,topic", "a,x", "b,y", "b,y"], True),  # by mistake; its reader says so
        (["group,one,two", "a,0.5,0.25", "b,1.5,2.5"], False),  # a score of each caption
        (["id,image_0,image_1,caption_0,caption_1", "a,0.png,1.png,one,two"], False),
        (["group,caption,log_prob", "a,0,-1.5"], False),
        (["group,truth", "a,1"], False),
        (["item,topic", "a,x"], False),
        (["id", "a"], False),
        (["id,c0_i0,c1_i0", "a,1,2"], False),
    ],
)
def test_a_table_of_tags_is_known_by_its_columns(rows, is_tags):
    assert _is_tags(open_table("t.csv", "\n".join(rows).encode())) == is_tags


def test_a_prior_of_no_stored_scores_says_which_it_needs(app):
    test = several(app, plain__csv=score_rows(), prior__csv=PRIOR_ROWS)
    (said,) = said_of(test)  # once: a red box and a blue one said the same
    assert said == (
        "**Not stored**: prior.csv looks like a language prior: upload the scores that it belongs to, and add it below "
        "their result. It needs scores that are log-likelihoods, of the same groups and captions, without a prior yet."
    )
    assert not [each for each in test.button if each.label.startswith("Add it to")]


@pytest.mark.parametrize(
    ("rows", "lacks"),
    [
        (PRIOR_ROWS[:3], "lacks 1 of the scores' 2 groups: 'b'; add its log P(t)."),
        (PRIOR_ROWS[:4], "has no finite log P(t) for caption '1' of group 'b'; add it."),
        (
            [*PRIOR_ROWS[:4], "b,1,2.5"],
            "has 2.5 as log P(t) of caption '1' of group 'b'; a log-likelihood is at most 0: give logarithms of "
            "likelihoods, not probabilities or losses.",
        ),
    ],
)
def test_a_prior_that_lacks_a_part_of_stored_scores_says_of_which_and_what(app, rows, lacks):
    """It was told to upload the scores that it belongs to, which stood two lines above."""
    fine(several(app, plain__csv=score_rows(), logarithms__csv=LOGARITHMS))
    other = [row.replace("a,", "x,", 1).replace("b,", "y,", 1) for row in LOGARITHMS]
    test = several(app, other__csv=other, prior__csv=rows)
    (said,) = said_of(test)
    assert said == (
        f"**Not stored**: prior.csv looks like a language prior of logarithms.csv, but {lacks} Or upload the scores "
        "that it belongs to."
    )
    assert not [each for each in test.button if each.label.startswith("Add it to")]


def test_of_several_files_with_mistakes_each_is_named_and_the_good_one_is_shown(app):
    rows = ["group,image,caption,score"] + [f"a,{i},{j},{i == j:d}" for i in (0, 1) for j in (0, 1)]
    good, bad = "\n".join(rows).encode(), "\n".join([*rows[:-1], "a,1,1,x"]).encode()
    test = app(PAGE, way="Scores or embeddings")
    field = test.file_uploader(key="scores_upload").upload("one.csv", bad, "text/csv")
    field = field.upload("good.csv", good, "text/csv").upload("two.csv", bad, "text/csv")
    test = field.run()
    (told,) = [each.value.replace("\\", "") for each in test.error]
    names = [line.removeprefix("**Not stored**: ").partition(":")[0] for line in told.split("  \n")]
    assert names == ["two.csv", "one.csv"]  # the newest first
    assert test.session_state["set"] == "upload/good.csv"
    assert "good.csv: 1 group" in text(test).replace("\\", "")


@pytest.mark.parametrize("stored", [True, False])
def test_of_many_files_that_are_not_stored_three_stand_open_and_the_others_in_a_fold(app, stored):
    """Of ten files one red box filled the screen."""
    bad = score_rows()[:-1] + ["b,1,1,x"]
    test = several(
        app, **({"good__csv": score_rows()} if stored else {}), **{f"bad{n}__csv": bad for n in range(6)}
    )
    (fold,) = [each for each in test.expander if each.label == "And 3 more files not stored"]
    (folded,) = [each.value.replace("\\", "") for each in fold.error]
    assert [f"bad{n}.csv" in folded for n in range(6)] == [True] * 3 + [False] * 3  # the newest stand open
    open_ones = "".join(
        each.value.replace("\\", "") for each in test.error if each.value.replace("\\", "") != folded
    )
    assert [f"bad{n}.csv" in open_ones for n in range(6)] == [False] * 3 + [True] * 3
    few = several(
        app, **({"good__csv": score_rows()} if stored else {}), **{f"bad{n}__csv": bad for n in range(3)}
    )
    assert not [each for each in few.expander if "not stored" in each.label]


def test_the_only_table_of_scores_in_a_zip_is_read_as_that_table(app):
    """The two ways sent it to each other."""
    test = fine(
        uploaded(app, "my.zip", _zip(**{"out/scores.csv": _csv(3, 1.0), "__MACOSX/._scores.csv": b"x"}))
    )
    assert test.selectbox(key="set").value == "upload/scores.csv"
    assert next(each.value.replace("\\", "").partition(":")[0] for each in test.subheader) == "scores.csv"


def test_a_zip_of_scores_with_tabs_is_read(app):
    test = fine(uploaded(app, "my.zip", _zip(**{"s.tsv": _csv(3, 1.0).replace(b",", b"\t")})))
    assert test.selectbox(key="set").value == "upload/s.csv"


def test_several_tables_in_a_zip_are_named_in_one_sentence(app):
    test = uploaded(app, "two.zip", _zip(**{"a.csv": _csv(3, 1.0), "b.csv": _csv(3, 1.0)}))
    (said,) = [each.value.replace("\\", "") for each in test.error]
    assert said == "two.zip holds several tables (a.csv, b.csv); unpack it and give one of them."
    assert not test.info


def test_mistakes_of_the_only_table_in_a_zip_are_told_of_that_table(app):
    bad = b"group,image,caption,score\na,0,0,1\na,0,1,x\na,1,0,0\na,1,1,1\n"
    test = uploaded(app, "my.zip", _zip(**{"s.csv": bad}))
    (said,) = [each.value.replace("\\", "") for each in test.error]
    assert said.startswith("s.csv: the score in row 3") and not test.info


def test_the_histogram_of_margins_has_a_heading(app):
    test = fine(uploaded(app, "s.csv", _csv(3, 1.0)))
    assert "#### Margins of right and wrong matchings" in [each.value for each in test.markdown]
