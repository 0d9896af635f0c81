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
