"""Scoring groups, the cache on disk, and files of scores, embeddings and tags: round trips and every bad input."""

import hashlib
import io
import json
import multiprocessing
import re
import sqlite3
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base import paths
from core.base.errors import InputError
from core.datasets.embeddings import parse_shape, read_embeddings
from core.datasets.score_faults import ScoreFault
from core.datasets.score_files import read_scores, read_tags, write_scores
from core.groups import GroupSet
from core.scoring import scores
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.pairs import Pairs
from core.scoring.scores import score_groups, score_matrix


class Letters:
    """A ten-line scorer: a number made of the image's and the caption's content. Notes what it was asked for."""

    def __init__(self, key="letters", stream=False):
        self.name, self.key, self.asked = key, key, []
        if stream:
            self.stream = self._stream

    def score(self, images, captions, pairs):
        assert len({image.key for image in images}) == len(images) > 0
        assert len(set(captions)) == len(captions) > 0
        self.asked += [(images[i].key, captions[j]) for i, j in pairs]
        return np.array([letters(images[i], captions[j]) for i, j in pairs], dtype=np.float32)

    def _stream(self, images, captions, pairs):
        for rows in np.array_split(np.arange(len(pairs)), 3):
            yield rows, self.score(images, captions, pairs[rows])


def letters(image, caption) -> float:
    return int(image.key[:6], 16) / 2**24 + len(caption) / 7


def by_hand(groups) -> np.ndarray:
    return np.array(
        [[[letters(i, c) for c in g.captions] for i in g.images] for g in groups], dtype=np.float32
    )


# Scoring groups


@pytest.mark.parametrize("stream", [False, True])
def test_scores_of_groups_by_hand_for_every_shape(toy_groups, toy_groups_1x4, stream):
    for groups, shape in ((toy_groups, (6, 2, 2)), (toy_groups_1x4, (5, 1, 4))):
        scores = score_groups(Letters(stream=stream), groups)
        assert scores.shape == shape
        assert scores.dtype == np.float32
        np.testing.assert_array_equal(scores, by_hand(groups))


def test_each_pair_is_asked_for_once_and_no_pair_across_groups(toy_groups):
    scorer = Letters()
    double = GroupSet("twice", (*toy_groups.groups, *renamed(toy_groups)))
    scores = score_groups(scorer, double)
    np.testing.assert_array_equal(scores[:6], scores[6:])
    wanted = {(i.key, c) for g in toy_groups for i in g.images for c in g.captions}
    assert len(scorer.asked) == len(wanted)
    assert set(scorer.asked) == wanted


def renamed(groups):
    from dataclasses import replace

    return [replace(g, id=f"again-{g.id}") for g in groups]


def test_the_order_of_captions_only_reorders_the_scores(toy_groups):
    turned = toy_groups.permute_captions(3)
    scores, other = score_groups(Letters(), toy_groups), score_groups(Letters(), turned)
    for g, group in enumerate(toy_groups):
        places = [group.captions.index(c) for c in turned[g].captions]
        np.testing.assert_array_equal(other[g], scores[g][:, places])


def test_mixed_shapes_a_score_that_is_no_number_and_a_wrong_count_are_one_sentence(
    toy_groups, toy_groups_mixed
):
    with pytest.raises(InputError, match="mixes the shapes"):
        score_groups(Letters(), toy_groups_mixed)
    scorer, cache = Letters(), ScoreCache()
    scorer.score = lambda images, captions, pairs: np.where(np.arange(len(pairs)) == 5, np.nan, 1.0)
    with pytest.raises(InputError, match=r"Group 'swap-1' has a score that is not a finite number"):
        score_groups(scorer, toy_groups, cache)
    assert cache.size().scores == 23  # 6 groups of 4 pairs, one of which is no score
    scorer.score = lambda images, captions, pairs: np.ones(3)
    with pytest.raises(InputError, match=r"gave scores of shape \(3,\) for 24 pairs"):
        score_groups(scorer, toy_groups)


def test_a_real_model_scores_groups_with_and_without_cache_alike(toy_groups, tiny_clip_folder):
    model, cache = load_scorer(str(tiny_clip_folder), "cpu"), ScoreCache()
    plain = score_groups(model, toy_groups)
    pairs = np.array([(i, j) for i in range(2) for j in range(2)])
    for g, group in enumerate(toy_groups):
        wanted = model.score(group.images, group.captions, pairs).reshape(2, 2)
        np.testing.assert_allclose(plain[g], wanted, atol=1e-5)
    for _ in range(2):
        np.testing.assert_array_equal(score_groups(model, toy_groups, cache), plain)
    assert cache.size().scores == 24


# The cache


