"""The bytes of records in a metadata store: ledgers and bookies, as BookKeeper writes them. Pure.

A ledger is a line of text with the version of the format, and a protobuf message behind it: binary
in version 3, which is written; as text in version 2, which is read too.
"""

from typing import Final

from google.protobuf import text_format
from google.protobuf.message import DecodeError

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
    body = message.SerializeToString()
    return _PREFIX + b"3\n" + _varint(len(body)) + body


def decode_ledger(data: bytes) -> LedgerMetadata:
    """The ledger in a record. Raises InvalidValue."""
    line, _, body = data.partition(b"\n")
    message = LedgerMetadataFormat()
    try:
        if line == _PREFIX + b"3":
            message.ParseFromString(_sized(body))
        elif line == _PREFIX + b"2":
            text_format.Parse(body, message)
        else:
            raise InvalidValue(f"the metadata of a ledger begin with {line[:40]!r}: unknown format")
    except (DecodeError, text_format.ParseError, IndexError) as error:
        raise InvalidValue(f"the metadata of a ledger cannot be read: {error}") from error
    if not message.segment:
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


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    """The message behind its size. Raises IndexError where it is cut off."""
    size = shift = at = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if len(data) - at < size:
        raise IndexError(f"{len(data) - at} of {size} bytes are there")
    return data[at : at + size]
