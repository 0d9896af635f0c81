"""The contract of a store of schemas: versions of a topic's schema, which never change.

The partitions of a topic share its schema, and so do its domains: ``paths.schemas(topic)`` is the
name that versions are kept by.
"""

from collections.abc import Callable
from typing import Protocol

from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaVersion
from magnetar.storage.metadata.store import Watch


class SchemaStore(Protocol):
    """Reads, adds and removes versions. Raises StorageError where it cannot."""

    async def versions(self, topic: TopicName) -> list[SchemaVersion]:
        """Every version there is, also those that note a deletion, the latest last."""

    async def add(self, topic: TopicName, number: int, schema: SchemaInfo) -> bool:
        """Add the version after those that the caller read; False if another was faster."""

    async def forget(self, topic: TopicName) -> None:
        """Remove all versions. What is interrupted leaves a topic without one, or as it was."""

    def watch(self, changed: Callable[[str], None]) -> Watch:
        """Call ``changed`` with the name by which versions are kept, after they may have changed.

        ``paths.SCHEMAS`` stands for all names.
        """
