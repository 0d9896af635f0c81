"""What a subscription does, told as text: commands, a line of dashes, and what came of them.

Each file of this folder is a story. ``REWRITE=1`` writes down what happens today: commit it only if
you understand the difference. A word of PUBLISH is ``text:key=K:batch=N:chunk=UUID/I/N:in=S``, the
latter for a delay of S seconds; entries are called by their text. In what happened, ``text(2)`` was
asked for again twice before, and of ``text[011]`` the first messages are pending.
"""

import asyncio
import os
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from unit.broker.topics.conftest import ClientEnd, entry
from unit.storage.managed_ledger.logs import append

from magnetar.broker.topics.features.topic_rates import TopicRates
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.broker.topics.subscriptions.non_persistent_dispatch import PassingRun
from magnetar.broker.topics.subscriptions.non_persistent_subscription import (
    NonPersistentSubscription,
)
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.broker.topics.topic_state import StoredTopicState, TopicState
from magnetar.errors import MagnetarError
from magnetar.loop_iteration import LoopIteration
from magnetar.message.entry import checksum
from magnetar.message.entry_traits import traits_of
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DelayedDeliveryPolicies, DispatchRate
from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks

FILES = sorted(Path(__file__).parent.glob("*.txt"))
DASHES = "----"


class End(ClientEnd):
    """A client's end that tells the story what came."""

    def __init__(self, name, story):
        super().__init__()
        self.name = name
        self.story = story

    def _note(self, *what):
        super()._note(*what)
        match what:
            case ("entry", _, position, text, redeliveries, ack_set):
                self.story.positions.setdefault(text, Position(*position))
                words = format(ack_set[0], "b")[::-1] if ack_set else ""
                again = f"({redeliveries})" if redeliveries else ""
                self.story.heard.append(
                    (self.name, f"{text}{again}" + (f"[{words}]" * bool(words)))
                )
            case ("active", _, active):
                self.story.heard.append(
                    (None, f"{self.name} {'is' if active else 'is not'} active")
                )
            case ("close_consumer", _):
                self.story.heard.append((None, f"{self.name} is closed"))


