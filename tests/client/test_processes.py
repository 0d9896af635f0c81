"""Programs that are interrupted, that fork, and that end with a client still open.

Each runs in a process of its own, whose output says what it saw (``programs/``).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from magnetar import InitialPosition
from magnetar.client import blocking
from magnetar.testing.local_broker import BrokerThread

PROGRAMS = Path(__file__).parent / "programs"
BOUND_S = 30  # Of a program that waits for ever.

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def run(program, service_url, topic, how, *, exit_code=0):
    """Run a program to its end; its lines, and what it wrote to the standard error output."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", PROGRAMS / f"{program}.py", service_url, topic, how],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == exit_code, done.stderr
    return done.stdout.splitlines(), done.stderr


def stored(broker, topic):
    with blocking.Client(broker.service_url) as client:
        consumer = client.subscribe(topic, "all", initial_position=InitialPosition.EARLIEST)
        found = []
        while consumer.has_message_available():
            found += [message.data for message in consumer.receive_many(1000, 5)]
    return found


@pytest.mark.parametrize("what", ["received", "sent", "made"])
@pytest.mark.unmoved
def test_ctrl_c_at_any_moment_loses_nothing(broker, topic, what):
    lines, errors = run("interrupted", broker.service_url, topic, what)
    interruptions, _ = lines[-1].split()
    assert int(interruptions) >= 240
    assert "never awaited" not in errors


@pytest.mark.unmoved  # What is not acknowledged comes again from where a topic is moved to.
@needs_fork
def test_workers_that_are_forked_use_what_their_parent_made(broker, topic):
    lines, errors = run("forks", broker.service_url, topic, "workers")
    assert lines == ["7 7 7", "True True", "stored 105 105"]
    assert "Traceback" not in errors


@needs_fork
def test_closing_in_a_forked_child_does_nothing_to_its_parent(broker, topic):
    lines, errors = run("forks", broker.service_url, topic, "closes")
    assert lines == ["AlreadyClosed", "AlreadyClosed", "7", "b'parent'", "stored 1 1"]
    assert "Traceback" not in errors


@needs_fork
def test_workers_of_multiprocessing_send(broker, topic):
    lines, _ = run("forks", broker.service_url, topic, "pools")
    assert lines == ["[0, 1, 2]", "[0, 1, 2]", "stored 7 4"]


@needs_fork
def test_the_asyncio_client_of_a_parent_is_refused_in_its_child(broker, topic):
    lines, _ = run("forks", broker.service_url, topic, "asyncio_client")
    assert "this client belongs to another event loop" in lines[0]
    assert lines[1:] == ["7", "stored 0 0"]


@pytest.mark.parametrize("how", ["pending", "threads", "late", "exits"])
@pytest.mark.unmoved
def test_what_was_taken_is_stored_when_the_process_ends(broker, topic, how):
    lines, errors = run("ends", broker.service_url, topic, how, exit_code=7 * (how == "exits"))
    assert stored(broker, topic) == [b"%d" % number for number in range(2_500)]
    assert ("ResourceWarning: unclosed at the end of the process" in errors) == (how != "exits")
    assert lines == (["the process ends, which closed its clients"] if how == "late" else [])
    assert "Traceback" not in errors
    assert "never" not in errors


def test_the_end_of_a_process_does_not_wait_for_a_broker_that_is_gone(topic):
    with BrokerThread() as broker:
        program = subprocess.Popen(
            [sys.executable, PROGRAMS / "ends.py", broker.service_url, topic, "gone"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert program.stdout.readline() == "ready\n"
    _, errors = program.communicate("\n", timeout=BOUND_S)
    assert program.returncode == 0
    assert "RuntimeWarning: the process ends before all messages of <Client of" in errors
    assert "are stored: it has not ended within 1.5 s" in errors
    assert "Traceback" not in errors
