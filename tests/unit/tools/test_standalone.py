"""``magnetar standalone`` as its users start it: a process of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self
from urllib.request import urlopen

import pytest

STARTUP_S = 30


class Standalone:
    """A running process, started and ended by the test."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        command = [sys.executable, "-m", "magnetar.tools.cli", "standalone", *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAGNETAR_")}
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def first_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=STARTUP_S)
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path):
    def begin(*arguments: str) -> Standalone:
        return Standalone("--port", "0", "--http-port", "0", *arguments, folder=tmp_path)

    return begin


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_ends_when_asked(start, tmp_path, number):
    ready_file = tmp_path / "ready.json"
    with start("--data-dir", "here", "--ready-file", str(ready_file)) as running:
        line = running.first_line()
        ready = json.loads(ready_file.read_text())
        assert ready["pid"] == running.process.pid
        assert line.startswith("Magnetar is ready after ")
        assert f" s: pulsar://localhost:{ready['port']} and " in line
        assert f"http://localhost:{ready['http_port']}, stored in here (durability=fsync)" in line
        socket.create_connection(("127.0.0.1", ready["port"])).close()
        clusters = f"http://127.0.0.1:{ready['http_port']}/admin/v2/clusters"
        with urlopen(clusters) as answer:
            assert json.load(answer) == ["standalone"]
        running.process.send_signal(number)
        code, out, err = running.ended()
    assert (code, err) == (0, "")
    assert out == "Stopping: clients are told, everything is written.\n"
    assert not ready_file.exists()
    assert (tmp_path / "here").is_dir()


def test_in_memory_it_stores_nothing(start, tmp_path):
    with start("--memory", "--http-port", "-1") as running:
        line = running.first_line()
        assert line.rstrip().endswith(", nothing is stored")
        assert "http://" not in line
        running.process.terminate()
        assert running.ended()[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_locked_folder_is_an_error_in_one_line(start):
    with start("--data-dir", "here") as first:
        first.first_line()
        with start("--data-dir", "here") as second:
            code, out, err = second.ended()
    assert (code, out) == (1, "")
    assert err == (
        f"magnetar: the data folder here/ledgers is in use by process {first.process.pid}: stop "
        "it, or choose another folder\n"
    )


def test_a_busy_port_is_an_error_in_one_line(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with start("--memory", "--port", str(port)) as running:
            code, _, err = running.ended()
    assert code == 1
    assert err.startswith(f"magnetar: cannot listen on 127.0.0.1:{port}: Address already in use.")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--conf", "missing.conf"), "cannot read the configuration file missing.conf"),
        (("--port", "70000"), "brokerServicePort='70000' (flag): use a whole number from 0 to"),
        (("--data-dir", "/proc/magnetar"), "/proc/magnetar"),
        (("--data-dir", "/dev/null/here"), "/dev/null/here"),
    ],
)
def test_what_a_user_can_mend_is_an_error_in_one_line(start, arguments, text):
    with start(*arguments) as running:
        code, out, err = running.ended()
    assert (code, out) == (1, "")
    assert err.startswith("magnetar: ")
    assert text in err
    assert err.count("\n") == 1


def test_a_damaged_folder_is_an_error_in_one_line(start, tmp_path):
    with start("--data-dir", "here") as running:
        running.first_line()
        running.process.terminate()
        assert running.ended()[0] == 0
    (tmp_path / "here" / "metadata.sqlite").write_bytes(b"no database " * 1000)
    with start("--data-dir", "here") as running:
        code, _, err = running.ended()
    assert code == 1
    assert "metadata.sqlite" in err
    assert err.count("\n") == 1


def test_settings_that_are_none_are_named_once(start, tmp_path):
    conf = tmp_path / "standalone.conf"
    conf.write_text("zookeeperServers=x\nmanagedLedgerCacheSizeMB=1\nathenz=y\n")
    with start("--memory", "--conf", str(conf)) as running:
        running.first_line()
        running.process.terminate()
        _, _, err = running.ended()
    assert err.count("\n") == 1
    assert "config.unknown_settings ignored=athenz,zookeeperServers" in err