class Story:
    """A subscription, and the commands that a file may give."""

    def __init__(self):
        self.clock = ManualClock()
        self.tasks = Tasks("scenario")
        self.stores = {"metadata": MemoryMetadataStore(), "ledgers": MemoryLedgerStore()}
        self.topic = TopicName.parse("persistent://public/default/scenario")
        self.settings = TopicSettings()
        self.policies = Policies()
        self.members = {}  # By name: end and consumer.
        self.positions = {}  # Of entries, by text.
        self.heard = []  # In order: who got what, or a sentence.
        self.subscription = None

    async def open(self):
        iteration = LoopIteration(asyncio.get_running_loop())
        context = TopicContext(self.settings, self.clock, iteration, producer_name=lambda: "p")
        shared = self.topic, context, self.policies
        if not self.topic.persistent:
            first = SubscribeRequest("s", SubscriptionType.SHARED, 0)
            self.subscription = NonPersistentSubscription(first, TopicState(*shared), self.tasks)
            return
        factory = ManagedLedgerFactory(
            codec=JsonCodec(),
            **self.stores,
            cache=EntryCache(1024 * 1024),
            clock=self.clock,
            tasks=self.tasks,
        )
        self.ledger = await factory.open("public/default/persistent/scenario")
        self.subscription = PersistentSubscription(
            "s",
            await self.ledger.open_cursor("s", EARLIEST),
            StoredTopicState(*shared, ledger=self.ledger),
            self.tasks,
            failed=lambda: None,
        )

    async def run(self, line):
        """Do what a line says. Returns what came of it, a line each."""
        command, *words = line.split()
        self.heard.clear()
        if command in ("settings", "topic", "non-persistent"):
            assert self.subscription is None, f"{command} comes first"
            if command == "non-persistent":
                self.topic = TopicName.parse("non-persistent://public/default/scenario")
            elif command == "topic":
                self.topic = TopicName.parse(f"persistent://public/default/{words[0]}")
            else:
                self.settings = TopicSettings(
                    **{name: number(value) for name, value in pairs(words)}
                )
            return []
        if command == "policies" and self.subscription is None:
            self.policies = Policies(**{name: int(value) for name, value in pairs(words)})
            return []
        if self.subscription is None:
            await self.open()
        try:
            said = await getattr(self, f"do_{command.replace('-', '_')}")(*words)
        except MagnetarError as error:
            return [f"{type(error).__name__}: {error}"]
        await until_idle()
        return [*self.told(), *([said] if said else [])]

    def told(self):
        for name, group in groupby(self.heard, itemgetter(0)):
            texts = [text for _, text in group]
            if name is None:
                yield from texts
            else:
                yield f"{name} <- {' '.join(texts)}"

    async def do_join(self, name, kind, *words):
        fields = dict(pairs(words))
        ranges = fields.get("ranges")
        request = SubscribeRequest(
            subscription="s",
            type=SubscriptionType[kind.upper()],
            consumer_id=len(self.members),
            consumer_name=name,
            priority_level=int(fields.get("priority", 0)),
            hash_ranges=None if ranges is None else tuple(map(slots, ranges.split(","))),
            allow_out_of_order=fields.get("order") == "any",
        )
        end = End(name, self)
        self.members[name] = end, await self.subscription.add(request, end)
        self.subscription.flow(self.members[name][1], int(fields.get("permits", 1000)))

    async def do_leave(self, name):
        self.subscription.remove(self.members.pop(name)[1])

    async def do_policies(self, *words):
        self.subscription.apply(Policies(**{name: int(value) for name, value in pairs(words)}))

    async def do_flow(self, name, permits):
        self.subscription.flow(self.members[name][1], int(permits))

    async def do_publish(self, *words):
        made = [entry_of(word, self.clock.wall_ms()) for word in words]
        if not self.topic.persistent:
            traits = traits_of(made, [0] * len(made))
            run = PassingRun(0, 0, made, list(map(checksum, made)), traits)
            self.subscription.publish(run, traits, range(len(made)))
            return
        ledger_id, first = await append(self.ledger, made, traits_of(made, [0] * len(made)))
        for number, word in enumerate(words):
            self.positions[word.partition(":")[0]] = Position(ledger_id, first + number)
        self.subscription.wake()

    async def do_delays(self, *words):
        """How messages are delayed from now on: ``active=0``, or a ``tick`` in milliseconds."""
        fields = {name: int(value) for name, value in pairs(words)}
        self.policies = Policies(
            delayed_delivery=DelayedDeliveryPolicies(
                fields.get("tick", 1000), bool(fields.get("active", 1))
            )
        )
        self.subscription.apply(self.policies)

    async def do_rate(self, messages, period_s="1"):
        """What is delivered in a period from now on; 0 is no limit."""
        rate = DispatchRate(int(messages), period_s=int(period_s))
        policies = Policies(subscription_dispatch_rate=rate)
        rates = TopicRates(lambda *_: None, lambda: (0, 0), None, self.clock)
        self.subscription.limit_rates(rates, policies)
        self.subscription.apply(policies)

    async def do_ack(self, name, *texts):
        """Acknowledge entries; ``text/011`` the first message of the batch of three alone."""
        whole = [self.positions[text] for text in texts if "/" not in text]
        parts = [text.split("/") for text in texts if "/" in text]
        self.subscription.acknowledge(
            self.members[name][1],
            whole,
            [(self.positions[text], [int(bits[::-1], 2)]) for text, bits in parts],
        )

    async def do_ack_until(self, name, text):
        self.subscription.acknowledge_cumulative(self.members[name][1], self.positions[text])

    async def do_expire_until(self, text):
        """What a time to live does, and an administrator who skips or expires messages."""
        self.subscription.expire(self.positions[text])

    async def do_redeliver(self, name, *texts):
        """Ask for entries again, or for all that the consumer holds."""
        positions = [self.positions[text] for text in texts]
        self.subscription.redeliver(self.members[name][1], positions or None)

    async def do_seek(self, text):
        position = self.positions[text]
        await self.subscription.seek(lambda: asyncio.sleep(0, position))
        self.members.clear()

    async def do_restart(self):
        """The broker stops, and starts again; consumers are gone."""
        self.subscription.close()
        await self.ledger.close()
        await self._begin_again()

    async def do_crash(self):
        """The broker is killed, and starts again."""
        await self._begin_again()

    async def _begin_again(self):
        await self.tasks.close()
        self.tasks = Tasks("scenario")
        self.members.clear()
        self.heard.clear()
        await self.open()

    async def do_stop_reading(self, name):
        self.members[name][0].writable = False

    async def do_read_again(self, name):
        self.members[name][0].reads_again()

    async def do_wait(self, seconds):
        await self.clock.advance(float(seconds))

    async def do_why(self):
        reason = self.subscription.blocked_reason()
        return "nothing is in the way" if reason is None else str(reason)

    async def do_show(self):
        lines = []
        for name, (_, consumer) in self.members.items():
            blocked = ", blocked" if consumer.blocked else ""
            lines.append(
                f"{name}: {consumer.permits} permits, {consumer.unacked} unacknowledged{blocked}"
            )
        if not self.topic.persistent:
            return "\n".join([*lines, f"{self.subscription.dropped_count} dropped"])
        dispatch = self.subscription.dispatch
        waiting = dispatch.waiting_count if dispatch else 0
        delayed = self.subscription.delayed
        held = f", {delayed.count} delayed" if delayed else ""
        backlog = self.subscription.cursor.backlog
        return "\n".join([*lines, f"backlog {backlog}, {waiting} waiting{held}"])

    async def close(self):
        if self.subscription is not None:
            self.subscription.close()
            if self.topic.persistent:
                await self.ledger.close()
        await self.tasks.close()


