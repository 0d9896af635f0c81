import json

import pytest

from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import (
    LedgerListRecord,
    SealedLedger,
    decode_ledger_list,
    encode_ledger_list,
)

STORED = {
    "version": 1,
    "later": {"x": [1]},
    "ledgers": [{"ledgerId": 3, "entries": 10, "size": 1000, "timestamp": 77, "newer": {"a": 1}}],
    "openLedgerId": 8,
    "trimmedTo": {"ledgerId": 2, "entryId": 9},
    "deletingLedgerIds": [1],
    "properties": {"pulsar.topic.epoch": "4"},
}


def test_the_fields_have_names():
    record = decode_ledger_list(json.dumps(STORED).encode(), source="/here")
    assert record.ledgers == [SealedLedger(3, 9, 1000, 77, None, {"newer": {"a": 1}})]
    assert (record.open_id, record.trimmed_to, record.deleting) == (8, Position(2, 9), [1])
    assert record.properties == {"pulsar.topic.epoch": "4"}


def test_fields_of_later_versions_are_written_back():
    record = decode_ledger_list(json.dumps(STORED).encode(), source="/here")
    assert json.loads(encode_ledger_list(record)) == STORED


def test_a_record_of_before_there_were_properties_has_none_and_stays_as_it_is():
    stored = {name: value for name, value in STORED.items() if name != "properties"}
    record = decode_ledger_list(json.dumps(stored).encode(), source="/here")
    assert record.properties == {}
    assert json.loads(encode_ledger_list(record)) == stored


def test_a_record_without_bytes_is_an_empty_log():
    assert decode_ledger_list(b"", source="/here") == LedgerListRecord()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ledgers": [[3, 9, 1000, 77]]}, "ledgers is .*, not an object"),
        ({"ledgers": [{"ledgerId": 3}]}, r"ledgers\.entries is missing"),
        ({"openLedgerId": 3}, "not in the order of ids that ascend"),
        ({"version": None}, "it has no version"),
    ],
)
def test_a_damaged_record_says_where_it_is_and_what(change, said):
    value = json.dumps(STORED | change).encode()
    with pytest.raises(CorruptEntry, match=f"list of ledgers at /here cannot be read .*{said}"):
        decode_ledger_list(value, source="/here")
