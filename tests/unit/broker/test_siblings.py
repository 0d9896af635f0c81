import socket
from contextlib import ExitStack

import pytest

from magnetar.broker.config import Config
from magnetar.broker.settings.server import own_port
from magnetar.broker.siblings import cores, own_listeners
from magnetar.errors import InvalidValue
from magnetar.testing.ports import free_port


def test_each_process_has_ports_of_its_own_beside_those_of_all():
    port, web_port = free_port(3), free_port(3)
    config = Config.read(flags={"brokerServicePort": port, "webServicePort": web_port})
    with ExitStack() as stack:
        found = own_listeners(config, 2, None, stack)
        assert [each.port for each in found.binary] == [own_port(port, 2)]
        assert [each.port for each in found.web] == [own_port(web_port, 2)]


def test_ports_that_are_picked_or_off_stay_so():
    config = Config.read(flags={"brokerServicePort": 0, "webServicePort": -1})
    with ExitStack() as stack:
        found = own_listeners(config, 0, None, stack)
        assert found.binary[0].port > 0
        assert not found.web


def test_a_port_that_is_taken_is_named():
    port = free_port(1)
    config = Config.read(flags={"brokerServicePort": port, "webServicePort": -1})
    with ExitStack() as stack, socket.socket() as taken:
        taken.bind(("127.0.0.1", own_port(port, 0)))
        taken.listen()
        with pytest.raises(InvalidValue, match=str(own_port(port, 0))):
            own_listeners(config, 0, None, stack)


def test_there_is_a_core():
    assert cores() >= 1