@pytest.mark.parametrize("stream", [False, True])
def test_cached_scores_are_the_plain_ones_and_are_not_computed_again(toy_groups, stream):
    cache, seen = ScoreCache(), []
    half = toy_groups.select([0, 1, 2])
    first = Letters(stream=stream)
    np.testing.assert_array_equal(score_groups(first, half, cache), by_hand(half))
    second = Letters(stream=stream)
    scores = score_groups(second, toy_groups, cache, lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(scores, by_hand(toy_groups))
    assert not set(first.asked) & set(second.asked)
    assert seen[-1] == (12, 12)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    third = Letters(stream=stream)
    np.testing.assert_array_equal(score_groups(third, toy_groups, cache), by_hand(toy_groups))
    assert third.asked == []


def test_another_key_another_score(toy_groups):
    cache = ScoreCache()
    score_groups(Letters("a"), toy_groups, cache)
    other = Letters("b")
    score_groups(other, toy_groups, cache)
    assert len(other.asked) == 24
    assert cache.size().scores == 48


def test_work_that_is_cut_short_is_not_lost(toy_groups):
    cache, scorer = ScoreCache(), Letters(stream=True)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_groups(scorer, toy_groups, cache, stop)
    assert cache.size().scores == 8  # the first of three blocks


def test_the_cache_lies_in_the_users_folder_and_can_be_cleared(toy_groups):
    cache = ScoreCache()
    assert cache.path == paths.home() / "cache" / "scores.sqlite"
    assert cache.size() == (0, 0)
    assert not cache.path.exists()
    score_groups(Letters(), toy_groups, cache)
    assert cache.size().scores == 24
    assert cache.size().bytes > 4096
    cache.clear()
    assert cache.size().scores == 0
    assert np.isnan(cache.get("letters", Pairs.of([("a", "b")]))).all()


def test_keys_are_told_apart_however_they_are_cut(tmp_path):
    cache = ScoreCache(tmp_path / "c.sqlite")
    keys = [("ab", "c"), ("a", "bc"), ("a", "b c"), ("a", ""), ("", "a"), ("é", "\ud800"), ("a", "Bc")]
    cache.put("k", Pairs.of(keys), np.arange(len(keys), dtype=np.float32))
    np.testing.assert_array_equal(cache.get("k", Pairs.of(keys)), np.arange(len(keys)))
    assert np.isnan(cache.get("ka", Pairs.of([("b", "c")]))).all()


def test_a_hundred_thousand_scores_go_in_and_out_quickly_and_exactly(tmp_path):
    cache = ScoreCache(tmp_path / "c.sqlite")
    keys = [(f"image{i}", f"caption {j}") for i in range(1000) for j in range(100)]
    values = np.random.default_rng(0).normal(size=len(keys)).astype(np.float32)
    started = time.process_time()  # other work on this machine takes the wall clock
    cache.put("k", Pairs.of(keys), values)
    found = cache.get("k", Pairs.of([*keys, ("none", "none")]))
    assert time.process_time() - started < 10
    np.testing.assert_array_equal(found[:-1], values)
    assert np.isnan(found[-1])


def _fill(path: str, start: int, count: int, barrier) -> None:
    cache = ScoreCache(Path(path))
    barrier.wait()
    for i in range(start, start + count):
        keys = [(str(i), str(j)) for j in range(20)]
        cache.put("k", Pairs.of(keys), np.full(20, i, dtype=np.float32))
        assert (cache.get("k", Pairs.of(keys)) == i).all()


@pytest.mark.parametrize("existing", [False, True])
def test_two_processes_write_one_cache(tmp_path, existing):
    path = tmp_path / "c.sqlite"
    if existing:
        ScoreCache(path).put("k", Pairs.of([("x", "y")]), np.ones(1))
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    workers = [context.Process(target=_fill, args=(str(path), 50 * p, 60, barrier)) for p in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    # What both stored counts twice until blocks are merged.
    assert 110 * 20 <= ScoreCache(path).size().scores - existing <= 120 * 20
    numbers = [(str(i), str(j)) for i in range(110) for j in range(20)]
    assert (ScoreCache(path).get("k", Pairs.of(numbers)).reshape(110, 20) == np.arange(110)[:, None]).all()


@pytest.mark.parametrize(
    "content", [b"this is no database, and long enough to be looked at" * 50, b"SQLite format 3\0" * 300]
)
def test_a_damaged_cache_is_moved_aside_with_a_warning(toy_groups, content):
    cache = ScoreCache()
    cache.path.parent.mkdir(parents=True)
    cache.path.write_bytes(content)
    with pytest.warns(UserWarning, match=r"scores\.sqlite was damaged .* moved to scores\.sqlite\.damaged"):
        scores = score_groups(Letters(), toy_groups, cache)
    np.testing.assert_array_equal(scores, by_hand(toy_groups))
    assert cache.size().scores == 24
    assert [p.read_bytes() for p in cache.path.parent.glob("*.damaged-*")] == [content]


def test_a_cache_damaged_in_the_middle_is_moved_aside_too(tmp_path):
    cache = ScoreCache(tmp_path / "c.sqlite")
    keys = [(str(i), "caption") for i in range(20_000)]
    cache.put("k", Pairs.of(keys), np.ones(len(keys), dtype=np.float32))
    with sqlite3.connect(cache.path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    content = bytearray(cache.path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    cache.path.write_bytes(content)
    with pytest.warns(UserWarning, match="was damaged"):
        assert np.isnan(cache.get("k", Pairs.of(keys))).all()
    cache.put("k", Pairs.of(keys[:3]), np.ones(3))
    assert cache.size().scores == 3


def test_a_cache_that_cannot_be_used_costs_no_scores(toy_groups, tmp_path):
    (tmp_path / "file").write_text("")
    cache = ScoreCache(tmp_path / "file" / "c.sqlite")  # no folder can be made there
    with pytest.warns(UserWarning, match=r"c\.sqlite cannot be used now"):
        scores = score_groups(Letters(), toy_groups, cache)
    np.testing.assert_array_equal(scores, by_hand(toy_groups))


def test_a_cache_that_another_process_holds_locked_costs_no_scores(toy_groups, monkeypatch):
    monkeypatch.setattr(ScoreCache, "_PATIENCE", 0.1)
    cache = ScoreCache()
    score_groups(Letters(), toy_groups.select([0]), cache)
    other = sqlite3.connect(cache.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.warns(UserWarning, match="locked"):
        scores = score_groups(Letters(), toy_groups, cache)
    other.close()
    np.testing.assert_array_equal(scores, by_hand(toy_groups))


# Score files

ENDINGS = ["csv", "npz", "jsonl", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("shape", [(4, 2, 2), (3, 1, 4), (2, 2, 4), (1, 3, 3), (12, 12, 12)])
def test_score_files_round_trip_exactly(tmp_path, ending, shape):
    n, m, k = shape
    rng = np.random.default_rng(n)
    scores = rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, size=shape)
    scores[0, 0, 0] = 0.1 + 0.2
    truth = np.stack([rng.permutation(k)[:m] for _ in range(n)])
    ids = [f'group, "{g}" ü\n' if ending == "npz" else f'{g:03d}, "ü"' for g in range(n)]
    tags = pd.DataFrame({"kind": ["a", "007"] * 6, "note": ["x,y", ""] * 6})[:n]
    file = tmp_path / f"scores.{ending}"
    write_scores(file, scores, ids, truth, tags)
    found = read_scores(file)
    np.testing.assert_array_equal(found.scores, scores)
    np.testing.assert_array_equal(found.truth, truth)
    assert found.ids == ids
    assert found.tags.to_dict("list") == tags.to_dict("list")
    write_scores(file, np.full(shape, 0.1, dtype=np.float32))
    bare = read_scores(file, file.read_bytes())
    assert (bare.scores == np.float32(0.1)).all()
    assert bare.truth is None
    assert bare.tags is None
    assert bare.ids == [str(g) for g in range(n)]


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_any_finite_scores_survive_csv_and_jsonl(tmp_path_factory, data):
    number = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e307, max_value=1e307)
    values = data.draw(st.lists(number, min_size=8, max_size=8))
    scores = np.array(values).reshape(2, 2, 2)
    folder = tmp_path_factory.mktemp("any")
    for ending in ("csv", "jsonl"):
        write_scores(folder / f"s.{ending}", scores)
        np.testing.assert_array_equal(read_scores(folder / f"s.{ending}").scores, scores)


CSV = """group,image,caption,score,kind
a,0,0,1.5,x
a,0,1,0.5,x
a,1,0,0.25,x
a,1,1,2,x
b,0,0,1,y
b,0,1,3,y
b,1,0,4,y
b,1,1,2e0,y
"""
WANTED = [[[1.5, 0.5], [0.25, 2]], [[1, 3], [4, 2]]]


def read_text(text: str | bytes, name="scores.csv"):
    return read_scores(name, text if isinstance(text, bytes) else text.encode())


def shuffled(text: str) -> str:
    head, *rows = text.splitlines()
    return "\n".join([head, *sorted(rows, key=lambda r: r[::-1])])


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        CSV.replace("\n", "\r\n"),
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        "\ufeff" + CSV,
        CSV.replace("\n", " \n", 1).replace("group,image", "group , image"),
        CSV + "\n\n",
        CSV.rstrip(),
    ],
    ids=["plain", "CRLF", "semicolons", "tabs", "BOM", "blanks", "blank lines", "no last newline"],
)
def test_csv_in_long_form(content):
    found = read_text(content)
    np.testing.assert_array_equal(found.scores, WANTED)
    assert found.ids == ["a", "b"]
    assert found.truth is None
    assert found.tags["kind"].tolist() == ["x", "y"]


def score_lines(frame: pd.DataFrame) -> str:
    return frame.to_json(orient="records", lines=True)


def test_json_lines_with_a_score_each_are_read_as_the_csv_of_the_same_scores():
    frame = pd.read_csv(io.StringIO(CSV))
    for text, name in ((score_lines(frame), "s.jsonl"), (frame.to_json(orient="records"), "s.json")):
        found = read_text(text, name)
        np.testing.assert_array_equal(found.scores, WANTED)
        assert found.ids == ["a", "b"] and found.truth is None and found.tags["kind"].tolist() == ["x", "y"]
    frame["match"] = [False, True, True, False] * 2
    assert read_text(score_lines(frame), "s.jsonl").truth.tolist() == [[1, 0], [1, 0]]


def test_json_lines_with_a_score_each_need_not_have_every_tag():
    lines = score_lines(pd.read_csv(io.StringIO(CSV))).replace(',"kind":"y"', ',"of":["p"]')
    assert read_text(lines, "s.jsonl").tags.to_dict("list") == {"kind": ["x", ""], "of": ["", '["p"]']}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"score":0.25', '"score":null', "has an empty cell in column 'score'"),
        (
            '"score":0.25',
            '"score":true',
            r"the score in line 3 \(group 'a', image '1', caption '0'\) is 'true'",
        ),
        ('"score":0.25', '"score":{}', "is '{}'; it must be a finite number"),
        ('"score":0.25', '"score":1' + "0" * 400, "must be a finite number"),
        ('"score":0.25', '"points":0.25', "line 3 has no key 'score'; add it"),
        (
            '"image":1,"caption":0,"score":0.25',
            '"image":0,"caption":0,"score":0.25',
            "line 3 .* is there twice",
        ),
    ],
)
def test_what_is_wrong_with_a_json_line_of_one_score_is_said_with_its_line(old, new, said):
    lines = score_lines(pd.read_csv(io.StringIO(CSV)))
    assert old in lines
    with pytest.raises(InputError, match=said):
        read_text(lines.replace(old, new), "s.jsonl")


