"""Ports for tests: each is given once, whoever asks."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from magnetar.testing.ports import free_port

TAKES_TWO = """
import sys
from magnetar.errors import NotReady
from magnetar.testing import ports
ports._PORTS = range(int(sys.argv[1]), int(sys.argv[1]) + 1)
for _ in range(2):
    try:
        print(ports.free_port(), flush=True)
    except NotReady as none:
        print(none, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def asked(tmp_path):
    """What a process is told that asks twice, where there is one port; it lives with the block."""
    port = free_port()

    @contextmanager
    def asked():
        command = [sys.executable, "-c", TAKES_TWO, str(port)]
        alone = {**os.environ, "TMPDIR": str(tmp_path)}
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=alone) as process:
            yield [process.stdout.readline().strip() for _ in range(2)]
            process.communicate()

    asked.port = port
    return asked


def test_a_port_is_given_to_one_process_once_while_it_lives(asked):
    none = f"no free port of 127.0.0.1 from {asked.port} to {asked.port}: stop what uses them"
    with asked() as first:
        assert first == [str(asked.port), none]
        with asked() as second:
            assert second == [none, none]
    with asked() as third:
        assert third == [str(asked.port), none]
