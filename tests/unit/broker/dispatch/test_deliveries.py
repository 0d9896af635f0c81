"""The table of what is out and what waits: the same as a dictionary of positions would say."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.dispatch.deliveries import Deliveries
from magnetar.broker.dispatch.entry_queue import by_ledger
from magnetar.model.position import Position

ENTRIES = st.lists(st.integers(0, 9), max_size=6)


class Holder:
    """Counts what it holds."""

    def __init__(self):
        self.messages = 0

    def took(self, messages):
        self.messages += messages

    def released(self, messages):
        self.messages -= messages


def positions(entries):
    return [Position(ledger, entry) for ledger, ids in entries.items() for entry in ids]


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["hand over", "release", "part", "wait", "take up", "leave"]),
            st.integers(0, 1),
            st.integers(0, 2),
            ENTRIES,
        ),
        max_size=30,
    )
)
def test_it_is_a_dictionary_of_positions(steps):
    table, holders = Deliveries(lambda group: group), [Holder(), Holder()]
    out, waiting = {}, set()  # By position: holder and messages; and what waits.
    for step, who, ledger_id, entry_ids in steps:
        holder = holders[who]
        some = [Position(ledger_id, entry_id) for entry_id in dict.fromkeys(entry_ids)]
        free = [p for p in some if p not in out and p not in waiting]
        mine = [p for p in some if out.get(p, (None, 0))[0] is holder]
        if step in {"hand over", "wait"} and free:
            ids = [p.entry_id for p in free]
            odd = [entry_id for entry_id in ids if entry_id % 2]
            table.group(ledger_id, odd, map("g{}".format, odd))
            if step == "wait":
                table.wait(ledger_id, ids)
                waiting.update(free)
            else:
                messages = [1 + entry_id % 3 for entry_id in ids]
                table.hand_over(holder, ledger_id, ids, messages, 5.0)
                out |= {p: (holder, count) for p, count in zip(free, messages, strict=True)}
        elif step == "release":
            released = list(table.release(holder, ledger_id, entry_ids))
            assert released == [p.entry_id for p in mine]
            table.forget(ledger_id, released)
            for position in mine:
                del out[position]
        elif step == "part":
            for position in mine:
                table.release_part(holder, position, 1)
                out[position] = (holder, 1)
        elif step == "take up":
            gone = table.dequeue(ledger_id, entry_ids)
            assert sorted(gone) == sorted(p.entry_id for p in some if p in waiting)
            waiting.difference_update(some)
        elif step == "leave":
            held = table.leave(holder)
            assert positions(held) == sorted(p for p, its in out.items() if its[0] is holder)
            for position in positions(held):
                table.forget(position.ledger_id, [position.entry_id])
                del out[position]
        groups = Counter(f"g{p.entry_id}" for p in waiting if p.entry_id % 2)
        assert table.waiting_groups == groups
        assert table.waiting_count == len(waiting)
        assert sorted(p for line in table.queues.values() for p in line) == sorted(waiting)
        assert set(table.queues) == {*groups, *([None] if len(waiting) > groups.total() else [])}
        assert table.messages == sum(count for _, count in out.values())
        for each in holders:
            held = [p for p, its in out.items() if its[0] is each]
            assert positions(table.held(each)) == sorted(held)
            assert each.messages == sum(out[p][1] for p in held)
            assert table.held_groups(each) == Counter(
                f"g{p.entry_id}" for p in held if p.entry_id % 2
            )
    known = positions({ledger: range(10) for ledger in range(3)})
    grouped = [p for p in known if list(table.groups_of(p.ledger_id, [p.entry_id]))]
    assert grouped == sorted(p for p in {*out, *waiting} if p.entry_id % 2)


def test_it_is_known_since_when_an_entry_and_a_group_are_held():
    table, holder, other = Deliveries(), Holder(), Holder()
    table.group(1, [10, 11, 12], "aba")
    table.hand_over(holder, 1, [10], [1], 3.0)
    table.hand_over(holder, 1, [11, 12], [1, 4], 7.0)
    held = [table.entry_held_since(holder, Position(1, entry_id)) for entry_id in (10, 11, 13)]
    assert held == [3.0, 7.0, None]
    assert table.entry_held_since(other, Position(1, 10)) is None
    assert (table.held_since(holder, "a"), table.held_since(holder, "b")) == (3.0, 7.0)
    table.release(holder, 1, [10])
    assert table.held_since(holder, "a") == 7.0
    table.release_part(holder, Position(1, 12), 2)
    assert table.held_since(holder, "a") == 7.0, "the rest of a batch is held as long"
    assert table.held_since(other, "a") is None


def test_what_waits_in_any_line_is_told_in_log_order():
    table = Deliveries()
    table.group(1, range(6), "abcabc")
    table.wait(1, [0, 1, 4, 5])
    table.wait(2, [3])
    assert table.waiting() == {1: [0, 1, 4, 5], 2: [3]}


def test_nothing_that_waits_leaves_no_line():
    table = Deliveries()
    table.wait(1, [])
    assert (table.queues, table.waiting_count) == ({}, 0)


def test_entries_change_lines_where_their_group_belongs_to_another():
    lines = {"a": 1, "b": 1, "c": 2}
    table = Deliveries(lines.get)
    table.group(7, range(3), "abc")
    table.wait(7, range(3))
    assert {line: list(queue) for line, queue in table.queues.items()} == {
        1: [(7, 0), (7, 1)],
        2: [(7, 2)],
    }
    lines["b"] = 2
    table.requeue([1, 3])
    assert {line: list(queue) for line, queue in table.queues.items()} == {
        1: [(7, 0)],
        2: [(7, 1), (7, 2)],
    }
    assert (table.waiting_count, by_ledger(table.queues[2])) == (3, {7: [1, 2]})
