"""Logs and cursors that a real broker of Pulsar's wrote, taken over by ours and handed back."""

import pulsar
import pytest
from contract.pulsar_logs import (
    ACKNOWLEDGED,
    BATCH,
    BATCH_LEFT,
    SETTINGS,
    SINGLES,
    admin,
    compact,
    fill,
    log_name,
    our_logs,
    publish,
    read_compacted,
    received,
)
from unit.storage.managed_ledger import compacting
from unit.storage.managed_ledger.logs import append

from bench.pulsar_on_cluster import PulsarBroker
from magnetar.errors import LedgerNotFound
from magnetar.message.metadata import published
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.ledger.store import LedgerId
from magnetar.storage.managed_ledger.settings import ledger_metadata
from magnetar.storage.metadata import paths

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

OTHERWISE = {
    "brokerEntryMetadataInterceptors": ",".join(
        f"org.apache.pulsar.common.intercept.Append{name}MetadataInterceptor"
        for name in ("BrokerTimestamp", "Index")
    ),
    "managedLedgerInfoCompressionType": "ZSTD",
    "managedCursorInfoCompressionType": "LZ4",
    "managedLedgerInfoCompressionThresholdInBytes": 0,
    "managedCursorInfoCompressionThresholdInBytes": 0,
    "managedLedgerPersistIndividualAckAsLongArray": True,
}


@pytest.fixture(scope="module")
def broker(pulsar_cluster, tmp_path_factory):
    """It runs when a test begins."""
    with PulsarBroker(tmp_path_factory.mktemp("broker"), pulsar_cluster, SETTINGS) as broker:
        yield broker


@pytest.fixture(autouse=True)
def running(broker):
    if not broker.running:
        broker.start()


async def entries_of(ledger):
    """All entries of a log, by position."""
    found, position = {}, EARLIEST
    while (run := await ledger.read(position, 100, 10**6)) is not None:
        for index, entry in enumerate(run.data):
            found[Position(run.ledger_id, run.first_entry_id + index)] = entry
        position = Position(run.ledger_id, run.first_entry_id + len(run.data))
    return found


async def check(ledger):
    """What ``fill`` left, as our log has it."""
    assert [each.last_entry_id for each in ledger.layout.sealed] == [9, 9, 5]
    entries = await entries_of(ledger)
    assert len(entries) == 26
    cursor = ledger.cursors["s"]
    places = list(entries)
    for text, place in zip(SINGLES, places, strict=False):
        assert entries[place].endswith(text.encode())
        assert published(entries[place]) == ("one", int(text))
        assert cursor.is_acknowledged(place) == (text in ACKNOWLEDGED)
    assert [word % 2**64 for word in cursor.ack_set(places[-1])] == [
        word % 2**64 for word in BATCH_LEFT
    ]
    assert cursor.mark == places[0]
    assert cursor.backlog == 26 - 9
    assert cursor.properties == {"colour": "blue"}
    assert ledger.cursors["all/of-it"].backlog == 26
    assert ledger.cursors["pulsar.dedup"].properties["one"] == "24"
    return entries


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_topic_is_taken_over_and_handed_back(broker, pulsar_cluster, end):
    topic = f"handed-over-after-a-{end}"
    fill(broker, topic)
    getattr(broker, end)()
    async with our_logs(pulsar_cluster) as logs:
        ledger = await logs.open(log_name(topic))
        entries = await check(ledger)
        one, *_, last = [place for place, entry in entries.items() if entry.endswith((b"1", b"24"))]
        ledger.cursors["s"].acknowledge_entries(one.ledger_id, [one.entry_id])
        await append(ledger, [entries[last]])
        if end == "stop":
            await ledger.close()
        else:  # As a broker of ours that dies.
            await ledger.cursors["s"].flush()
    broker.start()
    expected = [text for text in (*SINGLES, *BATCH) if text not in {"1", *ACKNOWLEDGED}] + ["24"]
    assert received(broker, topic, "s", len(expected)) == expected
    everything = [*SINGLES, *BATCH, "24"]
    assert received(broker, topic, "all/of-it", len(everything)) == everything
    assert admin(broker, "GET", f"{topic}/stats")["subscriptions"]["s"][
        "subscriptionProperties"
    ] == {"colour": "blue"}


