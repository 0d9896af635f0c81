"""What fuzzing found, each in its smallest form."""

import asyncio
import gc
import json
import logging
from array import array

import pytest
from support.loop import until, until_idle
from support.network import WireConnection
from unit.client.peer import Peer
from unit.storage.ledger.local.support import append, run, until_upkeep

from magnetar.broker.connection import Connection
from magnetar.broker.resources import Resources
from magnetar.client.client import Client
from magnetar.errors import CorruptEntry, Fenced, InvalidValue, TopicNotFound
from magnetar.inner import encode_block
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.position import EARLIEST
from magnetar.model.subscriptions import SubscriptionType
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.storage.codec.cursor import decode_cursor
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.json_object import encode
from magnetar.storage.codec.ledger_list import decode_ledger_list
from magnetar.storage.ledger.local.format import (
    Stamp,
    head_at,
    head_intact,
    location,
    stamped,
)
from magnetar.storage.ledger.local.segment_format import (
    Contents,
    Group,
    decode_footer,
    encode_footer,
)
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.testing.local_broker import LocalBroker
from magnetar.tools.process import OneLine
from magnetar.wire import replies, requests
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import FrameDecoder


@pytest.mark.parametrize("digits", ["2147483648", "9" * 30, "9" * 5000])
def test_a_number_that_no_partition_can_have_is_part_of_the_name(digits):
    # int() refuses more than 4300 digits, and no field of the protocol holds more than ten.
    name = TopicName("persistent", "t", "n", f"t-partition-{digits}")
    assert name.partition_index == -1
    assert name.partitioned_name is name


def test_no_batch_holds_fewer_than_no_messages():
    # The index of the last one, one less, did not fit into GET_LAST_MESSAGE_ID_RESPONSE.
    head = pb.MessageMetadata(
        producer_name="p", sequence_id=1, publish_time=1, num_messages_in_batch=-(2**31)
    )
    entry = join(head.SerializeToString(), b"")
    assert metadata.peek(entry).message_count == 0
    assert metadata.parse(entry).message_count == 0


STAMP = Stamp(5, b"a salt..")


def forged_footer(change):
    """A footer with numbers that are wrong under a checksum that is right."""
    group = Group(3, 10, 100, 300, True, None, array("Q", [0]), array("Q", [location(5, 5000)]))
    footer = bytearray(encode_footer(STAMP, Contents({3: group}, [], 8000)))
    assert decode_footer(bytes(footer), STAMP) is not None
    change(footer)
    covered = bytes(footer[:-32]) + bytes(footer[-24:])
    footer[-28:-24] = stamped(STAMP, covered).to_bytes(4, "little")
    return bytes(footer)


@pytest.mark.parametrize(
    ("at", "number"),
    [
        (0, (2).to_bytes(4, "little")),  # So many ledgers,
        (4, (2**31).to_bytes(4, "little")),  # deletions,
        (52, (2).to_bytes(4, "little")),  # blocks: there is no room for them.
        (52, (2**32 - 1).to_bytes(4, "little")),
        (8, (2**64 - 1).to_bytes(8, "little")),  # Ids that no record can hold.
        (64, location(6, 5000).to_bytes(8, "little")),  # A block of another segment,
        (64, location(5, 8000).to_bytes(8, "little")),  # or behind this one's last.
    ],
)
def test_a_footer_that_cannot_be_is_damaged_whatever_its_checksum(at, number):
    def change(footer):
        footer[at : at + len(number)] = number

    assert decode_footer(forged_footer(change), STAMP) is None


def test_a_record_whose_tables_end_behind_the_file_is_damaged():
    record = bytearray(b"".join(encode_block(STAMP.salt, STAMP.seed, 0, 3, 0, [b"a"], [7])))
    record[52:56] = (1000).to_bytes(4, "little")
    record[8:12] = stamped(STAMP, bytes(record[12:])).to_bytes(4, "little")
    assert not head_intact(bytes(record), 0, STAMP, head_at(bytes(record), 0, STAMP))


async def test_a_subscription_may_be_deleted_before_all_who_opened_it_have_it():
    async with LocalBroker() as broker:
        registry = broker.broker.registry
        await registry.serve(TopicName.parse("t"))
        topic = await registry.get(TopicName.parse("t"), create=True)
        late = asyncio.ensure_future(topic.create_subscription("s", EARLIEST))
        await until(lambda: "s" in topic.ledger.cursors)
        # Somebody found the cursor made, and had the time to subscribe and to unsubscribe.
        await topic.ledger.delete_cursor("s")
        with pytest.raises(Fenced, match="subscribe again"):
            await late


