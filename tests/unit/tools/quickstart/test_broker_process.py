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
from magnetar.tools.quickstart.broker_process import BrokerAddress, running_broker


def test_a_broker_serves_while_the_block_runs(tmp_path):
    with running_broker(tmp_path / "data", tmp_path / "log", port=0, http_port=0) as broker:
        broker.check()
        with blocking.Client(broker.service_url) as client:
            assert client.create_producer("x").send_many([b"1"])
    assert broker.process.poll() == 0


def test_a_port_that_is_taken_is_reported_with_the_log(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(NotReady, match=f"did not start.*(?s:.)*{port}"),
            running_broker(tmp_path / "data", tmp_path / "log", port=port, http_port=0),
        ):
            pass


def test_a_broker_that_ended_by_itself_is_noticed(tmp_path):
    with running_broker(tmp_path / "data", tmp_path / "log", port=0, http_port=0) as broker:
        broker.process.kill()
        broker.process.wait()
        with pytest.raises(NotReady, match="ended by itself, with exit code -9"):
            broker.check()


def test_nothing_is_known_of_a_broker_of_others():
    BrokerAddress("pulsar://127.0.0.1:1", "http://127.0.0.1:1").check()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux to watch a process")
def test_a_broker_ends_with_the_process_that_started_it(tmp_path):
    program = f"""
import pathlib, time
from magnetar.tools.quickstart.broker_process import running_broker
folder = pathlib.Path({str(tmp_path)!r})
with running_broker(folder / "data", folder / "log", port=0, http_port=0) as broker:
    print(broker.process.pid, flush=True)
    time.sleep(60)
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
