"""Schemas in the metadata store: each version is a record, and creating the next one adds it."""

from collections.abc import Callable

from magnetar.errors import VersionMismatch
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType, SchemaVersion
from magnetar.storage.codec.schema import decode_schema, encode_schema
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import ABSENT, MetadataStore, Watch


class SchemasInRecords:
    """What a broker alone keeps. Implements SchemaStore."""

    def __init__(self, metadata: MetadataStore) -> None:
        self._metadata = metadata

    async def versions(self, topic: TopicName) -> list[SchemaVersion]:
        """Raises CorruptEntry, and what the metadata store raises."""
        found = []
        for number in await self._numbers(topic):
            place = paths.schema(topic, number)
            record = await self._metadata.get(place)
            if record is not None:  # It may be deleted just now.
                found.append(SchemaVersion(number, decode_schema(record.value, source=place)))
        return found

    async def add(self, topic: TopicName, number: int, schema: SchemaInfo) -> bool:
        place = paths.schema(topic, number)
        try:
            await self._metadata.put(place, encode_schema(schema), expected_version=ABSENT)
        except VersionMismatch:
            return False
        return True

    async def forget(self, topic: TopicName) -> None:
        """Note that the schema is deleted, and remove that note last."""
        numbers = await self._numbers(topic)
        if not numbers:
            return
        note = numbers[-1] + 1
        await self.add(topic, note, SchemaInfo(SchemaType.NONE, deleted=True))
        for number in (*numbers, note):
            await self._metadata.delete(paths.schema(topic, number))

    def watch(self, changed: Callable[[str], None]) -> Watch:
        def told(path: str) -> None:
            changed(path if path == paths.SCHEMAS else path.rpartition("/")[0])

        return self._metadata.watch(paths.SCHEMAS, told)

    async def _numbers(self, topic: TopicName) -> list[int]:
        return sorted(map(int, await self._metadata.children(paths.schemas(topic))))
