"""The paths of records so far below another."""

from collections.abc import AsyncIterator

from magnetar.storage.metadata.store import MetadataStore


async def records_below(metadata: MetadataStore, path: str, depth: int) -> AsyncIterator[str]:
    """The paths that are ``depth`` names below ``path``, in order."""
    for name in await metadata.children(path):
        if depth == 1:
            yield f"{path}/{name}"
        else:
            async for found in records_below(metadata, f"{path}/{name}", depth - 1):
                yield found
