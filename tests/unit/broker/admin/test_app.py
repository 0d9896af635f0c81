import subprocess
import sys

import pytest

from magnetar.broker.admin.app import bind, start_admin
from magnetar.errors import Conflict


def test_nothing_imports_the_http_library_before_the_api_starts():
    code = "import sys, magnetar.broker.admin.app; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


async def test_a_free_port_is_found(world):
    assert world.port > 0
    assert (await world.ask("GET", "/admin/v2/brokers/ready")).text == "ok"


async def test_a_busy_port_is_named_with_the_remedy(world):
    with pytest.raises(Conflict, match=rf"127\.0\.0\.1:{world.port}.*webServicePort"):
        await start_admin(world.services, port=world.port)


async def test_a_port_can_be_taken_before_the_rest_is_ready(world):
    taken = bind("127.0.0.1", 0)
    server = await start_admin(world.services, bound=taken)
    assert server.port == taken.getsockname()[1]
    await server.close()
    await server.close()
    bind("127.0.0.1", server.port).close()
