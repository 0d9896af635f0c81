"""One service for the tests of our client: our own broker, or Apache Pulsar."""

from contextlib import nullcontext
from itertools import count

import pytest
from support.apache_pulsar import WITH_PULSAR, apache_pulsar
from support.broker_pair import SEED, BrokerPair
from support.security import Security

from magnetar import Client
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port

NAMES = count()


@pytest.fixture(scope="session")
def broker(request, tmp_path_factory):
    """It has ``service_url`` and ``web_url``; ``support.admin.ask`` asks its admin API."""
    if SEED is not None:
        security = Security(tmp_path_factory.mktemp("security"), (0, 0))
        with BrokerPair(security.values, int(SEED)) as both:
            address = both.brokers[0].broker.address
            security.url = address.service_url_tls.replace("127.0.0.1", "localhost")
            security.web_url = address.web_url_tls.replace("127.0.0.1", "localhost")
            both.security = security
            yield both
        return
    security = Security(tmp_path_factory.mktemp("security"), (free_port(), free_port()))
    if not WITH_PULSAR:
        with BrokerThread(settings=security.values) as ours:
            ours.security = security
            yield ours
        return
    folder = tmp_path_factory.mktemp("pulsar")
    with apache_pulsar(request, folder, security.settings) as pulsar:
        pulsar.security = security
        yield pulsar


@pytest.fixture(autouse=SEED is not None)
def of_two_brokers(request, broker):
    """How a test goes along with bundles that move."""
    if request.node.get_closest_marker("one_broker"):
        pytest.skip("it is about one broker")
    unmoved = request.node.get_closest_marker("unmoved") is not None
    of_its_own = not isinstance(broker, BrokerPair)
    with nullcontext() if of_its_own else broker.for_a_test(unmoved=unmoved):
        yield


@pytest.fixture
def security(broker):
    """How a broker that speaks TLS and checks credentials is reached."""
    return broker.security


@pytest.fixture
async def client(broker):
    async with Client(broker.service_url, operation_timeout_s=10) as client:
        yield client


@pytest.fixture
def topic(request):
    """A topic nobody used before."""
    return f"persistent://public/default/{request.node.originalname}-{next(NAMES)}"
