import asyncio
import sys
from array import array
from pathlib import Path

import pytest
from unit.storage.ledger.local.support import stamp

from magnetar.errors import CorruptEntry, EntryNotFound
from magnetar.inner.record import HEAD_SIZE
from magnetar.storage.ledger.local.format import location
from magnetar.storage.ledger.local.index import TRANSITIONS, Ledger, LedgerState, group_of
from magnetar.storage.ledger.local.segment_format import Group
from magnetar.storage.ledger.local.segments import Segment


def ledger_of(*blocks):
    """A ledger whose blocks hold so many entries each, a thousand bytes apart."""
    ledger = Ledger(1)
    for number, count in enumerate(blocks):
        ledger.add(ledger.next_entry_id, count, 1000 * number, 10 * count)
    return ledger


def segment(generation):
    return Segment(stamp(generation), Path("segment"), 4096, 10_000, 4096, 4096)


def test_blocks_follow_one_another():
    ledger = ledger_of(3, 1, 5)
    assert ledger.next_entry_id == 9
    assert ledger.size_bytes == 90
    assert [ledger.place(first) for first in (0, 3, 4)] == [0, 1000, 2000]
    assert ledger.place(1) is None
    assert ledger.place(9) is None


def test_the_blocks_of_some_entries_are_found():
    ledger = ledger_of(3, 1, 5)
    assert [list(part) for part in ledger.blocks(0, 3)] == [[0], [0]]
    assert [list(part) for part in ledger.blocks(2, 2)] == [[0, 3], [0, 1000]]
    assert [list(part) for part in ledger.blocks(8, 100)] == [[4], [2000]]
    assert [list(part) for part in ledger.blocks(1, 100)] == [[0, 3, 4], [0, 1000, 2000]]


@pytest.mark.parametrize("first", [-1, 9, 100])
def test_there_are_no_blocks_beyond_the_end(first):
    with pytest.raises(EntryNotFound, match="it ends at entry 8"):
        ledger_of(3, 1, 5).blocks(first, 1)


def test_entries_before_the_first_block_were_lost():
    ledger = Ledger(1)
    ledger.add(5, 2, 0, 20)
    with pytest.raises(CorruptEntry):
        ledger.blocks(3, 10)


def test_a_block_may_move():
    ledger = ledger_of(3, 1, 5)
    ledger.move(3, 7777)
    assert ledger.place(3) == 7777


def test_later_segments_are_added_behind():
    ledger = Ledger(1)
    assert ledger.merge(array("Q"), array("Q")) == []
    assert ledger.merge(array("Q", [0, 3]), array("Q", [100, 200])) == []
    assert ledger.merge(array("Q", [4]), array("Q", [300])) == []
    assert (list(ledger.firsts), list(ledger.locations)) == ([0, 3, 4], [100, 200, 300])


def test_a_moved_block_replaces_its_original():
    ledger = Ledger(1)
    ledger.merge(array("Q", [0, 3]), array("Q", [100, 200]))
    ledger.merge(array("Q", [9]), array("Q", [300]))
    assert ledger.merge(array("Q", [0, 12]), array("Q", [400, 500])) == [100]
    assert list(ledger.firsts) == [0, 3, 9, 12]
    assert list(ledger.locations) == [400, 200, 300, 500]


def test_an_idle_ledger_is_small():
    ledger = ledger_of(1)
    assert sum(map(sys.getsizeof, (ledger, ledger.firsts, ledger.locations))) < 500


def test_ledgers_without_blocks_share_nothing_that_changes():
    one, other = Ledger(1), Ledger(2)
    one.add(0, 1, 100, 10)
    assert list(other.firsts) == []
    other.merge(array("Q", [5]), array("Q", [7]))
    assert list(Ledger(3).firsts) == []


async def test_settled_waits_for_appends_under_way():
    ledger = Ledger(1)
    await ledger.settled()
    ledger.appending = 2
    waiters = [asyncio.ensure_future(ledger.settled()) for _ in range(2)]
    ledger.add(0, 1, 100, 10)
    await asyncio.sleep(0)
    assert not any(waiter.done() for waiter in waiters)
    ledger.fail()
    await asyncio.gather(*waiters)


async def test_who_waits_may_give_up_alone():
    ledger = Ledger(1)
    ledger.appending = 1
    one, other = (asyncio.ensure_future(ledger.settled()) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    await asyncio.sleep(0)
    ledger.add(0, 1, 100, 10)
    await other


def test_a_life_goes_one_way():
    assert set(TRANSITIONS) == set(LedgerState)
    ledger = Ledger(1)
    ledger.fence("it was closed")
    ledger.fence("the store was closed")
    assert (ledger.state, ledger.closed_because) == (LedgerState.FENCED, "it was closed")
    ledger.to(LedgerState.ENDED)
    ledger.delete()
    ledger.delete()
    assert (ledger.deleted, ledger.closed_because) == (True, "it was deleted")
    with pytest.raises(AssertionError, match="DELETED to ENDED"):
        ledger.to(LedgerState.ENDED)


def test_a_segment_counts_what_is_alive_in_it():
    one = segment(1)
    for ledger_id, size in ((1, 100), (1, 50), (2, 10)):
        one.hold(ledger_id, size)
    assert (one.ledgers, one.live) == ({1: 150, 2: 10}, 160)
    one.release(1, 150)
    assert (one.ledgers, one.live) == ({1: 0, 2: 10}, 10)


def test_a_footers_group_is_what_the_index_knows_of_one_segment():
    ledger, one, two = Ledger(1), segment(1), segment(2)
    for number, holder in enumerate((one, one, two, two)):
        ledger.add(2 * number, 2, location(holder.generation, 5000 + number), 10)
        holder.hold(1, HEAD_SIZE + 16 + 10)
    one.notes.created.add(1)
    group = group_of(one, ledger)
    assert (list(group.firsts), group.next_entry_id) == ([0, 2], 4)
    assert (group.created, group.ended_at) == (True, None)
    assert (group.body_size, group.records_size) == (20, 20 + 2 * (HEAD_SIZE + 16))
    two.notes.ended.add(1)
    group = group_of(two, ledger)
    assert (list(group.firsts), group.next_entry_id) == ([4, 6], 8)
    assert (group.created, group.ended_at) == (False, 8)


def test_a_footers_group_has_the_blocks_that_were_moved_there():
    ledger, one, two = Ledger(1), segment(1), segment(2)
    for number, holder in enumerate((one, one, two)):
        ledger.add(2 * number, 2, location(holder.generation, 5000 + number), 10)
        holder.hold(1, HEAD_SIZE + 16 + 10)
    moved = two.notes.groups[1] = Group(1)
    for first, offset in ((2, 7000), (0, 8000)):
        place = location(2, offset)
        ledger.move(first, place)
        moved.add((1, [first], [place], first + 2, 10, HEAD_SIZE + 16 + 10))
        two.hold(1, HEAD_SIZE + 16 + 10)
    group = group_of(two, ledger)
    assert list(group.firsts) == [0, 2, 4]
    assert list(group.locations) == [location(2, offset) for offset in (8000, 7000, 5002)]
    assert (group.next_entry_id, group.body_size) == (6, 30)
