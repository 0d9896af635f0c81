"""A fresh broker of ours, set up as the one of a recorded conversation was."""

from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
from golden.conversation import Conversation
from golden.frames import parse, split
from google.protobuf.message import DecodeError
from support.clock import ManualClock
from support.network import WireConnection

from magnetar.clock import SystemClock
from magnetar.message.entry import checksum, join
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker
from magnetar.wire import requests

BY_NAME = {
    "ack-batch-index-off": {"acknowledgmentAtBatchIndexLevelEnabled": False},
    "auto-creation-off": {"allowAutoTopicCreation": False},
    "auto-creation-partitioned": {
        "allowAutoTopicCreationType": "partitioned",
        "defaultNumPartitions": 3,
    },
    "auto-subscription-off": {"allowAutoSubscriptionCreation": False},
    "keepalive": {"keepAliveIntervalSeconds": 29},
    "unacked-limit": {"maxUnackedMessagesPerConsumer": 3},
    "keyshared-ranges-autosplit": {"subscriptionKeySharedUseConsistentHashing": False},
    "keyshared-hash-autosplit": {"subscriptionKeySharedUseConsistentHashing": False},
    "keyshared-draining-autosplit": {"subscriptionKeySharedUseConsistentHashing": False},
}
# Namespaces that were there before, each with a topic of so many partitions.
NAMESPACES = {"watch-topic-list": ("public/g-watch", "part", 2)}
LOOKUPS = 32  # Four bundles: some of so many names fall into each.
USED_LEDGERS = 3  # Some recordings name a ledger older than the topic's.
METADATA = {"producer_name": "p", "sequence_id": 0, "publish_time": 1}
SETTINGS = {"acknowledgmentAtBatchIndexLevelEnabled": True}  # As the recorded broker was set up.


class RecordingClock(ManualClock):
    """Stands still until a recorded moment is reached: delays are as long as they were then."""

    def __init__(self, started_ms: int) -> None:
        super().__init__(started_ms / 1000)
        self._started_s = started_ms / 1000

    async def pass_to(self, ms: int) -> None:
        """Let it be at least so long after the start. What runs goes on only if a delay is over."""
        seconds = max(self._started_s + ms / 1000 - self.now(), 0)
        if self.due_within(seconds):
            await self.advance(seconds)
        else:
            self.move(seconds)


@asynccontextmanager
async def broker_for(recorded: Conversation, data_directory: Path | None = None):
    clock = RecordingClock(started_ms(recorded))
    settings = {**SETTINGS, **BY_NAME.get(recorded.name, {})}
    if recorded.name.startswith("txn-"):
        settings["transactionCoordinatorEnabled"] = True
    async with LocalBroker(data_directory, settings=settings, clock=clock) as broker:
        await make_lived_in(broker)
        if (number := first_transaction(recorded)) is not None:
            await use_up_transactions(broker, number)
        if recorded.name in NAMESPACES:
            await make_namespace(broker, *NAMESPACES[recorded.name])
        broker.pass_to = clock.pass_to
        yield broker


async def make_namespace(broker: LocalBroker, name: str, topic: str, partitions: int) -> None:
    root = f"http://127.0.0.1:{broker.web_port}/admin/v2"
    async with aiohttp.ClientSession() as http:
        await http.put(f"{root}/namespaces/{name}", json={})
        await http.put(f"{root}/persistent/{name}/{topic}/partitions", json=partitions)


async def make_lived_in(broker: LocalBroker) -> None:
    """Give every bundle of public/default its owner, and use up the first ledgers' numbers."""
    connection = await WireConnection.open("127.0.0.1", broker.port)
    connection.send(requests.connect("golden", 21))
    for number in range(LOOKUPS):
        connection.send(requests.lookup(number, f"persistent://public/default/used-{number}"))
    for _ in range(LOOKUPS + 1):
        await connection.receive()
    for number in range(USED_LEDGERS):
        topic = f"persistent://public/default/used-{number}"
        connection.send(requests.producer(number, LOOKUPS + number, topic, name="p"))
        answer = parse(await connection.receive())
        if not answer.HasField("producer_success"):
            break  # Topics are not made automatically here.
        entry = join(pb.MessageMetadata(**METADATA).SerializeToString(), b"")
        connection.send(b"".join(requests.send(number, 0, entry, checksum(entry))))
        await connection.receive()
    connection.close()


def first_transaction(recorded: Conversation) -> int | None:
    """The number of the first transaction that was begun."""
    for step in recorded.steps:
        command = parse(step.frame) if step.kind == "<" else None
        if command is not None and command.HasField("newTxnResponse"):
            answer = command.newTxnResponse
            if not answer.HasField("error"):
                return answer.txnid_least_bits
    return None


async def use_up_transactions(broker: LocalBroker, count: int) -> None:
    """Find the coordinator, as the recorder had, and end so many transactions."""
    connection = await WireConnection.open("127.0.0.1", broker.port)

    async def ask(kind, **fields) -> None:
        command = pb.BaseCommand(type=pb.BaseCommand.Type.Value(kind))
        name = next(each.name for each in command.DESCRIPTOR.fields if each.number == command.type)
        getattr(command, name).SetInParent()
        for field, value in fields.items():
            setattr(getattr(command, name), field, value)
        data = command.SerializeToString()
        size = len(data)
        connection.send((size + 4).to_bytes(4) + size.to_bytes(4) + data)
        await connection.receive()

    connection.send(requests.connect("golden", 21))
    await connection.receive()
    topic = "persistent://pulsar/system/transaction_coordinator_assign-partition-0"
    await ask("LOOKUP", topic=topic, request_id=0)
    await ask("TC_CLIENT_CONNECT_REQUEST", request_id=0, tc_id=0)
    for number in range(count):
        ids = {"txnid_least_bits": number, "txnid_most_bits": 0}
        await ask("NEW_TXN", request_id=0, txn_ttl_millis=60_000, tc_id=0)
        await ask("END_TXN", request_id=0, txn_action=pb.COMMIT, **ids)
    connection.close()


def started_ms(recorded: Conversation) -> int:
    """When it began, by the first publish time that a client wrote; any time if none did."""
    for step in recorded.steps:
        command = parse(step.frame) if step.kind == ">" else None
        if command is not None and command.HasField("send"):
            entry = split(step.frame)[1]
            size = int.from_bytes(entry[6:10], "big")
            with suppress(DecodeError):  # Some are sent to be unreadable.
                return pb.MessageMetadata.FromString(entry[10 : 10 + size]).publish_time - step.ms
    return SystemClock().wall_ms()
