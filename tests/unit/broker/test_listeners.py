import ssl
from contextlib import AsyncExitStack

import pytest

from magnetar.broker.listeners import open_listeners, port_of
from magnetar.broker.settings.server import ServerSettings
from magnetar.broker.settings.tls import TlsSettings
from magnetar.errors import InvalidValue

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


@pytest.mark.parametrize(
    ("ports", "tls_ports", "binary", "web"),
    [
        ((0, 0), (None, None), (True, False), (True, False)),
        ((0, -1), (0, 0), (True, True), (False, True)),
        ((-1, -1), (0, None), (False, True), (False, False)),
    ],
)
async def test_every_port_that_is_set_is_bound(ports, tls_ports, binary, web):
    server = ServerSettings(broker_port=ports[0], web_port=ports[1])
    tls = TlsSettings(port=tls_ports[0], web_port=tls_ports[1])
    async with AsyncExitStack() as stack:
        found = open_listeners(server, tls, CONTEXT, stack)
        for listeners, expected in ((found.binary, binary), (found.web, web)):
            bound = [port_of(listeners, tls=each) for each in (False, True)]
            assert tuple(port is not None for port in bound) == expected
            assert None not in [each.port for each in listeners]
    assert all(each.socket.fileno() == -1 for each in (*found.binary, *found.web))


async def test_a_broker_that_no_client_could_reach_does_not_start():
    async with AsyncExitStack() as stack:
        with pytest.raises(InvalidValue, match="clients could not connect"):
            open_listeners(ServerSettings(broker_port=-1), TlsSettings(web_port=0), CONTEXT, stack)
