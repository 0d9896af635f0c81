"""Messages that were taken and are not stored when a program ends: it says so, and ends soon."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from support.apache_pulsar import WITH_PULSAR

from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.skipif(WITH_PULSAR, reason="the broker is killed")

ASYNCIO = """
import asyncio
from magnetar import Client

async def main():
    async with Client(URL, close_timeout_s=0.5) as client:
        producer = await client.create_producer("t")
        await producer.send(b"stored")
        print('ready', flush=True), input()
        {work}

asyncio.run(main())
"""
BLOCKING = """
from magnetar.client import blocking

with blocking.Client(URL, close_timeout_s=0.5) as client:
    producer = client.create_producer("t")
    producer.send(b"stored")
    print('ready', flush=True), input()
    {work}
"""
COMPAT = """
import magnetar.compat as pulsar

client = pulsar.Client(URL, operation_timeout_seconds=1)
producer = client.create_producer("t")
producer.send(b"stored")
print('ready', flush=True), input()
try:
    {work}
finally:
    client.close()
"""
FORGOTTEN = """
from magnetar.client import blocking

client = blocking.Client(URL)
producer = client.create_producer("t")
producer.send(b"stored")
print('ready', flush=True), input()
{work}
"""
NOWAIT = "for _ in range(100): producer.send_nowait(b'lost')"
CALLBACKS = "for _ in range(100): producer.send_async(b'lost', lambda result, id: None)"


@pytest.fixture
def broker(tmp_path):
    with BrokerProcess(tmp_path / "data") as running:
        yield running


@contextmanager
def program(broker, text, work):
    """A program that has sent one message, and whose broker is lost when it goes on."""
    text = f"URL = {broker.service_url!r}\n{text.format(work=work)}"
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", text], text=True, **pipes) as running:
        assert running.stdout.readline() == "ready\n"
        yield running
        running.kill()


@pytest.mark.parametrize(
    ("text", "work", "told"),
    [
        (ASYNCIO, NOWAIT, "magnetar.errors.NotStored"),
        (ASYNCIO, f"{NOWAIT}\n        1 / 0", "ZeroDivisionError"),
        (BLOCKING, NOWAIT, "magnetar.errors.NotStored"),
        (BLOCKING, f"{NOWAIT}\n    1 / 0", "ZeroDivisionError"),
        (COMPAT, CALLBACKS, "magnetar.compat.exceptions.Timeout"),
    ],
    ids=["asyncio", "asyncio-raising", "blocking", "blocking-raising", "compat"],
)
def test_what_is_lost_when_a_client_closes_is_raised_or_added_to_what_is(broker, text, work, told):
    with program(broker, text, work) as running:
        broker.kill()
        _, printed = running.communicate("\n", timeout=60)
    assert running.returncode == 1
    last = printed[printed.rindex(f"\n{told}") :]
    topic = "persistent://public/default/t"
    assert f"100 messages that the producer of {topic} had taken: no receipt" in last
    assert "the last error was: " in last


@pytest.mark.parametrize(
    ("text", "work"),
    [
        (ASYNCIO, "while True: await producer.send(b'held')"),
        (BLOCKING.replace("close_timeout_s=0.5", ""), "while True: producer.send(b'held')"),
        (COMPAT.replace("=1)", "=30)"), "while True: producer.send(b'held')"),
        (FORGOTTEN, "while True: producer.send(b'held')"),
    ],
    ids=["asyncio", "blocking", "compat", "forgotten"],
)
def test_ctrl_c_ends_a_program_whose_broker_has_stopped(broker, text, work):
    with program(broker, text, work) as running:
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            running.stdin.write("\n")
            running.stdin.flush()
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(1)
            began = time.monotonic()
            running.send_signal(signal.SIGINT)
            _, printed = running.communicate(timeout=60)
            took_s = time.monotonic() - began
        finally:
            os.kill(broker.pid, signal.SIGCONT)
    assert running.returncode == (
        1 if text.startswith("\nimport magnetar.compat") else -signal.SIGINT
    )
    assert "1 message that the producer of" in printed
    assert took_s < 10, "it waited for the operation timeout"
