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


def test_one_program_three_ways_says_the_same(magnetar_broker):
    for way in ("asyncio", "blocking", "compat"):
        said = run(f"orders_{way}", magnetar_broker.service_url, f"orders-{way}")
        assert said == "ann: 7\nbob: 7\ncid: 1\n"


def test_the_compat_way_is_a_program_for_the_official_client(magnetar_broker, tmp_path):
    program = (EXAMPLES / "orders_compat.py").read_text()
    official = tmp_path / "orders_official.py"
    official.write_text(program.replace("import magnetar.compat as pulsar", "import pulsar"))
    done = subprocess.run(
        [sys.executable, official, magnetar_broker.service_url, "orders-official"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.endswith("ann: 7\nbob: 7\ncid: 1\n")  # Behind what its client logs.
