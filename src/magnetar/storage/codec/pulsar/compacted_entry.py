"""An entry of a compacted ledger as Pulsar has it. Pure.

    size(4) MessageIdData size(4) entry

The sizes are big-endian. The message's id says where the entry was in its log; its partition is
nobody's there. Pulsar keeps no checksum of its own beside the entry.
"""

import struct
from typing import Final

from magnetar import inner
from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.model.position import MessageId
from magnetar.storage.codec.compacted_entry import CompactedEntry

_SIZE: Final = struct.Struct(">I")


def encode_compacted(entry: CompactedEntry) -> tuple[bytes, int]:
    """Return the bytes to be stored, and their checksum."""
    place = MessageId(*entry.position).to_bytes()
    parts = (_SIZE.pack(len(place)), place, _SIZE.pack(len(entry.data)), entry.data)
    stored = b"".join(parts)
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
    data = stored[start : start + length]
    if len(data) < length:
        raise CorruptEntry(
            f"An entry of a compacted ledger has {len(data)} bytes of {length}: compact again"
        )
    return CompactedEntry(place.position, data, inner.checksum(data))
