"""Every metric of Apache Pulsar 4.0.7 is here with its labels, or listed with the reason why not.

``metrics.txt`` has the name, type and labels of each that its standalone exposed.
"""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from support.clock import ManualClock
from support.loop import WatchedLoop
from unit.broker.peer import Peer

import magnetar
from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.model.system_topics import COORDINATORS
from magnetar.schemas import StringSchema
from magnetar.testing.local_broker import LocalBroker

ROOT = Path(__file__).parents[3]
LINES = (Path(__file__).parent / "metrics.txt").read_text().splitlines()
RECORDED = {name: frozenset(labels.split(",")) for name, _, labels in map(str.split, LINES)}
ABSENT = {
    "caffeine_cache_.*": "a cache library of Java",
    "jetty_.*|pulsar_web_executor_.*": "the HTTP server of Pulsar; ours has no pool of threads",
    "jvm_.*": "the Java machine; process_* and python_* are in its place",
    "pulsar_txn_(tc|pending_ack_store)_bufferedwriter_.*": (
        "what waits is one write, without a delay: pulsar_txn_append_log_total counts records"
    ),
    "pulsar_txn_tb_client_.*": "how long Pulsar takes to tell topics of an end, by topic",
    "pulsar_txn_tp_.*": "counted for the topic: pulsar_txn_tb_*",
    "pulsar_subscription_filter_.*": "there are no entry filters",
    "pulsar_resource_group_.*": "how long Pulsar takes to share out quotas, which are exact here",
    "pulsar_ml_cache_pool_.*": "Netty's memory",
    "pulsar_ml_cache_pendingreads_.*": "how Pulsar joins reads of the same entries",
    "pulsar_ml_reads_.*inflight_bytes": "a limit of Pulsar's on reads",
    "pulsar_(storage_)?ledger_write_latency_.*|pulsar_storage_ledger_.*": (
        "one log for all topics: pulsar_storage_write_latency_* and magnetar_fsync_seconds"
    ),
    "pulsar_ml_LedgerAddEntryLatencyBuckets.*": "the same",
    "pulsar_storage_read_cache_misses_rate": (
        "counted for the namespace: pulsar_ml_ReadEntriesOpsCacheMissesRate"
    ),
}
OF_TRANSACTIONS = re.compile("pulsar_(storage_|entry_size_).*")
"""These have the label ``subscription`` in Pulsar for the logs of its transactions alone."""
SETTINGS = {
    "transactionCoordinatorEnabled": True,
    "statsUpdateFrequencyInSecs": 30,
    "exposeConsumerLevelMetricsInPrometheus": True,
    "exposeProducerLevelMetricsInPrometheus": True,
    "dispatchThrottlingRatePerSubscriptionInMsg": 1,
    "backlogQuotaDefaultLimitBytes": 1_000_000,
    "backlogQuotaCheckIntervalInSeconds": 30,
}
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """Both formats of a broker that is used."""
    with asyncio.Runner(loop_factory=WatchedLoop) as runner:
        return runner.run(_scrape(tmp_path_factory.mktemp("metrics")))


async def _scrape(folder):
    clock = ManualClock()
    async with (
        LocalBroker(folder, clock=clock, settings=SETTINGS) as broker,
        Client(broker.service_url) as client,
        aiohttp.ClientSession() as http,
    ):
        await _transactions(broker)
        producer = await client.create_producer("t", schema=StringSchema())
        options = {"type": SubscriptionType.SHARED, "initial_position": InitialPosition.EARLIEST}
        await client.subscribe("t", "s", **options)
        left = await client.subscribe("t", "left", **options)
        await left.close()
        async with client.transaction() as txn:
            await producer.send("in a transaction", txn=txn)
        for number in range(5):
            await producer.send("x" * 200, key=f"k{number % 2}")
        await _compact(http, f"{broker.web_url}/admin/v2/persistent/public/default/t/compaction")
        clock.move(30)
        await clock.advance(1)
        found = []
        for accept in ("text/plain", OPENMETRICS):
            async with http.get(f"{broker.web_url}/metrics", headers={"Accept": accept}) as answer:
                assert str(answer.url).endswith("/metrics/"), "it leads there, as Pulsar does"
                found.append((answer.headers["Content-Type"], await answer.text()))
        return found


async def _transactions(broker):
    """Begin three, of which one is committed and one aborted."""
    peer = await Peer.open(broker.port)
    await peer.ask("lookupTopic", topic=str(COORDINATORS.partition(0)), request_id=1)
    await peer.ask("tcClientConnectRequest", request_id=1, tc_id=0)
    for number in range(3):
        await peer.ask("newTxn", request_id=1, tc_id=0, txn_ttl_millis=60_000)
        if number < 2:
            ids = {"request_id": 1, "txnid_most_bits": 0, "txnid_least_bits": number}
            await peer.ask("endTxn", txn_action=number, **ids)
    peer.wire.close()


async def _compact(http, url):
    async with http.put(url) as answer:
        assert answer.status == 204
    status = "RUNNING"
    while status == "RUNNING":
        async with http.get(url) as answer:
            status = (await answer.json())["status"]
    assert status == "SUCCESS"


def labels_of(families):
    found = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.fixture(scope="module")
