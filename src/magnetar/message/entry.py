"""An entry: ``metadataSize(4) MessageMetadata payload``. Pure.

The checksum that stands before an entry on the wire is not part of it: it is the CRC32-C of all of
these bytes.
"""

from magnetar import inner
from magnetar.errors import CorruptEntry


def join(metadata: bytes, payload: bytes) -> bytes:
    return b"".join((len(metadata).to_bytes(4), metadata, payload))


def split(entry: bytes) -> tuple[bytes, memoryview]:
    """Metadata and payload; the payload is not copied. Raises CorruptEntry."""
    start = payload_start(entry)
    return entry[4:start], memoryview(entry)[start:]


def payload_start(entry: bytes) -> int:
    """Where the payload begins. Raises CorruptEntry."""
    start = 4 + int.from_bytes(entry[:4])
    if len(entry) < max(start, 4):
        raise CorruptEntry(f"an entry of {len(entry)} bytes with metadata up to byte {start}")
    return start


def checksum(entry: bytes) -> int:
    return inner.checksum(entry)