LEDGER = {"ledgerId": 1, "entries": 5, "size": 5, "timestamp": 9}
LEDGER_LIST = {
    "version": 1,
    "ledgers": [LEDGER],
    "openLedgerId": 2,
    "trimmedTo": {"ledgerId": -1, "entryId": -1},
    "deletingLedgerIds": [],
}
DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "change",
    [
        {"openLedgerId": []},
        {"openLedgerId": "x"},
        {"openLedgerId": True},
        {"openLedgerId": 1},  # Ids ascend.
        {"ledgers": [LEDGER | {"entries": float("inf")}]},
        {"ledgers": [LEDGER | {"entries": -1}]},
        {"ledgers": [LEDGER | {"entries": 2**64}]},
        {"ledgers": [LEDGER | {"ledgerId": 3}, LEDGER]},
        {"ledgers": [[1, 4, 5, 9]]},
        {"deletingLedgerIds": [-1]},
        {"version": 0},
    ],
    ids=str,
)
def test_a_list_of_ledgers_that_nobody_wrote_is_corrupt(change):
    with pytest.raises(CorruptEntry, match="/a/record"):
        decode_ledger_list(json.dumps(LEDGER_LIST | change).encode(), source="/a/record")


CURSOR = {
    "version": 1,
    "markDelete": {"ledgerId": 1, "entryId": 0},
    "ranges": [{"ledgerId": 1, "firsts": [2], "lasts": [3]}],
    "batches": [{"ledgerId": 1, "entryId": 5, "ackSet": [3]}],
    "properties": {},
}


@pytest.mark.parametrize(
    "change",
    [
        {"markDelete": {"ledgerId": float("inf"), "entryId": 0}},
        {"markDelete": [1, 0]},
        {"ranges": [{"ledgerId": 1, "firsts": ["x"], "lasts": [3]}]},
        {"ranges": [{"ledgerId": 1, "firsts": [{}], "lasts": [3]}]},
        {"ranges": [{"ledgerId": 1, "firsts": [2], "lasts": []}]},
        {"batches": [{"ledgerId": 1, "entryId": [], "ackSet": [3]}]},
        {"batches": [{"ledgerId": 1, "entryId": 5, "ackSet": None}]},
        {"batches": [{"ledgerId": 1}]},
        {"properties": {"a": 1}},
    ],
    ids=str,
)
def test_a_cursor_that_nobody_wrote_is_corrupt(change):
    with pytest.raises(CorruptEntry, match="/a/record"):
        decode_cursor(json.dumps(CURSOR | change).encode(), source="/a/record")


def test_json_beyond_the_parsers_depth_is_corrupt():
    with pytest.raises(CorruptEntry):
        decode_ledger_list(DEEP, source="/a/record")
    with pytest.raises(CorruptEntry):
        decode_cursor(DEEP, source="/a/record")


@pytest.mark.parametrize(
    "value",
    [
        *(DEEP, b"nul", b"[]", b'{"version":1,"bundles":5}'),
        *(b'{"version":1,"replication_clusters":5}', b'{"bundles":{}}'),
        b'{"version":1,"replication_clusters":[[]]}',
    ],
    ids=lambda value: value[:30].decode(),
)
async def test_a_namespace_that_nobody_wrote_is_corrupt_and_named(value):
    metadata = MemoryMetadataStore()
    resources = Resources(metadata, codec=JsonCodec())
    await metadata.put("/admin/policies/t/n", value)
    with pytest.raises(CorruptEntry, match="/admin/policies/t/n"):
        await resources.namespace(NamespaceName("t", "n"))


@pytest.mark.parametrize("partitions", [-1, "3", 2**31, None, 1.5])
async def test_partitions_are_whole(partitions):
    metadata = MemoryMetadataStore()
    resources = Resources(metadata, codec=JsonCodec())
    path = "/admin/partitioned-topics/t/n/persistent/x"
    await metadata.put(path, encode({"partitions": partitions}))
    with pytest.raises(CorruptEntry, match=path):
        await resources.partitions(TopicName.parse("t/n/x"))


