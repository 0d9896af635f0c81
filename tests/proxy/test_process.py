"""``magnetar proxy`` as operators start it."""

import asyncio
import json
import signal
import subprocess
import sys

from magnetar import Client
from magnetar.testing.local_broker import LocalBroker


async def test_the_command_serves_until_it_is_told_to_stop(tmp_path, topic):
    async with LocalBroker() as broker:
        conf, ready = tmp_path / "proxy.conf", tmp_path / "ready"
        conf.write_text(
            f"brokerServiceURL={broker.service_url}\nservicePort=0\nwebServicePort=0\n"
            "httpNumThreads=7\nnoSuchThing=1\n"
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "magnetar.tools.cli", "proxy", "--conf", str(conf)),
            *("--ready-file", str(ready)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        line = await process.stdout.readline()
        assert b"proxy is ready" in line
        port = json.loads(ready.read_text())["port"]
        async with Client(f"pulsar://127.0.0.1:{port}") as client:
            producer = await client.create_producer(topic)
            await producer.send(b"x")
        process.send_signal(signal.SIGTERM)
        _, errors = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0
        assert b"httpNumThreads=7" in errors
        assert b"noSuchThing" in errors
        assert not ready.exists()


async def test_a_conf_that_cannot_be_meant_starts_nothing(tmp_path):
    conf = tmp_path / "proxy.conf"
    conf.write_text("webSocketServiceEnabled=true\n")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "magnetar.tools.cli", "proxy", "--conf", str(conf)),
        stderr=subprocess.PIPE,
    )
    _, errors = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    assert b"webSocketServiceEnabled" in errors
    assert b"say where the brokers are" in errors
