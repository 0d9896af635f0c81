"""A write to the metadata store whose answer was lost, told from that of another broker."""

from magnetar.errors import VersionMismatch
from magnetar.storage.metadata.store import MetadataStore


async def put_or_find(
    metadata: MetadataStore, path: str, value: bytes, *, expected_version: int
) -> int:
    """Put a record as the store does. Raises as that, VersionMismatch where another broker did.

    A store whose connection was lost may have written, and then finds another version. Just what
    was to be written is taken for ours: it must not matter where another broker wrote the same.
    """
    try:
        return await metadata.put(path, value, expected_version=expected_version)
    except VersionMismatch:
        found = await metadata.get(path)
        if found is None or (found.version, found.value) != (expected_version + 1, value):
            raise
        return found.version