def test_every_mistake_of_json_lines_with_a_score_each_is_listed():
    lines = score_lines(pd.read_csv(io.StringIO(CSV)))
    lines = lines.replace('"score":0.25', '"score":"x"').replace('"score":4.0', '"score":null')
    found = ScoreFault.of_file("s.jsonl", lines.encode())
    assert [(fault.row, fault.column) for fault in found] == [(3, "score"), (7, "score")]


def test_numbered_images_and_captions_may_come_in_any_order_and_start_at_one():
    np.testing.assert_array_equal(np.sort(read_text(shuffled(CSV)).scores, axis=0), np.sort(WANTED, axis=0))
    found = read_text(shuffled(CSV))
    assert dict(zip(found.ids, found.scores.tolist(), strict=True)) == dict(zip("ab", WANTED, strict=True))
    frame = pd.read_csv(io.StringIO(CSV))
    frame[["image", "caption"]] += 1
    found = read_text(frame.sample(frac=1, random_state=1).to_csv(index=False))
    assert dict(zip(found.ids, found.scores.tolist(), strict=True)) == dict(zip("ab", WANTED, strict=True))


def test_other_labels_count_as_they_appear():
    text = "group,image,caption,score\n" + "".join(
        f"{g},{i}.png,{c},{s}\n"
        for g, rows in (("a", "zy"), ("b", "xw"))
        for i, line in zip(rows, WANTED["ab".index(g)], strict=True)
        for c, s in zip((f"{g} second", f"{g} first"), line, strict=True)
    )
    np.testing.assert_array_equal(read_text(text).scores, WANTED)


def test_images_and_captions_that_a_table_names_come_along():
    rows = "group,image,caption,score\nb,i.png,a dog,1\nb,i.png,a cat,2\na,j.png,a cow,3\na,j.png,a hen,4\n"
    found = read_scores("s.csv", rows.encode())
    assert found.ids == ["b", "a"]
    assert found.images.tolist() == [["i.png"], ["j.png"]]
    assert found.captions.tolist() == [["a dog", "a cat"], ["a cow", "a hen"]]
    numbered = read_scores("s.csv", b"group,image,caption,score\na,0,0,1\na,0,1,2\n")
    assert numbered.images is None and numbered.captions is None


def test_the_column_match_is_the_truth():
    frame = pd.read_csv(io.StringIO(CSV)).assign(match=[0, 1, 1, 0, "True", "false", "no", "YES"])
    found = read_text(frame.to_csv(index=False))
    np.testing.assert_array_equal(found.truth, [[1, 0], [0, 1]])
    assert list(found.tags.columns) == ["kind"]


def test_a_column_that_varies_inside_a_group_is_no_tag():
    frame = pd.read_csv(io.StringIO(CSV)).assign(seconds=range(8))
    assert list(read_text(frame.to_csv(index=False)).tags.columns) == ["kind"]


def without(*lines: int) -> str:
    return "\n".join(row for i, row in enumerate(CSV.splitlines()) if i not in lines)


