"""One broker with transactions for these tests: our own, or Apache Pulsar."""

from itertools import count

import pytest
from support.apache_pulsar import WITH_PULSAR, apache_pulsar
from transactions.enabled import SETTINGS

from magnetar import Client
from magnetar.testing.local_broker import BrokerThread

NAMES = count()


@pytest.fixture(scope="session")
def broker(request, tmp_path_factory):
    """It has ``service_url`` and ``web_url``; ``support.admin.ask`` asks its admin API."""
    if not WITH_PULSAR:
        with BrokerThread(settings=SETTINGS) as ours:
            yield ours
        return
    folder = tmp_path_factory.mktemp("pulsar")
    lines = "".join(f"{name}={value}\n" for name, value in SETTINGS.items())
    with apache_pulsar(request, folder, lines) as pulsar:
        yield pulsar


@pytest.fixture
async def client(broker):
    async with Client(broker.service_url, operation_timeout_s=20, backoff_first_s=0.02) as client:
        yield client


@pytest.fixture
def topic(request):
    """A topic nobody used before."""
    return f"persistent://public/default/{request.node.originalname}-{next(NAMES)}"
