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
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from magnetar.broker.assemble.stores import Stores
from magnetar.broker.settings.tls import TlsSettings
from magnetar.proxy.config import ProxyConfig
from magnetar.proxy.proxy import running_proxy
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.testing.local_broker import BrokerThread, LocalBroker
from magnetar.testing.processes import BrokerProcess

WANTED = "BY_PROXY"

ALONE = {
    "tests/client/test_bad_keys.py": "its producer asks nobody where the topic is",
    "tests/compatibility/test_advertised_address.py": "clients connect where a broker says",
    "tests/compatibility/test_topics_of_both_clients.py::test_our_pattern_finds": (
        "a proxy passes on no watches of topics, as Pulsar's: clients ask again from time to time"
    ),
}
"""Beginnings of tests that are about clients that reach a broker themselves, each with why."""


class ProxyThread:
    """A proxy in a thread with a loop of its own."""

    def __init__(self, service_url, web_url):
        settings = {"brokerServiceURL": service_url, "brokerWebServiceURL": web_url}
        settings |= {"servicePort": 0, "webServicePort": 0}
        self._config = ProxyConfig.read(flags=settings)
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


def pytest_collection_modifyitems(items):
    if os.environ.get(WANTED):
        for item in items:
            if "security" in getattr(item, "fixturenames", ()):
                reason = "who clients are at the edge is tested in tests/proxy"
                item.add_marker(pytest.mark.skip(reason=reason))
            for beginning, reason in ALONE.items():
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
            self.second = LocalBroker(stores=Stores(MemoryMetadataStore(tree), ledgers))
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
            urls = (self.service_url, self.web_url)
            if second is not None:
                urls = (
                    f"{urls[0]},127.0.0.1:{second.port}",
                    f"{urls[1]},127.0.0.1:{second.web_port}",
                )
            self.proxy = ProxyThread(*urls)
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
            self.proxy = ProxyThread(url.fget(self), self.web_url)
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
