"""The examples run, against a broker of ours, and say what they should."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compatibility

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_what_produce_sends_consume_receives(magnetar_broker):
    sent = run("produce", magnetar_broker.service_url, "examples")
    assert "1000 more" in sent
    received = run("consume", magnetar_broker.service_url, "examples")
    assert "greeting: the first" in received
    assert received.endswith("1010 messages\n")
    assert run("consume", magnetar_broker.service_url, "examples") == "0 messages\n"


def test_the_blocking_example_counts_right(magnetar_broker):
    assert (
        run("blocking", magnetar_broker.service_url, "b")
        == f"50 + 51 + ... + 99 = {sum(range(50, 100))}\n"
    )
