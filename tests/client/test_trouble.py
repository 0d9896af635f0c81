"""What a program is told when it cannot connect, and what it prints by itself: warnings."""

import subprocess
import sys

import pytest

from magnetar import Client
from magnetar.errors import Unreachable

# A program as an application has it, with no logging set up.
PROGRAM = """
from magnetar.client import blocking
from magnetar.errors import MagnetarError

with blocking.Client("pulsar://127.0.0.1:{port}") as client:
    try:
        client.create_producer("t")
    except MagnetarError as error:
        print(error)
try:
    blocking.Client("pulsar://me:s3cret@127.0.0.1")
except ValueError as error:
    print(error)
"""


def test_a_program_is_told_by_the_exception_alone_and_no_secret_is_printed(unused_tcp_port):
    command = [sys.executable, "-c", PROGRAM.format(port=unused_tcp_port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    refused, secret = done.stdout.splitlines()
    address = f"127.0.0.1:{unused_tcp_port}"
    assert refused == f"cannot connect to {address}: connection refused, nothing listens there"
    assert "service URL" in secret
    assert "s3cret" not in done.stdout + done.stderr
    assert done.stderr == ""


WARNED = """
import threading
from magnetar.client import blocking

heard = threading.Event()

def listener(consumer, message):
    if message.data == b"last":
        heard.set()
    raise ValueError("the listener's own")

with blocking.Client("{url}") as client:
    consumer = client.subscribe("{topic}", "s", listener=listener)
    client.create_producer("{topic}").send_many([b"first", b"last"])
    heard.wait()
"""


def test_warnings_reach_who_has_set_up_no_logging(broker, topic):
    program = WARNED.format(url=broker.service_url, topic=topic)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "consumer.listener_failed topic=" in done.stderr
    assert "the listener's own" in done.stderr


async def test_every_address_is_named_with_its_cause_and_at_once(topic, unused_tcp_port):
    url = f"pulsar://127.0.0.1:{unused_tcp_port},no-such-host.invalid"
    async with Client(url, operation_timeout_s=600) as client:
        with pytest.raises(Unreachable) as told:
            await client.create_producer(topic)
    assert isinstance(told.value, ConnectionError)
    assert f"127.0.0.1:{unused_tcp_port}: connection refused" in str(told.value)
    assert "no-such-host.invalid:6650: the name no-such-host.invalid is not known" in str(
        told.value
    )
