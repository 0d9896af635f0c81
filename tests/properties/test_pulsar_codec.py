"""Records in Pulsar's formats: everything comes back, and no bytes do harm."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.ledger_list import LedgerListRecord, SealedLedger
from magnetar.storage.codec.pulsar_codec import PulsarCodec

CODEC = PulsarCodec()
NUMBERS = st.integers(0, 2**62)
WORDS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4)
TEXTS = st.dictionaries(st.text(max_size=9).map("a{}".format), st.text(max_size=9), max_size=3)


@st.composite
def cursors(draw):
    ranges = {}
    for ledger_id in draw(st.sets(NUMBERS, max_size=3)):
        edges = sorted(draw(st.sets(NUMBERS, min_size=2, max_size=8)))
        edges = edges[: len(edges) // 2 * 2]
        ranges[ledger_id] = edges[::2], edges[1::2]
    batches = draw(st.dictionaries(st.builds(Position, NUMBERS, NUMBERS), WORDS, max_size=3))
    redeliveries = {}
    for ledger_id in draw(st.sets(NUMBERS, max_size=2)):
        entries = sorted(draw(st.sets(NUMBERS, min_size=1, max_size=5)))
        redeliveries[ledger_id] = entries, [draw(NUMBERS) for _ in entries]
    return CursorState(
        Position(draw(NUMBERS), draw(st.integers(-1, 2**62))),
        ranges,
        list(batches.items()),
        redeliveries,
        draw(TEXTS),
        ledger_ids=tuple(draw(st.lists(NUMBERS, max_size=3))),
    )


@given(cursors())
def test_a_cursor_comes_back_from_its_record_and_from_its_ledger(state):
    record = CODEC.encode_cursor(state, name="s")
    assert CODEC.decode_cursor(record, source="here") == state
    state.kept_in = 5
    pointer = CODEC.decode_cursor(CODEC.encode_cursor(state, name="s"), source="here")
    entry = CODEC.encode_position(state, name="s")
    assert CODEC.decode_position(entry, pointer, source="here") == state


@given(st.sets(NUMBERS, max_size=5), st.booleans(), TEXTS, st.lists(NUMBERS, max_size=3))
def test_a_list_of_ledgers_comes_back(ids, is_open, properties, deleting):
    ascending = sorted(ids)
    open_id = ascending.pop() if is_open and ascending else None
    sealed = [SealedLedger(ledger_id, 9, 100, 1000) for ledger_id in ascending]
    record = LedgerListRecord(sealed, open_id, Position(0, 5), deleting, properties=properties)
    assert CODEC.decode_ledger_list(CODEC.encode_ledger_list(record), source="here") == record


@given(st.binary(max_size=60), st.sampled_from([b"", b"\x47\x78\0\0\0\2\x08", b"\x08\x05\x42"]))
def test_no_bytes_do_harm(value, beginning):
    state = CursorState(Position(0, 0))
    for data in (value, beginning + value):
        with contextlib.suppress(CorruptEntry):
            CODEC.decode_ledger_list(data, source="here")
        with contextlib.suppress(CorruptEntry):
            CODEC.decode_cursor(data, source="here")
        with contextlib.suppress(CorruptEntry):
            CODEC.decode_position(data, state, source="here")
        with contextlib.suppress(CorruptEntry):
            CODEC.decode_compacted(data)
