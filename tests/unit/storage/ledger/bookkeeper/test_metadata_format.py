"""The records of ledgers and bookies, as BookKeeper writes them."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.proto.BookKeeper_pb2 import BookieServiceInfoFormat
from magnetar.storage.ledger.bookkeeper.ledger_metadata import (
    DigestType,
    LedgerMetadata,
    LedgerState,
    Segment,
)
from magnetar.storage.ledger.bookkeeper.metadata_format import (
    address_of,
    decode_ledger,
    encode_ledger,
)

OPEN = bytes.fromhex(
    "426f6f6b69654d65746164617461466f726d617456657273696f6e09330a3f08021002180020ffffffffffffff"
    "ffff01280132220a0e3132372e302e302e313a333138310a0e3132372e302e302e313a33313832100038034200"
    "48026001"
)
METADATA = LedgerMetadata(2, 2, 2, (Segment(0, ("127.0.0.1:3181", "127.0.0.1:3182")),))


def test_a_ledger_of_bookkeepers_is_read():
    assert decode_ledger(OPEN) == METADATA


@pytest.mark.parametrize(
    "metadata",
    [
        METADATA,
        METADATA.closed(9, 1234),
        METADATA.in_recovery(),
        METADATA.with_ensemble(5, ("a:1", "b:2")),
        LedgerMetadata(
            3,
            2,
            1,
            (Segment(0, ("a", "b", "c")),),
            digest_type=DigestType.HMAC,
            password=b"\xffsecret",
            created_ms=1_700_000_000_000,
            custom={"application": b"pulsar", "empty": b""},
        ),
    ],
)
def test_a_ledger_comes_back_as_it_was_written(metadata):
    assert decode_ledger(encode_ledger(metadata)) == metadata


def test_an_older_format_is_read():
    text = b'quorumSize: 2 ensembleSize: 3 length: 0 state: OPEN segment { ensembleMember: "a" '
    text += (
        b'ensembleMember: "b" ensembleMember: "c" firstEntryId: 0 } digestType: CRC32 password: ""'
    )
    found = decode_ledger(b"BookieMetadataFormatVersion\t2\n" + text)
    assert (found.ack_quorum, found.digest_type, found.state) == (
        2,
        DigestType.CRC32,
        LedgerState.OPEN,
    )


@pytest.mark.parametrize(
    "broken", [b"", b"BookieMetadataFormatVersion\t9\nx", OPEN[:-5], OPEN[:31], OPEN[:30]]
)
def test_what_cannot_be_read_is_told(broken):
    with pytest.raises(InvalidValue, match="the metadata of a ledger"):
        decode_ledger(broken)


def test_a_bookie_listens_where_its_record_or_its_id_says():
    record = BookieServiceInfoFormat()
    record.endpoints.add(id="http", port=8000, host="other", protocol="http")
    record.endpoints.add(id="bookie", port=3181, host="here", protocol="bookie-rpc")
    assert address_of("b1", record.SerializeToString()) == ("here", 3181)
    assert address_of("127.0.0.1:3182", b"") == ("127.0.0.1", 3182)
    with pytest.raises(InvalidValue, match="bookie b1 does not say where it listens"):
        address_of("b1", b"")
    with pytest.raises(InvalidValue, match="cannot be read"):
        address_of("b1", b"\xff\xff")
