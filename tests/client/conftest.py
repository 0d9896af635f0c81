"""One service for the tests of our client: our own broker, or Apache Pulsar.

With ``MAGNETAR_WITH_PULSAR=1`` the same tests run against a Pulsar standalone, which Maven fetches
(``bench/pulsar_standalone.py``); they are skipped with the reason where it cannot be had.
"""

import os
import sys
from itertools import count
from pathlib import Path

import pytest
from support.security import Security

from magnetar import Client
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.processes import free_port

WITH_PULSAR = bool(os.environ.get("MAGNETAR_WITH_PULSAR"))
NAMES = count()


@pytest.fixture(scope="session")
def broker(request, tmp_path_factory):
    """It has ``service_url`` and ``web_url``; ``support.admin.ask`` asks its admin API."""
    if not WITH_PULSAR:
        with BrokerThread() as ours:
            yield ours
        return
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from bench.maven import Missing  # noqa: PLC0415
    from bench.pulsar_standalone import PulsarStandalone, fetch  # noqa: PLC0415

    try:
        jars = fetch()
    except Missing as error:
        pytest.skip(f"no Apache Pulsar to test against: {error}")
    say = request.config.get_terminal_writer().line
    say("starting Apache Pulsar, which takes about 20 s")
    folder, ports = tmp_path_factory.mktemp("pulsar"), (free_port(), free_port())
    security = Security(tmp_path_factory.mktemp("security"), ports)
    settings = security.settings
    with PulsarStandalone(jars, folder, fsync=False, settings=settings) as pulsar:
        pulsar.security = security
        say(f"Apache Pulsar is at {pulsar.url}")
        pulsar.service_url = pulsar.url
        yield pulsar


@pytest.fixture
def security(broker):
    """How a broker that speaks TLS and checks credentials is reached."""
    if not WITH_PULSAR:
        pytest.skip("our broker neither speaks TLS nor checks credentials yet")
    return broker.security


@pytest.fixture
async def client(broker):
    async with Client(broker.service_url, operation_timeout_s=10) as client:
        yield client


@pytest.fixture
def topic(request):
    """A topic nobody used before."""
    return f"persistent://public/default/{request.node.originalname}-{next(NAMES)}"
