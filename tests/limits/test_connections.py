"""How many connections there may be, and what one may do before it has said who it is."""

import asyncio
import gc
import re

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from support.network import WireConnection
from unit.broker.peer import Peer, command

from magnetar.broker.handlers.connect import CLIENT_VERSION_LENGTH_MAX
from magnetar.broker.handlers.table import REQUEST_SIZE_MAX
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}
THERE_ARE_TOO_MANY = "Reached the maximum number of connections"


async def open_from(source: str, port: int) -> WireConnection:
    """A connection from another of this machine's addresses, with CONNECT under way."""
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(
        WireConnection, "127.0.0.1", port, local_addr=(source, 0)
    )
    wire.send(command("connect", client_version="test", protocol_version=21))
    return wire


async def admitted(wire: WireConnection) -> bool:
    answer = await Peer(wire).hear()
    if answer.HasField("connected"):
        return True
    assert (answer.error.error, answer.error.message) == (pb.NotAllowedError, THERE_ARE_TOO_MANY)
    assert answer.error.request_id == 2**64 - 1
    await wire.receive_end()
    return False


async def test_one_connection_more_than_the_broker_takes_is_turned_away():
    async with LocalBroker(settings={**QUIET, "brokerMaxConnections": 3}) as broker:
        wires = [await open_from("127.0.0.1", broker.port) for _ in range(4)]
        assert [await admitted(wire) for wire in wires] == [True, True, True, False]
        wires[0].close()
        await wires[0].receive_end()
        await Peer(wires[1]).nothing_more()
        assert await admitted(await open_from("127.0.0.1", broker.port))


async def test_one_connection_more_than_the_admin_api_takes_is_turned_away():
    settings = {"webServicePort": 0, "maxHttpServerConnections": 2}
    async with LocalBroker(settings=settings) as broker:
        port = broker.web_port
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        assert [await admin_status(*one) for one in opened] == ["200", "200"]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        refused = await reader.read()  # To the end, without asking anything.
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"maxHttpServerConnections" in refused
        for _, each in (*opened, (reader, writer)):
            each.close()
            await each.wait_closed()
        await until_idle()
        again = await asyncio.open_connection("127.0.0.1", port)
        assert await admin_status(*again) == "200"
        again[1].close()
        await again[1].wait_closed()


async def test_one_address_has_a_share_of_the_admin_apis_connections(caplog):
    settings = {"webServicePort": 0, "maxHttpServerConnectionsPerIp": 2}
    async with LocalBroker(settings=settings) as broker:
        port = broker.web_port
        opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        assert [await admin_status(*one) for one in opened] == ["200", "200"]
        for _ in range(3):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert b"(maxHttpServerConnectionsPerIp)" in await reader.read()
            opened.append((reader, writer))
        opened.append(await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0)))
        assert await admin_status(*opened[-1]) == "200"
        for _, each in opened:
            each.close()
            await each.wait_closed()
        await until_idle()
        again = await asyncio.open_connection("127.0.0.1", port)
        assert await admin_status(*again) == "200"
        again[1].close()
        await again[1].wait_closed()
    gc.collect()  # An error of a task that nobody waits for is told when the task goes.
    assert [record for record in caplog.records if record.exc_info] == []


async def admin_status(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """The status of an answer, on a connection that stays open."""
    writer.write(b"GET /admin/v2/clusters HTTP/1.1\r\nHost: x\r\n\r\n")
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    size = int(re.search(r"(?i)content-length: (\d+)", head)[1])
    await reader.readexactly(size)
    return head.split()[1]


async def test_one_connection_more_than_an_address_may_have_is_turned_away():
    async with LocalBroker(settings={**QUIET, "brokerMaxConnectionsPerIp": 2}) as broker:
        wires = [await open_from("127.0.0.1", broker.port) for _ in range(3)]
        assert [await admitted(wire) for wire in wires] == [True, True, False]
        others = [await open_from("127.0.0.2", broker.port) for _ in range(3)]
        assert [await admitted(wire) for wire in others] == [True, True, False]
        wires[0].close()
        await wires[0].receive_end()
        await Peer(wires[1]).nothing_more()
        assert await admitted(await open_from("127.0.0.1", broker.port))
        assert not await admitted(await open_from("127.0.0.2", broker.port))


async def test_addresses_are_forgotten_with_their_last_connection():
    async with LocalBroker(settings={**QUIET, "brokerMaxConnectionsPerIp": 2}) as broker:
        stays = Peer(await open_from("127.0.0.1", broker.port))
        for number in range(2, 12):
            wire = await open_from(f"127.0.0.{number}", broker.port)
            assert await admitted(wire)
            wire.close()
            await wire.receive_end()
        assert (await stays.hear()).HasField("connected")
        await stays.nothing_more()
        assert set(broker.broker.connections_per_ip) == {"127.0.0.1"}


@pytest.mark.parametrize("said", [b"", b"\x00\x00", command("ping"), b"\x00\x00\x10\x00\x00\x00"])
async def test_who_does_not_say_connect_within_an_interval_is_cut_off(said):
    """Pulsar gives a newcomer one keep-alive interval, whatever else it says."""
    clock = ManualClock()
    async with LocalBroker(settings={**QUIET, "keepAliveIntervalSeconds": 10}, clock=clock) as it:
        wire = await WireConnection.open("127.0.0.1", it.port)
        witness = await Peer.open(it.port)
        wire.send(said)
        await witness.nothing_more()
        await clock.advance(9)
        await witness.nothing_more()
        assert not wire.closed
        await clock.advance(2)
        await wire.receive_end()
        assert (await witness.hear()).type == pb.BaseCommand.PING  # Who said it is only asked.


async def test_a_clients_version_is_kept_up_to_its_limit():
    async with LocalBroker(settings=QUIET) as broker:
        peers, kept = [], set()
        for length in (CLIENT_VERSION_LENGTH_MAX - 1, CLIENT_VERSION_LENGTH_MAX, 5_000):
            wire = await WireConnection.open("127.0.0.1", broker.port)
            wire.send(command("connect", client_version="v" * length, protocol_version=21))
            assert await admitted(wire)
            peers.append(Peer(wire))
            await peers[-1].produce(1)
        (topic,) = broker.broker.registry.loaded.values()
        for producer in topic.producers.values():
            kept.add(producer.connection.client_version)
        assert kept == {"v" * (CLIENT_VERSION_LENGTH_MAX - 1), "v" * CLIENT_VERSION_LENGTH_MAX}


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_a_connect_may_be_as_large_as_any_request(over):
    """It has no id that an answer could bear, so one that is larger ends the connection."""
    async with LocalBroker(settings=QUIET) as broker:
        wire = await WireConnection.open("127.0.0.1", broker.port)
        connect = pb.CommandConnect(
            client_version="x", protocol_version=21, proxy_to_broker_url="x" * 60_000
        )
        connect.proxy_to_broker_url += "x" * (REQUEST_SIZE_MAX + over - connect.ByteSize())
        assert connect.ByteSize() == REQUEST_SIZE_MAX + over
        values = {field.name: value for field, value in connect.ListFields()}
        wire.send(command("connect", **values))
        if over <= 0:
            assert await admitted(wire)
        else:
            assert await wire.receive_end() == []
