import pytest
from unit.broker.peer import Peer

from magnetar.broker.addresses import listen
from magnetar.broker.assemble.broker import running_broker
from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import LocalBroker, config_for

QUIET = {"webServicePort": -1}


async def test_a_broker_that_cannot_start_gives_its_ports_back():
    with listen("127.0.0.1", 0) as taken:
        settings = {"webServicePort": taken.getsockname()[1]}
        config = config_for(None, settings)
        with pytest.raises(InvalidValue, match="cannot listen"):
            async with running_broker(config):
                pytest.fail("it started")
    async with running_broker(config) as broker:
        assert broker.web_port == config.server.web_port


async def test_the_advertised_address_is_what_clients_are_told():
    settings = {**QUIET, "advertisedAddress": "broker.example"}
    async with LocalBroker(settings=settings) as local:
        peer = await Peer.open(local.port)
        answer = await peer.ask("lookupTopic", topic="x", request_id=1)
        found = answer.lookupTopicResponse
        assert found.brokerServiceUrl == f"pulsar://broker.example:{local.port}"
        assert not found.proxy_through_service_url
        peer.wire.close()
