"""Proxies in front of brokers of ours, in the loop of the test."""

from contextlib import asynccontextmanager

import pytest

from magnetar.proxy.config import ProxyConfig
from magnetar.proxy.proxy import running_proxy


@asynccontextmanager
async def proxy_before(*brokers, **settings):
    """A proxy in front of these brokers; gives it with ``service_url`` and ``web_url``."""
    given = {
        "brokerServiceURL": _joined("pulsar", [each.service_url for each in brokers]),
        "brokerWebServiceURL": _joined("http", [each.web_url for each in brokers]),
        "servicePort": 0,
        "webServicePort": 0,
        **settings,
    }
    async with running_proxy(ProxyConfig.read(flags=given)) as proxy:
        proxy.service_url = f"pulsar://127.0.0.1:{proxy.port}"
        proxy.web_url = f"http://127.0.0.1:{proxy.web_port}"
        yield proxy


def _joined(scheme, urls):
    """The addresses of several brokers as one URL."""
    return f"{scheme}://" + ",".join(url.partition("://")[2] for url in urls)


@pytest.fixture
def topic(request):
    return f"persistent://public/default/{request.node.originalname}"
