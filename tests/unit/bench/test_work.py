"""Instructions are counted: the same each time, and more where there is more to do."""

import sys

import pytest

from bench.work import Burst, Instructions, count
from magnetar.model.varint import varint

ALONE = Burst("alone", 100, 1)
TOGETHER = Burst("together", 100, 50)
DELIVERED = Burst("delivered", 100, 50, consumers=3)


def test_a_count_does_not_change_from_time_to_time():
    first, second = count([TOGETHER]), count([TOGETHER])
    assert first["together"] == pytest.approx(second["together"], rel=0.02)


def test_runs_share_what_they_cost_and_consumers_cost_more():
    found = count([ALONE, TOGETHER, DELIVERED])
    assert 0 < found["together"] * 5 < found["alone"]
    assert found["together"] < found["delivered"]


def counted_in(work):
    counted = Instructions()
    before = sys.gettrace()
    sys.settrace(counted.watch)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted.count


def test_only_the_packages_own_functions_count():
    assert counted_in(lambda: sorted([3, 1, 2], key=lambda number: -number)) == 0
    assert 0 < counted_in(lambda: varint(300)) < 100


def test_a_checkout_that_is_called_as_the_package_is_does_not_count():
    theirs = {}
    exec(compile("def f(): return 1 + 1", "/home/me/magnetar/tests/test_mine.py", "exec"), theirs)
    assert counted_in(theirs["f"]) == 0
