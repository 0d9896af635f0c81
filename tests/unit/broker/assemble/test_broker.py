import threading

import pytest
from support.clock import LoopClock
from support.loop import pass_time, until_idle
from unit.broker.peer import Peer, send

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


async def test_a_broker_in_memory_has_no_thread_and_lives_by_the_time_of_its_loop():
    before = set(threading.enumerate())
    settings = {**QUIET, "ttlDurationDefaultInSeconds": 60, "keepAliveIntervalSeconds": 100_000}
    async with LocalBroker(settings=settings, clock=LoopClock()) as local:
        peer = await Peer.open(local.port)
        await peer.consume(1)
        await peer.produce(1)
        peer.wire.send(send(1, 0, b"x"))
        await peer.hear()
        [topic] = local.broker.registry.loaded.values()
        [cursor] = topic.ledger.cursors.values()
        assert cursor.backlog == 1
        await pass_time(3600)
        assert cursor.backlog == 0, "it expired, and nobody waited for it"
        assert set(threading.enumerate()) == before
        peer.wire.close()
        await until_idle()