async def test_ledgers_say_whose_they_are_as_pulsars_do(broker, pulsar_cluster):
    topic = "whose"
    fill(broker, topic)
    stats = admin(broker, "GET", f"{topic}/internalStats")
    async with our_logs(pulsar_cluster) as logs:
        of_the_log = LedgerId(stats["ledgers"][0]["ledgerId"])
        of_the_cursor = LedgerId(stats["cursors"]["s"]["cursorLedger"])
        for ledger_id, cursor in ((of_the_log, ""), (of_the_cursor, "s")):
            custom = (await logs.ledgers.metadata_of(ledger_id)).custom
            assert custom == ledger_metadata(log_name(topic), cursor)


async def test_what_a_broker_writes_that_is_set_otherwise(broker, pulsar_cluster, tmp_path):
    topic = "compressed"
    broker.stop()
    with PulsarBroker(tmp_path, pulsar_cluster, SETTINGS | OTHERWISE) as other:
        fill(other, topic)
        other.kill()
    async with our_logs(pulsar_cluster) as logs:
        record = await logs.metadata.get(paths.managed_ledger(log_name(topic)))
        assert record.value.startswith(b"\x47\x78")
        await check(await logs.open(log_name(topic)))


async def test_ten_thousand_holes_are_in_a_ledger_that_pulsar_reads(broker, pulsar_cluster):
    topic = "holes"
    fill(broker, topic)
    broker.stop()
    async with our_logs(pulsar_cluster) as logs:
        ledger = await logs.open(log_name(topic))
        entry = next(iter((await entries_of(ledger)).values()))
        cursor = await ledger.open_cursor("holes", EARLIEST)
        for _ in range(20):
            ledger_id, first = await append(ledger, [entry] * 1000)
            cursor.acknowledge_entries(ledger_id, range(first, first + 1000, 2))
        await cursor.flush()
        assert cursor.acked_ranges == 10_000
        record = await logs.metadata.get(paths.cursor(log_name(topic), "holes"))
        assert len(record.value) < 100
    broker.start()
    cursor = admin(broker, "GET", f"{topic}/internalStats")["cursors"]["holes"]
    assert cursor["totalNonContiguousDeletedMessagesRange"] == 10_000
    stats = admin(broker, "GET", f"{topic}/stats?getPreciseBacklog=true")
    assert stats["subscriptions"]["holes"]["msgBacklog"] == 26 + 10_000


async def test_a_topic_that_has_ended_has_ended_for_both(broker, pulsar_cluster):
    fill(broker, "ended")
    admin(broker, "POST", "ended/terminate")
    broker.stop()
    async with our_logs(pulsar_cluster) as logs:
        ledger = await logs.open(log_name("ended"))
        assert "pulsar.terminated.position" in ledger.properties
        await ledger.close()
    broker.start()
    client = pulsar.Client(
        broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    )
    with pytest.raises(pulsar.TopicTerminated):
        client.create_producer("ended").send(b"more")
    client.close()
    assert len(received(broker, "ended", "all/of-it", 95)) == 95


async def test_what_compaction_left_is_read_by_both(broker, pulsar_cluster):
    compact(broker, "compacted")
    broker.stop()
    async with our_logs(pulsar_cluster) as logs:
        ledger = await logs.open(log_name("compacted"))
        found = await compacting.read_compacted(ledger)
        assert [each.data[-2:] for each in found] == [b"09", b"10", b"11"]
        before = ledger.compacted.ledger_id
        await compacting.compact(ledger, lambda data: not data.endswith(b"10"))
        with pytest.raises(LedgerNotFound):
            await logs.ledgers.open(LedgerId(before))
        await ledger.close()
    broker.start()
    assert read_compacted(broker, "compacted") == ["9", "11"]


async def test_a_topic_of_which_all_was_deleted_goes_on(broker, pulsar_cluster):
    fill(broker, "deleted")
    broker.stop()
    async with our_logs(pulsar_cluster) as logs:
        ledger = await logs.open(log_name("deleted"))
        for cursor in ledger.cursors.values():
            cursor.acknowledge_cumulative(ledger.last_position)
        await ledger.prepare_for_rest()
        await ledger.close()
        assert ledger.layout.ledger_ids == []
    broker.start()
    publish(broker, "deleted", "next")
    assert received(broker, "deleted", "s", 1) == ["next"]
    assert received(broker, "deleted", "all/of-it", 1) == ["next"]
    broker.stop()
    async with our_logs(pulsar_cluster) as logs:
        ledger = await logs.open(log_name("deleted"))
        assert [ledger.cursors[name].backlog for name in ("s", "all/of-it")] == [0, 0]
        assert ledger.layout.deleting == ()
