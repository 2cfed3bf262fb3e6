"""The benchmark of audits: every planted fault is caught, and a part is made anew without the others."""

import argparse
import re

import numpy as np
import pytest

from benchmarks.results import audits
from core import datasets
from core.audit import Audit


@pytest.mark.slow
@pytest.mark.parametrize("kind", audits.PLANTED)
def test_a_fault_planted_in_sixty_groups_is_caught_and_the_set_was_sound_before(kind):
    fault = audits.PLANTED[kind]
    shape = fault.shapes[0]
    assert audits._caught(fault, [audits._with_fault(fault, shape, 60, 1)]) == "1 of 1"
    before = audits.shaped(np.random.default_rng([60, *shape, 1]), 60, *shape, fault.pictures)
    assert {f.key: f.verdict for f in Audit.of(before).findings}[fault.key] != audits.FAULT


def test_a_part_of_the_page_is_made_anew_and_the_others_stay(monkeypatch):
    made = {
        name: part._replace(made=lambda given, name=name: f"{name} made")
        for name, part in audits.PARTS.items()
    }
    monkeypatch.setattr(audits, "PARTS", made)
    whole = audits.page([*made], "", argparse.Namespace())
    assert re.findall(r"^(\w+) made$", whole, flags=re.M) == [*made]
    changed = whole.replace("made", "of before")
    again = audits.page(["copies"], changed, argparse.Namespace())
    assert again.count("of before") == len(made) - 1 and again.count("copies made") == 1
    assert audits.page([], changed, argparse.Namespace()) == changed


def test_what_the_page_says_of_sugarcrepe_is_measured(real_data, monkeypatch):
    monkeypatch.setenv("CROSSMATCH_DATA", str(real_data("sugarcrepe").parent))
    groups = datasets.load("sugarcrepe/swap_obj", images=False)
    same = sum(
        sorted(a.lower().split()) == sorted(b.lower().split()) for a, b in (g.captions for g in groups)
    )
    assert f"parted at white space {same}" in audits._words([groups])
    said = audits._reading([Audit.of(groups), Audit.of(datasets.load("scenes/word-order"))])
    assert "- A fault is found in 1 of 1 built-in sets: scenes/word-order." in said
    (writing,) = re.findall(
        r"- By writing: `swap_obj` the caption that ends without punctuation is right in (\d+) %", said
    )
    texts = [group.captions for group in groups]
    ends = [[c.rstrip()[-1] in ".!?,;\"'" for c in pair] for pair in texts]
    differ = [(a, b) for a, b in ends if a != b]
    right = 100 * (sum(b for _, b in differ) + (len(texts) - len(differ)) / 2) / len(texts)
    assert abs(int(writing) - right) <= 1.5
