"""The bytes of records in a metadata store: ledgers and bookies, as BookKeeper writes them. Pure.

A ledger is a line of text with the version of the format, and a protobuf message behind it: binary
in version 3, which is written; as text in version 2, which is read too.
"""

from io import BytesIO
from typing import Final

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from google.protobuf.proto import parse_length_prefixed, serialize_length_prefixed

from magnetar.errors import InvalidValue
from magnetar.proto.BookKeeper_pb2 import BookieServiceInfoFormat, LedgerMetadataFormat

from .addresses import Address
from .ledger_metadata import DigestType, LedgerMetadata, LedgerState, Segment

_PREFIX: Final = b"BookieMetadataFormatVersion\t"
_RPC: Final = "bookie-rpc"


def encode_ledger(metadata: LedgerMetadata) -> bytes:
    """The record of a ledger."""
    message = LedgerMetadataFormat(
        quorumSize=metadata.write_quorum,
        ensembleSize=metadata.ensemble_size,
        ackQuorumSize=metadata.ack_quorum,
        length=metadata.length,
        lastEntryId=metadata.last_entry_id,
        state=metadata.state.name,
        digestType=metadata.digest_type.name,
        password=metadata.password,
        ctime=metadata.created_ms,
    )
    for segment in metadata.segments:
        message.segment.add(ensembleMember=segment.ensemble, firstEntryId=segment.first_entry_id)
    for key, value in metadata.custom.items():
        message.customMetadata.add(key=key, value=value)
    record = BytesIO()
    record.write(_PREFIX + b"3\n")
    serialize_length_prefixed(message, record)
    return record.getvalue()


def decode_ledger(data: bytes) -> LedgerMetadata:
    """The ledger in a record. Raises InvalidValue."""
    line, _, body = data.partition(b"\n")
    if line not in {_PREFIX + b"3", _PREFIX + b"2"}:
        raise InvalidValue(f"the metadata of a ledger begin with {line[:40]!r}: unknown format")
    try:
        if line.endswith(b"3"):
            message = parse_length_prefixed(LedgerMetadataFormat, BytesIO(body))
        else:
            message = text_format.Parse(body, LedgerMetadataFormat())
    except (DecodeError, text_format.ParseError, ValueError, EOFError) as error:
        raise InvalidValue(f"the metadata of a ledger cannot be read: {error}") from error
    if message is None or not message.segment:
        raise InvalidValue("the metadata of a ledger name no bookies")
    return LedgerMetadata(
        message.ensembleSize,
        message.quorumSize,
        message.ackQuorumSize if message.HasField("ackQuorumSize") else message.quorumSize,
        tuple(Segment(each.firstEntryId, tuple(each.ensembleMember)) for each in message.segment),
        LedgerState(message.state),
        message.lastEntryId if message.HasField("lastEntryId") else -1,
        message.length,
        DigestType(message.digestType) if message.HasField("digestType") else DigestType.CRC32C,
        message.password,
        message.ctime if message.HasField("ctime") else None,
        {each.key: each.value for each in message.customMetadata},
    )


def address_of(bookie_id: str, data: bytes) -> Address:
    """Where a bookie listens, by its record, or by its id where that is empty.

    Raises InvalidValue where neither says so.
    """
    message = BookieServiceInfoFormat()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise InvalidValue(f"the record of bookie {bookie_id} cannot be read: {error}") from error
    for endpoint in message.endpoints:
        if endpoint.protocol == _RPC:
            return Address(endpoint.host, endpoint.port)
    host, _, port = bookie_id.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidValue(f"bookie {bookie_id} does not say where it listens")
    return Address(host, int(port))
