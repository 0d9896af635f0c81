"""A queue of entries: the same as a sorted set of positions."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.dispatch.entry_queue import EntryQueue, by_ledger
from magnetar.model.position import Position

ENTRIES = st.lists(st.integers(0, 9))


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "discard"]), st.integers(0, 2), ENTRIES), max_size=30
    )
)
def test_the_queue_is_a_sorted_set(steps):
    queue, naive = EntryQueue(), set()
    for step, ledger_id, entry_ids in steps:
        some = {Position(ledger_id, entry_id) for entry_id in entry_ids}
        if step == "add":
            changed = queue.add(ledger_id, entry_ids)
            assert changed == sorted(p.entry_id for p in some - naive)
            naive |= some
        else:
            changed = queue.discard(ledger_id, entry_ids)
            assert changed == sorted(p.entry_id for p in some & naive)
            naive -= some
        assert list(queue) == sorted(naive)
        assert bool(queue) == bool(naive)
        assert queue.first(3) == sorted(naive)[:3]
        assert by_ledger(sorted(naive)) == {
            led: list(ids) for led, ids in queue.by_ledger().items()
        }


def test_positions_are_told_apart_by_ledger_in_the_order_they_come_in():
    positions = [Position(2, 5), Position(1, 7), Position(2, 3)]
    assert by_ledger(positions) == {2: [5, 3], 1: [7]}
