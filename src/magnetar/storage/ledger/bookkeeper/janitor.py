"""Finds ledgers that nobody lists, and deletes them.

A broker that is killed after it began a ledger, and before the record of its topic, cursor or
schema named it, leaves it behind: nobody reads it, and nobody deletes it. What is kept with a
ledger says whose it is. One is left behind when it is one of Pulsar's or ours, began long ago, and
no record of any topic, cursor or schema names it, read after the ledger was.

One that has not ended may have a writer still. It is ended first, which fences the writer; then all
records are read again, and it is deleted only if nothing has changed since. Another cluster's
records are not read here: its ledgers at the same bookies would count as left behind.
"""

import re
from collections.abc import AsyncIterator
from typing import Final, Protocol

from magnetar.errors import LedgerNotFound, MagnetarError, VersionMismatch
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.storage.codec.pulsar.ledgers_named import (
    IN_THE_RECORD,
    named_by_cursor,
    named_by_log,
    named_by_schema,
)
from magnetar.storage.ledger.store import LedgerId
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.storage.metadata.walk import records_below

from .ledger_ids import NumberingStore
from .ledger_manager import LedgerManager, Stored
from .ledger_metadata import LedgerMetadata, LedgerState
from .ledger_paths import ledger_id_of
from .store import BookKeeperLedgerStore

COMPONENTS: Final = {
    b"managed-ledger": "pulsar/managed-ledger",  # Also of its cursors.
    b"schema": "pulsar/schemaId",
    b"compacted-ledger": "pulsar/compactedTopic",
    b"delayed-index-bucket": "pulsar/cursor",
}
"""What ledgers are for, and what is kept with one says whose it is."""
_OWNERS: Final = tuple(dict.fromkeys(COMPONENTS.values()))
_COMPACTION: Final = "__compaction"
_LEVEL: Final = re.compile(r"\d{2,4}|L\d{4}")
_LOG: Final = re.compile(rb"[^/]+/[^/]+/[^/]+/[^/]+")  # Those of former namespaces have five names.
SCHEMA_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class LeftLedger:
    """A ledger that nobody lists."""

    ledger_id: int
    stored: Stored
    created_ms: int

    @property
    def component(self) -> str:
        """What it is for."""
        return self.stored.metadata.custom["component"].decode()

    @property
    def owner(self) -> str:
        """The topic, cursor or schema that it was made for."""
        custom = self.stored.metadata.custom
        return " ".join(custom[name].decode() for name in _OWNERS if name in custom)

    @property
    def ended(self) -> bool:
        """Whether it takes no more entries."""
        return self.stored.metadata.state is LedgerState.CLOSED


@dataclass(frozen=True, slots=True)
class _Listed:
    """What records name."""

    ledgers: set[int]
    compacted: set[str]
    """Logs whose compaction says in a ledger, which is not read here, what is compacted."""

    def has(self, ledger: LeftLedger) -> bool:
        """Whether a ledger is named, or may be."""
        return ledger.ledger_id in self.ledgers or _compacted_log(ledger) in self.compacted


class LedgerDates(NumberingStore, Protocol):
    """A metadata store that knows when a record was made."""

    async def created_ms(self, path: str) -> int | None:
        """Since the epoch, by the store's own clock; None where there is no record."""


class Janitor:
    """Looks after the ledgers of one cluster."""

    def __init__(
        self,
        store: BookKeeperLedgerStore,
        ledgers_in: LedgerDates,
        records_in: MetadataStore,
        root: str,
    ) -> None:
        """``records_in`` has topics and schemas, ``ledgers_in`` the ledgers, below ``root``."""
        self._store = store
        self._ledgers_in = ledgers_in
        self._records_in = records_in
        self._root = root
        self._manager = LedgerManager(ledgers_in, root)

    async def find(self, before_ms: int) -> list[LeftLedger]:
        """Those that were made before a time.

        Raises CorruptEntry where a record cannot be read, which may name any, and what stores do.
        """
        found = []
        async for ledger_id in self._ledgers(self._root):
            created_ms = await self._ledgers_in.created_ms(self._manager.path(ledger_id))
            if created_ms is None or created_ms >= before_ms:
                continue
            try:
                stored = await self._manager.read(ledger_id)
            except LedgerNotFound:
                continue
            if _is_known(stored.metadata):
                found.append(LeftLedger(ledger_id, stored, created_ms))
        listed = await self._listed()
        return [each for each in found if not listed.has(each)]

    async def delete(self, left: list[LeftLedger]) -> dict[int, str]:
        """Delete what is still left behind. Returns why others stay, by ledger.

        Raises as ``find``.
        """
        kept: dict[int, str] = {}
        ended = []
        for each in left:
            try:
                if not each.ended:
                    await self._store.open(LedgerId(each.ledger_id))
                ended.append((each, await self._manager.read(each.ledger_id)))
            except LedgerNotFound:
                kept[each.ledger_id] = "it is gone"
            except MagnetarError as error:
                kept[each.ledger_id] = f"it cannot be ended: {error}"
        listed = await self._listed()
        for each, stored in ended:
            if listed.has(each):
                kept[each.ledger_id] = "it is listed now"
                continue
            path = self._manager.path(each.ledger_id)
            try:
                await self._ledgers_in.delete(path, expected_version=stored.version)
            except VersionMismatch:
                kept[each.ledger_id] = "it changed meanwhile"
        return kept

    async def _ledgers(self, path: str) -> AsyncIterator[int]:
        for name in await self._ledgers_in.children(path):
            if not _LEVEL.fullmatch(name):
                continue
            below = f"{path}/{name}"
            ledger_id = ledger_id_of(below.removeprefix(self._root))
            if ledger_id is not None:
                yield ledger_id
                continue
            async for each in self._ledgers(below):
                yield each

    async def _listed(self) -> "_Listed":
        records, found = self._records_in, _Listed(set(), set())
        listed = found.ledgers
        async for path in records_below(records, paths.MANAGED_LEDGERS, paths.MANAGED_LEDGER_DEPTH):
            log = await records.get(path)
            if log is not None:
                listed |= named_by_log(log.value, source=path)
            async for at in records_below(records, path, 1):
                cursor = await records.get(at)
                if cursor is not None:
                    named = named_by_cursor(cursor.value, source=at)
                    listed |= named
                    if at == f"{path}/{_COMPACTION}" and IN_THE_RECORD not in named:
                        found.compacted.add(path.removeprefix(f"{paths.MANAGED_LEDGERS}/"))
        async for path in records_below(records, paths.SCHEMAS, SCHEMA_DEPTH):
            locator = await records.get(path)
            if locator is not None:
                listed |= named_by_schema(locator.value, source=path)
        return found


def _compacted_log(ledger: LeftLedger) -> str:
    """The log whose compaction a ledger is of; empty: of none."""
    custom = ledger.stored.metadata.custom
    topic = custom.get(COMPONENTS[b"compacted-ledger"])
    if topic is not None:
        return paths.managed_ledger_name(TopicName.parse(topic.decode()))
    if custom.get("pulsar/cursor") == _COMPACTION.encode():
        return custom.get("pulsar/managed-ledger", b"").decode()
    return ""


def _is_known(metadata: LedgerMetadata) -> bool:
    """Whether a ledger is Pulsar's or ours, and for what it is is known."""
    custom = metadata.custom
    if custom.get("application") != b"pulsar":
        return False
    whose = COMPONENTS.get(custom.get("component", b""))
    if whose is None or whose not in custom:
        return False
    log = custom.get("pulsar/managed-ledger")
    return log is None or _LOG.fullmatch(log) is not None
