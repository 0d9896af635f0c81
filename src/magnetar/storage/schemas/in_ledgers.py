"""Schemas as brokers of Apache Pulsar keep them: a ledger for each version, and a record of those.

The record of a topic's schema, the locator, says where each version is. The ledger of a new version
is written first, and the locator by its version: two brokers cannot both add the next one.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from magnetar.errors import LedgerNotFound, StorageError, VersionMismatch
from magnetar.inner import checksum
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaVersion
from magnetar.storage.codec.pulsar.schemas import (
    SchemaPlace,
    decode_locator,
    decode_version,
    encode_locator,
    encode_version,
    hash_of,
)
from magnetar.storage.ledger.appending import append_durably
from magnetar.storage.ledger.store import LedgerId, LedgerOptions, LedgerStore, made_for
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import ABSENT, MetadataStore, Watch


class SchemasInLedgers:
    """What all brokers of a cluster share. Implements SchemaStore."""

    def __init__(self, metadata: MetadataStore, ledgers: LedgerStore) -> None:
        self._metadata = metadata
        self._ledgers = ledgers

    async def versions(self, topic: TopicName) -> list[SchemaVersion]:
        """Raises CorruptEntry, StorageError where a ledger is gone, and what the stores raise."""
        places, _ = await self._places(topic)
        return [SchemaVersion(each.number, await self._read(topic, each)) for each in places]

    async def add(self, topic: TopicName, number: int, schema: SchemaInfo) -> bool:
        places, version = await self._places(topic)
        if number != _next(places):
            return False
        ledger_id, entry_id = await self._write(topic, schema, places)
        place = SchemaPlace(number, ledger_id, entry_id, hash_of(schema))
        try:
            await self._metadata.put(
                paths.schemas(topic), encode_locator([*places, place]), expected_version=version
            )
        except VersionMismatch:
            await self._delete([place])
            return False
        return True

    async def forget(self, topic: TopicName) -> None:
        """Remove the locator first: it never names what is gone."""
        places, version = await self._places(topic)
        if version == ABSENT:
            return
        try:
            await self._metadata.delete(paths.schemas(topic), expected_version=version)
        except VersionMismatch:  # Another broker removed or added something.
            await self.forget(topic)
        else:
            await self._delete(places)

    def watch(self, changed: Callable[[str], None]) -> Watch:
        return self._metadata.watch(paths.SCHEMAS, changed)

    async def _places(self, topic: TopicName) -> tuple[list[SchemaPlace], int]:
        path = paths.schemas(topic)
        record = await self._metadata.get(path)
        if record is None:
            return [], ABSENT
        return decode_locator(record.value, source=path), record.version

    async def _read(self, topic: TopicName, place: SchemaPlace) -> SchemaInfo:
        try:
            reader = await self._ledgers.open(LedgerId(place.ledger_id))
            entries = await reader.read(place.entry_id, 1, 1)
        except LedgerNotFound as error:
            raise StorageError(
                f"Version {place.number} of the schema of {topic} was in ledger "
                f"{place.ledger_id}, which is gone: delete the schema with --force, and let a "
                "producer bring it again"
            ) from error
        source = f"ledger {place.ledger_id}, entry {place.entry_id}"
        return decode_version(entries.data[0], source=source)

    async def _write(
        self, topic: TopicName, schema: SchemaInfo, before: list[SchemaPlace]
    ) -> tuple[int, int]:
        name = paths.schemas(topic).removeprefix(f"{paths.SCHEMAS}/")
        entry = encode_version(schema, name, before)
        metadata = made_for("schema", {"pulsar/schemaId": name})
        writer = await self._ledgers.create(LedgerOptions(metadata=metadata))
        entry_id = await append_durably(writer, [entry], [checksum(entry)])
        with suppress(StorageError):  # What reads it first closes it then.
            await writer.close()
        return writer.ledger_id, entry_id

    async def _delete(self, places: Iterable[SchemaPlace]) -> None:
        for each in places:
            await self._ledgers.delete(LedgerId(each.ledger_id))


def _next(places: list[SchemaPlace]) -> int:
    return places[-1].number + 1 if places else 0
