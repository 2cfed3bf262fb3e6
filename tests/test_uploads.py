"""Uploaded files: stored by owner, found by name, bounded on a public server, and on every page that can use them."""

import io
import os
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from driving import button, fine, html, text

from core.base import public_mode
from core.base.errors import InputError
from core.base.public_mode import MAX_UPLOAD_BYTES
from core.datasets import load
from core.datasets.score_files import _Tags, read_prior, write_scores
from core.debiasing.priors import Prior
from core.exchange import uploads
from core.exchange.uploads import PRIOR, TAGS, UploadStore
from core.metrics import paired
from core.metrics.evaluation import Evaluation
from ui import measured
from ui.cached import cached_on
from ui.compute_queue import READING
from ui.export import pair_name
from ui.held import held_bytes
from ui.measured import MeasuredFiles

GROUPS, MATCHING, DEBIAS = "pages/1_Groups.py", "pages/2_Matching.py", "pages/3_Debias.py"
TTM, COMPARE, DATA = "pages/4_Test-Time_Matching.py", "pages/6_Compare.py", "pages/8_Your_Data.py"
RETRIEVAL = "pages/5_Retrieval.py"
WITHOUT_SELECTION = (None, "pages/0_Lessons.py", RETRIEVAL, "pages/7_Papers.py", "pages/9_Runs.py")
SET = "scenes/left-right"


# --- the store


def test_a_file_is_found_by_its_name_and_another_of_that_name_gets_a_number():
    store = UploadStore()
    first = store.add("../my scores.csv", b"one")
    assert first.name == "my-scores.csv" and store.get("my-scores.csv").content() == b"one"
    assert store.add("my scores.csv", b"one").name == "my-scores.csv"
    assert store.add("my scores.csv", b"two").name == "my-scores-2.csv"
    assert [upload.name for upload in store.list()] == ["my-scores-2.csv", "my-scores.csv"]
    store.remove("my-scores.csv")
    with pytest.raises(InputError, match=r"'my-scores.csv' is not stored here"):
        store.get("my-scores.csv")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../local/a.csv", "/etc/passwd", "a/b", "~", "a.csv/../a.csv"]
)
def test_a_name_is_no_path(name):
    UploadStore().add("a.csv", b"one")
    with pytest.raises(InputError, match="is not stored here"):
        UploadStore("ann").get(name)


@pytest.mark.parametrize("letter", ["a", "é", "漢", "\U0001d400"])
def test_a_long_name_of_any_letters_is_stored_shortened_and_found_again(letter, monkeypatch):
    """80 letters of four bytes each are no name on most disks; 60 a stranger's name got an owner's advice."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    store = UploadStore("ann")
    names = [store.add(letter * 200 + ".csv", content).name for content in (b"one", b"two", b"three")]
    assert len(set(names)) == 3 and all(name.endswith(".csv") and letter in name for name in names)
    assert [store.get(name).content() for name in names] == [b"one", b"two", b"three"]
    store.remove(names[0])
    assert {upload.name for upload in store.list()} == set(names[1:])


def test_a_stranger_hears_no_advice_for_the_owner_where_the_disk_refuses(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    refuse = mock_write(monkeypatch, OSError(28, "No space left on device"))
    with pytest.raises(
        InputError, match=r"^The server cannot store this now \(No space left on device\); try"
    ):
        UploadStore("ann").add("a.csv", b"one")
    assert refuse


def mock_write(monkeypatch, error):
    asked = []

    def write(path, data):
        asked.append(path)
        raise error

    monkeypatch.setattr(uploads.files, "write_bytes", write)
    return asked


def test_what_is_beside_a_file_changes_its_version():
    store = UploadStore()
    plain = store.add("a.csv", b"one")
    tagged = store.put_beside(plain, TAGS, "tags.csv", b"id,kind")
    assert tagged.version != plain.version and store.get("a.csv").beside(TAGS) == ("tags.csv", b"id,kind")
    assert tagged.beside(PRIOR) is None
    both = store.put_beside(tagged, PRIOR, "prior.csv", b"two")
    assert store.remove_beside(both, PRIOR).version == tagged.version
    assert store.get("a.csv").beside(PRIOR) is None and store.get("a.csv").beside(TAGS) is not None


def test_nobody_opens_the_file_of_another_visitor(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    UploadStore("ann").add("a.csv", b"one")
    assert UploadStore("ann").get("a.csv").content() == b"one"
    assert UploadStore("bob").list() == []
    with pytest.raises(InputError) as other:
        UploadStore("bob").get("a.csv")
    with pytest.raises(InputError) as nobodys:
        UploadStore("bob").get("b.csv")
    assert str(other.value).replace("a.csv", "b.csv") == str(
        nobodys.value
    )  # it does not say whether there is one


def test_on_a_public_server_files_are_bounded_and_deleted_after_some_hours(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", MAX_UPLOAD_BYTES._replace(address=4000, together=5500))
    ann, bob = UploadStore("ann", "here"), UploadStore("bob", "here")
    for store, name in ((ann, "1"), (ann, "2"), (bob, "3")):
        store.add(name, bytes(1500))
        time.sleep(0.01)  # files have the time of their last use
    assert [u.name for u in ann.list()] == ["2"] and [u.name for u in bob.list()] == ["3"]  # of one address
    UploadStore("cem", "there").add("4", bytes(1500))
    UploadStore("dee", "elsewhere").add("5", bytes(1500))
    assert ann.list() == [] and len(bob.list()) == 1  # "here" had most
    with pytest.raises(InputError, match="no room"):
        bob.add("large", bytes(4500))
    old = time.time() - 3600 * public_mode.UPLOAD_HOURS - 1
    os.utime(UploadStore("cem").get("4").folder / "upload.json", (old, old))
    assert UploadStore("cem").list() == []


def test_on_a_public_server_the_number_of_files_is_bounded_and_each_is_read_once(monkeypatch):
    """8,000 files of 60 bytes made every page of everybody four seconds slower."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(uploads, "MAX_UPLOADS_PER_ADDRESS", 3)
    monkeypatch.setattr(uploads, "MAX_UPLOADS_TOTAL", 5)
    ann, bob, cem = (UploadStore(who, f"{who}'s") for who in ("ann", "bob", "cem"))
    for i, (store, name) in enumerate([(ann, n) for n in "1234"] + [(bob, n) for n in "567"]):
        upload = store.add(name, b"tiny")
        os.utime(upload.folder / "upload.json", (time.time() - 100 + i,) * 2)
    assert [u.name for u in ann.list()] == ["4", "3"]  # 1 by her share, 2 by the total: she had the oldest
    assert [u.name for u in bob.list()] == ["7", "6", "5"]
    weighed = []
    monkeypatch.setattr(uploads.files, "folder_size", lambda folder: weighed.append(folder.name) or 1)
    cem.list()
    assert weighed == []
    ann.put_beside(ann.get("4"), TAGS, "tags.csv", b"id,kind")
    cem.list()
    assert weighed == ["4"]  # what has changed, alone
    cem.add("8", b"tiny")
    assert weighed == ["4", "8"] and [u.name for u in bob.list()] == ["7", "6"]
    cem.remove("8")
    cem.add("8", b"another")
    assert weighed == ["4", "8", "8"]
    counts = []
    monkeypatch.setattr(UploadStore, "_delete_surplus", lambda self: counts.append(self))
    cem.list()  # all have just been counted
    monkeypatch.setattr(uploads, "_PAUSE", -1.0)
    cem.list()
    assert counts == [cem]


