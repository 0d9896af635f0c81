"""Which bookies there are, which may be written to, and the connections to them.

Those that are writable have a record at ``available``, those that only answer reads one below
``available/readonly``; both end with the session of the bookie. A bookie that failed is in
quarantine for a while, or until it answers or begins again: it is chosen only where there are too
few others. Where bookies stand is a record of Pulsar's, which is watched as well.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Final

from magnetar.clock import Clock
from magnetar.errors import ConnectionLost, InvalidValue
from magnetar.loop_iteration import LoopIteration
from magnetar.model.cluster_stores import BookieState, Presence
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore, Watch
from magnetar.tasks import Tasks

from .addresses import Address
from .affinity import affinity_in
from .bookie import Bookie
from .client_tls import ClientTls
from .connector import Connector
from .ledger_paths import AVAILABLE, COOKIES, READ_ONLY
from .metadata_format import address_of
from .placement import Placement
from .racks import Racks, decode_racks
from .settings import BookKeeperSettings

log = logging.getLogger(__name__)

QUARANTINE_MIN_S: Final = 1.0
"""One that is slow, not silent, must not be changed for another and back all the time."""


class BookieWatcher:
    """The bookies of one cluster."""

    def __init__(
        self,
        metadata: MetadataStore,
        settings: BookKeeperSettings,
        *,
        racks_in: MetadataStore,
        clock: Clock,
        iteration: LoopIteration,
    ) -> None:
        """``racks_in`` has the record of racks: the broker's store, where bookies have another.

        Raises InvalidValue where the files of TLS cannot be used.
        """
        self.iteration = iteration
        self.writable: list[str] = []
        self.read_only: list[str] = []
        self._racks = Racks()
        self._racks_in = racks_in
        self._rule = settings.placement
        self._connector = Connector(None if settings.tls is None else ClientTls(settings.tls))
        self._metadata = metadata
        self._available = f"{settings.ledgers_root}/{AVAILABLE}"
        self._cookies = f"{settings.ledgers_root}/{COOKIES}"
        self._registered: list[str] = []  # Those of the cluster, there or not.
        self._quarantine_s = settings.quarantine_s
        self._clock = clock
        self._turn = count()  # Ledgers take bookies by turns.
        self._bookies: dict[str, Bookie] = {}
        self._quarantined: dict[str, float] = {}  # Since when.
        self._tasks = Tasks("bookies")
        self._watches: list[Watch] = []
        self._looking = False
        self._changed = False

    async def start(self) -> None:
        """Look which there are, and go on looking when that changes. Raises what the store does."""
        self._watches = [
            self._metadata.watch(self._available, self._note_change),
            self._racks_in.watch(paths.BOOKIES, self._note_change),
        ]
        await self._look()

    async def close(self) -> None:
        """Close the connections."""
        for watch in self._watches:
            watch.cancel()
        await self._tasks.close()
        for bookie in self._bookies.values():
            await bookie.close()

    def get(self, bookie_id: str) -> Bookie:
        """A bookie, whether it is there or not."""
        bookie = self._bookies.get(bookie_id)
        if bookie is None:
            bookie = Bookie(
                bookie_id,
                resolve=self._resolve,
                connector=self._connector,
                iteration=self.iteration,
                now=self._clock.now,
            )
            self._bookies[bookie_id] = bookie
        return bookie

    def placement(self, custom: Mapping[str, bytes]) -> Placement:
        """What a choice of bookies depends on now; ``custom``: what is kept with the ledger.

        Raises CorruptEntry where that cannot be read.
        """
        groups = affinity_in(custom)
        rule = self._rule if groups is None else replace(self._rule, groups=groups)
        return Placement(self.writable, self._racks, self.quarantined, self._turn, rule)

    @property
    def quarantined(self) -> set[str]:
        """Those that failed of late."""
        now = self._clock.now()
        self._quarantined = {
            each: since
            for each, since in self._quarantined.items()
            if now - since < QUARANTINE_MIN_S
            or (now - since < self._quarantine_s and self.get(each).heard_at < since)
        }
        return set(self._quarantined)

    def quarantine(self, bookie_id: str) -> None:
        """Avoid a bookie that failed, for a while."""
        self._quarantined[bookie_id] = self._clock.now()
        self.get(bookie_id).counts.quarantines += 1

    def states(self) -> list[BookieState]:
        """How each bookie is, also those that are not there."""
        presences = {
            **dict.fromkeys(self._registered, Presence.AWAY),
            **dict.fromkeys(self.read_only, Presence.READ_ONLY),
            **dict.fromkeys(self.writable, Presence.WRITABLE),
        }
        quarantined = self.quarantined
        return [
            BookieState(
                bookie_id,
                presence,
                quarantined=bookie_id in quarantined,
                connected=self.get(bookie_id).connected,
                adds_pending=self.get(bookie_id).adds_pending,
                counts=self.get(bookie_id).counts,
            )
            for bookie_id, presence in sorted(presences.items())
        ]

    def readable_first(self, bookies: list[str]) -> list[str]:
        """Bookies in the order in which to ask them: those that are not there last."""
        there = {*self.writable, *self.read_only} - self.quarantined
        return sorted(bookies, key=lambda bookie_id: bookie_id not in there)

    async def _resolve(self, bookie_id: str) -> Address:
        return await address_in(self._metadata, self._available, bookie_id)

    def _note_change(self, path: str) -> None:
        self._quarantined.pop(path.rpartition("/")[2], None)  # It has begun again, or is gone.
        self._changed = True
        if not self._looking:
            self._tasks.spawn("look", self._look())

    async def _look(self) -> None:
        self._looking = self._changed = True
        try:
            while self._changed:
                self._changed = False
                names = await self._metadata.children(self._available)
                self.writable = [name for name in names if name != READ_ONLY]
                self.read_only = await self._metadata.children(f"{self._available}/{READ_ONLY}")
                self._registered = await self._metadata.children(self._cookies)
                await self._read_racks()
        finally:
            self._looking = False

    async def _read_racks(self) -> None:
        record = await self._racks_in.get(paths.BOOKIES)
        try:
            self._racks = decode_racks(b"" if record is None else record.value)
        except InvalidValue as error:
            log.warning("bookies.racks_unknown error=%s", error)


async def address_in(metadata: MetadataStore, available: str, bookie_id: str) -> Address:
    """Where a bookie listens, by its record below ``available``, or by its name.

    Raises ConnectionLost.
    """
    for path in (bookie_id, f"{READ_ONLY}/{bookie_id}"):
        record = await metadata.get(f"{available}/{path}")
        if record is not None:
            return address_of(bookie_id, record.value)
    try:
        return address_of(bookie_id, b"")
    except InvalidValue as error:
        raise ConnectionLost(f"there is no bookie {bookie_id} now") from error
