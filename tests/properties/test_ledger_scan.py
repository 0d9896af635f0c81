"""Records read many at once are what they are read one by one, damaged or not."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.storage.ledger.local.support import block, stamp

from magnetar.storage.ledger.local import scan as scanning
from magnetar.storage.ledger.local.format import Kind, encode_mark
from magnetar.storage.ledger.local.segment_format import PAGE, Group
from magnetar.storage.ledger.local.window import Window

STAMP = stamp(3)
WINDOW = 3000


class Memory:
    """A file that is in memory."""

    def __init__(self, data):
        self.data = data

    def read(self, offset, size):
        return self.data[offset : offset + size]

    def size(self):
        return len(self.data)


def record(chance, synced, firsts):
    """A record of one of a few ledgers, mostly of one entry."""
    ledger_id = chance.randint(1, 4)
    if chance.random() < 0.1:
        return encode_mark(chance.choice([*Kind][1:]), STAMP, synced, ledger_id, 7)
    count = chance.choice([1] * 6 + [2, 30])
    entries = [chance.randbytes(chance.choice([0, 1, 50, 4000])) for _ in range(count)]
    first = firsts.get(ledger_id, 0)
    if chance.random() < 0.1:
        first = chance.randint(0, first)  # Compaction brings older blocks.
    firsts[ledger_id] = max(firsts.get(ledger_id, 0), first + count)
    return block(STAMP, synced, ledger_id, first, *entries)


def log(chance):
    """A segment's bytes, with damage."""
    data = bytearray(PAGE)
    firsts = {}
    synced = PAGE
    for _ in range(chance.randint(1, 40)):
        if chance.random() < 0.3:
            synced = len(data)
        elif chance.random() < 0.02:
            synced = len(data) + 10  # Nobody's record says that.
        data += record(chance, synced, firsts)
    for _ in range(chance.choice([0, 0, 1, 3])):
        data[chance.randrange(PAGE, len(data))] ^= 1 << chance.randrange(8)
    del data[len(data) - chance.choice([0, 0, 1, 100]) :]
    return bytes(data + bytes(chance.choice([0, 5000])))


def one_record(records):
    """Finds one record where ``records`` finds those behind it, too."""

    def one(window, at, end, *, verify_bodies):
        end = min(end, at + window.head(at).size)
        return records(window, at, end, verify_bodies=verify_bodies)

    return one


def found(data, limit, *, newest, verify_bodies):
    result = scanning.scan(
        Memory(data),
        STAMP,
        PAGE,
        limit,
        newest=newest,
        verify_bodies=verify_bodies,
        read_min=WINDOW,
    )
    groups = {
        ledger_id: [getattr(group, name) for name in Group.__slots__]
        for ledger_id, group in result.groups.items()
    }
    return (
        groups,
        result.end,
        result.synced,
        result.deletions,
        result.damaged,
        result.cut,
    )


@given(seed=st.integers(0, 2**32), newest=st.booleans(), verify_bodies=st.booleans())
@settings(max_examples=300, deadline=None)
def test_many_at_once_are_what_they_are_one_by_one(seed, newest, verify_bodies):
    chance = Random(seed)
    data = log(chance)
    limit = chance.choice([len(data), chance.randint(PAGE, max(PAGE, len(data)))])
    short = found(data, limit, newest=newest, verify_bodies=verify_bodies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Window, "records", one_record(Window.records))
        careful = found(data, limit, newest=newest, verify_bodies=verify_bodies)
    assert short == careful