async def test_a_topic_that_is_not_there_is_no_defect(caplog):
    async with LocalBroker() as broker:
        registry, missing = broker.broker.registry, TopicName.parse("missing")
        await registry.serve(missing)
        with pytest.raises(TopicNotFound):
            await registry.get(missing, create=False)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_topic_that_cannot_be_read_is_told_to_the_operator(tmp_path, caplog):
    record = "/managed-ledgers/public/default/persistent/t"
    async with LocalBroker(tmp_path) as broker:
        registry = broker.broker.registry
        metadata = await SqliteMetadataStore.open(tmp_path / "metadata.sqlite")
        await metadata.put(record, b"{")
        await metadata.close()
        for each in map(TopicName.parse, ("t", "other")):
            await registry.serve(each)
        with pytest.raises(CorruptEntry, match=record):
            await registry.get(TopicName.parse("t"), create=True)
        await registry.get(TopicName.parse("other"), create=True)
    [told] = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert "topic.not_opened" in told.message


async def test_a_broker_may_not_make_a_client_open_two_billion_producers():
    peer = Peer()
    peer.partitions = 2**31
    await peer.start()
    async with Client(peer.url) as client:
        with pytest.raises(InvalidValue, match="2147483648 partitions"):
            await client.create_producer("t")
        with pytest.raises(InvalidValue, match="2147483648 partitions"):
            await client.subscribe("t", "s")
    await peer.stop()


def test_a_client_cannot_forge_a_line_of_the_log():
    text = "reason=Invalid namespace: a\nb ERROR\r\x1b[2J\u2028 task.failed"
    record = logging.LogRecord("x", logging.WARNING, "", 0, text, None, None)
    line = OneLine("%(levelname)s %(message)s").format(record)
    assert line.splitlines() == [line]
    assert line.isprintable()
    assert line.startswith("WARNING reason=Invalid namespace: a\\x0ab ERROR")


ENDS = {
    "at once": b"",
    "in a big frame": (5_000_000).to_bytes(4) + bytes(1_000_000),
    "malformed": b"\0\0\0\x08\0\0\0\x04abcd",
    "refused by the table": replies.success(1),
    "refused by a handler": requests.consumer_stats(99, 7),
}


@pytest.mark.parametrize("last", ENDS.values(), ids=ENDS)
async def test_a_connection_that_is_gone_leaves_nothing_behind(last):
    # In circles with exceptions and each other, connections and what was half received stayed
    # until the collector looked at the oldest objects, which in a broker it hardly ever does.
    async with LocalBroker() as broker:
        await _come_and_go(broker, last)
        gc.collect()
        others = _connections()  # Of brokers that tests of other files share.
        gc.disable()
        try:
            await _come_and_go(broker, last)
            left = [one for one in _connections() if not any(one is each for each in others)]
        finally:
            gc.enable()
    assert not left


def _connections():
    return [one for one in gc.get_objects() if isinstance(one, Connection | FrameDecoder)]


async def _come_and_go(broker, last):
    for _ in range(3):
        connection = await WireConnection.open("127.0.0.1", broker.port)
        connection.send(requests.connect("x", 21))
        connection.send(requests.producer(1, 1, "t"))
        connection.send(requests.subscribe(1, 2, "t", "s", SubscriptionType.SHARED))
        for _ in range(3):
            await connection.receive()
        connection.send(last)
        connection.close()
    del connection
    await until(lambda: not broker.broker.connection_count)
    await until_idle()  # The loop itself still refers to what it called last.


async def test_a_broker_may_not_make_a_producer_count_from_below():
    # What is numbered below 0 could not be packed into a batch.
    peer = Peer()
    await peer.start()

    def below(connection, frame):
        asked = frame.command.producer
        connection.write(replies.producer_success(asked.request_id, "p", -(2**63)))

    peer.script(BaseCommand.PRODUCER, below)
    async with Client(peer.url) as client:
        producer = await client.create_producer("t")
        assert producer.last_sequence_id == -1
        assert len(await producer.send_many([b"a", b"b"])) == 2
    await peer.stop()


async def test_an_entry_whose_segment_is_gone_is_damaged(tmp_path):
    settings = LocalLedgerSettings(segment_size=16 * 1024)
    store = await LocalLedgerStore.start(tmp_path / "ledgers", settings=settings)
    ledger = await store.create()
    for _ in range(2):  # One in each segment.
        await append(ledger, *run(bytes(10_000)))
    await until_upkeep(lambda: store.segments[1].state is SegmentState.SEALED)
    store.segments.forget(store.segments[1])  # As a footer with wrong counts had it freed.
    with pytest.raises(CorruptEntry, match="segment 1 is gone"):
        await ledger.read(0, 1, 100)
    await store.close()
