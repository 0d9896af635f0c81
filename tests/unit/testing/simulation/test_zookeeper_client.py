import asyncio

from magnetar.testing.simulation.messages import Messages
from magnetar.testing.simulation.zookeeper_client import SimulatedKazoo


async def test_who_stops_before_it_is_connected_leaves_no_connection():
    asked, lost = asyncio.Event(), asyncio.Event()
    server = await asyncio.get_running_loop().create_server(
        lambda: Messages(lambda *_: asked.set(), lambda _: lost.set()), "127.0.0.1", 0
    )
    host, port = server.sockets[0].getsockname()
    kazoo = SimulatedKazoo(f"{host}:{port}")
    kazoo.start_async()
    async with asyncio.timeout(5):
        await asked.wait()
        kazoo.stop()
        await lost.wait()
    server.close()


async def test_who_stops_while_it_connects_begins_no_session():
    asked, lost = [], asyncio.Event()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Messages(lambda _, message: asked.append(message), lambda _: lost.set()),
        "127.0.0.1",
        0,
    )
    host, port = server.sockets[0].getsockname()
    kazoo = SimulatedKazoo(f"{host}:{port}")
    kazoo.start_async()
    loop.call_soon(kazoo.stop)  # After the task's first step, which has no connection yet.
    async with asyncio.timeout(5):
        await lost.wait()
    server.close()
    assert not asked
