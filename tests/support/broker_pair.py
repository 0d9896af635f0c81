"""Two brokers as one service, in a thread with one loop: bundles move between them at random.

``TWO_BROKERS=7 pytest tests/client`` runs the tests of our client against them, with this seed.
"""

import asyncio
import os
import threading
from contextlib import AsyncExitStack, contextmanager
from random import Random

from cluster.conftest import two_brokers

SEED = os.environ.get("TWO_BROKERS")
"""None: the tests of the client have one broker."""
PAUSE_S = 0.5
"""The mean time between two moves."""


class BrokerPair:
    """A plain context manager, as ``BrokerThread``, whose URLs are those of either broker."""

    def __init__(self, settings, seed):
        self._settings = settings
        self._random = Random(seed)
        self._exit = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="two brokers")
        self._moving = asyncio.Lock()
        self.brokers = []
        self.asked = 0  # Which broker the URLs lead to.

    @property
    def service_url(self):
        return self.brokers[self.asked].service_url

    @property
    def web_url(self):
        return self.brokers[self.asked].web_url

    @contextmanager
    def for_a_test(self, *, unmoved):
        """Lead a test to a broker by chance; ``unmoved``: no bundle moves meanwhile."""
        self.asked = self._random.randrange(2)
        if unmoved:
            self._run(self._moving.acquire())
        try:
            yield
        finally:
            if unmoved:
                self._loop.call_soon_threadsafe(self._moving.release)

    def divide(self, namespace):
        """Let each broker serve every second bundle of a namespace."""
        self._run(self._divide(namespace))

    async def _divide(self, namespace):
        registries = self._pair.registries
        for each in registries:
            for bundle in each.ownership.bundles:
                await each.unload_bundle(bundle)
        policies = await registries[0]._resources.require_namespace(namespace)
        for index, bundle in enumerate(policies.bundles.of(namespace)):
            await registries[index % 2].ownership.acquire(bundle)

    def __enter__(self):
        self._thread.start()
        try:
            self._run(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exc):
        try:
            self._run(self._close())
        finally:
            self._end()

    async def _open(self):
        self._pair = await self._exit.enter_async_context(two_brokers(**self._settings))
        self.brokers = self._pair.brokers
        self._mover = asyncio.ensure_future(self._keep_moving())

    async def _close(self):
        self._mover.cancel()
        await asyncio.wait([self._mover])
        await self._exit.aclose()
        if not self._mover.cancelled():
            self._mover.result()

    async def _keep_moving(self):
        while True:
            await asyncio.sleep(self._random.expovariate(1 / PAUSE_S))
            async with self._moving:
                await self._pair.move_one(self._random)
            assert not self._pair.served_twice()

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
