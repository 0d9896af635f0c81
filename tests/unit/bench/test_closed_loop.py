"""The generator against a broker that stores nothing: it reaches it, and counts."""

import pytest

from bench.cases import Case
from bench.closed_loop import ClosedLoop
from bench.null_broker import NullBroker
from bench.open_loop import OpenLoop

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "case",
    [
        Case("few", in_flight=10, seconds=0.05, warm_up_s=0),
        Case("big", size=64 * 1024, in_flight=3, seconds=0.05, warm_up_s=0),
        Case("many", connections=3, topics=6, in_flight=4, seconds=0.05, warm_up_s=0),
    ],
    ids=lambda case: case.name,
)
def test_every_send_is_answered(case):
    with NullBroker(case) as broker:
        loop = ClosedLoop(broker, case)
        try:
            result = loop.run()
            assert loop.receipts() == loop.sent - sum(each.unsent for each in loop.publishers)
        finally:
            loop.close()
    assert result.entries_per_s > 0
    assert result.mb_per_s > 0


def test_an_open_loop_sends_at_its_rate():
    case = Case("steady", rate=1000, seconds=0.1, warm_up_s=0.05)
    with NullBroker(case) as broker:
        loop = OpenLoop(broker, case)
        try:
            result = loop.run()
        finally:
            loop.close()
    assert result.publish.count == 100
    assert result.end_to_end is None
