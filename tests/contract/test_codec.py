"""What every codec promises, kept by every codec: what is written comes back."""

import pytest
from google_crc32c import value as checksum

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.position import Position
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.ledger_list import LedgerListRecord, SealedLedger
from magnetar.storage.codec.pulsar_codec import PulsarCodec

HERE = "/a/record"


@pytest.fixture(params=[JsonCodec, PulsarCodec])
def codec(request) -> Codec:
    return request.param()


def test_a_list_of_ledgers_comes_back(codec):
    record = LedgerListRecord(
        [SealedLedger(3, 9, 1000, 1_700_000_000_000)], 8, Position(2, 9), [1], properties={"a": "b"}
    )
    assert codec.decode_ledger_list(codec.encode_ledger_list(record), source=HERE) == record


def test_no_bytes_are_a_log_without_ledgers(codec):
    assert codec.decode_ledger_list(b"", source=HERE) == LedgerListRecord()


def test_a_cursor_comes_back(codec):
    state = CursorState(
        Position(3, 7),
        ranges={3: ([9, 20], [12, 20])},
        batches=[(Position(3, 15), [13])],
        properties={"a": "b"},
    )
    value = codec.encode_cursor(state, name="s")
    assert codec.decode_cursor(value, source=HERE) == state
    assert 0 < codec.ranges_size(state) < len(value)


def test_the_position_of_a_cursor_comes_back(codec):
    state = CursorState(
        Position(3, 7),
        ranges={3: ([9, 20], [12, 20])},
        batches=[(Position(3, 15), [13])],
        redeliveries={3: ([8], [2])},
        properties={"a": "b"},
        ledger_ids=(5,),
    )
    record = codec.decode_cursor(codec.encode_cursor(state, name="s"), source=HERE)
    entry = codec.encode_position(state, name="s")
    assert codec.decode_position(entry, record, source=HERE) == state


def test_an_entry_of_a_compacted_ledger_comes_back(codec):
    entry = CompactedEntry(Position(3, 7), b"entry", checksum(b"entry"))
    stored, check = codec.encode_compacted(entry)
    assert (codec.decode_compacted(stored), check) == (entry, checksum(stored))


def test_the_owner_of_a_bundle_comes_back(codec):
    owner = BrokerAddress.of("broker", 6650, 8080)
    assert codec.decode_owner(codec.encode_owner(owner)) == owner


def test_an_object_comes_back(codec):
    fields = {"replication_clusters": ["here"], "bundles": {"numBundles": 4}}
    assert codec.decode_object(codec.encode_object(fields)) == fields


@pytest.mark.parametrize("read", ["decode_ledger_list", "decode_cursor"])
def test_what_cannot_be_read_is_named(codec, read):
    with pytest.raises(CorruptEntry, match=HERE):
        getattr(codec, read)(b"\xff?", source=HERE)


@pytest.mark.parametrize("read", ["decode_owner", "decode_object"])
def test_what_cannot_be_read_is_refused(codec, read):
    with pytest.raises(InvalidValue):
        getattr(codec, read)(b"\xff?")
