import asyncio
import logging
import socket
import ssl
from contextlib import AsyncExitStack

import pytest

from magnetar.broker.addresses import (
    WEB_PORT,
    address_of,
    host_name,
    keeps_clients,
    listen,
    open_listeners,
    port_of,
    warn_if_open,
)
from magnetar.broker.settings.server import ServerSettings
from magnetar.broker.settings.tls import TlsSettings
from magnetar.errors import InvalidValue

CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def test_a_busy_port_is_refused_with_the_remedy():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidValue) as refused:
            listen("127.0.0.1", port)
        with pytest.raises(InvalidValue) as refused_web:
            listen("127.0.0.1", port, WEB_PORT)
    assert str(refused.value) == (
        f"cannot listen on 127.0.0.1:{port}: Address already in use. Stop what uses the port, or "
        "choose another (--port, brokerServicePort; 0 picks a free one)"
    )
    assert "choose another (--http-port, webServicePort; 0 picks" in str(refused_web.value)


async def test_small_frames_are_sent_at_once_on_every_event_loop():
    """Without TCP_NODELAY a frame waits 40 ms where the client has not confirmed the one before."""
    loop = asyncio.get_running_loop()
    accepted = loop.create_future()
    with listen("127.0.0.1", 0) as listener:
        server = await asyncio.start_server(lambda _, w: accepted.set_result(w), sock=listener)
        async with server:
            _, client = await asyncio.open_connection(*listener.getsockname())
            writer = await accepted
            own = writer.get_extra_info("socket")
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for each in (writer, client):
                each.close()


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("192.0.2.1", "Cannot assign requested address"),
        ("no-such-host.invalid", ""),  # What is said of it is the resolver's own.
        ("x" * 64, ""),
    ],
)
def test_an_address_of_somebody_else_is_called_that(host, why):
    with pytest.raises(InvalidValue) as refused:
        listen(host, 6650)
    said = str(refused.value)
    assert said.startswith(f"cannot listen on {host}:6650: {why}")
    assert said.endswith(
        ". Give an address of this machine (--host, bindAddress; 0.0.0.0 for all it has)"
    )


def test_a_port_that_only_root_may_have_is_called_that(monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(InvalidValue, match=r"Permission denied\. Choose a port from 1024 on"):
        listen("127.0.0.1", 80)


def test_an_ipv6_address_can_be_listened_on():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        listener = listen("::1", 0)
    except InvalidValue:
        pytest.skip("no IPv6 here")
    with listener:
        assert listener.family == socket.AF_INET6


@pytest.mark.parametrize(
    ("bind_address", "advertised_address", "host", "kept"),
    [
        ("127.0.0.1", "", "localhost", True),
        ("10.0.0.5", "", "10.0.0.5", True),
        ("0.0.0.0", "", "broker-7.example", True),
        ("::", "", "broker-7.example", True),
        ("broker.example", "", "broker.example", True),
        ("0.0.0.0", "broker.example", "broker.example", False),
        ("0.0.0.0", "localhost", "localhost", True),
    ],
)
def test_what_is_advertised_follows_what_is_listened_on(
    monkeypatch, bind_address, advertised_address, host, kept
):
    monkeypatch.setattr(socket, "getfqdn", lambda: "broker-7.example")
    server = ServerSettings(bind_address=bind_address, advertised_address=advertised_address)
    address = address_of(server, 6650, 8080)
    assert address.service_url == f"pulsar://{host}:6650"
    assert address.web_url == f"http://{host}:8080"
    assert keeps_clients(server, address) is kept


def test_a_machine_whose_full_name_is_localhost_has_a_short_one(monkeypatch):
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost")
    monkeypatch.setattr(socket, "gethostname", lambda: "vm")
    assert host_name() == "vm"


def test_a_machine_without_a_name_of_its_own_says_what_lookups_answer(monkeypatch, caplog):
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost.localdomain")
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    with caplog.at_level(logging.WARNING):
        assert host_name() == "localhost"
    assert "lookups answer: set advertisedAddress" in caplog.text


def test_functions_that_other_machines_can_reach_are_named(caplog):
    for host in ("127.0.0.1", "localhost", "::1"):
        warn_if_open(host, "bindAddress")
    assert not caplog.records
    warn_if_open("0.0.0.0", "bindAddress")
    assert "bindAddress is 0.0.0.0: whoever reaches it runs programs on this machine" in caplog.text


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
