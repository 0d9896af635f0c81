"""Coordinators over a log in memory, and topics that end transactions or fail to."""

import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from unit.storage.managed_ledger.logs import Logs

from magnetar.broker.transactions.coordinator import open_coordinator
from magnetar.broker.transactions.timeouts import Timeouts
from magnetar.loop_iteration import LoopIteration
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import open_record_log

NAME = "pulsar/system/persistent/__transaction_log_0"
TOPIC = "persistent://public/default/t"


class Topics:
    """What took part, as a coordinator tells it of ends: it notes them, waits, or fails."""

    def __init__(self):
        self.ended = []  # The number, whether it is committed, and the low watermark.
        self.failures = []
        self.open = asyncio.Event()
        self.open.set()

    async def end(self, transaction, low_watermark):
        await self.open.wait()
        if self.failures:
            raise self.failures.pop()
        self.ended.append((transaction.txn_id.least_bits, transaction.commits, low_watermark))


class Answers:
    """What was answered, in order."""

    def __init__(self):
        self.given = []

    def to(self, what):
        return lambda error: self.given.append((what, error))

    @property
    def granted(self):
        return [what for what, error in self.given if error is None]


class World:
    """Coordinator 0 of several processes, one after the other."""

    def __init__(self):
        self.logs = Logs(entries_per_ledger_max=1000, ledger_age_min_s=0)
        self.clock = ManualClock()
        self.topics = Topics()
        self.answers = Answers()
        self.coordinator = None
        self.timeouts = None

    async def start(self, active_max=0):
        """A process begins: whatever the one before has not stored is gone."""
        self.timeouts = Timeouts(self.clock, self.logs.tasks, self._time_out)
        record_log = await open_record_log(self.logs.factory(), NAME, cursor_name="c")
        self.coordinator = await open_coordinator(
            0,
            record_log,
            participants=self.topics,
            timeouts=self.timeouts,
            active_max=active_max,
            clock=self.clock,
            iteration=LoopIteration(asyncio.get_running_loop()),
        )
        return self.coordinator

    def _time_out(self, txn_id):
        self.coordinator.time_out(txn_id)

    async def crash(self):
        """The process ends without a word, and another one begins."""
        self.coordinator.lose()
        await self.coordinator.close()
        return await self.start()

    async def begin(self, timeout_ms=60_000):
        number = len(self.answers.given)
        txn_id = self.coordinator.begin(timeout_ms, None, self.answers.to(("begin", number)))
        await until_idle()
        return txn_id

    async def add(self, txn_id, *topics):
        self.coordinator.add_topics(txn_id, list(topics or [TOPIC]), self.answers.to("add"))
        await until_idle()

    async def end(self, txn_id, *, commit=True, client="c"):
        answer = self.answers.to(("end", txn_id.least_bits))
        self.coordinator.end(txn_id, client, answer, commit=commit)
        await until_idle()


def txn(number):
    return TxnId(0, number)


@pytest.fixture
async def world():
    made = World()
    await made.start()
    yield made
    await made.coordinator.close()
    await made.logs.tasks.close()