def ours(scraped):
    return labels_of(parse_text(scraped[0][1]))


def reasons(name):
    return [reason for pattern, reason in ABSENT.items() if re.fullmatch(pattern, name)]


def test_a_metric_of_pulsar_is_here_or_has_a_reason(ours):
    assert [name for name in RECORDED if name not in ours and not reasons(name)] == []


def test_no_reason_is_given_for_what_is_here_or_unknown(ours):
    assert [name for name in ours if reasons(name)] == []
    unknown = [one for one in ABSENT if not any(re.fullmatch(one, name) for name in RECORDED)]
    assert unknown == []


def test_a_metric_of_pulsar_has_its_labels(ours):
    missing = {name: RECORDED[name] - ours[name] for name in RECORDED.keys() & ours.keys()}
    others = {name: labels for name, labels in missing.items() if labels}
    assert all(OF_TRANSACTIONS.fullmatch(name) for name in others), others
    assert set(others.values()) == {frozenset({"subscription"})}


def test_what_is_only_ours_says_so(ours):
    beyond = {name for name in ours if name not in RECORDED and not name.startswith("magnetar_")}
    with_settings = re.compile(
        "pulsar_(consumer|producer)_.*|python_.*|pulsar_broker_lookup_created|"
        "pulsar_replicated_subscriptions_.*"  # Told with the first topic that is replicated.
    )
    assert {name for name in beyond if not with_settings.fullmatch(name)} == set()


def test_openmetrics_has_the_same(scraped, ours):
    (plain, _), (kind, text) = scraped
    assert plain.startswith("text/plain; version=0.0.4")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert labels_of(parse_openmetrics(text)).keys() == ours.keys()


def value(text, start):
    [line] = [line for line in text.splitlines() if line.startswith(start)]
    return float(line.rpartition(" ")[2])


def test_the_values_are_those_of_the_topic(scraped):
    text = scraped[0][1]
    assert value(text, 'pulsar_rate_in{cluster="standalone"') > 0
    assert (
        value(text, 'pulsar_entry_size_le_512{cluster="standalone",namespace="public/default"') == 5
    )
    entries = 5 + 2  # One in a transaction, and the marker of its end.
    assert value(text, 'pulsar_storage_write_latency_count{cluster="standalone"') == entries
    for name, expected in (("latency_count", 2), ("compacted_entries_count", 2)):
        assert value(text, f'pulsar_compaction_{name}{{cluster="standalone"') == expected
    read, stored = (
        value(text, f'pulsar_compaction_{way}_throughput{{cluster="standalone"')
        for way in ("read", "write")
    )
    assert read == pytest.approx(2 * value(text, "pulsar_entry_size_sum") / 30, rel=0.01)
    kept = value(text, "pulsar_compaction_compacted_entries_size")
    assert 0 < stored * 30 <= kept < read * 30 / 2
    topic = 'cluster="standalone",namespace="public/default",topic="persistent://public/default/t"'
    assert value(text, f'pulsar_subscription_back_log{{{topic},subscription="s"') == 6
    assert value(text, "pulsar_broker_publish_latency_count") == entries
    assert value(text, "pulsar_storage_backlog_quota_check_duration_seconds_count") == 1
    blocked = [line for line in text.splitlines() if line.startswith("magnetar_subscription_block")]
    assert len(blocked) == 1, blocked  # The other one delivers, as fast as its limit lets it.
    assert 'subscription="left",reason="no_consumer"} 1' in blocked[0]


DASHBOARDS = Path(magnetar.__file__).parent / "tools" / "deploy" / "dashboards"


def test_transactions_are_counted_by_their_coordinators(scraped):
    text = scraped[0][1]
    labels = '{cluster="standalone",coordinator_id="0"}'
    counted = {"active_count": 1, "created_total": 4, "committed_total": 2, "aborted_total": 1}
    # Of the one that is active there is no record yet: nothing was sent in it.
    counted |= {"append_log_total": 9, "timeout_total": 0, "execution_latency_le_10": 2}
    for name, expected in counted.items():
        assert value(text, f"pulsar_txn_{name}{labels}") == expected, name
    labels = '{cluster="standalone",namespace="public/default"'
    for name, expected in (("active", 0), ("committed", 1), ("aborted", 0)):
        assert value(text, f"pulsar_txn_tb_{name}_total{labels}") == expected, name


@pytest.mark.parametrize("path", sorted(DASHBOARDS.glob("*.json")), ids=lambda p: p.name)
def test_our_dashboards_ask_for_what_is_told_with_its_labels(ours, path):
    dashboard = json.loads(path.read_text())
    asked = [query["expr"] for panel in dashboard["panels"] for query in panel["targets"]]
    asked += [each["query"]["query"] for each in dashboard["templating"]["list"][1:]]
    assert len(asked) > 8
    for query in asked:
        names = re.findall(r"(?:pulsar|magnetar|process)_\w+", query)
        assert names, query
        assert set(names) <= ours.keys(), query
        for name, labels in re.findall(r"(\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)=", labels)) <= ours[name], query


def test_our_dashboards_are_as_they_are_made():
    made = subprocess.run(
        [sys.executable, ROOT / "generate" / "dashboards.py", "--check"], check=False
    )
    assert made.returncode == 0, "run python generate/dashboards.py"
