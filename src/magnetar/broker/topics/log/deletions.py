"""Topics that are being deleted: noted first, so that a crash leaves no topic half there.

From the note on the topic is as good as gone: whoever opens it next, or starts the broker next,
finishes what was begun. A deletion takes several steps in two stores: no single write covers them.
"""

from contextlib import suppress

from magnetar.errors import VersionMismatch
from magnetar.model.names import TopicName
from magnetar.storage.codec.codec import Codec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import ABSENT, MetadataStore


class Deletions:
    """The notes."""

    def __init__(self, metadata: MetadataStore, *, codec: Codec) -> None:
        self._metadata = metadata
        self._codec = codec

    async def begun(self) -> list[TopicName]:
        """The topics whose deletion was begun and is not finished."""
        children = await self._metadata.children(paths.DELETIONS)
        return [TopicName.parse(paths.decode(child)) for child in children]

    async def has_begun(self, topic: TopicName) -> bool:
        """Whether the topic must be deleted before anything else is done with its name."""
        return await self._metadata.get(paths.deletion(topic)) is not None

    async def begin(self, topic: TopicName) -> None:
        """Note it. Raises what the metadata store raises."""
        with suppress(VersionMismatch):  # An earlier process had noted it.
            await self._metadata.put(
                paths.deletion(topic), self._codec.encode_deletion(topic), expected_version=ABSENT
            )

    async def end(self, topic: TopicName) -> None:
        """Forget it: the topic is gone."""
        await self._metadata.delete(paths.deletion(topic))
