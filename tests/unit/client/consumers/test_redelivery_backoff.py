"""How long a message waits before it comes again."""

import pytest

from magnetar.client.consumers.redelivery_backoff import RedeliveryBackoff
from magnetar.errors import InvalidValue


def test_each_redelivery_waits_twice_as_long_up_to_the_most():
    backoff = RedeliveryBackoff()
    waits = [backoff.delay_s(count) for count in range(9)]
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert RedeliveryBackoff(0.5, 100.0, 3.0).delay_s(2) == 4.5
    assert backoff.delay_s(1_000_000) == 60


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"min_s": -1}, "min_s is -1"),
        ({"max_s": 0.5}, "max_s is 0.5; it must be at least min_s, 1.0"),
        ({"multiplier": 0.5}, "multiplier is 0.5; it must be at least 1"),
        ({"min_s": "1"}, "min_s must be a number, not str"),
    ],
)
def test_what_makes_no_sense_is_refused(values, said):
    with pytest.raises(InvalidValue, match=said):
        RedeliveryBackoff(**values)
