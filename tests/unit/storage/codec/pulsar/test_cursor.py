import pytest

from magnetar.broker.topics.features import deduplication
from magnetar.broker.topics.subscriptions import persistent_subscription
from magnetar.errors import CorruptEntry
from magnetar.model.position import LONG_MAX, Position
from magnetar.proto.ManagedLedger_pb2 import ManagedCursorInfo, PositionInfo
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.pulsar.cursor import (
    LEDGERS,
    NUMBERED,
    POSITION_SIZE_MAX,
    REPLICATED,
    decode_cursor,
    decode_position,
    encode_cursor,
    encode_position,
    fits_record,
    ranges_size,
)
from magnetar.storage.managed_ledger import compaction

STATE = CursorState(
    Position(3, 7),
    ranges={3: ([9, 20], [12, 20]), 5: ([0], [1])},
    batches=[(Position(3, 15), [-1, 5])],
    redeliveries={3: ([8, 15], [2, 1])},
    properties={"colour": "blue"},
    ledger_ids=(12, 13),
)


def read(value):
    return decode_cursor(value, source="/a/cursor")


def test_a_cursor_in_its_record_is_as_pulsar_has_it():
    message = ManagedCursorInfo.FromString(encode_cursor(STATE, name="s"))
    assert (message.cursorsLedgerId, message.markDeleteLedgerId) == (-1, 3)
    assert [
        (each.lowerEndpoint.entryId, each.upperEndpoint.entryId)
        for each in message.individualDeletedMessages
    ] == [(8, 12), (19, 20), (-1, 1)]
    assert list(message.batchedEntryDeletionIndexInfo[0].deleteSet) == [-1, 5]
    assert [(each.name, each.value) for each in message.cursorProperties] == [
        ("colour", "blue"),
        (LEDGERS, "12,13"),
    ]
    assert not message.properties
    assert read(message.SerializeToString()) == STATE


def test_a_cursor_whose_position_is_elsewhere_says_where():
    state = CursorState(Position(3, 7), STATE.ranges, properties={"a": "b"}, kept_in=42)
    record = encode_cursor(state, name="s")
    message = ManagedCursorInfo.FromString(record)
    assert (message.cursorsLedgerId, message.markDeleteEntryId) == (42, 7)
    assert not message.individualDeletedMessages
    entry = encode_position(STATE, name="s")
    found = decode_position(entry, read(record), source="/a/cursor")
    assert (found.mark, found.ranges, found.batches) == (STATE.mark, STATE.ranges, STATE.batches)
    assert (found.properties, found.kept_in) == ({"a": "b"}, 42)


def test_numbers_are_numbers_where_pulsar_has_them():
    assert {deduplication.CURSOR, compaction.COMPACTION_CURSOR} == NUMBERED
    assert persistent_subscription.REPLICATED == REPLICATED
    for name in NUMBERED:
        state = CursorState(Position(3, 7), properties={"producer": "-5", "other": "7"})
        record = encode_cursor(state, name=name)
        numbers = ManagedCursorInfo.FromString(record).properties
        assert {each.name: each.value for each in numbers} == {"producer": -5, "other": 7}
        assert read(record) == state
    replicated = CursorState(Position(3, 7), properties={REPLICATED: "1", "colour": "blue"})
    message = ManagedCursorInfo.FromString(encode_cursor(replicated, name="s"))
    assert [each.name for each in message.properties] == [REPLICATED]
    assert read(message.SerializeToString()) == replicated


def test_what_nobody_here_knows_is_written_back():
    message = ManagedCursorInfo(cursorsLedgerId=-1, markDeleteLedgerId=3, markDeleteEntryId=7)
    message.cursorProperties.add(name="#pulsar.internal.delayed.bucket_1", value="9")
    later = b"\xf8\x01\x05"
    state = read(message.SerializeToString() + later)
    assert state.properties == {}
    again = encode_cursor(state, name="s")
    assert later in again
    assert ManagedCursorInfo.FromString(again).cursorProperties == message.cursorProperties
    assert read(again) == state


def test_a_range_over_two_ledgers_takes_the_rest_of_the_first():
    message = ManagedCursorInfo(cursorsLedgerId=-1)
    each = message.individualDeletedMessages.add()
    each.lowerEndpoint.ledgerId, each.lowerEndpoint.entryId = 3, 7
    each.upperEndpoint.ledgerId, each.upperEndpoint.entryId = 5, 1
    assert read(message.SerializeToString()).ranges == {3: ([8], [LONG_MAX]), 5: ([0], [1])}


def test_acknowledged_entries_may_be_bits():
    message = PositionInfo(ledgerId=3, entryId=0)
    message.individualDeletedMessageRanges.add(key=3, values=[0b1101100, -(2**63), 0b11])
    state = decode_position(message.SerializeToString(), CursorState(Position(0, 0)), source="/a")
    assert state.ranges == {3: ([2, 5, 127], [3, 6, 129])}


def test_a_large_position_does_not_fit_a_record():
    assert fits_record(CursorState(Position(3, 7)), name="s")
    for count, fits in ((200, True), (210, False)):
        holes = list(range(0, 2 * count, 2))
        state = CursorState(Position(3, 7), ranges={3: (holes, holes)})
        assert fits_record(state, name="s") == fits
        size = len(encode_position(state, name="s"))
        assert POSITION_SIZE_MAX / 2 < size < POSITION_SIZE_MAX * 1.2
        assert ranges_size(state) < size
    counts = CursorState(Position(3, 7), redeliveries={3: (range(400), range(400))})
    assert not fits_record(counts, name="s")
    producers = CursorState(Position(3, 7), properties={f"producer-{n}": "5" for n in range(250)})
    assert not fits_record(producers, name="pulsar.dedup")
    assert fits_record(producers, name="s"), "these are not of the position"


def test_a_batch_that_is_acknowledged_in_part_does_not_fit_a_record():
    assert not fits_record(CursorState(Position(3, 7), batches=[(Position(3, 9), [5])]), name="s")


@pytest.mark.parametrize("value", [b"\xff", b"", b"\x10\x01"])
def test_what_is_no_cursor_is_named(value):
    with pytest.raises(CorruptEntry, match="/a/cursor"):
        read(value)


def test_what_is_no_position_is_named():
    with pytest.raises(CorruptEntry, match="/a/cursor"):
        decode_position(b"\xff", STATE, source="/a/cursor")
