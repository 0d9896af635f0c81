"""The schemas of topics, with their versions: what is kept of them, and which may be added.

The partitions of a topic share its schema, and so do its domains.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from magnetar.broker.schema.compatibility import check_compatible
from magnetar.broker.schema.definitions import check_definition, same
from magnetar.clock import Clock
from magnetar.errors import (
    Conflict,
    IncompatibleSchema,
    SchemaNotFound,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import OperationCounts
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.schemas import (
    SchemaCompatibilityStrategy,
    SchemaInfo,
    SchemaType,
    SchemaVersion,
)
from magnetar.storage.metadata import paths
from magnetar.storage.schemas.store import SchemaStore

CACHE_SIZE_MAX: Final = 16 * 1024 * 1024
RECORD_SIZE: Final = 500  # About what a version takes beside its definition.
NAMESPACES_COUNTED_MAX: Final = 10_000  # What is done in more is not counted.
ATTEMPTS_MAX: Final = 20  # To add a version while others add some.


@dataclass(slots=True)
class SchemaCounts:
    """What was done with the schemas of a namespace."""

    get: OperationCounts = field(default_factory=OperationCounts)
    put: OperationCounts = field(default_factory=OperationCounts)
    delete: OperationCounts = field(default_factory=OperationCounts)
    compatible: int = 0  # New versions, and those that were refused.
    incompatible: int = 0


class SchemaRegistry:
    """Reads, adds and deletes versions. Made in a running event loop."""

    def __init__(
        self,
        store: SchemaStore,
        clock: Clock,
        *,
        cache_size_max: int = CACHE_SIZE_MAX,
    ) -> None:
        self._store = store
        self.clock = clock
        self._cache_size_max = cache_size_max
        self._kept: dict[str, list[SchemaVersion]] = {}
        self._kept_size = 0
        self._changes = 0  # Counts drops, so that what was read before one is not kept.
        self._watch = store.watch(self._changed)
        self.counts: dict[NamespaceName, SchemaCounts] = {}

    def close(self) -> None:
        """Stop watching. The registry must not be used afterwards."""
        self._watch.cancel()
        self._kept.clear()

    async def versions(self, topic: TopicName) -> Sequence[SchemaVersion]:
        """The versions of a topic since its schema was deleted last, the latest last."""
        with self._counts(topic).get.counted(self.clock.now):
            found = await self._all(topic)
        after = max((at + 1 for at, each in enumerate(found) if each.schema.deleted), default=0)
        return found[after:]

    async def latest(self, topic: TopicName) -> SchemaVersion | None:
        """The newest version, also one that says that the schema was deleted."""
        found = await self._all(topic)
        return found[-1] if found else None

    async def version(self, topic: TopicName, number: int) -> SchemaVersion:
        """Raises SchemaNotFound, also for one from before the schema was deleted."""
        for each in await self.versions(topic):
            if each.number == number:
                return each
        raise SchemaNotFound(f"{topic} has no version {number} of a schema")

    async def find(self, topic: TopicName, schema: SchemaInfo) -> int | None:
        """The version that is the same as ``schema``. Raises InvalidSchema."""
        check_definition(schema)
        return _number_of(schema, await self.versions(topic))

    async def add(
        self,
        topic: TopicName,
        schema: SchemaInfo,
        strategy: SchemaCompatibilityStrategy,
        *,
        may_update: bool = True,
    ) -> int:
        """The version that is the same as ``schema``, which becomes the next one where none is.

        Raises InvalidSchema, IncompatibleSchema (also for a new one unless ``may_update``), and
        Conflict when others add versions without end.
        """
        check_definition(schema)
        for _ in range(ATTEMPTS_MAX):
            existing = await self.versions(topic)
            number = _number_of(schema, existing)
            if number is not None:
                return number
            if not may_update:
                raise IncompatibleSchema("Schema not found and schema auto updating is disabled.")
            counts = self._counts(topic)
            try:
                check_compatible(schema, existing, strategy)
            except IncompatibleSchema:
                counts.incompatible += 1
                raise
            counts.compatible += 1
            with counts.put.counted(self.clock.now):
                number = await self._put_next(topic, schema)
            if number is not None:
                return number
        raise Conflict(f"The schema of {topic} is being changed by others, without end: try again")

    async def delete(self, topic: TopicName) -> int:
        """Note that a topic has no schema any more; return the number of that note.

        A topic without a schema keeps having none, and the answer is 0.
        """
        for _ in range(ATTEMPTS_MAX):
            latest = await self.latest(topic)
            if latest is None or latest.schema.deleted:
                return 0 if latest is None else latest.number
            with self._counts(topic).delete.counted(self.clock.now):
                number = await self._put_next(topic, SchemaInfo(SchemaType.NONE, deleted=True))
            if number is not None:
                return number
        raise Conflict(f"The schema of {topic} is being changed by others, without end: try again")

    async def forget(self, topic: TopicName) -> None:
        """Remove all versions of a topic: the next begins at 0 again."""
        try:
            await self._store.forget(topic)
        finally:
            self._drop(paths.schemas(topic))

    async def topic_deleted(self, topic: TopicName) -> None:
        """Forget the schema of a topic that is deleted; one partition leaves it to the others."""
        if topic.partition_index < 0:
            await self.forget(topic)

    def _counts(self, topic: TopicName) -> SchemaCounts:
        counts = self.counts.get(topic.namespace)
        if counts is None:
            counts = SchemaCounts()
            if len(self.counts) < NAMESPACES_COUNTED_MAX:
                self.counts[topic.namespace] = counts
        return counts

    async def _put_next(self, topic: TopicName, schema: SchemaInfo) -> int | None:
        """Write the next version; None when somebody else just did."""
        existing = await self._all(topic)
        number = existing[-1].number + 1 if existing else 0
        stamped = SchemaInfo(
            schema.type,
            schema.data,
            dict(schema.properties),
            self.clock.wall_ms(),
            schema.deleted,
        )
        try:
            added = await self._store.add(topic, number, stamped)
        finally:
            self._drop(paths.schemas(topic))
        return number if added else None

    async def _all(self, topic: TopicName) -> list[SchemaVersion]:
        path = paths.schemas(topic)
        kept = self._kept.get(path)
        if kept is not None:
            return kept
        changes = self._changes
        found = await self._store.versions(topic)
        if changes == self._changes:
            self._keep(path, found)
        return found

    def _keep(self, path: str, versions: list[SchemaVersion]) -> None:
        self._forget(path)
        self._kept[path] = versions
        self._kept_size += _size(versions)
        while self._kept_size > self._cache_size_max:
            self._forget(next(iter(self._kept)))

    def _changed(self, path: str) -> None:
        if path == paths.SCHEMAS:  # It is no longer known which.
            for each in list(self._kept):
                self._drop(each)
        self._drop(path)

    def _drop(self, path: str) -> None:
        self._changes += 1
        self._forget(path)

    def _forget(self, path: str) -> None:
        versions = self._kept.pop(path, None)
        if versions is not None:
            self._kept_size -= _size(versions)


def _number_of(schema: SchemaInfo, existing: Sequence[SchemaVersion]) -> int | None:
    return next((each.number for each in existing if same(each.schema, schema)), None)


def _size(versions: Sequence[SchemaVersion]) -> int:
    return RECORD_SIZE + sum(RECORD_SIZE + len(each.schema.data) for each in versions)
