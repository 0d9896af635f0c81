"""A real broker in the caller's own process: in its event loop, or in a thread beside it.

It listens on free ports and stores in memory unless given a folder; ready in milliseconds.
"""

import asyncio
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from magnetar.broker.assemble.broker import running_broker
from magnetar.broker.assemble.stores import Stores
from magnetar.broker.broker import Broker
from magnetar.broker.config import Config
from magnetar.clock import Clock, SystemClock
from magnetar.storage.ledger.local.disk import Files

NOTHING_SET: Final[Mapping[str, object]] = MappingProxyType({})


class LocalBroker:
    """A broker in the running event loop, as an async context manager.

    ``settings`` are by Pulsar's names, as in a configuration file. ``files`` is the disk of its
    log, for tests of a disk that fails; ``stores`` are those that it shares with other brokers.
    """

    def __init__(
        self,
        data_directory: Path | None = None,
        *,
        settings: Mapping[str, object] = NOTHING_SET,
        clock: Clock | None = None,
        files: Files | None = None,
        stores: Stores | None = None,
    ) -> None:
        self._config = config_for(data_directory, settings)
        self._clock = clock or SystemClock()
        self._files = files
        self._stores = stores
        self._exit = AsyncExitStack()
        self._broker: Broker | None = None

    @property
    def broker(self) -> Broker:
        """The broker itself, for tests that look inside."""
        assert self._broker is not None, "not started: use it in `async with`"
        return self._broker

    @property
    def port(self) -> int:
        return self.broker.port

    @property
    def web_port(self) -> int:
        port = self.broker.web_port
        assert port is not None, "it has no admin API: leave webServicePort out of the settings"
        return port

    @property
    def service_url(self) -> str:
        return f"pulsar://127.0.0.1:{self.port}"

    @property
    def web_url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    async def __aenter__(self) -> Self:
        self._broker = await self._exit.enter_async_context(
            running_broker(self._config, clock=self._clock, files=self._files, stores=self._stores)
        )
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._exit.aclose()


class BrokerThread:
    """The same in a thread with a loop of its own, as a plain context manager."""

    def __init__(
        self,
        data_directory: Path | None = None,
        *,
        settings: Mapping[str, object] = NOTHING_SET,
        files: Files | None = None,
    ) -> None:
        self._local = LocalBroker(data_directory, settings=settings, files=files)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="magnetar-broker")
        self.service_url = ""
        self.web_url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._local.__aenter__(), self._loop).result()
        except BaseException:
            self._end()
            raise
        self.service_url, self.web_url = self._local.service_url, self._local.web_url
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            closing = self._local.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(closing, self._loop).result()
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def config_for(data_directory: Path | None, settings: Mapping[str, object]) -> Config:
    """A configuration with free ports that stores in memory unless given a folder."""
    flags: dict[str, object] = {
        "brokerServicePort": 0,
        "webServicePort": 0,
        "advertisedAddress": "127.0.0.1",
    }
    if data_directory is None:
        flags["storageInMemory"] = True
    else:
        flags["dataDirectory"] = data_directory
    return Config.read(flags={**flags, **settings})
