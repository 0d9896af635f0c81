"""The guard: what counts as risen, what raw work is, and that the committed figures are in form."""

import pytest

from bench.cases import Case
from bench.guard import CASES, Yardstick, committed, risen
from bench.work import BURSTS_COUNTED


def test_ten_percent_more_is_too_much():
    before = {"a": 1.0, "b": 1.0, "c": 1.0}
    assert risen({"a": 1.09, "b": 1.11, "c": 0.5, "new": 9.0}, before) == ["b"]


def test_raw_work_grows_with_bytes():
    yardstick = Yardstick()
    assert 0 < yardstick.of(Case("small")) < yardstick.of(Case("large", size=64 * 1024))


@pytest.mark.parametrize("build", ["compiled", "plain"])
def test_every_case_has_a_committed_figure(build):
    figures = committed(build)
    assert set(figures.cpu) == {case.name for case in CASES}
    assert set(figures.instructions) == {burst.name for burst in BURSTS_COUNTED}
