"""Topics that are being deleted: noted first, so that a crash leaves no topic half there.

From the note on the topic is as good as gone: whoever opens it next, or starts the broker next,
finishes what was begun. A deletion takes several steps in two stores: no single write covers them.
"""

from magnetar.errors import VersionMismatch
from magnetar.model.names import TopicName
from magnetar.storage.codec.deletion import encode_deletion
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import ABSENT, MetadataStore


class Deletions:
    """The notes. Call ``load`` before anything else."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata
        self._begun: set[TopicName] = set()

    async def load(self) -> list[TopicName]:
        """The deletions that an earlier process began and did not finish."""
        children = await self._metadata.children(paths.DELETIONS)
        self._begun = {TopicName.parse(paths.decode(child)) for child in children}
        return sorted(self._begun, key=str)

    def begun(self, topic: TopicName) -> bool:
        """Whether the topic must be deleted before anything else is done with its name."""
        return topic in self._begun

    async def begin(self, topic: TopicName) -> None:
        """Note it. Raises what the metadata store raises: then nothing was begun."""
        # At once, not after the write: it may succeed although nobody waits for it any more.
        known = topic in self._begun
        self._begun.add(topic)
        try:
            await self._metadata.put(
                paths.deletion(topic), encode_deletion(topic), expected_version=ABSENT
            )
        except VersionMismatch:
            return  # An earlier process had noted it.
        except BaseException:
            if not known:
                self._begun.discard(topic)
            raise

    async def end(self, topic: TopicName) -> None:
        """Forget it: the topic is gone, or nothing was done yet."""
        await self._metadata.delete(paths.deletion(topic))
        self._begun.discard(topic)
