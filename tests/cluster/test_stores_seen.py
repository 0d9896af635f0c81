"""What operators are told of bookies and ZooKeeper, by a broker on real ones."""

import re
import urllib.error
import urllib.request

import pulsar
import pytest
from console.browser import Window, browser, needs_chromium
from prometheus_client.parser import text_string_to_metric_families
from support.admin import ask
from support.elsewhere import wait_until

from magnetar.client import blocking
from magnetar.errors import MagnetarError
from magnetar.testing.processes import BrokerProcess

TOPIC = "persistent://public/default/t"
CLIENT = "pulsar_managedLedger_client_bookkeeper_client"
TOO_FEW = "a ledger on 2 bookies needs 2 of them, and there are 1 that take writes"
CHANNEL = f"{CLIENT}_per_channel_bookie_client"

pytestmark = pytest.mark.slow


@pytest.fixture
def broker(cluster, tmp_path):
    settings = {
        "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/{tmp_path.name}",
        "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
    }
    with BrokerProcess(tmp_path / "none", settings=settings) as running:
        yield running


@needs_chromium
def test_the_console_shows_bookies_and_sessions(broker, cluster, tmp_path):
    with blocking.Client(broker.service_url) as client:
        client.create_producer(TOPIC).send(b"x")
    with browser() as chromium:
        window = Window(chromium, broker.web_url)
        window.go("brokers/stores")
        for bookie in cluster.bookies:
            window.says(bookie.bookie_id)
        window.says("writable")
        window.says("a ledger needs 2")
        window.says(cluster.zookeeper.address)
        assert window.page.locator("td", has_text="free").count() == 3
        window.page.screenshot(path=tmp_path / "stores.png")
        assert window.complaints == []


class Metrics:
    """One scrape."""

    def __init__(self, broker):
        with urllib.request.urlopen(f"{broker.web_url}/metrics/", timeout=20) as answer:
            families = text_string_to_metric_families(answer.read().decode())
            self.samples = [sample for family in families for sample in family.samples]

    def of(self, metric, /, **labels):
        """The values of a metric that has these labels."""
        return [
            each.value
            for each in self.samples
            if each.name == metric and labels.items() <= each.labels.items()
        ]


def by_bookie(broker, metric):
    samples = Metrics(broker).samples
    return {each.labels["bookie"]: each.value for each in samples if each.name == metric}


def ids(bookies):
    return {each.bookie_id for each in bookies}


def away(broker):
    """The bookies that the broker says are not there."""
    text = notices(broker).get("bookies-away", {"text": ""})["text"]
    return set(re.findall(r"[\d.]+:\d+", text))


def notices(broker):
    return {each["event"]: each for each in ask(broker, "GET", "magnetar/attention")["broker"]}


def test_metrics_tell_what_bookies_and_zookeeper_did(broker, cluster):
    client = pulsar.Client(broker.service_url, operation_timeout_seconds=30)
    producer = client.create_producer(TOPIC)
    for number in range(20):
        producer.send(b"%d" % number)
    client.close()
    seen = Metrics(broker)
    added = seen.of("magnetar_bookie_entries_added_total")
    assert sum(added) >= 40  # Two copies of each, and what the broker keeps itself.
    for bookie_id in ids(cluster.bookies):
        assert seen.of("magnetar_bookie_state", bookie=bookie_id, state="writable") == [1]
    took = seen.of(f"{CHANNEL}_ADD_ENTRY_count", success="true")
    assert 20 <= sum(took) <= sum(added)
    assert seen.of(f"{CLIENT}_ADD_ENTRY_count", success="true")[0] >= 20
    assert seen.of(f"{CLIENT}_LEDGER_CREATE_count", success="true")[0] >= 1
    assert sum(seen.of(f"{CHANNEL}_ADD_OP_OUTSTANDING")) == 0
    for name in ("metadata-store", "bookkeeper"):
        assert seen.of("magnetar_zookeeper_session_state", name=name, state="connected") == [1]
        operations = "pulsar_metadata_store_ops_latency_ms_count"
        assert seen.of(operations, name=name, type="put")[0] >= 1
        assert seen.of("magnetar_zookeeper_watches", name=name)[0] >= 1


def test_bookies_that_go_are_named_and_what_cannot_be_written_says_why(broker, cluster):
    changed = f"{CLIENT}_NUM_ENSEMBLE_CHANGE"
    with blocking.Client(broker.service_url, operation_timeout_s=3) as client:
        producer = client.create_producer(TOPIC)
        producer.send(b"before")
        written = by_bookie(broker, "magnetar_bookie_entries_added_total")
        producer.send(b"to the same")
        now = by_bookie(broker, "magnetar_bookie_entries_added_total")
        first = max(cluster.bookies, key=lambda each: now[each.bookie_id] - written[each.bookie_id])
        second = next(each for each in cluster.bookies if each is not first)
        assert notices(broker) == {}
        gone = []
        try:
            for bookie in (first, second):
                bookie.stop()
                gone.append(bookie)
                wait_until(lambda: away(broker) == ids(gone), "a bookie went")
                if len(gone) == 1:
                    producer.send(b"with two")
                    assert "bookies-too-few" not in notices(broker)
            seen = Metrics(broker)
            assert seen.of("magnetar_bookie_state", state="away").count(1) == 2
            assert seen.of(changed)[0] >= 1
            assert "1 bookie of 3 take writes" in notices(broker)["bookies-too-few"]["text"]
            with pytest.raises(urllib.error.HTTPError) as refused:
                ask(broker, "GET", "brokers/health")
            assert refused.value.code == 503
            assert TOO_FEW in refused.value.read().decode()
            with pytest.raises(MagnetarError, match=TOO_FEW):
                client.create_producer(f"{TOPIC}-2", send_timeout_s=2).send(b"refused")
        finally:
            for bookie in gone:
                bookie.start()
            for bookie in gone:
                bookie.await_ready(bookie.answers)
        wait_until(lambda: notices(broker), "they are back", met=lambda found: not found)
        client.create_producer(f"{TOPIC}-3").send(b"after")
