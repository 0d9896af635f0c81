"""Entries that are due at some time: never early, less than a tick late, none lost."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.model.position import Position
from magnetar.model.timer_wheel import TimerWheel

TICK_S = 0.7


def at(entry_id):
    return Position(1, entry_id)


def test_what_is_due_within_one_tick_comes_together():
    wheel = TimerWheel()
    assert wheel.first is None
    assert wheel.add([at(1), at(2)], 9.1, 1.0) == 10.0
    assert wheel.add([at(3)], 10.0, 1.0) == 10.0
    assert wheel.add([at(4)], 10.1, 1.0) == 11.0
    assert wheel.first == 10.0
    assert wheel.take(9.9) == []
    assert sorted(wheel.take(10.0)) == [at(1), at(2), at(3)]
    assert wheel.first == 11.0
    assert wheel.take(99.0) == [at(4)]
    assert wheel.first is None


def test_what_is_added_again_keeps_its_time_and_what_is_moved_does_not():
    wheel = TimerWheel()
    wheel.add([at(1), at(2)], 5.0, 1.0)
    wheel.add([at(1)], 9.0, 1.0)
    wheel.move([at(2)], 3.0, 1.0)
    assert wheel.take(4.0) == [at(2)]
    assert wheel.take(5.0) == [at(1)]


def test_what_is_taken_out_is_not_due():
    wheel = TimerWheel()
    wheel.add(map(at, range(6)), 5.0, 1.0)
    wheel.discard(at(4))
    wheel.discard(at(77))
    wheel.discard_through(at(2))
    assert sorted(wheel.take(5.0)) == [at(3), at(5)]
    wheel.add([at(6)], 9.0, 1.0)
    wheel.clear()
    assert (wheel.entries, wheel.first) == ({}, None)


STEP = st.tuples(
    st.sampled_from(["add", "move", "discard", "through", "pass"]),
    st.integers(0, 9),
    st.floats(0, 30, allow_nan=False),
)


@given(st.lists(STEP, max_size=60))
def test_nothing_is_early_or_a_tick_late_and_nothing_is_lost(steps):
    wheel, due, now, latest = TimerWheel(), {}, 0.0, 0.0
    for name, entry, seconds in steps:
        position = at(entry)
        if name == "pass":
            # The slots are emptied at their time, as a timer would do it.
            while wheel.first is not None and wheel.first <= now + seconds:
                latest = max(latest, wheel.first)
                for taken in wheel.take(latest):
                    assert due[taken] <= latest < due.pop(taken) + TICK_S * 1.001
            now += seconds
            assert all(when + TICK_S > now for when in due.values())
        elif name == "discard":
            wheel.discard(position)
            due.pop(position, None)
        elif name == "through":
            wheel.discard_through(position)
            due = {each: when for each, when in due.items() if each > position}
        elif name == "add":
            wheel.add([position], now + seconds, TICK_S)
            due.setdefault(position, now + seconds)
        else:
            wheel.move([position], now + seconds, TICK_S)
            due[position] = now + seconds
        assert wheel.entries.keys() == due.keys()
