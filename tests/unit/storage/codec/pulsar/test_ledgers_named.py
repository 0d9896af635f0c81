import pytest

from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.ledger_list import LedgerListRecord, SealedLedger
from magnetar.storage.codec.pulsar.cursor import encode_cursor
from magnetar.storage.codec.pulsar.ledger_list import encode_ledger_list
from magnetar.storage.codec.pulsar.ledgers_named import (
    IN_THE_RECORD,
    named_by_cursor,
    named_by_log,
    named_by_schema,
)
from magnetar.storage.codec.pulsar.schemas import SchemaPlace, encode_locator


def test_a_log_names_what_it_has_writes_and_deletes():
    sealed = SealedLedger(3, 9, 100, 1)
    record = LedgerListRecord([sealed], open_id=8, deleting=[1])
    assert named_by_log(encode_ledger_list(record), source="here") == {1, 3, 8}
    assert named_by_log(b"", source="here") == set()


def test_a_cursor_names_its_own_and_those_among_its_properties():
    state = CursorState(Position(3, 7), ledger_ids=(20, 21))
    state.properties = {"CompactedTopicLedger": "30"}
    value = encode_cursor(state, name="__compaction")
    assert named_by_cursor(value, source="here") == {IN_THE_RECORD, 20, 21, 30}
    state.kept_in = 12
    value = encode_cursor(state, name="__compaction")
    assert named_by_cursor(value, source="here") == {12, 20, 21}
    state.properties = {"#pulsar.internal.delayed.bucket.1": "40", "text": "of words"}
    assert named_by_cursor(encode_cursor(state, name="s"), source="here") == {12, 20, 21, 40}


def test_a_schema_names_all_versions():
    places = [SchemaPlace(number, 50 + number, 0, b"h") for number in range(3)]
    assert named_by_schema(encode_locator(places), source="here") == {50, 51, 52}


@pytest.mark.parametrize("named", [named_by_log, named_by_cursor, named_by_schema])
def test_a_record_that_cannot_be_read_is_named(named):
    with pytest.raises(CorruptEntry, match="here"):
        named(b"\xff\xff", source="here")
