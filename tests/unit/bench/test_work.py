"""Instructions are counted: the same each time, and more where there is more to do."""

import sys

import pytest

from bench.work import Burst, Instructions, count
from magnetar.message.varint import varint

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


def test_only_the_packages_own_functions_count():
    counted = Instructions()
    before = sys.gettrace()
    sys.settrace(counted.watch)
    try:
        sorted([3, 1, 2], key=lambda number: -number)
        others = counted.count
        varint(300)
    finally:
        sys.settrace(before)
    assert others == 0
    assert 0 < counted.count < 100
