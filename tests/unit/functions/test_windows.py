"""Windows as Pulsar's rules say, against rules that are told in one line each."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.functions.windows import WindowRules, Windows

counts = st.integers(1, 7)
times = st.lists(st.integers(1, 40), max_size=40)


def fired(windows, now_ms):
    return [
        (window.inputs, window.start_ms, window.end_ms, window.done)
        for window in windows.due(now_ms)
    ]


def test_tumbling_by_count():
    windows = Windows(WindowRules(True, 2, 2), 0)
    found = []
    for item in range(5):
        windows.add(item, 0)
        found += fired(windows, 0)
    assert found == [([0, 1], None, None, [0, 1]), ([2, 3], None, None, [2, 3])]


def test_sliding_by_count_keeps_what_comes_again():
    windows = Windows(WindowRules(True, 3, 2), 0)
    found = []
    for item in range(6):
        windows.add(item, 0)
        found += fired(windows, 0)
    assert found == [
        ([0, 1], None, None, [0]),
        ([1, 2, 3], None, None, [1, 2]),
        ([3, 4, 5], None, None, [3, 4]),
    ]


def test_tumbling_by_time():
    windows = Windows(WindowRules(False, 10, 10), 101)
    assert windows.next_ms() == 110
    windows.add("a", 101)
    windows.add("b", 110)
    assert fired(windows, 109) == []
    assert fired(windows, 115) == [(["a", "b"], 100, 110, ["a", "b"])]
    assert windows.next_ms() == 120
    assert fired(windows, 145) == []
    assert windows.next_ms() == 150


def test_sliding_by_time():
    windows = Windows(WindowRules(False, 20, 10), 1)
    windows.add("a", 5)
    windows.add("b", 15)
    assert fired(windows, 30) == [
        (["a"], -10, 10, []),
        (["a", "b"], 0, 20, ["a"]),
        (["b"], 10, 30, ["b"]),
    ]


def test_event_time_waits_for_the_watermark_of_all_topics_and_its_lag():
    windows = Windows(WindowRules(False, 10, 10, True, lag_ms=5, emit_ms=1000), 0, topics=2)
    windows.add(1, 7, "one")
    windows.add(2, 28, "one")
    assert fired(windows, 1000) == []  # The other topic has said nothing.
    windows.add(3, 16, "two")
    assert fired(windows, 1500) == []  # Looked at every second.
    assert fired(windows, 2000) == [([1], 0, 10, [1])]
    assert windows.watermark_ms == 11
    assert not windows.add(4, 10, "two")
    assert windows.add(5, 12, "two")
    windows.add(6, 40, "two")
    assert fired(windows, 3000) == [([5, 3], 10, 20, [5, 3])]


def test_what_belongs_to_a_window_that_is_over_is_late():
    windows = Windows(WindowRules(False, 10, 10, True, emit_ms=1), 0)
    windows.add(1, 10)
    assert fired(windows, 1) == [([1], 0, 10, [1])]
    assert not windows.add(2, 10)
    assert windows.add(3, 11)


def test_event_time_by_count_orders_by_time():
    windows = Windows(WindowRules(True, 2, 2, True, emit_ms=1), 0)
    for item in (5, 3, 4, 9):
        windows.add(item, item)
    assert fired(windows, 1) == [([3, 4], None, 4, [3, 4]), ([5, 9], None, 9, [5, 9])]


@given(counts, counts, st.integers(0, 40))
def test_by_count_each_window_is_the_last_inputs(length, slide, count):
    windows = Windows(WindowRules(True, length, slide), 0)
    done = []
    for item in range(count):
        windows.add(item, 0)
        for inputs, _, _, finished in fired(windows, 0):
            assert (item + 1) % slide == 0
            assert inputs == list(range(max(0, item + 1 - length), item + 1))
            done += finished
    assert done == list(range(len(done)))
    assert len(done) + len(windows) == count


@given(st.integers(1, 12), st.integers(1, 12), times, st.booleans())
def test_by_time_each_window_has_what_lies_in_it(length, slide, given_times, event_time):
    """And every input is done once, whether it was in a window or between two."""
    given_times = given_times if event_time else sorted(given_times)
    items = list(enumerate(given_times))
    windows = Windows(WindowRules(False, length, slide, event_time, emit_ms=1), 1)
    for item in items:
        assert windows.add(item, item[1])
    horizon = 40 + length + slide
    windows.add(None, 10_000)
    seen, done = {}, []
    for inputs, start_ms, end_ms, finished in fired(windows, 9_000 if not event_time else 10_000):
        assert end_ms % slide == 0
        if inputs:
            seen[end_ms] = sorted(item for item in inputs if item)
            assert start_ms == end_ms - length
        done += [item for item in finished if item]
    ends = range(slide, horizon + slide, slide) if not event_time else range(0, horizon, slide)
    for end_ms in ends:
        inside = sorted(item for item in items if end_ms - length < item[1] <= end_ms)
        assert seen.get(end_ms, []) == inside
    assert sorted(done) == sorted(items)
