import asyncio
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from support.loop import until
from unit.client.peer import hang_up

from magnetar.client.consumers.writer_schemas import WriterSchemas
from magnetar.errors import SchemaNotFound, TimedOut, UndecodableValue
from magnetar.message.entry import checksum, join
from magnetar.message.metadata import build
from magnetar.model.schemas import SchemaType
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.primitives import StringSchema
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


@dataclass
class Order:
    number: int


@dataclass
class Earlier:
    number: int
    note: str = ""


OURS = AvroSchema(Order)
EARLIER = AvroSchema(Earlier, name="Order")
V0, V1 = bytes(8), bytes(7) + b"\x01"


def entry(version):
    return SimpleNamespace(entry=join(build("p", 0, 0, schema_version=version), b""))


class Broker:
    """Answers when it is let, and counts what it is asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.let = asyncio.Event()

    async def fetch(self, topic, version):
        self.asked.append((topic, version))
        await self.let.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Known:
    """The schemas of one topic, and an event for each time that more were found."""

    def __init__(self, *answers, schema=OURS, **options):
        self.broker = Broker(*answers)
        self.found = asyncio.Event()
        self.schemas = WriterSchemas("t", schema, self.broker.fetch, self.found.set, **options)

    async def learn(self, version):
        assert not self.schemas.ready(entry(version))
        self.broker.let.set()
        await asyncio.wait_for(self.found.wait(), 5)
        self.found.clear()

    def value(self, version, data):
        return self.schemas.decode(version)(SimpleNamespace(data=data, key_bytes=None))


async def test_a_version_is_asked_for_once():
    known = Known(EARLIER.info)
    assert known.schemas.ready(entry(None))
    assert not known.schemas.ready(entry(V0))
    await known.learn(V0)
    assert known.schemas.ready(entry(V0))
    assert known.broker.asked == [("t", V0)]
    assert known.value(V0, EARLIER.encode(Earlier(7, "n"))) == Order(7)
    assert known.value(None, OURS.encode(Order(8))) == Order(8)


async def test_an_entry_that_nobody_can_read_does_not_wait():
    known = Known()
    assert known.schemas.ready(SimpleNamespace(entry=None))
    assert known.schemas.ready(SimpleNamespace(entry=b"nonsense"))


async def test_a_schema_that_reads_by_itself_asks_nobody():
    known = Known(schema=StringSchema())
    assert known.schemas.ready(entry(V0))
    assert known.value(V0, b"x") == "x"


async def test_a_version_that_is_gone_has_no_values_and_is_asked_for_once():
    known = Known(SchemaNotFound("no version 0"))
    await known.learn(V0)
    assert known.schemas.ready(entry(V0))
    with pytest.raises(UndecodableValue, match="no version 0"):
        known.value(V0, b"")


class Mistaken(AvroSchema):
    def decoder(self, writer):
        return super().decoder(None) if writer is None else {}["key"]


async def test_a_mistake_holds_up_no_message():
    known = Known(EARLIER.info, schema=Mistaken(Order))
    await known.learn(V0)
    with pytest.raises(UndecodableValue, match="KeyError"):
        known.value(V0, b"")


async def test_after_trouble_the_next_entry_asks_again():
    known = Known(TimedOut("no broker answered"), EARLIER.info)
    await known.learn(V0)
    with pytest.raises(UndecodableValue, match="is not known"):
        known.value(V0, b"")
    await known.learn(V0)
    assert known.value(V0, EARLIER.encode(Earlier(7))) == Order(7)


async def test_only_so_many_versions_are_kept():
    known = Known(EARLIER.info, OURS.info, versions_max=1)
    await known.learn(V0)
    await known.learn(V1)
    assert known.schemas.ready(entry(V1))
    assert not known.schemas.ready(entry(V0))
    await known.schemas.close()


async def test_closing_ends_the_question():
    known = Known()
    assert not known.schemas.ready(entry(V0))
    await asyncio.sleep(0)  # Lets the question begin.
    await known.schemas.close()
    assert not known.found.is_set()


def tell(connection, frame):
    """Answer with the earlier schema."""
    connection.write(
        replies.get_schema(
            frame.command.getSchema.request_id,
            name="a",
            data=EARLIER.info.data,
            kind=SchemaType.AVRO,
            properties={},
            version=V0,
        )
    )


def store(peer, version, data):
    entry = join(build("p", 0, 0, schema_version=version), data)
    peer.entries.append((entry, checksum(entry)))


async def test_a_topic_that_waits_for_a_schema_holds_up_no_other(peer, client):
    """And its own messages stay in their order."""
    asked = []
    peer.script(BaseCommand.GET_SCHEMA, lambda *question: asked.append(question))
    consumer = await client.subscribe(["a", "b"], "s", schema=OURS)
    store(peer, V0, EARLIER.encode(Earlier(1)))
    store(peer, None, OURS.encode(Order(2)))
    [connection] = peer.connections
    connection.message(0, 0)
    connection.message(0, 1)
    connection.message(1, 1)
    message = await consumer.receive(5)
    assert (message.topic.rpartition("/")[2], message.value) == ("b", Order(2))
    assert await consumer.receive_many(1, 0.01) == []
    await until(lambda: asked)
    tell(*asked[0])
    found = [await consumer.receive(5) for _ in range(2)]
    assert [message.value for message in found] == [Order(1), Order(2)]


async def test_what_waits_for_a_schema_comes_again_after_a_lost_connection(peer, client):
    store(peer, V0, EARLIER.encode(Earlier(1)))
    peer.script(BaseCommand.GET_SCHEMA, hang_up, tell)
    consumer = await client.subscribe("a", "s", schema=OURS)
    assert (await consumer.receive(5)).value == Order(1)
    assert await consumer.receive_many(1, 0.01) == []
    assert len(peer.of(BaseCommand.SUBSCRIBE)) == 2
