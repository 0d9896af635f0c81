"""The metrics of logs, from outside; ``golden/metrics`` has the names and labels of all."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest
from support.clock import ManualClock
from support.faults import FaultyFiles
from support.loop import until

from magnetar import Client
from magnetar.testing.local_broker import LocalBroker

PERIOD_S = 30
SETTINGS = {
    "statsUpdateFrequencyInSecs": PERIOD_S,
    "managedLedgerCacheSizeMB": 0,
    "managedLedgerMaxEntriesPerLedger": 1,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
}
TOPIC = "persistent/public/default/t"


class Scraped:
    """A broker with a topic ``t``, its disk, and what its metrics say."""

    def __init__(self, folder, broker, client, http, clock):
        self.folder, self.broker, self.client = folder, broker, client
        self._http, self._clock = http, clock

    async def status(self, path):
        async with self._http.get(f"{self.broker.web_url}/admin/v2/{TOPIC}/{path}") as answer:
            return answer.status

    async def saved(self, subscription):
        """Return when what was acknowledged is stored."""
        (topic,) = self.broker.broker.registry.loaded.values()
        cursor = topic.subscriptions[subscription].cursor
        await self._clock.advance(1)
        await until(lambda: cursor.saved)

    async def values(self):
        """What the logs of public/default did since this was called last."""
        self._clock.move(PERIOD_S)
        await self._clock.advance(0)
        async with self._http.get(f"{self.broker.web_url}/metrics/") as answer:
            lines = (await answer.text()).splitlines()
        labels = '{cluster="standalone",namespace="public/default"'
        return {
            name.removeprefix("pulsar_ml_").replace(labels, "").strip(",}"): float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines if labels in line)
            if name.startswith("pulsar_ml_")
        }


@asynccontextmanager
async def scraped(folder, files=None):
    clock = ManualClock()
    async with (
        LocalBroker(folder, settings=SETTINGS, files=files, clock=clock) as broker,
        Client(broker.service_url) as client,
        aiohttp.ClientSession() as http,
    ):
        yield Scraped(folder, broker, client, http, clock)


async def test_ledgers_that_were_begun_and_marks_that_were_saved_are_counted(tmp_path):
    async with scraped(tmp_path / "data") as it:
        consumer = await it.client.subscribe("t", "s", ack_receipts=True)
        producer = await it.client.create_producer("t")
        for text in (b"a", b"b", b"c"):
            await producer.send(text)
        for _ in range(3):
            message = await consumer.receive()
        await consumer.acknowledge_cumulative(message)
        await it.saved("s")
        values = await it.values()
        switches = {name: value for name, value in values.items() if "LedgerSwitch" in name}
        assert len(switches) == 10
        assert sum(switches.values()) == 3, "a ledger for each entry"
        assert values["MarkDeleteRate"] == pytest.approx(1 / PERIOD_S)
        assert values["ReadEntriesSucceeded"] == 3
        again = await it.values()
        assert sum(value for name, value in again.items() if "LedgerSwitch" in name) == 0
        assert again["MarkDeleteRate"] == 0


async def test_entries_that_were_not_stored_are_counted(tmp_path):
    files = FaultyFiles()
    async with scraped(tmp_path / "data", files) as it:
        producer = await it.client.create_producer("t")
        await producer.send(b"stored")
        assert (await it.values())["AddEntryErrors"] == 0
        files.fail_syncs(times=1)
        await producer.send(b"stored when it was sent again")
        values = await it.values()
        assert (values["AddEntryErrors"], values["ReadEntriesErrors"]) == (1, 0)


async def test_reads_that_failed_are_counted(tmp_path):
    async with scraped(tmp_path / "data") as it:
        producer = await it.client.create_producer("t")
        await producer.send(b"to be damaged")
        path = "examinemessage?initialPosition=earliest&messagePosition=1"
        assert await it.status(path) == 200
        assert (await it.values())["ReadEntriesErrors"] == 0
        await asyncio.to_thread(damage, it.folder, b"to be damaged")
        assert await it.status(path) == 500
        values = await it.values()
        assert (values["ReadEntriesErrors"], values["AddEntryErrors"]) == (1, 0)


def damage(folder, text):
    """Change a byte of ``text`` where it is stored."""
    for path in (folder / "ledgers").rglob("*"):
        if path.is_file() and (at := path.read_bytes().find(text)) >= 0:
            with path.open("r+b") as file:
                file.seek(at)
                file.write(b"X")
            return
    raise AssertionError("it is not stored")