def pairs(words):
    return [word.split("=", 1) for word in words]


def number(text):
    return int(text) if text.isdecimal() else text


def slots(text):
    first, last = text.split("-")
    return int(first), int(last)


def entry_of(word, now_ms):
    text, *rest = word.split(":")
    fields = dict(pairs(rest))
    if fields.get("metadata") == "unreadable":
        return b"\0\0\0\x05\xff\xff\xff\xff\xff"
    if "chunk" in fields:
        uuid, index, count = fields.pop("chunk").split("/")
        place = {"uuid": uuid, "chunk_id": int(index), "num_chunks_from_msg": int(count)}
        return entry(text, key=fields.get("key"), **place)
    batch, delay_s = fields.get("batch"), fields.get("in")
    late = {} if delay_s is None else {"deliver_at_time": now_ms + round(float(delay_s) * 1000)}
    return entry(text, key=fields.get("key"), batch=None if batch is None else int(batch), **late)


async def played(text):
    """The file as it should be, by what happens today."""
    story, out = Story(), []
    try:
        for block in text.split("\n\n"):
            if DASHES not in block:
                out.append(block.strip("\n"))
                continue
            lines = block.strip("\n").split("\n")
            commands = lines[: lines.index(DASHES)]
            said = []
            for line in commands:
                if not line.startswith("#"):
                    said += await story.run(line)
            out.append("\n".join([*commands, DASHES, *(said or ["(nothing)"])]))
    finally:
        await story.close()
    return "\n\n".join(out) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_a_scenario_comes_out_as_it_is_told(path):
    told = path.read_text(encoding="utf-8")
    happened = await played(told)
    if os.environ.get("REWRITE") == "1":
        path.write_text(happened, encoding="utf-8")
    else:
        assert happened == told, f"{path.name}: REWRITE=1 accepts the difference"


def test_there_are_scenarios():
    assert len(FILES) > 10