BAD_CSV = {
    "empty": ("", "scores.csv is empty; choose another file"),
    "blank": ("\n\n", "is empty"),
    "no rows": ("group,image,caption,score\n", "has no rows"),
    "missing column": (
        CSV.replace("score", "sim"),
        "has no column 'score' among: group, image, caption, sim, kind",
    ),
    "NaN": (CSV.replace("0.25", "nan"), r"the score in row 4 \(group 'a', image '1', caption '0'\) is 'nan'"),
    "empty score": (CSV.replace("0.25", ""), "the score in row 4 .* is empty; it must be a finite number"),
    "infinite": (CSV.replace("0.25", "inf"), "'inf'; it must be a finite number"),
    "word": (CSV.replace("0.25", "high"), "'high'; it must be a finite number"),
    "decimal comma": (CSV.replace("0.25", '"0,25"'), "'0,25'; write the decimal comma as a point"),
    "several words": (
        CSV.replace("0.25", "high").replace("0.5,", "low,"),
        r"2 scores are no finite numbers: '(high|low)' in row \d \(group .*\), '(high|low)' in row .*; mend them",
    ),
    "duplicate": (CSV + "b,1,1,7,y\n", r"row 10 \(group 'b', image '1', caption '1'\) is there twice"),
    "missing cell": (without(7), "the score of group 'b', image '1', caption '0' is missing; add its row"),
    "missing cells": (
        without(3, 6),  # of a, image 1 with caption 0; of b, image 0 with caption 1
        "2 scores are missing, those of group 'a', image '1', caption '0'; group 'b', image '0', caption '1'; add",
    ),
    "missing cells with names": (
        re.sub(r"^(\w),(\d)", r"\1,\2.png", without(3), flags=re.M),
        "the score of group 'a', image '1.png', caption '0' is missing; add its row",
    ),
    "duplicates": (
        CSV + CSV.partition("\n")[2],
        r"8 rows are there twice: row 10 \(group 'a', .*\), row 11 .*, row 12 .*, …; leave one of each out",
    ),
    "decimal commas": (
        re.sub(r"(\d)\.(\d+)", r'"\1,\2"', CSV),
        r"3 scores have a decimal comma: '1,5' in row 2 \(.*\), '0,5' in row 3 .*, '0,25' in row 4 .*; write a point",
    ),
    "decimal commas without quotes": (
        CSV.replace("1.5", "1,5"),
        "row 2 has 6 cells, the header 5; put texts with commas in quotation marks, write decimal commas as points, or "
        "add the name that the header lacks",
    ),
    "more cells than names, between semicolons": (
        CSV.replace(",", ";").replace(";kind", "", 1),
        "row 2 has 5 cells, the header 4; put texts with semicolons in quotation marks, or add the name that the",
    ),
    "more cells than names, between tabs": (
        CSV.replace(",", "\t").replace("\tkind", "", 1),
        "row 2 has 5 cells, the header 4; put texts with tabs in quotation marks, or add the name that the header",
    ),
    "missing last cell": (
        without(8),
        "the score of group 'b', image '1', caption '1' is missing; add its row",
    ),
    "missing image": (CSV.replace("b,1,", "b,0,")[:-24], "group 'b' has 1 image and group 'a' has 2"),
    "other shape": (CSV + "b,0,2,1,y\nb,1,2,1,y\n", "group 'b' has 3 captions and group 'a' has 2"),
    "ragged": (CSV + "b,1,1,7,y,9,9\n", "row 10 has 7 cells, the header 5"),
    "not text": (
        CSV.replace("kind", "größe").encode("latin-1"),
        r"is not UTF-8 text \(byte 28\); save it again as UTF-8",
    ),
    "an array of numbers": (
        b"PK\x03\x04\x14\0\xff\xfe",
        r"is an archive \(NPZ, ZIP or Excel\), not text; let",
    ),
    "more images": (
        "group,image,caption,score\na,0,0,1\na,1,0,1\n",
        r"scores\.csv: Groups of 2 images and 1 caption cannot be matched; leave images out, add captions, or",
    ),
    "match twice": (
        pd.read_csv(io.StringIO(CSV)).assign(match=[1, 1, 0, 1, 1, 0, 0, 1]).to_csv(index=False),
        "image '0' of group 'a' has 2 captions with match = 1; where a group has several images each "
        "needs exactly one",
    ),
    "match not one to one": (
        pd.read_csv(io.StringIO(CSV)).assign(match=[1, 0, 1, 0, 1, 0, 0, 1]).to_csv(index=False),
        r"scores\.csv: Truth of group 'a' is \[0, 0\]; it needs distinct",
    ),
    "match a word": (
        pd.read_csv(io.StringIO(CSV)).assign(match=["right", *"0010010"]).to_csv(index=False),
        r"`match` in row 2 \(group 'a', image '0', caption '0'\) is 'right'; write 1 or 0",
    ),
}


def test_all_columns_that_are_missing_are_named_together():
    """Of four that were missing the first was named, and after it the next."""
    with pytest.raises(
        InputError, match="has no column 'group', 'image', 'caption' or 'score' among: id, img"
    ):
        read_scores("s.csv", b"id;img;txt;sim\na;0;0;1\n")


@pytest.mark.parametrize("case", BAD_CSV)
def test_a_bad_csv_is_one_sentence(case):
    content, sentence = BAD_CSV[case]
    with pytest.raises(InputError, match=sentence) as caught:
        read_text(content)
    assert "\n" not in str(caught.value)


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, scores=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ">f4", "int16"])
def test_an_npy_is_an_array_of_scores(tmp_path, dtype):
    scores = np.arange(24).reshape(2, 3, 4).astype(dtype)
    (file := tmp_path / "scores.npy").write_bytes(npy(scores))
    found = read_scores(file)
    np.testing.assert_array_equal(found.scores, scores)
    assert (found.truth, found.ids, found.tags, found.read_as) == (None, ["0", "1"], None, "")
    np.testing.assert_array_equal(read_scores("s.npy", npy(np.asfortranarray(scores))).scores, scores)


@pytest.mark.parametrize("side", [2, 3, 5])
def test_an_npy_with_a_row_per_group_is_read_as_square_groups_and_says_so(side):
    scores = np.random.default_rng(0).normal(size=(4, side, side))
    found = read_scores("scores.npy", npy(scores.reshape(4, -1)))
    np.testing.assert_array_equal(found.scores, scores)
    assert found.read_as.startswith(
        f"Each row of {side**2} is read as a group of {side} images and {side} captions"
    )


