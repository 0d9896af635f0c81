"""Relays between processes, in a loop of their own: tests that have none cut and hold them."""

import asyncio
import threading
from contextlib import contextmanager

from support.network import Proxy


class Relays:
    """Relays in a loop of their own, which tests use from outside."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._relays = []

    def do(self, work):
        """Run a coroutine function, or call a function, in the loop; return its result."""

        async def done():
            result = work()
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(20)

    def to(self, port):
        """A relay to a port of this machine."""
        relay = Proxy("127.0.0.1", port)
        self.do(relay.__aenter__)
        self._relays.append(relay)
        return relay

    def close(self):
        for relay in self._relays:
            self.do(lambda relay=relay: relay.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()


def refuse(relay, refusing):
    relay.refusing = refusing
    if refusing:
        relay.cut()


@contextmanager
def reset(relays, links):
    """Connections end, and new ones are refused."""
    for link in links:
        relays.do(lambda link=link: refuse(link, True))
    try:
        yield
    finally:
        for link in links:
            relays.do(lambda link=link: refuse(link, False))


@contextmanager
def silent(relays, links):
    """Connections stay, and nothing arrives."""
    for link in links:
        relays.do(link.hold)
    try:
        yield
    finally:
        for link in links:
            relays.do(link.release)