def test_on_a_public_server_an_owner_without_files_has_no_folder(monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(uploads, "_PAUSE", -1.0)
    store = UploadStore("ann")
    folder = store.add("1", b"one").folder.parent
    store.remove("1")
    assert store.list() == [] and not folder.exists() and store.add("1", b"one").content() == b"one"


def test_a_visit_deletes_some_old_files_and_the_start_of_the_server_all(monkeypatch):
    """A start with 8,000 old files kept its first visitor waiting for 20 seconds; a folder without a file stayed."""
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    monkeypatch.setattr(uploads, "_AT_ONCE", 2)
    store = UploadStore("ann")
    folders = [store.add(str(i), b"old").folder for i in range(5)]
    new, broken, begun = store.add("new", b"new").folder, *(folders[0].with_name(n) for n in ("a", "b"))
    for folder in (broken, begun):
        folder.mkdir()
    old = time.time() - 3600 * public_mode.UPLOAD_HOURS - 1
    for path in (broken, *(folder / "upload.json" for folder in folders)):
        os.utime(path, (old, old))
    monkeypatch.setattr(uploads, "_PAUSE", -1.0)
    assert [u.name for u in store.list()] == ["new"]  # none of the old ones, deleted or not
    assert not broken.exists() and sum(folder.exists() for folder in folders) == 4
    with uploads._counting:
        assert [u.name for u in store.list()] == ["new"]  # nobody waits for a page that deletes
    store.tidy()
    assert sorted(new.parent.iterdir()) == sorted([begun, new])


def test_outside_public_mode_files_stay():
    store = UploadStore()
    upload = store.add("a.csv", b"one")
    os.utime(upload.folder / "upload.json", (0, 0))
    assert [each.name for each in store.list()] == ["a.csv"]


# --- what measured files hold in memory


class Holder:
    """What a file was measured to."""

    def __init__(self, values=None):
        self.values = np.zeros(100_000) if values is None else values  # 0.8 MB


def test_what_measured_files_hold_is_bounded_by_bytes_and_the_oldest_is_measured_again():
    kept = MeasuredFiles(lambda: 2_000_000)
    kept.keep("a", a := Holder())
    kept.keep("b", Holder())
    assert kept.find("a") is a
    kept.keep("c", c := Holder())
    assert kept.find("b") is None and kept.find("a") is a and kept.find("c") is c


def test_what_pages_keep_with_a_measured_file_counts_and_goes_where_it_is_alone(monkeypatch):
    monkeypatch.setattr(measured, "_PAUSE", 0.0)
    kept = MeasuredFiles(lambda: 2_000_000)
    kept.keep("one", Holder())
    kept.keep("two", two := Holder())
    cached_on(two, "figure", lambda: np.zeros(100_000))
    assert kept.find("two") is two and kept.find("one") is None
    cached_on(two, "more", lambda: np.zeros(100_000))
    assert kept.find("two") is two
    assert cached_on(two, "figure", lambda: 1) == 1


def test_what_was_given_up_and_is_on_a_page_still_is_found_again_and_counted():
    """A session holds its page's fragments, and what they draw, until it ends: fifty held fifty copies of a file."""
    kept = MeasuredFiles(lambda: 1_000_000)
    pages = {f"file {i}": Holder() for i in range(5)}
    for name, page in pages.items():
        kept.keep(name, page, "ann")
    assert kept.find("file 4") is pages["file 4"]
    assert kept.find("file 0") is pages["file 0"]  # not measured a second time
    for who, said in (("ann", "close some"), ("bob", "close some")):  # 3.2 MB are more than all may hold
        with pytest.raises(InputError, match=said):
            kept.check_room(who)
    del pages["file 1"], page
    kept.check_room("bob")
    with pytest.raises(InputError, match="close some"):
        kept.check_room("ann")
    pages.clear()
    kept.check_room("ann")


def test_the_less_room_there_is_the_less_an_address_may_hold_so_that_a_stranger_finds_some():
    kept = MeasuredFiles(lambda: 1_000_000)
    pages = [Holder() for _ in range(4)]
    for i, (who, page) in enumerate(zip(("ann", "ann", "bob", "cy"), pages, strict=True)):
        kept.keep(i, page, who)
    for who in ("ann", "bob"):  # 2.4 of 3 MB are on pages: bob's 0.8 are more than the 0.6 that are left
        with pytest.raises(InputError, match="close some"):
            kept.check_room(who)
    kept.check_room("dan")
    del pages[0], page
    kept.check_room("bob")


@pytest.mark.slow
def test_open_pages_are_emptied_the_oldest_of_whoever_holds_most_before_a_stranger_is_refused():
    pages, session, emptied = {}, [None], []

    def empty(sessions):
        emptied.append(sorted(sessions))
        for name in sessions:
            pages.pop(name, None)

    def opens(who, name):
        session[0] = name
        kept.check_room(who)
        pages[name] = Holder()
        kept.keep(name, pages[name], who)

    kept = MeasuredFiles(lambda: 1_000_000, lambda: session[0], empty)  # 1 MB an address, 2 MB together
    for name in ("ann 1", "ann 2", "bob 1", "cy 1"):
        opens(name.split()[0], name)
    assert emptied == [["ann 1"]] and kept.find("ann 1") is None  # 1.6 MB were hers
    opens("dan", "dan 1")
    opens("eve", "eve 1")  # ann, bob and cy have 2.4 MB of 2
    assert emptied == [["ann 1"], ["ann 2"]] and pages.keys() == {"bob 1", "cy 1", "dan 1", "eve 1"}
    for i in range(2, 6):  # whoever opens more and more empties the own pages
        opens("eve", f"eve {i}")
    assert "eve 2" not in pages and "eve 5" in pages
    assert kept.find("eve 5") is pages["eve 5"]


@pytest.mark.parametrize("make", [list, tuple, lambda values: dict(enumerate(values)), np.array])
def test_bytes_held_are_nearly_those_that_were_allocated(make):
    """Of arrays, of texts, and of long lists of objects that share one."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    shared = np.zeros(10_000)
    found = make([Holder([shared, "x" * (i % 7), float(i)]) for i in range(5_000)])
    allocated = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.7 * allocated < held_bytes(found) < 1.5 * allocated
    assert held_bytes(shared[1:]) == shared[1:].nbytes  # a view keeps the whole alive


@pytest.mark.parametrize("kind", ["tuples", "tags", "table"])
def test_texts_that_groups_share_are_held_once(kind):
    """Ten values in the 195 tags of every group counted as 100 MB a file: two addresses filled the server with 6 MB."""
    texts = [f"value {i}" for i in range(10)] * 20
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    rows = [tuple(texts[i % 10 :][:190]) for i in range(2_000)]
    make = {"tuples": list, "tags": lambda rows: [_Tags({}, row) for row in rows]}
    found = make.get(kind, lambda rows: pd.DataFrame(rows, dtype=object))(rows)
    del rows
    allocated = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.7 * allocated < held_bytes(found) < 1.5 * allocated


def test_a_file_that_was_given_up_is_measured_again_from_the_store(app, file, monkeypatch):
    from ui import uploads as pages

    monkeypatch.setattr(pages, "_measured", MeasuredFiles(lambda: 0))
    first = app(MATCHING, set=f"upload/{file}")
    pages._measured._kept.clear()
    again = app(MATCHING, set=f"upload/{file}")
    assert [m.value for m in again.metric] == [m.value for m in first.metric] != []


# --- a prior file, by hand


def test_a_prior_is_read_for_the_groups_in_their_order(tmp_path):
    table = b"group,caption,log_prob\nb,2,-4\nb,1,-3\na,1,-1\na,2,-2\nother,1,-9\n"
    assert read_prior("p.csv", ["a", "b"], 2, table).tolist() == [[[-1, -2], [-3, -4]]]
    data = io.BytesIO()
    np.savez(data, prior=np.array([[-1.0, -2.0], [-3.0, -4.0]]))
    assert read_prior("p.npz", ["a", "b"], 2, data.getvalue()).tolist() == [[[-1, -2], [-3, -4]]]


def test_what_a_prior_has_beside_what_the_scores_need_is_said():
    """Groups that the scores lack, and columns that nobody reads."""
    table = b"group,caption,log_prob,tokens,text\na,1,-1,3,x\na,2,-2,3,x\nz,1,-9,3,x\ny,1,-9,3,x\n"
    found = Prior.from_file("p.csv", np.full((1, 1, 2), -1.0), ["a"], data=table)
    assert found.line == (
        "your file p.csv; not used: 2 groups that the scores lack, 'z' first; not used: the columns 'tokens', 'text'"
    )
    plain = Prior.from_file(
        "p.csv", np.full((1, 1, 2), -1.0), ["a"], data=b"group,caption,log_prob\na,1,-1\na,2,-2\n"
    )
    assert plain.line == "your file p.csv"


def npz(**arrays):
    data = io.BytesIO()
    np.savez(data, **arrays)
    return data.getvalue()


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (
            npz(prior=np.array([[-1.0, np.nan]])),
            r"nan as log P\(t\) of caption 1 \(counted from 0\) of group 'a', prior\[0, 1\]",
        ),
        (
            npz(samples=np.array([[[-1.0, -1.0]], [[-np.inf, -1.0]]])),
            r"-inf as .* of group 'a', samples\[1, 0, 0\]",
        ),
    ],
)
def test_a_value_of_an_npz_prior_that_is_no_number_is_said_with_its_place(content, where):
    with pytest.raises(
        InputError, match=f"p.npz has {where}; it is a finite number, .* score that caption again"
    ):
        read_prior("p.npz", ["a"], 2, content)


def test_captions_that_are_named_find_each_other_whatever_their_order():
    table = b"group,caption,log_prob\na,cat,-2\na,dog,-1\nb,dog,-3\nb,cow,-4\n"
    captions = np.array([["dog", "cat"], ["dog", "cow"]])
    assert read_prior("p.csv", ["a", "b"], 2, table, captions).tolist() == [[[-1, -2], [-3, -4]]]
    with pytest.raises(InputError, match="has the caption 'cow' in group 'b', which the scores do not have"):
        read_prior("p.csv", ["a", "b"], 2, table, np.array([["dog", "cat"], ["dog", "hen"]]))


def test_a_prior_of_several_null_images_is_the_log_of_their_mean():
    table = b"group,caption,sample,log_prob\na,1,x,-1\na,2,x,-2\na,2,y,-4\na,1,y,-3\n"
    found = Prior.from_file("p.csv", np.full((1, 1, 2), -1.0), ["a"], data=table)
    expected = np.log([(np.exp(-1) + np.exp(-3)) / 2, (np.exp(-2) + np.exp(-4)) / 2])
    np.testing.assert_allclose(found.values, [expected])
    assert found.samples.tolist() == [[-1, -2], [-3, -4]] and "2 null images" in found.line
    data = io.BytesIO()
    np.savez(data, samples=np.array([[[-1.0, -2.0]], [[-3.0, -4.0]]]))
    same = Prior.from_file("p.npz", np.full((1, 1, 2), -1.0), ["a"], data=data.getvalue())
    np.testing.assert_array_equal(same.values, found.values)


def test_scores_that_are_no_log_likelihoods_are_refused():
    with pytest.raises(
        InputError, match=r"Group 'a', image 0, caption 1 \(counted from 0\): the score is 0\.5, but"
    ):
        Prior.from_file("p.csv", np.array([[[-1.0, 0.5]]]), ["a"], data=b"group,caption,log_prob\na,1,-1\n")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", b"group,caption,log_prob\na,1,-1\n", "no finite log P\\(t\\) for caption '2' of group 'a'"),
        ("p.csv", b"group,caption,log_prob\na,0,-1\n", "no finite log P\\(t\\) for caption '1' of group 'a'"),
        ("p.csv", b"group,caption,log_prob\na,1,x\na,2,-1\n", "caption '1' of group 'a'"),
        (
            "p.csv",
            b"group,caption,log_prob\na,1,\na,2,-1\n",
            "empty cell.* as log P.* of caption '1' of group 'a'",
        ),
        (
            "p.csv",
            b"group,caption,log_prob,log_prob_1\na,1,-1,-2\na,2,-1,-2\n",
            "the columns 'log_prob' and 'log_prob_1', which may differ",
        ),
        ("p.csv", b"group,caption,log_prob\na,0,x\na,1,-1\n", "caption '0' of group 'a'"),
        ("p.csv", b"group,caption\na,1\n", "log_prob"),
        ("p.csv", b"group,caption,log_prob\na,1,-1\na,2,0.5\n", "0.5 as log P.* caption '2' .* at most 0"),
        (
            "p.csv",
            b"group,caption,sample,log_prob\na,0,fog,-1\na,1,fog,0.5\na,0,x,-1\na,1,x,-1\n",
            "caption '1' of group 'a', sample 'fog'",
        ),
        ("p.csv", b"group,caption,log_prob\na,1,-1\na,2,-1\na,3,-1\n", "more than 2 captions of group 'a'"),
        ("p.csv", b"group,caption,log_prob\na,1,-1\na,1,-1\n", "caption '1' of group 'a' twice"),
        (
            "p.csv",
            b"group,caption,log_prob\nb,1,-1\n",
            "none of the scores' group: it has 'b', the scores have 'a'",
        ),
        ("p.txt", b"x", "not a prior file"),
    ],
)
def test_a_prior_that_lacks_a_number_is_one_sentence(name, content, said):
    with pytest.raises(InputError, match=said):
        read_prior(name, ["a"], 2, content)


# --- a file as a model of a benchmark, by hand


def test_a_file_is_put_into_the_order_of_the_groups_and_another_truth_is_refused():
    scores = np.arange(8.0).reshape(2, 2, 2)
    file = Evaluation.of(scores, np.array([[0, 1], [1, 0]]), ["a", "b"])
    found = paired.on_groups(file, ["b", "a"], np.array([[1, 0], [0, 1]]))
    assert list(found.ids) == ["b", "a"] and found.scores[0].tolist() == scores[1].tolist()
    with pytest.raises(InputError, match="differ in what is right for 1 group, the first 'a'; mend the file"):
        paired.on_groups(file, ["a", "b"], np.array([[1, 0], [1, 0]]))
    with pytest.raises(
        InputError,
        match=r"The file has 1 of these 2 groups, without 'c' for one and 1 other. Compare measures on the groups",
    ):
        paired.on_groups(file, ["a", "c"], None)
    with pytest.raises(InputError, match="The file has none of these groups: its first is 'a', theirs 'c'"):
        paired.on_groups(file, ["c"], None)


# --- pages


def plain(test):
    return text(test).replace("\\", "")


@pytest.fixture
def file():
    """Scores of a built-in set's groups, with truth, as a file that was uploaded; random, so that no model has them."""
    groups = load(SET, "test")
    scores = np.random.default_rng(0).normal(-9, size=(len(groups), 2, 2))
    path = UploadStore()._root.parent / "scores.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_scores(path, scores, groups.ids, groups.truth)
    return UploadStore().add("scores.csv", path.read_bytes()).name


def test_a_stored_file_opens_by_its_address_on_every_page_that_can_use_it(app, file):
    """The whole way, each page in a new session, as after a reload."""
    address = {"set": f"upload/{file}"}
    matching = app(MATCHING, **address)
    value = next(m.value for m in matching.metric if m.label == "GroupMatch")
    assert "scores.csv (your file) · 300 groups of 2×2" in plain(matching)
    assert not [box for box in matching.sidebar.selectbox if box.key in ("split", "model")]
    group = "left-right/test/0003"
    browsed = app(GROUPS, **address, group=group)
    assert group in plain(browsed)
    fine(button(browsed, "Next").click().run())
    debiased = app(DEBIAS, **address)
    assert "add log P(t) beside it" in plain(debiased) and "this page shows" not in plain(debiased)
    adapted = app(TTM, **address)
    assert "scores.csv holds scores alone" in plain(adapted)
    fine(button(adapted, f"Adapt builtin/clip on {'scenes/attribute-swap'}").click().run())
    assert adapted.selectbox(key="set").value == "scenes/attribute-swap"
    as_model = app(MATCHING, set=SET, model=f"upload/{file}")
    assert next(m.value for m in as_model.metric if m.label == "GroupMatch") == value
    assert "scores.csv (your file)" in plain(as_model)


@pytest.mark.parametrize("page", [*WITHOUT_SELECTION, DATA])
def test_a_file_that_an_address_names_and_nobody_has_is_said_once_on_pages_without_the_selection(app, page):
    lost = app(page, set="upload/lost.csv")
    (said,) = (each.value for each in lost.warning)
    assert "'lost.csv' is not stored here" in said.replace("\\", "")
    assert "set" not in lost.query_params and not fine(lost.run()).warning
    assert app(MATCHING).selectbox(key="set").value == "scenes/attribute-swap"


@pytest.mark.parametrize("page", WITHOUT_SELECTION)
def test_a_page_that_cannot_show_a_file_says_so_in_one_line_and_opens_the_nearest_that_can(app, file, page):
    test = app(page, set=f"upload/{file}")
    (said,) = (each.value for each in test.info if "scores" in each.value and "your file" in each.value)
    assert said.replace("\\", "").endswith("does not show scores.csv, your file.")
    opened = fine(button(test, "Show its metrics on Matching").click().run())
    assert "scores.csv (your file)" in plain(opened)


def test_papers_says_that_it_leaves_a_file_out_but_not_above_the_field_that_offers_it(app, file):
    """The banner stood above “Or a file that you have uploaded before”, and pushed it down."""
    UploadStore().add("newer.csv", UploadStore().get(file).content() + b"\n")
    opened = app("pages/7_Papers.py", set=f"upload/{file}")
    assert "does not show scores.csv" in plain(opened)
    fine(opened.segmented_control(key="paper").set_value("Your own result").run())
    for test in (opened, app("pages/7_Papers.py", set=f"upload/{file}", paper="Your own result")):
        assert "does not show" not in plain(test)
        stored = test.selectbox(key="published_stored")
        assert stored.options == ["scores.csv", "newer.csv"] and stored.value is None
    field = opened.segmented_control(key="paper")
    fine(field.set_value(field.options[0]).run())
    assert "does not show scores.csv" in plain(opened)


def test_retrieval_says_that_it_leaves_the_selected_file_out_but_not_in_views_without_a_set(app, file):
    test = app(MATCHING, set=f"upload/{file}")
    test.query_params.pop("set")  # as links to this page have it
    fine(test.switch_page(RETRIEVAL).run())
    assert "does not show scores.csv, your file." in plain(test)
    fine(test.segmented_control(key="view").set_value("What training changes").run())
    assert "does not show scores.csv" not in plain(test)
    assert not app(DATA, set=f"upload/{file}", way="Scores or embeddings").warning


def test_tags_beside_a_file_filter_and_slice_it(app, file):
    store = UploadStore()
    ids = load(SET, "test").ids
    rows = "\n".join(f"{name},{'even' if i % 2 == 0 else 'odd'}" for i, name in enumerate(ids))
    store.put_beside(store.get(file), TAGS, "tags.csv", f"id,parity\n{rows}".encode())
    test = app(MATCHING, set=f"upload/{file}", tag="parity: odd")
    assert "150 groups of 2×2 · only parity: odd" in plain(test)
    assert "By tag" in text(app(MATCHING, set=f"upload/{file}"))


def test_a_file_with_the_same_groups_takes_the_tags_of_another_one(app, file):
    """Tags were of one file only: the other had no “By tag” until they were uploaded again."""
    store = UploadStore()
    groups = load(SET, "test")
    path = store._root.parent / "second.csv"
    write_scores(path, np.random.default_rng(1).normal(size=(300, 2, 2)), groups.ids[::-1], None)
    second = store.add("second.csv", path.read_bytes()).name
    write_scores(path, np.random.default_rng(1).normal(size=(299, 2, 2)), groups.ids[1:], None)
    fewer = store.add("fewer.csv", path.read_bytes()).name
    offered = lambda test: [b.label.replace("\\", "") for b in test.button if "the tags of" in b.label]  # noqa: E731
    scores = {"way": "Scores or embeddings"}
    assert not offered(app(DATA, set=f"upload/{second}", **scores))
    rows = "\n".join(f"{name},{'even' if i % 2 == 0 else 'odd'}" for i, name in enumerate(groups.ids))
    store.put_beside(store.get(file), TAGS, "tags.csv", f"id,parity\n{rows}".encode())
    assert not offered(app(DATA, set=f"upload/{fewer}", **scores))
    assert not offered(app(DATA, set=f"upload/{file}", **scores))
    test = app(DATA, set=f"upload/{second}", **scores)
    assert offered(test) == ["Use the tags of scores.csv"]
    assert "Both files have the same groups." in text(test)
    test = fine(next(b for b in test.button if "the tags of" in b.label).click().run())
    assert not offered(test) and "Tags: tags.csv, 300 of 300 groups matched (parity)." in [
        each.value.replace("\\", "") for each in test.success
    ]
    assert "150 groups of 2×2 · only parity: odd" in plain(
        app(MATCHING, set=f"upload/{second}", tag="parity: odd")
    )


def test_tags_that_are_added_to_one_file_are_given_to_all_files_with_these_ids_by_one_button(app):
    """They were missing from the other two, one of them of fewer groups; one with an id of its own is not offered."""
    store = UploadStore("")
    for name, ids in {"modelA": "ab", "modelB": "ab", "gen": "b", "apart": "ax"}.items():
        rows = [f"{g},{i},{j},{int(i == j)}" for g in ids for i in range(2) for j in range(2)]
        store.add(f"{name}.csv", "\n".join(["group,image,caption,score", *rows]).encode())
    of = {"way": "Scores or embeddings", "set": "upload/modelB.csv"}
    labels = lambda test: [b.label for b in test.button if b.label.startswith("Also apply")]  # noqa: E731
    assert not labels(app(DATA, **of))
    store.put_beside(store.get("modelB.csv"), TAGS, "tags.csv", b"id,topic\na,one\nb,two\n")
    test = app(DATA, **of)
    assert [each.replace("\\", "") for each in labels(test)] == [
        "Also apply to gen.csv and modelA.csv (same ids)"
    ]
    test = fine(test.button(key="hand-tags-on").click().run())
    assert not labels(test)
    have = {each.name for each in store.list() if each.beside(TAGS) is not None}
    assert have == {"modelA.csv", "modelB.csv", "gen.csv"}


def test_tags_are_given_by_row_number_to_files_of_as_many_groups_alone(app):
    """“Same ids” were the numbers of rows, also of a file with fewer of them."""
    store = UploadStore("")
    for name, groups in {"a": 3, "b": 3, "few": 2}.items():
        content = io.BytesIO()
        np.save(content, np.tile(np.eye(2) + len(name), (groups, 1, 1)))
        store.add(f"{name}.npy", content.getvalue())
    store.put_beside(store.get("a.npy"), TAGS, "tags.csv", b"id,topic\n0,one\n1,two\n2,two\n")
    test = app(DATA, way="Scores or embeddings", set="upload/a.npy")
    assert [each.label.replace("\\", "") for each in test.button if each.label.startswith("Also apply")] == [
        "Also apply to b.npy (by row number)"
    ]
    said = text(app(DATA, way="Scores or embeddings", set="upload/b.npy"))
    assert "Their groups are paired by row number." in said and "same groups" not in said


@pytest.mark.parametrize(
    ("page", "model"),
    [(MATCHING, "builtin/siglip"), (DEBIAS, "builtin/blip-caption"), (GROUPS, "builtin/siglip")],
)
def test_a_model_that_came_along_is_in_no_address_of_a_file(app, file, page, model):
    """“Link to exactly this view” named a model of an earlier comparison, which the view of a file has none of."""
    test = app(page, set=f"upload/{file}", model=model, split="validation")
    assert not {"model", "split"} & {*test.query_params}
    fine(test.selectbox(key="set").set_value(SET).run())  # it is kept for the next benchmark
    assert [test.selectbox(key=key).value for key in ("model", "split")] == [model, "validation"]
    fine(test.selectbox(key="set").set_value(f"upload/{file}").run())
    fine(test.run())
    assert not {"model", "split"} & {*test.query_params}


@pytest.mark.parametrize("page", [GROUPS, MATCHING, DEBIAS])
def test_a_file_may_be_named_as_the_benchmark_of_an_address(app, file, page):
    test = app(page, benchmark=f"upload/{file}")
    assert test.selectbox(key="set").value == f"upload/{file}" and "scores.csv (your file)" in plain(test)
    assert not test.warning
    lost = app(page, benchmark="upload/lost.csv")
    (said,) = (each.value for each in lost.warning)
    assert "'lost.csv' is not stored here" in said.replace("\\", "")


def test_a_prior_beside_a_file_debiases_it(app, file):
    store = UploadStore()
    data = io.BytesIO()
    np.savez(data, prior=np.random.default_rng(1).normal(-9, size=(300, 2)))
    store.put_beside(store.get(file), PRIOR, "prior.npz", data.getvalue())
    test = app(DEBIAS, set=f"upload/{file}")
    assert "your file prior.npz" in plain(test) and test.slider(key="alpha") is not None
    assert "crossmatch debias --scores scores.csv --prior prior.npz" in [code.value for code in test.code]


def test_a_prior_beside_a_file_is_replaced_and_removed_on_the_page(app, file):
    """Once it was set, it could not be changed there."""
    from ui.uploads import _rows_beside

    fine(app())  # a home
    rows = _rows_beside(f"upload/{file}", PRIOR)
    priors = []
    for seed in (1, 2):
        rows["log_prob"] = np.random.default_rng(seed).normal(-9, size=600)
        priors.append(rows.to_csv(index=False).encode())
    store = UploadStore()
    store.put_beside(store.get(file), PRIOR, "first.csv", priors[0])
    test = app(DEBIAS, set=f"upload/{file}")
    assert "your file first.csv" in plain(test)
    (field,) = test.get("file_uploader")
    field.upload("second.csv", priors[1])
    fine(test.run())
    assert store.get(file).beside(PRIOR) == ("second.csv", priors[1])
    assert "your file second.csv" in plain(test) and "first.csv" not in plain(test)
    fine(button(test, "Remove it").click().run())
    assert store.get(file).beside(PRIOR) is None and not (store.get(file).folder / PRIOR).exists()
    assert "add log P(t) beside it" in plain(test) and not [b for b in test.button if b.label == "Remove it"]
    (field,) = test.get("file_uploader")
    field.upload("second.csv", priors[1])  # the same once more
    assert "your file second.csv" in plain(fine(test.run()))


def test_a_prior_beside_a_file_that_does_not_fit_it_can_still_be_removed(open_page, file):
    store = UploadStore()
    store.put_beside(store.get(file), PRIOR, "wrong.csv", b"group,caption,log_prob\nnone,0,-9\n")
    test = open_page(DEBIAS, set=f"upload/{file}")
    assert "has none of the scores" in test.error[0].value
    fine(button(test, "Remove it").click().run())
    assert not test.error and store.get(file).beside(PRIOR) is None


def test_the_field_for_a_prior_has_a_short_label_and_an_example_with_the_groups_of_the_file(app, file):
    test = app(DEBIAS, set=f"upload/{file}")
    (field,) = test.get("file_uploader")
    assert field.label == "Language prior: log P(t) of every caption"
    first = load(SET, "test").ids[0]
    (example,) = (code.value for code in test.code if code.value.startswith("group,caption,log_prob"))
    assert example.splitlines()[1:] == [f"{first},0,-9.5", f"{first},1,-10.2"]
    field.upload("prior.csv", example.encode())  # of one group of 300
    test.run()
    assert not test.exception and "lacks 299 of the scores' 300 groups" in test.error[0].value.replace(
        "\\", ""
    )
    kinds = [each.type for each in test.main]
    assert kinds.index("error") < kinds.index("code")  # on the screen with the field, above what explains it


@pytest.mark.parametrize("value", [0.34, -4e38])
def test_a_file_whose_scores_are_no_log_likelihoods_is_told_so_before_a_prior_is_asked_for(app, value):
    """The sentence came after an upload, below the first screen."""
    rows = f"group,image,caption,score\na,0,0,-1\na,0,1,-2\nb,0,0,{value}\nb,0,1,-3\n"
    UploadStore().add("own.csv", rows.encode())
    test = app(DEBIAS, set="upload/own.csv")
    (said,) = (each.value.replace("\\", "") for each in test.info if "Alpha" in each.value)
    assert said.startswith(
        "Alpha takes log P(t) out of log P(t | image), which own.csv does not hold. Group 'b', image 0"
    )
    assert not test.get("file_uploader") and button(test, "Show its metrics on Matching")
    beside = app(DATA, set="upload/own.csv", way="Scores or embeddings")
    assert [field.label for field in beside.get("file_uploader") if "prior" in field.label] == []


def test_the_rows_to_fill_in_are_read_once_they_are_filled(app, file):
    from ui.uploads import _rows_beside

    fine(app())  # a home
    rows = _rows_beside(f"upload/{file}", PRIOR)
    assert len(rows) == 600 and not rows["log_prob"].any()
    rows["log_prob"] = np.random.default_rng(1).normal(-9, size=600)
    store = UploadStore()
    store.put_beside(store.get(file), PRIOR, "prior.csv", rows.to_csv(index=False).encode())
    assert "your file prior.csv" in plain(app(DEBIAS, set=f"upload/{file}"))


def test_a_prior_says_the_same_on_the_page_in_every_form_and_order(app, file):
    """CSV and Parquet with a row for each caption, and NPZ with ids of its own, from the last group to the first."""
    store, ids = UploadStore(), load(SET, "test").ids
    prior = np.random.default_rng(1).normal(-9, size=(len(ids), 2)).round(3)
    rows = pd.DataFrame(
        [(ids[i], j, prior[i, j]) for i in reversed(range(len(ids))) for j in (1, 0)],
        columns=["group", "caption", "log_prob"],
    )
    plain_npz, own_npz, parquet = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(plain_npz, prior=prior)
    np.savez(own_npz, prior=prior[::-1], ids=np.array(ids[::-1]))
    rows.to_parquet(parquet)
    forms = {
        "prior.npz": plain_npz.getvalue(),
        "own.npz": own_npz.getvalue(),
        "prior.csv": rows.to_csv(index=False).encode(),
        "prior.parquet": parquet.getvalue(),
    }
    said = []
    for name, content in forms.items():
        store.put_beside(store.get(file), PRIOR, name, content)
        test = app(DEBIAS, set=f"upload/{file}")
        assert f"your file {name}" in plain(test)
        said.append(
            ([m.value for m in test.metric], next(t.value for t in test.markdown if "alpha" in t.value))
        )
    assert said[0][0] and all(each == said[0] for each in said)


@pytest.mark.parametrize("what", [TAGS, PRIOR])
def test_what_is_put_beside_a_file_is_read_in_turns(file, monkeypatch, what):
    """Twelve priors of 877 kB were read by twelve processes at once, in 1.4 GB."""
    from ui import uploads as pages

    taken = []
    readers = {"read_tags": pages.read_tags, "Prior": pages.Prior.from_file}

    def seen(read):
        return lambda *given: (taken.append(READING._free == 0), read(*given))[1]

    monkeypatch.setattr(pages, "read_tags", seen(readers["read_tags"]))
    monkeypatch.setattr(pages, "Prior", SimpleNamespace(from_file=seen(readers["Prior"])))
    ids = pages.upload_evaluation(entry := f"upload/{file}").ids
    data = io.BytesIO()
    np.savez(data, prior=np.full((len(ids), 2), -9.0))
    content = (
        "\n".join(["id,kind", *(f"{name},x" for name in ids)]).encode() if what == TAGS else data.getvalue()
    )
    brought = SimpleNamespace(
        name={TAGS: "t.csv", PRIOR: "p.npz"}[what], file_id=what, getvalue=lambda: content
    )
    monkeypatch.setattr(pages.st, "file_uploader", lambda *_, **__: brought)
    assert pages.put_beside(entry, what)
    evaluation = pages.upload_evaluation(entry)  # with the tags, from the store
    assert what == TAGS or pages.upload_prior(entry, evaluation) is not None
    assert taken == [True, True] and READING._free == 1


def test_the_groups_of_a_file_have_the_pictures_of_the_benchmark_that_it_was_made_on(app, file):
    test = app(GROUPS, set=f"upload/{file}", group="left-right/test/0003")
    assert f"Pictures and captions are those of {SET}, split test" in plain(test)
    assert html(test).count('class="cm-zoom"') == 2
    assert load(SET, "test")[3].captions[0] in html(test)


def test_the_groups_of_a_file_of_ones_own_have_its_captions_and_it_says_that_it_has_no_pictures(app):
    rows = "group,image,caption,score\nx,dog.jpg,a dog,1\nx,dog.jpg,a cat,2\ny,cow.jpg,a cow,3\ny,cow.jpg,a hen,1\n"
    UploadStore().add("own.csv", rows.encode())
    test = app(GROUPS, set="upload/own.csv", group="y")
    assert "The file has captions and no pictures." in plain(test)
    assert all(name in html(test) for name in ("cow.jpg", "a cow", "a hen")) and "cm-zoom" not in html(test)
    UploadStore().add("bare.csv", b"group,image,caption,score\nx,0,0,1\nx,0,1,2\n")
    bare = app(GROUPS, set="upload/bare.csv")
    assert "The file has no pictures and no captions of its own." in plain(bare)


def test_a_file_that_only_names_its_captions_says_so_and_has_the_way_to_texts(app):
    """Of `cap0` and `cap1` the page said that the file has captions."""
    rows = [f"g{g},i{i},cap{j},{i == j:d}" for g in range(2) for i in range(2) for j in range(2)]
    UploadStore().add("names.csv", "\n".join(["group,image,caption,score", *rows]).encode())
    test = app(GROUPS, set="upload/names.csv")
    assert "The file has names of captions alone, such as 'cap0': no texts and no pictures." in plain(test)
    assert "captions" not in test.dataframe[0].value
    there = fine(button(test, "Add captions and pictures").click().run())
    assert "Images and captions" in there.query_params.get("way", []) or "manifest.csv" in text(there)


def test_two_files_of_the_same_content_have_each_its_own_name(app):
    rows = b"group,image,caption,score\nx,dog.jpg,a dog,1\nx,dog.jpg,a cat,2\n"
    for name in ("first.csv", "second.csv"):
        UploadStore().add(name, rows)
        shown = app(GROUPS, set=f"upload/{name}")
        assert f"Data: {name}" in [each.value for each in shown.get("text")]


def test_in_public_mode_the_address_of_another_visitors_file_opens_nothing(open_page, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", "1")
    UploadStore("somebody else").add("secret.csv", b"group,image,caption,score\n")
    test = fine(open_page(MATCHING, set="upload/secret.csv"))
    assert "'secret.csv' is not stored here" in plain(test)
    assert test.selectbox(key="set").value == "scenes/attribute-swap"
    assert "upload/secret.csv" not in test.selectbox(key="set").options


def test_a_file_is_uploaded_once_and_selected_on_the_other_pages(app, file):
    content = UploadStore().get(file).content()
    test = app(DATA, way="Scores or embeddings")
    test.get("file_uploader")[0].upload("new.csv", content)
    fine(test.run())
    assert "300 groups of 2×2" in text(test) and test.selectbox(key="set").value == "upload/new.csv"
    test.get("file_uploader")[0].upload("newer.csv", content)
    assert fine(test.run()).selectbox(key="set").value == "upload/newer.csv"
    fine(test.selectbox(key="set").set_value("upload/new.csv").run())
    fine(button(test, "Matching: metrics, thresholds, tags").click().run())
    assert "new.csv (your file)" in plain(test)
    fine(test.switch_page(GROUPS).run())
    assert "new.csv (your file)" in plain(test)


def test_unknown_names_in_an_address_are_said_in_one_line_each(app):
    test = app(GROUPS, set=SET, tag="relation: abvoe", group="left-right/test/9999")
    said = [warning.value.replace("\\", "") for warning in test.warning]
    assert len(said) == 2 and said[0].startswith("Unknown tag 'relation: abvoe'")
    assert said[1] == ("Unknown group 'left-right/test/9999'; choose one of 300 in the field “open by id”.")
    (field,) = (box for box in test.selectbox if box.key == "group")
    assert field.placeholder == "open by id"  # its label is hidden in the gallery


def test_an_unknown_tag_is_told_how_many_there_are_and_where_to_choose_not_a_list_of_them(app):
    test = app(GROUPS, set=SET, tag="weather: fog")
    (said,) = [warning.value.replace("\\", "") for warning in test.warning]
    count = len(test.multiselect(key="tag").options)
    assert said == f"Unknown tag 'weather: fog'; choose one of {count} in the field “Only groups with”."


@pytest.mark.parametrize(
    ("page", "query", "said"),
    [
        (MATCHING, {"tau": "much"}, "Threshold τ takes a number from 0"),
        (MATCHING, {"tau": "-1"}, "the address has '-1', which is not used"),
        (TTM, {"tau1": "nan", "start": "value"}, "the address has 'nan', which is not used"),
        (DEBIAS, {"alpha": "7"}, "Alpha takes a number from 0 up to 1"),
        (
            TTM,
            {"share": "300"},
            "takes a whole number from 1 up to 100; the address has '300', which is not used",
        ),
        (TTM, {"T": "abc"}, "takes a whole number from 1 up to 50; the address has 'abc', which is not used"),
        (TTM, {"T": "2.5"}, "the address has '2.5', which is read as 2"),
        (TTM, {"seeds": "x"}, "Seeds takes a whole number from 2 up to 64"),
        (DEBIAS, {"samples": "abc"}, "Images takes a whole number from 1"),
    ],
)
def test_a_number_that_a_field_does_not_take_is_said_in_sight(open_page, page, query, said):
    """Test-time matching said it in the folded settings, where nobody saw it."""
    test = open_page(page, set=SET, **query)
    found = lambda place: [w for w in place.warning if said in w.value.replace("\\", "")]  # noqa: E731
    assert len(found(test)) == 1
    assert not any(found(folded) for folded in (*test.expander, *test.get("popover")))


def test_a_whole_number_is_no_fraction_and_one_out_of_range_of_a_form_is_said_once(open_page):
    assert not open_page(TTM, set=SET, T="2.0").warning
    test = open_page(TTM, set=SET, n="-4.5")
    assert not test.warning and [e.value for e in test.error] == ["Number of groups must be at least 1\\."]


def test_beside_a_model_that_is_not_there_stands_the_way_back_to_one_that_is(open_page):
    """`other=nix` in an address was a dead end: an error, and nothing to press."""
    test = open_page(COMPARE, set=SET, other="nix")
    assert "'nix'" in test.error[0].value
    (back,) = [b for b in test.button if b.label.startswith("Back to ")]
    test.selectbox(key="other").options.append("nix")  # AppTest knows no typed name
    test = back.click().run()
    assert not test.error
    assert back.label == f"Back to {test.session_state['other']}"


@pytest.mark.parametrize("model", ["builtin/clip", "builtin/siglip"])
def test_compare_leads_back_from_an_unknown_model_to_what_it_opens_with(open_page, model):
    """It offered builtin/blind-lm, the first of all names, which nobody had chosen."""
    opened = open_page(COMPARE, set=SET, model=model).session_state["other"]
    test = open_page(COMPARE, set=SET, model=model, other="gpt9")
    (back,) = [b for b in test.button if b.label.startswith("Back to ")]
    assert back.label == f"Back to {opened}" and opened != model


@pytest.mark.parametrize("page", [MATCHING, DEBIAS, TTM])
def test_below_the_error_of_an_unknown_model_a_button_leads_back_to_the_built_in_one(open_page, page):
    """The ladder alone led on; the other pages ended with the sentence."""
    test = open_page(page, set=SET, model="no/such-model-here")
    assert any("no/such-model-here" in e.value.replace("\\", "") for e in test.error)
    (back,) = [b for b in test.button if b.label == "Back to builtin/clip"]
    test.selectbox(key="model").options.append("no/such-model-here")  # AppTest knows no typed name
    test = back.click().run()
    assert not test.error and not [b for b in test.button if b.label.startswith("Back to builtin")]
    assert test.selectbox(key="model").value in (
        "builtin/clip",
        "builtin/blip-caption",
    )  # what Debias takes for it


def test_an_error_about_something_else_offers_no_other_model(open_page):
    test = open_page("pages/1_Groups.py", set=SET, margin="wide")
    assert test.error and not [b for b in test.button if b.label.startswith("Back to")]


def test_a_part_of_a_name_selects_the_model_that_has_it():
    from ui import selection

    state = {"model": "SIGLIP"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection.st, "session_state", state)
        selection._complete_name("model", ["builtin/clip", "builtin/siglip"])
        assert state["model"] == "builtin/siglip"
        state["model"] = "openai/clip-vit-base-patch32"
        selection._complete_name("model", ["builtin/clip", "builtin/siglip"])
        assert state["model"] == "openai/clip-vit-base-patch32"


def test_a_benchmark_that_is_not_here_says_how_to_get_it_and_offers_one_that_is(open_page):
    test = open_page(MATCHING, set="winoground")
    assert not test.error  # nothing went wrong
    assert test.info[0].value.replace("\\", "") == "winoground is not on this machine."
    assert test.code[0].value == "crossmatch fetch winoground"  # to copy; the ways by hand are folded
    by_hand = next(each for each in test.expander if each.label == "Get it by hand")
    assert [block.value.split()[0] for block in by_hand.code] == ["hf", "hf", "curl"]
    assert {"set", "split", "model"} <= {box.key for box in test.sidebar.selectbox}
    fine(test.selectbox(key="set").set_value(SET).run())
    test = open_page(MATCHING, set="sugarcrepe/swap_att")
    button(test, "Use scenes/attribute-swap, which is here").click().run()
    assert fine(test).selectbox(key="set").value == "scenes/attribute-swap" and test.metric


def test_the_selection_is_in_the_address_after_a_button(app):
    test = app()
    label = next(b.label for b in test.button if b.label.startswith(("Open this group", "Browse the groups")))
    opened = button(test, label).click().run()
    benchmark, group = (str(opened.query_params[key]) for key in ("set", "group"))
    assert opened.session_state["set"] in benchmark and opened.session_state["group"] in group


# --- what downloads are called


@pytest.fixture
def offered(monkeypatch):
    """The names of the files that the pages offer."""
    names = []
    monkeypatch.setattr("ui.export._file_button", lambda label, data, file, *_, **__: names.append(file))
    return names


def test_the_files_of_a_selection_are_called_by_its_file_without_its_ending_or_by_set_and_model(
    app, file, offered
):
    """Matching offered matching-upload-scores.csv.csv and matching-upload-scores.csv-metrics.svg; Groups groups.csv."""
    for page, name in ((MATCHING, "matching"), (GROUPS, "groups")):
        offered.clear()
        app(page, set=f"upload/{file}")
        base = f"{name}-scores"
        assert {f"{base}.csv", f"{base}-metrics.csv", f"{base}-metrics.html", f"{base}-report.html"} <= {
            *offered
        }
        assert all(each.startswith(base) and each.count(".") == 1 for each in offered)
        offered.clear()
        app(page, set=SET, model="builtin/clip")
        assert f"{name}-left-right-clip.csv" in offered
    offered.clear()
    app(GROUPS, set=f"upload/{file}", group="left-right/test/0003")
    assert "scores-report.html" in offered  # it is about all groups


def test_the_files_of_a_comparison_are_called_by_both_sides(app, file, offered):
    app(COMPARE, set=SET, model="builtin/clip", other=f"upload/{file}")
    assert {"compare-clip-vs-scores.csv", "compare-clip-vs-scores-report.html"} <= {*offered}


def test_names_of_downloads_tell_their_sides_apart_and_stay_short():
    assert pair_name(["upload/a.csv", "upload/a.npz"]) == "a-csv-vs-a-npz"
    assert pair_name(["upload/v1.2.csv", "builtin/clip"]) == "v1-2-vs-clip"
    assert (
        pair_name(["openai/clip-vit", "open_clip:ViT-B-32/laion"])
        == "openai-clip-vit-vs-open_clip-ViT-B-32-laion"
    )
    assert len(pair_name(["m" * 300, "n" * 300])) == 124
