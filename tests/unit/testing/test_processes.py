"""Brokers as processes: ended with the block, with who started them, and missed when they died.

``tests/crash`` and ``tests/compatibility`` kill and restart them.
"""

import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from magnetar.client import blocking
from magnetar.errors import NotReady
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.slow


def test_a_broker_serves_until_it_is_stopped(tmp_path):
    broker = BrokerProcess(tmp_path / "data")
    broker.start()
    broker.check()
    with blocking.Client(broker.service_url) as client:
        assert client.create_producer("x").send_many([b"1"])
    assert broker.terminate() == 0
    broker.stop()  # It does not run any more: nothing to do.


def test_a_port_that_is_taken_is_reported_with_the_log(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        broker = BrokerProcess(tmp_path / "data", port=port)
        with pytest.raises(NotReady, match=f"ended before it was ready.*(?s:.)*{port}"):
            broker.start()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux to watch a process")
def test_a_broker_that_ended_by_itself_is_noticed(tmp_path):
    with BrokerProcess(tmp_path / "data") as broker:
        ended = os.pidfd_open(broker.pid)
        os.kill(broker.pid, signal.SIGKILL)
        assert select.select([ended], [], [], 30)[0]
        os.close(ended)
        with pytest.raises(NotReady, match="ended by itself, with exit code -9"):
            broker.check()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux to watch a process")
def test_a_broker_ends_with_the_process_that_started_it(tmp_path):
    program = f"""
import pathlib, signal
from magnetar.testing.processes import BrokerProcess
with BrokerProcess(pathlib.Path({str(tmp_path)!r}) / "data") as broker:
    print(broker.pid, flush=True)
    signal.pause()
"""
    source = str(Path(sys.modules["magnetar"].__file__).parents[1])
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env={"PYTHONPATH": source}, stdout=subprocess.PIPE
    )
    pid = int(parent.stdout.readline())
    ended = os.pidfd_open(pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    try:
        assert select.select([ended], [], [], 30)[0], "the broker is still there"
    finally:
        os.close(ended)
