"""The other brokers' processes, each known by a connection: one that died is known at once.

A process that is killed leaves a session of the metadata store behind, and with it leases that
nobody may take for seconds. Its connections end at once, and where it listened, nobody does: then
``gone`` has it, and whoever is asked for one of its bundles takes the lease. It may live after all,
behind a firewall that refuses: it sees that its leases are gone and stops, and until then what it
appends is refused, since its ledgers are fenced. A process that is stopped, or cut off, refuses
nothing: its leases end with its session.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

from magnetar.errors import MagnetarError
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.metadata import paths

from .brokers import Brokers
from .membership import Membership

log = logging.getLogger(__name__)

AGAIN_S: Final = 0.1
"""So long after a broker came, or a connection ended or did not begin, it is tried."""
REFUSED_AFTER_S: Final = (0.0, 0.005, 0.02, 0.05)
"""How long to wait, each time, before a new connection is tried to see whether nobody listens: a
process that ends may let go of its connections before its port."""
MEET_S_MAX: Final = 2.0
"""So long a broker that starts waits for connections to the others before it serves clients."""


class Connected(Protocol):
    """A connection to a broker."""

    async def wait_closed(self) -> None:
        """Return when it has ended."""


class Neighbours:
    """Follows every other broker for as long as its session lives."""

    def __init__(
        self,
        member: Membership,
        brokers: Brokers,
        *,
        connect: Callable[[BrokerAddress], Awaitable[Connected]],
        refuses: Callable[[BrokerAddress], Awaitable[bool]],
    ) -> None:
        """``refuses`` says whether nobody listens where a broker was."""
        self._member = member
        self._brokers = brokers
        self._connect = connect
        self._refuses = refuses
        self._followed: set[str] = set()
        self._met: set[str] = set()  # Those that were connected, or did not answer.
        self._meeting = asyncio.Event()
        self._looking = False
        self._watch = member.metadata.watch(paths.BROKERS, self._changed)

    def close(self) -> None:
        """Look for new brokers no more. Tasks end with their owner."""
        self._watch.cancel()

    def start(self) -> None:
        """Follow the brokers that run, and those that come."""
        self._changed(paths.BROKERS)

    async def met(self) -> None:
        """Return when the brokers that run are connected, or do not answer.

        Of one that was never connected nobody can say that it died.
        """
        others = set(await self._brokers.names()) - {self._member.own.name}
        with suppress(TimeoutError):
            async with asyncio.timeout(MEET_S_MAX):
                while not others <= self._met:
                    self._meeting.clear()
                    await self._meeting.wait()

    def _changed(self, _path: str) -> None:
        if not self._looking:
            self._looking = True
            self._member.tasks.spawn("neighbours", self._look())

    async def _look(self) -> None:
        self._looking = False  # What changes from here on is another look.
        for name in await self._brokers.names():
            if name != self._member.own.name and name not in self._followed:
                self._followed.add(name)
                self._member.tasks.spawn(f"neighbour {name}", self._follow(name))

    async def _follow(self, name: str) -> None:
        broker, was_connected = None, False
        gone = self._member.gone
        try:
            await self._member.clock.sleep(AGAIN_S)  # It registers before it listens.
            while (broker := await self._found(name, broker)) is not None:
                was_connected |= await self._ended(broker)
                if was_connected and broker not in gone and await self._died(broker):
                    log.warning("broker.gone broker=%s: its bundles may be taken", name)
                    gone.add(broker)
                await self._member.clock.sleep(AGAIN_S)
        finally:
            self._followed.discard(name)
            self._met.discard(name)
        self._changed(name)  # It may have come back meanwhile.

    async def _found(self, name: str, before: BrokerAddress | None) -> BrokerAddress | None:
        """The broker of this name, while its session lives, or nobody can say whether it does."""
        try:
            found = await self._brokers.get(name)
        except MagnetarError:
            return before
        if before is not None and found != before:
            self._member.gone.discard(before)
        return found

    async def _ended(self, broker: BrokerAddress) -> bool:
        """Connect to a broker, and wait for the end of that. False: there was no connection."""
        try:
            connection = await self._connect(broker)
        except MagnetarError:
            return False
        finally:
            self._met.add(broker.name)
            self._meeting.set()
        self._member.gone.discard(broker)
        await connection.wait_closed()
        return True

    async def _died(self, broker: BrokerAddress) -> bool:
        """Whether a broker that was connected listens no more, and did not say that it ends."""
        for pause_s in REFUSED_AFTER_S:
            await self._member.clock.sleep(pause_s)
            if await self._refuses(broker):
                return await self._found(broker.name, broker) == broker
        return False
