import json
import shutil
from urllib.request import urlopen

import aiohttp
import pytest
from support.clock import ManualClock
from support.faults import FaultyFiles
from support.stores import cluster_of

from magnetar import Client
from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.admin.notices import RECENT_S, notices
from magnetar.client import blocking
from magnetar.errors import MagnetarError
from magnetar.model.log_damage import Cut, LogDamage
from magnetar.testing.local_broker import BrokerThread, LocalBroker

TOPIC = "persistent://public/default/t"


@pytest.fixture
def health():
    return BrokerHealth(ManualClock())


def test_a_broker_that_is_well_has_none(health):
    assert notices(health) == []


def test_a_failed_write_is_told_for_a_while_although_others_succeed(health):
    failed_at = health.clock.now()
    health.write_failure = lambda: (failed_at, "No space left")
    [found] = notices(health)
    assert (found.event, found.severity) == ("log-not-writable", "error")
    assert "No space left" in found.text
    health.clock.move(RECENT_S)
    assert notices(health) == []
    health.write_error = lambda: "No space left"
    assert [each.event for each in notices(health)] == ["log-not-writable"]


def test_what_the_start_found_is_counted(health):
    health.damage = LogDamage(1, Cut(2, 300))
    damaged, cut = notices(health)
    assert (damaged.event, cut.event) == ("log-damaged", "log-cut")
    assert "1 record of the log damaged" in damaged.text
    assert "2 records off the end of the log, with 300 entries" in cut.text


def test_what_is_away_of_a_clusters_stores_is_named(health):
    there = {"b:1": "writable", "b:2": "read-only", "b:3": "away", "b:4": "away"}
    health.cluster = cluster_of(there, quarantined={"b:1"})
    health.cluster.sessions[0].state = "suspended"
    found = {each.event: each for each in notices(health)}
    assert list(found) == [
        "zookeeper-away",
        "bookies-too-few",
        "bookies-away",
        "bookies-read-only",
        "bookies-quarantined",
    ]
    assert "zk:1 is suspended" in found["zookeeper-away"].text
    assert "1 bookie of 4 take writes, and a ledger needs 2" in found["bookies-too-few"].text
    assert "2 bookies are not there: b:3, b:4." in found["bookies-away"].text
    assert "1 bookie is read-only: b:2." in found["bookies-read-only"].text
    errors = [each.event for each in found.values() if each.severity == "error"]
    assert errors == ["zookeeper-away", "bookies-too-few"]
    health.cluster = cluster_of(dict.fromkeys(["b:1", "b:2"], "writable"))
    assert notices(health) == []


async def test_a_full_disk_is_told_by_attention(tmp_path):
    files = FaultyFiles()
    async with (
        LocalBroker(tmp_path / "data", files=files) as broker,
        Client(broker.service_url) as client,
    ):
        producer = await client.create_producer(TOPIC, send_timeout_s=1)
        await producer.send(b"fits")
        files.space_left = 0
        with pytest.raises(MagnetarError):
            await producer.send(bytes(100_000))
        files.repair()
        async with (
            aiohttp.ClientSession(broker.web_url) as http,
            http.get("/admin/v2/magnetar/attention") as answer,
        ):
            [told] = (await answer.json())["broker"]
        assert told["event"] == "log-not-writable"
        assert told["remedy"].startswith("make room")


def metrics(broker):
    with urlopen(f"{broker.web_url}/metrics/", timeout=10) as answer:
        return answer.read().decode()


def test_damage_of_the_log_is_a_metric_and_needs_somebody(tmp_path):
    with BrokerThread(tmp_path / "data") as broker, blocking.Client(broker.service_url) as client:
        client.create_producer(TOPIC).send(b"a message that was answered")
        shutil.copytree(tmp_path / "data", tmp_path / "killed")
    (segment,) = (tmp_path / "killed" / "ledgers").glob("segment-*")
    data = bytearray(segment.read_bytes())
    data[data.rindex(b"that was answered")] ^= 1
    segment.write_bytes(data)
    with BrokerThread(tmp_path / "killed") as broker:
        assert 'magnetar_log_damaged_records{cluster="standalone"} 1.0' in metrics(broker)
        with urlopen(f"{broker.web_url}/admin/v2/magnetar/attention", timeout=10) as answer:
            [told] = json.load(answer)["broker"]
        assert told["event"] == "log-damaged"
