"""A worker that is killed goes on with everything when it is started again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.errors import MagnetarError
from magnetar.model.subscriptions import InitialPosition
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port
from magnetar.tools.functions.api import FunctionsApi

TESTS = Path(__file__).parents[1]


@contextmanager
def worker(broker: BrokerThread, folder: Path, port: int) -> Iterator[FunctionsApi]:
    """One life of a worker, which ends by a kill."""
    command = [sys.executable, "-m", "support.thread_worker", broker.service_url, broker.web_url]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [*command, str(folder), str(port)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield FunctionsApi(AdminApi(f"http://127.0.0.1:{port}"))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_worker_goes_on_with_its_functions(tmp_path, code, name):
    fqfn, stopped = f"public/default/{name}", "public/default/stopped"
    given = {"py": code(), "className": name, "inputs": ["in"], "output": "out"}
    with BrokerThread() as broker, blocking.Client(broker.service_url) as client:
        port = free_port()
        with worker(broker, tmp_path / "worker", port) as api:
            api.create(fqfn, {**given, "name": name})
            api.create(stopped, {**given, "name": "stopped", "inputs": ["other"], "output": None})
            api.turn(stopped, None, "stop")
            assert api.trigger(fqfn, b"1", None) == b"2"
        with client.create_producer("in") as producer:
            producer.send(b"21")
        # Nothing is lost when the worker's folder is: packages and functions are at the broker.
        with worker(broker, tmp_path / "another", port) as api:
            assert sorted(api.names("public", "default")) == sorted(["stopped", name])
            with client.subscribe("out", "t", initial_position=InitialPosition.EARLIEST) as out:
                seen = [out.receive(30).data]
                while seen[-1] != b"42":  # What was not acknowledged yet may come again.
                    seen.append(out.receive(30).data)
            assert set(seen) == {b"2", b"42"}
            with pytest.raises(MagnetarError, match="Operation not permitted"):
                api.turn(stopped, None, "stop")
            api.delete(fqfn)
            assert api.names("public", "default") == ["stopped"]