BAD_NPY = {
    "empty": (b"", "is empty"),
    "no NPY": (b"hello, I am a text", "is not an NPY file; save one array of scores with numpy.save"),
    "a pickle": (b"\x80\x04K\x01.", "is not an NPY file"),
    "pickled objects": (npy(np.array([{"a": 1}], dtype=object)), "pickles can run code and are never loaded"),
    "truncated": (npy(np.zeros((3, 2, 2)))[:-8], "is damaged"),
    "more than its head says": (npy(np.zeros((3, 2, 2))) + b"0", "is damaged"),
    "a head that claims much": (
        npy(np.zeros((3, 2, 2))).replace(b"(3, 2, 2)", b"(9**9, 2)"),
        "is damaged",
    ),
    "a large head": (npy(np.zeros((3, 2, 2))).replace(b"(3, 2, 2), } ", b"(999999, 2, 2)}"), "is damaged"),
    "embeddings": (npy(np.ones((8, 512))), r"has shape \(8, 512\); .* embeddings two arrays in an NPZ"),
    "embeddings of a square": (npy(np.ones((8, 64))), r"has shape \(8, 64\)"),
    "one axis": (npy(np.ones(8)), r"has shape \(8,\); scores need \(groups, images, captions\)"),
    "no axis": (npy(np.float64(1)), r"has shape \(\)"),
    "four axes": (npy(np.ones((2, 2, 2, 2))), r"has shape \(2, 2, 2, 2\)"),
    "no groups": (npy(np.zeros((0, 2, 2))), "scores.npy: There are no groups"),
    "NaN": (npy(np.full((2, 2, 2), np.nan)), r"8 scores are no finite numbers: nan in scores\[0, 0, 0\]"),
    "text": (npy(np.full((2, 2, 2), "a")), "Scores hold <U1 values; they need numbers"),
    "truths": (npy(np.ones((2, 2, 2), bool)), "Scores hold bool values; they need numbers"),
    "complex": (npy(np.ones((2, 2, 2), complex)), "Scores hold complex128 values"),
}


def test_an_npy_is_no_file_of_embeddings():
    with pytest.raises(InputError, match="is one array; embeddings are two in an NPZ"):
        read_embeddings("e.npy", "2x2", npy(np.ones((8, 16))))


GOOD = npz(scores=np.random.default_rng(0).normal(size=(9, 2, 2)))
BAD_NPZ = {
    "empty": (b"", "is empty"),
    "no NPZ": (
        b"hello, I am a text",
        "is text and not an NPZ file; let its name end in .csv if it is a table",
    ),
    "truncated": (GOOD[:-40], "is damaged or not an NPZ file"),
    "bits turned": (GOOD[:200] + bytes(50) + GOOD[250:], "is damaged or not an NPZ file"),
    "a pickle": (b"\x80\x04K\x01.", "pickles can run code and are never loaded"),
    "pickled objects": (pickled(), "pickles can run code and are never loaded"),
    "one array": (npy(np.zeros((1, 2, 2))), "is a single array, not an NPZ of named ones"),
    "no scores": (npz(score=np.zeros((1, 2, 2))), "has no array 'scores' among: score"),
    "two axes": (
        npz(scores=np.zeros((2, 2))),
        r"scores have shape \(2, 2\); they need \(groups, images, captions\)",
    ),
    "no groups": (npz(scores=np.zeros((0, 2, 2))), "scores.npz: There are no groups"),
    "one caption": (npz(scores=np.zeros((2, 1, 1))), "scores.npz: Groups of 1 image and 1 caption cannot"),
    "NaN": (
        npz(scores=np.full((2, 2, 2), np.nan), ids=["x", "y"]),
        r"scores\.npz: 8 scores are no finite numbers: nan in scores",
    ),
    "text": (npz(scores=np.full((2, 2, 2), "a")), "Scores hold <U1 values; they need numbers"),
    "ids": (
        npz(scores=np.zeros((2, 2, 2)), ids=["a"]),
        r"'ids' has shape \(1,\); it needs one entry per group, \(2,\)",
    ),
    "equal ids": (npz(scores=np.zeros((2, 2, 2)), ids=["a", "a"]), "several groups with id 'a'"),
    "truth's shape": (
        npz(scores=np.zeros((2, 2, 2)), truth=[0, 1]),
        r"Truth has shape \(2,\); the scores need \(2, 2\)",
    ),
    "truth's type": (npz(scores=np.zeros((1, 2, 2)), truth=[[0.0, 1]]), "Truth holds float64 values"),
    "truth's range": (npz(scores=np.zeros((1, 2, 2)), truth=[[0, 2]]), r"Truth of group '0' is \[0, 2\]"),
}


@pytest.mark.parametrize(
    ("name", "case"),
    [*(("scores.npy", case) for case in BAD_NPY), *(("scores.npz", case) for case in BAD_NPZ)],
)
def test_a_bad_file_of_arrays_is_one_sentence(name, case):
    content, sentence = {"scores.npy": BAD_NPY, "scores.npz": BAD_NPZ}[name][case]
    with pytest.raises(InputError, match=sentence) as caught:
        read_text(content, name)
    assert "\n" not in str(caught.value)


def test_jsonl_as_winoground_has_it():
    lines = [{"id": 7, "c0_i0": 1.5, "c1_i0": 0.5, "c0_i1": 0.25, "c1_i1": 2, "tag": "Object", "swaps": 1}]
    lines += [{"id": 8, "c1_i1": 2, "c0_i1": 4, "c1_i0": 3, "c0_i0": 1, "tag": "Relation", "swaps": 2}]
    text = "\ufeff" + "\r\n".join(json.dumps(line) for line in lines) + "\r\n\r\n"
    found = read_text(text, "scores.jsonl")
    np.testing.assert_array_equal(found.scores, WANTED)
    assert found.ids == ["7", "8"]
    assert found.tags.to_dict("list") == {"tag": ["Object", "Relation"], "swaps": ["1", "2"]}
    assert found.truth is None


def test_a_table_with_a_column_for_each_cell_is_read_as_the_lines_of_winoground():
    text = "id,c0_i0,c0_i1,c1_i0,c1_i1,tag\n7,1.5,0.25,0.5,2,Object\n8,1,4,3,2e0,Relation\n"
    found = read_text(text, "scores.csv")
    np.testing.assert_array_equal(found.scores, [[[1.5, 0.5], [0.25, 2]], [[1, 3], [4, 2]]])
    assert (
        found.ids == ["7", "8"]
        and found.truth is None
        and found.tags.to_dict("list") == {"tag": ["Object", "Relation"]}
    )
    with_truth = read_text("c0_i0,c1_i0,truth\n1,2,[1]\n3,4,[1]\n", "scores.csv")
    assert with_truth.truth.tolist() == [[1], [1]] and with_truth.ids == ["0", "1"]
    for wrong, says in (
        ("c0_i0,c1_i0\n1,x\n", "row 2 has 'x' for 'c1_i0'; it must be a finite number"),
        ("c0_i0,c1_i0\n1,\n", "row 2 has nothing for 'c1_i0'; it must be a finite number"),
        ("c0_i0,c1_i0\n", "has no rows"),
        ("c0_i0,c1_i1\n1,2\n", "row 2 has no 'c1_i0'; add it"),
        ("c0_i0,c1_i0,truth\n1,2,B\n", "`truth` of group '0' is \"B\""),
    ):
        with pytest.raises(InputError, match=re.escape(says)):
            read_text(wrong, "scores.csv")


