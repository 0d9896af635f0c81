"""Every broker of the tests behind a proxy of its own.

``BY_PROXY=1 pytest tests/client``, or ``tests/compatibility``. What clients are told of a broker's
service URL is the proxy's; the proxy lives as long as the object, whatever becomes of its broker.
``BY_PROXY=2`` has a second broker behind it, on the same stores, where these are in memory: topics
are at either. Brokers that let nobody in without a name go without: who clients are at the edge is
tested in tests/proxy.
"""

import asyncio
import os
import threading
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

import pytest
from proxy.conftest import proxy_before

from magnetar.broker.assemble.stores import Stores
from magnetar.broker.settings.tls import TlsSettings
from magnetar.proxy.config import ProxyConfig
from magnetar.proxy.proxy import running_proxy
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.testing.local_broker import BrokerThread, LocalBroker
from magnetar.testing.processes import BrokerProcess

WANTED = "BY_PROXY"

_UNWATCHED = "a proxy passes on no watches of topics, as Pulsar's: clients ask from time to time"
_PATTERNS = "tests/client/test_patterns.py::test_"
ALONE = {
    "tests/client/test_bad_keys.py": "its producer asks nobody where the topic is",
    "tests/compatibility/test_advertised_address.py": "clients connect where a broker says",
    "tests/compatibility/test_topics_of_both_clients.py::test_our_pattern_finds": _UNWATCHED,
    f"{_PATTERNS}topics_that_appear_are_received_from_their_first_message_on[watched": _UNWATCHED,
    f"{_PATTERNS}topics_that_vanish_are_forgotten_and_not_made_again[watched": _UNWATCHED,
    f"{_PATTERNS}the_watch_is_made_anew_after_a_reconnection": _UNWATCHED,
}
"""Beginnings of tests that are about clients that reach a broker themselves, each with why."""

_PLAYED = "tests/golden/test_wire.py::test_our_broker_answers_as_pulsar_did"
ONE_BEHIND = {
    f"{_PLAYED}[before-connect": "a proxy takes nothing before CONNECT, PING neither",
    f"{_PLAYED}[compaction": "what is asked by a proxy takes longer: compaction has ended by then",
    f"{_PLAYED}[connect-variants": "it names a broker of another cluster, which a proxy refuses",
    f"{_PLAYED}[keepalive": "who says nothing is a proxy's, whose time is not the recording's",
    "tests/client/test_tls.py": (
        "what ends TLS before the proxy says that each broker has its own address, and the proxy "
        "knows none by it: TLS at the proxy is tested in tests/proxy"
    ),
}
"""The same where two brokers are behind the proxy."""


def _before(service_url, web_url, second=None):
    """The settings of a proxy before a broker, and another one."""
    if second is not None:
        service_url += f",127.0.0.1:{second.port}"
        web_url += f",127.0.0.1:{second.web_port}"
    settings = {"brokerServiceURL": service_url, "brokerWebServiceURL": web_url}
    return ProxyConfig.read(flags={**settings, "servicePort": 0, "webServicePort": 0})


class ProxyThread:
    """A proxy in a thread with a loop of its own."""

    def __init__(self, config):
        self._config = config
        self._exit = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self.service_url = ""

    def start(self):
        self._thread.start()
        proxy = self._run(self._exit.enter_async_context(running_proxy(self._config)))
        self.service_url = f"pulsar://127.0.0.1:{proxy.port}"

    def close(self):
        self._run(self._exit.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)


class Edge(NamedTuple):
    """Where clients of a broker come."""

    port: int
    web_port: int
    broker: str | None = None
    """What CONNECT names so that a proxy passes it on; None: there is none."""


@asynccontextmanager
async def edge_of(local):
    """Where clients of a broker in this loop come: there, or at a proxy before it and its second.

    The second serves no topics, so that one connection has all of them; what is asked over HTTP
    comes to either.
    """
    second = getattr(local, "second", None)
    if second is None:
        yield Edge(local.port, local.web_port)
        return
    second.broker.registry.ownership.leave_to([local.broker.address])
    async with proxy_before(local, second) as proxy:
        yield Edge(proxy.port, proxy.web_port, f"127.0.0.1:{local.port}")


def pytest_collection_modifyitems(items):
    if os.environ.get(WANTED):
        for item in items:
            if "security" in getattr(item, "fixturenames", ()):
                reason = "who clients are at the edge is tested in tests/proxy"
                item.add_marker(pytest.mark.skip(reason=reason))
            passed_over = ALONE | (ONE_BEHIND if os.environ[WANTED] == "2" else {})
            for beginning, reason in passed_over.items():
                if item.nodeid.startswith(beginning):
                    item.add_marker(pytest.mark.skip(reason=reason))


def pytest_configure():
    if os.environ.get(WANTED):
        if os.environ[WANTED] == "2":
            _put_second_beside()
        _put_before_threads()
        _put_before_processes()


def _put_second_beside():
    """A broker in memory has another one beside it, which listens on ports of its own."""
    begin, end = LocalBroker.__aenter__, LocalBroker.__aexit__

    async def enter(self):
        self.second = None
        config = self._config
        if self._stores is None and config.storage.in_memory and not config.server.broker_port:
            tree, ledgers = MemoryTree(), MemoryLedgerStore()
            self._stores = Stores(MemoryMetadataStore(tree), ledgers)
            beside = Stores(MemoryMetadataStore(tree), ledgers)
            self.second = LocalBroker(clock=self._clock, stores=beside)
            # Its clients come by the proxy, in clear.
            self.second._config = replace(config, tls=TlsSettings())
        await begin(self)
        if self.second is not None:
            await begin(self.second)
        return self

    async def leave(self, *exc):
        if self.second is not None:
            await end(self.second, *exc)
        await end(self, *exc)

    LocalBroker.__aenter__, LocalBroker.__aexit__ = enter, leave


def _put_before_threads():
    begin, end = BrokerThread.__enter__, BrokerThread.__exit__

    def enter(self):
        begin(self)
        self.proxy = None
        auth = self._local._config.auth
        if not auth.enabled or auth.anonymous_role:
            second = getattr(self._local, "second", None)
            if second is not None:
                self.brokers = [self._local, second]
            self.proxy = ProxyThread(_before(self.service_url, self.web_url, second))
            self.proxy.start()
            self.service_url = self.proxy.service_url
        return self

    def leave(self, *exc):
        if self.proxy is not None:
            self.proxy.close()
        end(self, *exc)

    BrokerThread.__enter__, BrokerThread.__exit__ = enter, leave


def _put_before_processes():
    begin, end, url = BrokerProcess.__enter__, BrokerProcess.__exit__, BrokerProcess.service_url

    def enter(self):
        begin(self)
        self.proxy = None
        if self._environment.get("MAGNETAR_AUTHENTICATION_ENABLED") != "true":
            self.proxy = ProxyThread(_before(url.fget(self), self.web_url))
            self.proxy.start()
        return self

    def leave(self, *exc):
        if self.proxy is not None:
            self.proxy.close()
        end(self, *exc)

    def service_url(self):
        proxy = getattr(self, "proxy", None)
        return url.fget(self) if proxy is None else proxy.service_url

    BrokerProcess.__enter__, BrokerProcess.__exit__ = enter, leave
    BrokerProcess.service_url = property(service_url)
