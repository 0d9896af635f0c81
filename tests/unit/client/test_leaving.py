import asyncio
from contextlib import ExitStack, suppress

import pytest

from magnetar.client.leaving import INTERRUPTED_S, added_to, time_to_close
from magnetar.errors import NotStored


def time_behind(raised, timeout_s=None):
    """What a close in a ``finally`` gets."""
    times = []
    with suppress(type(raised)), ExitStack() as leaving:
        leaving.callback(lambda: times.append(time_to_close(timeout_s)))
        raise raised
    return times


def test_a_close_has_the_time_it_is_given_and_less_behind_an_interruption():
    assert (time_to_close(None), time_to_close(7)) == (None, 7)
    for interruption in (KeyboardInterrupt(), asyncio.CancelledError()):
        assert time_behind(interruption) == [INTERRUPTED_S]
        assert time_behind(interruption, 7) == [7]
    assert time_behind(ValueError()) == [None]


def test_what_is_lost_is_raised_or_a_note_of_what_is_being_raised(caplog):
    with pytest.raises(NotStored, match="7 messages"), added_to(None):
        raise NotStored("7 messages")
    raised = ValueError("of the application")
    with added_to(raised):
        raise NotStored("7 messages")
    assert raised.__notes__ == ["7 messages"]
    assert "client.not_stored error=7 messages" in caplog.text
