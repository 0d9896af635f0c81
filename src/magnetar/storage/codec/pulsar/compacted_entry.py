"""An entry of a compacted ledger as Pulsar has it. Pure.

    size(4) MessageIdData size(4) entry

The sizes are big-endian. The message's id says where the entry was in its log; its partition is
nobody's there. The entry is as in the log, with its checksum before it (``message_head.py``).
"""

import struct
from typing import Final

from magnetar import inner
from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.model.position import MessageId
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.codec.pulsar.message_head import heads, message_of

_SIZE: Final = struct.Struct(">I")


def encode_compacted(entry: CompactedEntry) -> tuple[bytes, int]:
    """Return the bytes to be stored, and their checksum."""
    place = MessageId(*entry.position).to_bytes()
    message = heads([entry.checksum])[0] + entry.data
    stored = b"".join((_SIZE.pack(len(place)), place, _SIZE.pack(len(message)), message))
    return stored, inner.checksum(stored)


def decode_compacted(stored: bytes) -> CompactedEntry:
    """Raises CorruptEntry."""
    try:
        (size,) = _SIZE.unpack_from(stored)
        place = MessageId.from_bytes(stored[_SIZE.size : _SIZE.size + size])
        start = 2 * _SIZE.size + size
        (length,) = _SIZE.unpack_from(stored, start - _SIZE.size)
    except (struct.error, InvalidValue) as error:
        raise CorruptEntry(
            f"An entry of a compacted ledger cannot be read ({error}): compact again"
        ) from error
    message = stored[start : start + length]
    if len(message) < length:
        raise CorruptEntry(
            f"An entry of a compacted ledger has {len(message)} bytes of {length}: compact again"
        )
    data = message_of(message)
    return CompactedEntry(place.position, data, inner.checksum(data))
