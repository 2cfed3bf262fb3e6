"""Visitors' models compute one at a time, in the order in which they came, and give way between blocks."""

import threading
import time

import pytest
from gates import until

from ui import compute_queue
from ui.compute_queue import MODELS, Turns, queued


def together(*jobs):
    """All jobs at once, queued up in this order."""
    threads = [threading.Thread(target=job) for job in jobs]
    with MODELS.one():
        for i, thread in enumerate(threads):
            thread.start()
            until(lambda i=i: MODELS.waiting == i + 1)
    for thread in threads:
        thread.join()


def test_never_two_at_once_and_first_come_first_served():
    at_work, most, order = 0, 0, []

    def work(name):
        nonlocal at_work, most
        with MODELS.one():
            at_work += 1
            most = max(most, at_work)
            order.append(name)
            time.sleep(0.05)
            at_work -= 1

    together(*(lambda i=i: work(i) for i in range(5)))
    assert most == 1 and order == [0, 1, 2, 3, 4]


def test_a_long_stream_gives_way_after_every_block():
    order, counts = [], {"long": 6, "short": 2}

    def blocks(name, other):
        for _ in range(counts[name]):
            until(lambda: MODELS.waiting == 1 or order.count(other) == counts[other])
            order.append(name)
            yield name

    together(lambda: list(queued(blocks)("long", "short")), lambda: list(queued(blocks)("short", "long")))
    assert order[:4] in (["long", "short"] * 2, ["short", "long"] * 2) and order[4:] == ["long"] * 4


def test_an_error_hands_the_turn_on():
    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        queued(fails)()
    assert queued(lambda: 3)() == 3


def test_one_address_with_many_sessions_is_one_among_others(monkeypatch):
    """Its second session waits until everybody else has had a turn."""
    order, who = [], threading.local()
    monkeypatch.setattr(compute_queue, "address", lambda: getattr(who, "address", None))

    def work(name):
        who.address = name
        with MODELS.one():
            order.append(name)

    together(*(lambda name=name: work(name) for name in ("many", "many", "many", "one", "many", "two")))
    assert order == ["many", "one", "two", "many", "many", "many"]


def test_as_many_work_at_once_as_there_are_places():
    turns, at_work, seen, enough = Turns(2), set(), [], threading.Event()

    def work(name):
        with turns.one():
            at_work.add(name)
            seen.append(len(at_work))
            if len(at_work) == 2:
                enough.set()
            assert enough.wait(300)
            at_work.discard(name)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(seen) == 2 and turns.waiting == 0


def test_who_leaves_before_its_turn_takes_no_place(monkeypatch):
    class Impatient(threading.Event):
        def wait(self, timeout=None):
            if not self.is_set():
                raise KeyboardInterrupt
            return True

    monkeypatch.setattr(compute_queue, "Event", Impatient)
    turns = Turns(1)
    with turns.one():
        with pytest.raises(KeyboardInterrupt), turns.one():
            pytest.fail("its turn has not come")
        assert turns.waiting == 0
    with turns.one():
        pass