def test_jsonl_of_another_shape_with_truth():
    found = read_text('{"c0_i0": 1, "c1_i0": 2, "c2_i0": 3, "truth": [2]}', "scores.jsonl")
    np.testing.assert_array_equal(found.scores, [[[1, 2, 3]]])
    np.testing.assert_array_equal(found.truth, [[2]])
    assert found.ids == ["0"]


LINE = '{"c0_i0": 1, "c1_i0": 2}'
BAD_JSONL = {
    "empty": ("", "is empty"),
    "no JSON": (f"{LINE}\nhello", "line 2 is not JSON"),
    "truncated": (f"{LINE}\n{LINE[:-5]}", "line 2 is not JSON"),
    "an array": ("[1, 2]", "line 1 is not a JSON object"),
    "no scores": ('{"id": 1}', "line 1 has no scores; name them c0_i0"),
    "a cell missing": ('{"c0_i0": 1, "c1_i1": 2}', "line 1 has no 'c1_i0'; add it"),
    "a far cell": ('{"c0_i0": 1, "c999999999_i0": 2}', "line 1 has no 'c1_i0'; add it"),
    "NaN": ('{"c0_i0": NaN, "c1_i0": 2}', "line 1 has nan for 'c0_i0'; it must be a finite number"),
    "null": ('{"c0_i0": null, "c1_i0": 2}', "line 1 has None for 'c0_i0'"),
    "text": ('{"c0_i0": "1", "c1_i0": 2}', "line 1 has '1' for 'c0_i0'"),
    "huge": (f'{{"c0_i0": 1{"0" * 400}, "c1_i0": 2}}', "for 'c0_i0'; it must be a finite number"),
    "a key twice": ('{"c0_i0": 1, "c0_i0": 1, "c1_i0": 2}', "line 1 has the key 'c0_i0' twice"),
    "other shape": (
        f'{LINE}\n\n{{"c0_i0": 1, "c1_i0": 2, "c2_i0": 2}}',
        "line 3 has 1 images and 3 captions",
    ),
    "equal ids": (
        '{"id": 1, "c0_i0": 1, "c1_i0": 2}\n{"id": "1", "c0_i0": 1, "c1_i0": 2}',
        "several groups with id '1'",
    ),
    "some truth": (
        f'{{"truth": [0], {LINE[1:]}\n{LINE}',
        "`truth` of group '1' is null; list the caption index",
    ),
    "truth too long": (
        f'{{"truth": [0, 1], {LINE[1:]}',
        r"`truth` of group '0' is \[0, 1\]; list the caption index",
    ),
    "truth out of range": (f'{{"truth": [2], {LINE[1:]}', r"Truth of group '0' is \[2\]"),
    "more images": ('{"c0_i0": 1, "c0_i1": 1}', r"scores\.jsonl: Groups of 2 images and 1 caption "),
    "not text": (b'{"id": "\xff"}', "is not UTF-8 text"),
}


@pytest.mark.parametrize("case", BAD_JSONL)
def test_a_bad_jsonl_is_one_sentence(case):
    content, sentence = BAD_JSONL[case]
    with pytest.raises(InputError, match=sentence) as caught:
        read_text(content, "scores.jsonl")
    assert "\n" not in str(caught.value)


