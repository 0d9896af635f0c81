import pytest

from magnetar.broker.topics.log import termination
from magnetar.errors import CorruptEntry
from magnetar.model.position import EARLIEST, Position
from magnetar.proto.ManagedLedger_pb2 import ManagedLedgerInfo
from magnetar.storage.codec.ledger_list import LedgerListRecord, SealedLedger
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.codec.pulsar.ledger_list import (
    TERMINATED_AT,
    decode_ledger_list,
    encode_ledger_list,
)

OF_A_BROKER = bytes.fromhex(
    "0a0e0802100a18fa0120c7a1abd2a0340a0e0804100a188402208ca2abd2a0340a0408052000"
)
"""What a broker of Pulsar 4.0.7 wrote: two ledgers of 10 entries, and one that is open."""
UID = "0123456789abcdeffedcba9876543210"
LATER = b"\xa0\x06\x01"  # A field that nobody knows, number 100.


def read(value):
    return decode_ledger_list(value, source="/managed-ledgers/a")


def test_the_record_of_a_broker_of_pulsars():
    record = read(OF_A_BROKER)
    assert record == LedgerListRecord(
        [SealedLedger(2, 9, 250, 1795469004999), SealedLedger(4, 9, 260, 1795469005068)],
        open_id=5,
        trimmed_to=Position(2, -1),
    )
    record.trimmed_to = EARLIEST
    assert encode_ledger_list(record) == OF_A_BROKER


def test_what_pulsar_has_no_name_for_comes_back_from_our_own_record():
    copy = OffloadContext(UID, "s3", {"url": "s3://history", "name": "x.parquet"}, True, True, 7)
    record = LedgerListRecord(
        [SealedLedger(5, 9, 100, 1000, copy)],
        trimmed_to=Position(3, 9),
        deleting=[3, 4],
        deleting_offloaded=[copy._replace(uid=UID[::-1], complete=False)],
        properties={"pulsar.topic.epoch": "4"},
    )
    assert read(encode_ledger_list(record)) == record


def test_fields_of_later_versions_are_written_back():
    info = ManagedLedgerInfo.LedgerInfo(ledgerId=2, entries=1, size=3, timestamp=4)
    ledger = info.SerializeToString() + LATER
    value = b"\x0a" + bytes([len(ledger)]) + ledger + LATER
    again = encode_ledger_list(read(value))
    assert again.count(LATER) == 2
    assert read(again) == read(value)


def test_a_copy_that_pulsar_made_is_kept_and_not_read():
    message = ManagedLedgerInfo()
    ledger = message.ledgerInfo.add(ledgerId=2, entries=1, size=3, timestamp=4)
    ledger.offloadContext.complete = True
    ledger.offloadContext.driverMetadata.name = "aws-s3"
    ledger.offloadContext.driverMetadata.properties.add(key="bucket", value="history")
    record = read(message.SerializeToString())
    assert record.ledgers[0].offload is None
    again = ManagedLedgerInfo.FromString(encode_ledger_list(record))
    assert again.ledgerInfo == message.ledgerInfo


def test_the_end_of_a_topic_is_a_field_of_its_own():
    assert TERMINATED_AT == termination.TERMINATED_AT
    record = LedgerListRecord(properties={TERMINATED_AT: "4:-1", "a": "b"})
    message = ManagedLedgerInfo.FromString(encode_ledger_list(record))
    assert (message.terminatedPosition.ledgerId, message.terminatedPosition.entryId) == (4, -1)
    assert [each.key for each in message.properties] == ["a"]
    assert read(message.SerializeToString()).properties == record.properties


def test_an_empty_ledger_that_was_closed_is_deleted():
    message = ManagedLedgerInfo()
    message.ledgerInfo.add(ledgerId=2, entries=0, size=0, timestamp=4)
    message.ledgerInfo.add(ledgerId=3, timestamp=0)
    record = read(message.SerializeToString())
    assert (record.ledgers, record.deleting, record.open_id) == ([], [2], 3)


@pytest.mark.parametrize("ids", [(2, 2), (3, 2), (2, 3)])
def test_a_list_that_makes_no_sense_is_named(ids):
    message = ManagedLedgerInfo()
    for ledger_id in (*ids, 9):
        message.ledgerInfo.add(ledgerId=ledger_id, timestamp=0)
    with pytest.raises(CorruptEntry, match="/managed-ledgers/a"):
        read(message.SerializeToString())
