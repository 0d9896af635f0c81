import os
import socket
import threading
from contextlib import closing
from multiprocessing import AuthenticationError

import pytest

from magnetar.functions.status_channel import ChannelAddress, StatusChannel, StatusReporter


@pytest.fixture
def channel():
    with closing(StatusChannel(b"key")) as opened:
        yield opened


def reporter(channel, told, stop=lambda: None):
    return closing(StatusReporter(channel.address, lambda: {**told}, stop))


def test_reports_come_until_the_last(channel):
    told = {"instanceId": 1, "numReceived": 0}
    with reporter(channel, told):
        assert channel.wait(lambda: channel.running(1), 10.0)
        assert channel.report(1)["numReceived"] == 0
        told["numReceived"] = 5
        assert channel.wait(lambda: channel.report(1)["numReceived"] == 5, 10.0)
        told["numReceived"] = 6
    assert channel.wait(lambda: not channel.running(1), 10.0)
    assert channel.report(1)["numReceived"] == 6
    assert channel.report(2) == {}


def test_instances_are_stopped_and_those_that_come_later(channel):
    stopped = threading.Event()

    def run():
        with reporter(channel, {"instanceId": 0}, stopped.set):
            stopped.wait()

    instance = threading.Thread(target=run)
    instance.start()
    assert channel.wait(lambda: channel.running(0), 10.0)
    assert channel.stop_instances(10.0)
    instance.join()
    late = threading.Event()
    with reporter(channel, {"instanceId": 1}, late.set):
        assert late.wait(10.0)


def test_an_instance_whose_job_is_gone_stops():
    stopped = threading.Event()
    channel = StatusChannel(b"key")
    with reporter(channel, {"instanceId": 0}, stopped.set):
        channel.wait(lambda: channel.running(0), 10.0)
        with socket.socket(fileno=os.dup(channel._connected[0].fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)  # As if the job's process had ended.
        assert stopped.wait(10.0)
    channel.close()


def test_strangers_are_turned_away(channel):
    address = ChannelAddress(channel.address.host, channel.address.port, b"another")
    with pytest.raises(AuthenticationError):
        StatusReporter(address, dict, lambda: None)
    with reporter(channel, {"instanceId": 0}):
        assert channel.wait(lambda: channel.running(0), 10.0)
