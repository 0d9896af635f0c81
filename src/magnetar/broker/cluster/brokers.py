"""The brokers that run, each with a record that ends with its session, and which of them leads."""

import asyncio
from contextlib import suppress

from magnetar.errors import MagnetarError
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.metadata import paths

from .membership import Membership

AGAIN_S = 1.0
"""After so long a broker whose record could not be written tries again."""


class Brokers:
    """Says that this broker runs, and knows which others do."""

    def __init__(self, member: Membership) -> None:
        self.own = member.own
        self._member = member
        self._leases = member.leases(paths.LOAD_BALANCE, self._lost)

    def close(self) -> None:
        """Watch no more; the records end with the session of the metadata store."""
        self._leases.close()

    async def register(self) -> None:
        """Say that this broker runs. Raises what the metadata store raises."""
        await self._leases.take(paths.broker(self.own.name))

    async def unregister(self) -> None:
        """Say that it runs no more, and let another lead."""
        for path in list(self._leases.held):
            with suppress(MagnetarError):  # Then it ends with the session.
                await self._leases.release(path)

    async def all(self) -> list[BrokerAddress]:
        """The brokers that run, sorted by their names."""
        found = await asyncio.gather(*(self.get(name) for name in await self.names()))
        return [each for each in found if each is not None and each not in self._member.gone]

    async def names(self) -> list[str]:
        """The names of the brokers whose sessions live, sorted."""
        return sorted(map(paths.decode, await self._member.metadata.children(paths.BROKERS)))

    async def get(self, name: str) -> BrokerAddress | None:
        """The broker of this name, if its session lives."""
        return await self._member.broker_at(paths.broker(name))

    async def leader(self) -> BrokerAddress:
        """The broker that leads: the first that was asked for one since the last one ended."""
        return self._member.codec.decode_owner(await self._leases.take(paths.LEADER))

    def _lost(self, path: str) -> None:
        if path != paths.LEADER:
            self._member.tasks.spawn("register", self._register_again())

    async def _register_again(self) -> None:
        while True:
            try:
                return await self.register()
            except MagnetarError:
                await self._member.clock.sleep(AGAIN_S)
