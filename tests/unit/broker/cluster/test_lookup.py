import pytest

from magnetar.broker.cluster.lookup import BrokerAddress, Lookup
from magnetar.broker.cluster.ownership import Ownership
from magnetar.errors import NotOwner, TopicNotFound
from magnetar.model.names import TopicName


@pytest.mark.parametrize(
    ("host", "service_url", "web_url", "loopback"),
    [
        ("localhost", "pulsar://localhost:6650", "http://localhost:8080", True),
        ("127.0.0.9", "pulsar://127.0.0.9:6650", "http://127.0.0.9:8080", True),
        ("::1", "pulsar://[::1]:6650", "http://[::1]:8080", True),
        ("10.0.0.1", "pulsar://10.0.0.1:6650", "http://10.0.0.1:8080", False),
        ("broker.example", "pulsar://broker.example:6650", "http://broker.example:8080", False),
    ],
)
def test_an_address_tells_urls_and_whether_it_means_this_machine(
    host, service_url, web_url, loopback
):
    address = BrokerAddress.of(host, 6650, 8080)
    assert address == BrokerAddress(service_url, web_url, loopback)


def test_without_an_admin_api_there_is_no_web_url():
    assert BrokerAddress.of("localhost", 6650, None).web_url == ""


async def test_a_lookup_takes_the_bundle(resources):
    own = BrokerAddress.of("localhost", 6650, 8080)
    ownership = Ownership(resources, address="localhost:8080")
    lookup = Lookup(resources, ownership, own)
    topic = TopicName.parse("x")
    with pytest.raises(NotOwner):
        await ownership.check(topic)
    assert await lookup.find(topic) is own
    await ownership.check(topic)


async def test_a_topic_of_no_namespace_is_not_found(resources):
    ownership = Ownership(resources, address="localhost:8080")
    lookup = Lookup(resources, ownership, BrokerAddress.of("localhost", 1, 2))
    topic = TopicName.parse("persistent://public/nosuch/x")
    with pytest.raises(TopicNotFound, match=r"^Namespace not found$"):
        await lookup.find(topic)
    with pytest.raises(NotOwner):
        await ownership.check(topic)
