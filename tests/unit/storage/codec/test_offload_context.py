import json

import pytest

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.storage.codec.json_object import Fields
from magnetar.storage.codec.ledger_list import decode_ledger_list, encode_ledger_list
from magnetar.storage.codec.offload_context import (
    OffloadContext,
    decode_context,
    encode_context,
)

STORED = {
    "uid": "0a",
    "complete": True,
    "bookkeeperDeleted": False,
    "timestamp": 5,
    "driver": {"name": "filesystem", "properties": {"url": "file:///srv"}},
}
CONTEXT = OffloadContext("0a", "filesystem", {"url": "file:///srv"}, complete=True, timestamp_ms=5)


def test_the_fields_have_pulsars_names():
    assert encode_context(CONTEXT) == STORED
    assert decode_context(Fields(json.loads(json.dumps(STORED)))) == CONTEXT


def test_it_is_a_part_of_the_list_of_ledgers():
    record = {
        "version": 1,
        "ledgers": [{"ledgerId": 3, "entries": 1, "size": 9, "timestamp": 7, "offload": STORED}],
        "openLedgerId": None,
        "trimmedTo": {"ledgerId": -1, "entryId": -1},
        "deletingLedgerIds": [],
        "deletingOffloaded": [STORED],
    }
    found = decode_ledger_list(json.dumps(record).encode(), source="/here")
    assert found.ledgers[0].offload == CONTEXT
    assert found.deleting_offloaded == [CONTEXT]
    assert json.loads(encode_ledger_list(found)) == record
    record["deletingOffloaded"] = [{**STORED, "driver": {}}]
    with pytest.raises(CorruptEntry, match=r"driver\.name is missing"):
        decode_ledger_list(json.dumps(record).encode(), source="/here")


def test_a_damaged_one_is_refused():
    with pytest.raises(InvalidValue, match="complete is 'yes'"):
        decode_context(Fields({**STORED, "complete": "yes"}))
