"""What a consumer holds: the same as a plain dictionary of positions would say."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.topics.pending import Pending, by_ledger
from magnetar.model.position import Position

ENTRIES = st.lists(st.integers(0, 9), max_size=6)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "take", "reduce"]), st.integers(0, 2), ENTRIES),
        max_size=20,
    )
)
def test_it_is_a_dictionary_of_positions(steps):
    pending, naive = Pending(), {}
    for step, ledger_id, entry_ids in steps:
        some = [Position(ledger_id, entry_id) for entry_id in dict.fromkeys(entry_ids)]
        if step == "add":
            fresh = {p: 1 + p.entry_id % 3 for p in some if p not in naive}
            if fresh:
                pending.add(ledger_id, [p.entry_id for p in fresh], [*fresh.values()])
            naive |= fresh
        elif step == "take":
            taken = [p.entry_id for p in some if naive.pop(p, None) is not None]
            assert list(pending.take(ledger_id, entry_ids)) == taken
        else:
            for position in (p for p in some if naive.get(p, 0) > 1):
                pending.reduce(position, 1)
                naive[position] = 1
        assert list(pending) == sorted(naive)
        assert len(pending) == len(naive)
        assert bool(pending) == bool(naive)
        assert pending.messages == sum(naive.values())
        assert all(p in pending and pending.get(p) == naive[p] for p in naive)
        assert Position(9, 9) not in pending
        assert pending.get(Position(9, 9)) == 0
        assert {ledger: sorted(ids) for ledger, ids in pending.by_ledger()} == by_ledger(
            sorted(naive)
        )
    assert pending.take_all() == by_ledger(sorted(naive))
    assert (list(pending), pending.messages) == ([], 0)


def test_positions_are_told_apart_by_ledger_in_the_order_they_come_in():
    positions = [Position(2, 5), Position(1, 7), Position(2, 3)]
    assert by_ledger(positions) == {2: [5, 3], 1: [7]}