def test_a_bad_parquet_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="is not a complete Parquet file"):
        read_text(b"PAR1 and no more", "scores.parquet")
    frame = pd.read_csv(io.StringIO(CSV))
    for changed, sentence in (
        (frame.drop(columns="caption"), "has no column 'caption'"),
        (
            frame.assign(score=frame["score"].where(frame["score"] != 0.25)),
            "has an empty cell in column 'score'",
        ),
        (
            frame.assign(score=np.inf),
            "8 scores are no finite numbers: 'inf' in row 2 .*, 'inf' in row 3 .*, 'inf' in row 4 .*, …; mend them",
        ),
        (frame.iloc[1:], "the score of group 'a', image '0', caption '0' is missing; add its row"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_text(changed.to_parquet(), "scores.parquet")


def test_unknown_endings_absent_files_and_places_that_cannot_be_written_are_one_sentence(tmp_path):
    with pytest.raises(
        InputError, match=r"scores\.xlsx is not a score file; its name must end in \.csv, \.parquet"
    ):
        read_scores("scores.xlsx")
    with pytest.raises(InputError, match=r"none\.csv cannot be read \(No such file or directory\)"):
        read_scores(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"its name must end in"):
        write_scores(tmp_path / "scores.pkl", np.zeros((1, 2, 2)))
    with pytest.raises(InputError, match=r"scores\.csv cannot be written"):
        write_scores(tmp_path / "none" / "scores.csv", np.zeros((1, 2, 2)))
    with pytest.raises(InputError, match="A tag cannot be called 'score'"):
        write_scores(tmp_path / "scores.csv", np.zeros((1, 2, 2)), tags=pd.DataFrame({"score": ["a"]}))
    with pytest.raises(InputError, match="A tag cannot be called 'c0_i7'"):
        write_scores(tmp_path / "scores.jsonl", np.zeros((1, 2, 2)), tags=pd.DataFrame({"c0_i7": ["a"]}))
    assert list(tmp_path.iterdir()) == []


# Tags and shapes


def test_tags_are_text_by_id():
    table = read_tags("tags.csv", "\ufeffid,kind\r\n007,x\r\n8,\r\n".encode())
    assert table.to_dict("list") == {"id": ["007", "8"], "kind": ["x", ""]}
    assert read_tags("tags.csv", b"group,kind\n007,x\n").to_dict("list") == {"id": ["007"], "kind": ["x"]}
    for text, sentence in (
        ("name,kind\n1,x", "has neither a column 'id' nor 'group' among: 'name', 'kind'"),
        ("id,kind\n1,x\n1,y", "several rows with id '1'"),
        ("id,kind\n", "has no rows"),
        ("", "is empty"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_tags("tags.csv", text.encode())


def test_shapes_as_people_write_them():
    assert [parse_shape(t) for t in ("2x2", "1x4", " 2 X 28", "3×3")] == [(2, 2), (1, 4), (2, 28), (3, 3)]
    for text in ("", "2", "2x", "2x2x2", "4x1", "0x2", "1x1", "axb", "-1x2", "99999x99999"):
        with pytest.raises(InputError, match="is not a group shape; write images x captions, such as 2x2"):
            parse_shape(text)


# Embedding files


def embeddings(n=3, m=2, k=2, d=5, seed=0, **names):
    rng = np.random.default_rng(seed)
    return {
        names.get("img", "img"): rng.normal(size=(n * m, d)),
        names.get("cap", "cap"): rng.normal(size=(n * k, d)),
    }


@pytest.mark.parametrize(("m", "k"), [(2, 2), (1, 4), (2, 4), (3, 3)])
def test_scores_of_embeddings_by_hand(m, k):
    arrays = embeddings(3, m, k)
    file = read_embeddings("e.npz", (m, k), npz(**arrays))
    assert (file.n, file.m, file.k) == (3, m, k)
    assert file.images.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(file.images, axis=1), 1, atol=1e-6)
    for g in range(3):
        for i in range(m):
            for j in range(k):
                x, y = arrays["img"][g * m + i], arrays["cap"][g * k + j]
                cosine = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
                assert file.group_scores()[g, i, j] == pytest.approx(cosine, abs=1e-6)
                assert file.group_scores(50)[g, i, j] == pytest.approx(50 * cosine, abs=1e-4)
                assert file.global_scores()[g * m + i, g * k + j] == pytest.approx(cosine, abs=1e-6)


@pytest.mark.parametrize(("m", "k"), [(2, 2), (1, 4), (2, 4)])
def test_embeddings_by_group_are_those_in_rows(m, k):
    """(40, 2, 32) was refused; it says more than 80 rows do."""
    arrays = embeddings(3, m, k)
    stacked = {"img": arrays["img"].reshape(3, m, -1), "cap": arrays["cap"].reshape(3, k, -1)}
    file, rows = (read_embeddings("e.npz", (m, k), npz(**each)) for each in (stacked, arrays))
    assert (file.images == rows.images).all() and (file.captions == rows.captions).all()
    with pytest.raises(
        InputError, match=f"{m} images? in each group, where the shape that was asked for has 3"
    ):
        read_embeddings("e.npz", "3x4", npz(**stacked))


@pytest.mark.parametrize(
    ("img", "cap"), [("images", "texts"), ("image_embeddings", "text_embeddings"), ("Image", "Text")]
)
def test_common_names_half_precision_and_further_arrays_are_understood(img, cap):
    arrays = {name: a.astype(np.float16) for name, a in embeddings(img=img, cap=cap).items()}
    file = read_embeddings("e.npz", "2x2", npz(ids=np.arange(3), **arrays))
    np.testing.assert_allclose(np.linalg.norm(file.captions, axis=1), 1, atol=1e-6)


def changed(name, place, value):
    arrays = embeddings()
    arrays[name][place] = value
    return npz(**arrays)


BAD_EMBEDDINGS = {
    "no captions": (npz(img=np.ones((4, 3))), "needs one array named 'cap' and has none among: img"),
    "two image arrays": (
        npz(image=np.ones((4, 3)), **embeddings()),
        r"named 'img' and has several candidates \(image, img\)",
    ),
    "one axis": (
        npz(img=np.ones(4), cap=np.ones((4, 3))),
        r"image embeddings in e\.npz are float64 of shape \(4,\)",
    ),
    "no rows": (npz(img=np.ones((0, 3)), cap=np.ones((0, 3))), r"of shape \(0, 3\)"),
    "text": (npz(img=np.full((4, 3), "a"), cap=np.ones((4, 3))), "are <U1 of shape"),
    "widths": (
        npz(img=np.ones((4, 3)), cap=np.ones((4, 2))),
        "image embeddings of 3 numbers and caption embeddings of 2",
    ),
    "zero row": (changed("img", 4, 0), "Row 4 of the image embeddings in e.npz is zero"),
    "NaN": (changed("cap", (5, 1), np.nan), "Row 5 of the caption embeddings in e.npz is not finite"),
    "odd count": (
        npz(img=np.ones((5, 3)), cap=np.ones((5, 3))),
        "has 5 images and 5 captions, which cannot form groups of 2",
    ),
    "uneven": (
        npz(img=np.ones((4, 3)), cap=np.ones((6, 3))),
        "has 4 images and 6 captions, which cannot form groups of 2",
    ),
    "a pickle": (pickled(), "pickles can run code and are never loaded"),
    "truncated": (npz(**embeddings())[:-30], "is damaged or not an NPZ file"),
    "empty": (b"", "e.npz is empty"),
}


@pytest.mark.parametrize(
    ("images", "captions", "says"),
    [
        (50, 200, r"give the right shape, such as 1x4 \(in commands --shape 1x4\), or complete the file"),
        (4, 6, r"such as 2x3 \(in commands --shape 2x3\), or"),
        (9, 9, r"give the right shape \(in commands --shape\) or complete"),  # 3x3 or 9x9
        (5, 7, r"give the right shape \(in commands --shape\) or complete"),
    ],
)
def test_embeddings_of_another_shape_are_told_the_option_and_the_shape_that_their_counts_have(
    images, captions, says
):
    with pytest.raises(InputError, match=says):
        read_embeddings("e.npz", "2x2", npz(img=np.ones((images, 3)), cap=np.ones((captions, 3))))


@pytest.mark.parametrize("case", BAD_EMBEDDINGS)
def test_bad_embeddings_are_one_sentence(case):
    content, sentence = BAD_EMBEDDINGS[case]
    with pytest.raises(InputError, match=sentence) as caught:
        read_embeddings("e.npz", "2x2", content)
    assert "\n" not in str(caught.value)


def test_the_published_winoground_embeddings_give_the_published_figures(winoground_embeddings):
    from core.metrics.evaluation import Evaluation

    file = read_embeddings(winoground_embeddings, "2x2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Evaluation.of(file.group_scores(), None, global_scores=file.global_scores()).metrics
    wanted = {"text_score": 34.75, "image_score": 11.0, "group_score": 7.5, "group_match": 67.5}
    wanted |= {"image_to_text_r1": 34.0, "text_to_image_r1": 30.375}
    assert {name: found[name].value for name in wanted} == pytest.approx(wanted)


# Tables


def test_a_table_that_does_not_fit_into_memory_is_refused_before_anything_is_scored(monkeypatch):
    monkeypatch.setattr("core.base.limits.memory_left", lambda: 1 << 20)
    with pytest.raises(InputError, match=r"200,000 images and 100,000 captions needs about 80\.0 GB"):
        scores.score_matrix(None, [None] * 200_000, ["a"] * 100_000)


@pytest.mark.parametrize("held", [1, 10, 25, 10**9])
def test_a_table_is_scored_some_images_at_a_time(toy_groups, tmp_path, monkeypatch, held):
    monkeypatch.setattr(scores, "_BLOCK", held)
    images, captions = list(toy_groups.unique_images()[0])[:5], ["a", "bb", "ccc", "dddd"]
    scorer, cache, told = Letters(), ScoreCache(tmp_path / "scores.sqlite"), []
    score_matrix(scorer, images[1:3], captions[:2], cache)
    known, scorer.asked = set(scorer.asked), []
    table = score_matrix(scorer, images, captions, cache, lambda done, total: told.append((done, total)))
    expected = np.array([[letters(i, c) for c in captions] for i in images], dtype=np.float32)
    np.testing.assert_array_equal(table, expected)
    assert len(scorer.asked) == 16 and not known & set(scorer.asked)
    assert told == sorted(told) and told[-1] == (20, 20)


def test_a_log_that_sqlite_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    """Another connection closes between the look and the question: seen with fifty visitors."""
    cache = ScoreCache(tmp_path / "scores.sqlite")
    cache.put("m", Pairs.of([("i", "c")]), np.ones(1, np.float32))
    monkeypatch.setattr(type(tmp_path), "exists", lambda self: True)
    assert cache.size().bytes > 0


def test_scores_of_an_older_cache_are_found(tmp_path):
    """A row for each score, keyed by a hash of scorer, image and caption: those from an endpoint have cost money."""
    cache = ScoreCache(tmp_path / "c.sqlite")
    with sqlite3.connect(cache.path) as db:
        db.execute("CREATE TABLE scores (key BLOB PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID")
        for i in range(3):
            digest = hashlib.blake2b(b"k\0image" + f"\0caption {i}".encode(), digest_size=16).digest()
            db.execute("INSERT INTO scores VALUES (?, ?)", (digest, float(i)))
    db.close()
    cache.put("k", Pairs.of([("image", "caption 3")]), np.array([3.0]))
    asked = Pairs.of([("image", f"caption {i}") for i in range(5)])
    np.testing.assert_array_equal(cache.get("k", asked), [0, 1, 2, 3, np.nan])
    assert cache.size().scores == 4
    cache.clear()
    assert cache.size().scores == 0 and np.isnan(cache.get("k", asked)).all()


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32))
def test_blocks_stored_in_any_order_are_one_table(tmp_path_factory, seed):
    """Against a dictionary: grids, single pairs, pairs given twice, scores that are not finite, merged or not."""
    rng = np.random.default_rng(seed)
    cache, kept = ScoreCache(tmp_path_factory.mktemp("blocks") / "c.sqlite"), {}
    for _ in range(int(rng.integers(1, 30))):
        images, captions = (rng.integers(0, 6, size=rng.integers(1, 5)) for _ in range(2))
        if rng.random() < 0.5:  # a grid
            places = np.indices((len(images), len(captions))).reshape(2, -1).T
        else:
            places = np.column_stack([rng.integers(0, len(side), size=3) for side in (images, captions)])
        pairs = Pairs([f"i{i}" for i in images], [f"c{j}" for j in captions], places)
        # What is known is never put again, so of one pair there is one score.
        scores = np.array([17.0 * images[i] + captions[j] for i, j in places], dtype=np.float32)
        scores[rng.random(len(scores)) < 0.1] = np.nan
        cache.put("k", pairs, scores)
        named = ((f"i{images[i]}", f"c{captions[j]}") for i, j in places)
        kept |= {key: score for key, score in zip(named, scores, strict=True) if np.isfinite(score)}
    everything = [(f"i{i}", f"c{j}") for i in range(7) for j in range(7)]
    expected = np.array([kept.get(key, np.nan) for key in everything], dtype=np.float32)
    np.testing.assert_array_equal(cache.get("k", Pairs.of(everything)), expected)
    order = rng.permutation(len(everything))
    found = cache.get("k", Pairs.of([everything[i] for i in order]))
    np.testing.assert_array_equal(found, expected[order])


def _store_for_ever(path: str, told) -> None:
    cache = ScoreCache(Path(path))
    for i in range(10_000):
        cache.put("k", Pairs.of([(f"i{i}", f"c{j}") for j in range(10)]), np.full(10, i, dtype=np.float32))
        told.send(i)


def test_what_was_stored_before_a_kill_is_there(tmp_path):
    """Killed among its merges of blocks, three times: all that was stored is found, nothing is half there."""
    context, path = multiprocessing.get_context("fork"), tmp_path / "c.sqlite"
    for wanted in (7, 23, 64):
        read, write = context.Pipe(duplex=False)
        writer = context.Process(target=_store_for_ever, args=(str(path), write))
        writer.start()
        while read.recv() < wanted:
            pass
        writer.kill()
        writer.join()
        asked = Pairs.of([(f"i{i}", f"c{j}") for i in range(10_000) for j in range(10)])
        found = ScoreCache(path).get("k", asked).reshape(-1, 10)
        assert (found[: wanted + 1] == np.arange(wanted + 1)[:, None]).all()
        assert np.isnan(found).all(axis=1).sum() == np.isnan(found).any(axis=1).sum()


@pytest.mark.parametrize("harm", [b"123", b"", b"1234567"])
def test_a_damaged_block_is_a_damaged_cache(tmp_path, harm):
    cache = ScoreCache(tmp_path / "c.sqlite")
    pairs = Pairs.of([("a", "b"), ("c", "d")])  # no grid: it has steps
    cache.put("k", pairs, np.ones(2))
    with sqlite3.connect(cache.path) as db:
        db.execute("UPDATE blocks SET steps = ?", (harm,))
    db.close()
    with pytest.warns(UserWarning, match="was damaged"):
        assert np.isnan(cache.get("k", pairs)).all()


HEADER, CELLS = "group,image,caption,score", "\n".join(f"a,{i},{j},{i == j}.5" for i in "01" for j in "01")
CELLS = CELLS.replace("True", "1").replace("False", "0")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'"{HEADER}"\n{CELLS}', "has its whole header in one pair of quotation marks; take them away."),
        (CELLS, "seems to begin with data (twice '0'); put a row with the names of the columns first."),
        (f"{HEADER.title()}\n{CELLS}", "write these names in lower case."),
    ],
)
def test_a_header_that_is_none_is_one_fault_of_the_file_and_none_of_its_rows(text, says):
    """A header in one pair of quotation marks was told as a fault of each row; one of capitals was to be added."""
    assert read_scores("s.csv", f"{HEADER}\n{CELLS}".encode()).scores.shape == (1, 2, 2)
    with pytest.raises(InputError, match=re.escape(says)):
        read_scores("s.csv", text.encode())
    assert ScoreFault.of_file("s.csv", text.encode()) == []
