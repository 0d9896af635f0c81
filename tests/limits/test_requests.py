"""What one request may hold, and how many there may be: each limit at its edge."""

import os

import pytest
from limits.bystander import memory
from support.brokers import limited_broker
from support.loop import pass_time, until_idle
from unit.broker.peer import TOPIC, Peer, command, send

from magnetar.broker.handlers.lookup import ANSWER_WAIT_S
from magnetar.broker.handlers.table import REQUEST_SIZE_MAX
from magnetar.broker.session import REQUESTS_PENDING_MAX
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}
UNREAD_BYTES_MAX = 32 * 1024 * 1024  # The broker keeps 4 MiB; the process has other uses.


@pytest.fixture
async def peer():
    async with LocalBroker(settings=QUIET) as broker:
        yield await Peer.open(broker.port)


def padded(size: int) -> pb.CommandProducer:
    """A PRODUCER of that many bytes, most of them a property."""
    sought = pb.CommandProducer(topic=TOPIC, producer_id=1, request_id=2)
    pair = sought.metadata.add(key="k", value="v" * (size - 1000))
    pair.value += "v" * (size - sought.ByteSize())
    assert sought.ByteSize() == size
    return sought


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_a_request_may_be_so_large(peer, over):
    await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
    sought = padded(REQUEST_SIZE_MAX + over)
    base = pb.BaseCommand(type=pb.BaseCommand.PRODUCER, producer=sought).SerializeToString()
    body = len(base).to_bytes(4, "big") + base
    peer.wire.send(len(body).to_bytes(4, "big") + body)
    answer = await peer.hear()
    if over <= 0:
        assert answer.HasField("producer_success")
    else:
        assert answer.error.request_id == 2
        assert answer.error.error == pb.NotAllowedError
        assert f"at most {REQUEST_SIZE_MAX} are taken" in answer.error.message
    await peer.nothing_more()


async def test_lists_of_messages_may_be_longer_than_other_requests(peer):
    await peer.consume()
    ids = [pb.MessageIdData(ledgerId=2**40 + n, entryId=n) for n in range(10_000)]
    acknowledged = await peer.ask("ack", consumer_id=1, ack_type=0, message_id=ids, request_id=3)
    assert acknowledged.ackResponse.request_id == 3
    peer.tell("redeliverUnacknowledgedMessages", consumer_id=1, message_ids=ids)
    await peer.nothing_more()


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("kind", ["ack", "redeliver"])
async def test_long_lists_of_messages_are_taken_in_parts(kind, over):
    """Ten at a time here; all of them count, and an answer comes after the last."""
    count = 30 + over
    async with limited_broker(connections={"message_ids_at_once_max": 10}) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        await peer.consume(1, subType=pb.CommandSubscribe.Shared, permits=1000)
        await other.produce(1)
        held = []
        for number in range(count):
            other.wire.send(send(1, number, b"x"))
            await other.hear()
            held.append((await peer.hear()).message.message_id)
        ((subscription,),) = (
            topic.subscriptions.values() for topic in broker.registry.loaded.values()
        )
        if kind == "redeliver":
            peer.tell("redeliverUnacknowledgedMessages", consumer_id=1, message_ids=held)
            again = [(await peer.hear()).message for _ in range(count)]
            assert {message.message_id.entryId for message in again} == set(range(count))
            assert {message.redelivery_count for message in again} == {1}
        else:
            peer.tell("ack", consumer_id=1, ack_type=0, message_id=held, request_id=5)
            peer.tell("close_consumer", consumer_id=1, request_id=6)
            answers = [await peer.hear(), await peer.hear()]
            assert {answer.ackResponse.request_id for answer in answers} == {0, 5}
            assert subscription.cursor.backlog == 0
        await peer.nothing_more()


async def test_a_connection_may_have_so_many_producers():
    async with LocalBroker(settings={**QUIET, "maxProducersPerConnection": 3}) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        for number in range(1, 4):
            await peer.produce(number)
        answer = await peer.ask("producer", topic=TOPIC, producer_id=4, request_id=4)
        assert answer.error.error == pb.NotAllowedError
        assert "maxProducersPerConnection" in answer.error.message
        again = await peer.ask("producer", topic=TOPIC, producer_id=3, request_id=5)
        assert again.HasField("producer_success")
        await other.produce(4)
        await peer.ask("close_producer", producer_id=1, request_id=6)
        await peer.produce(4)


async def test_those_that_are_being_opened_count():
    """All in one read: the broker has not answered the first when it takes the last."""
    async with LocalBroker(settings={**QUIET, "maxProducersPerConnection": 3}) as broker:
        peer = await Peer.open(broker.port)
        await peer.ask("lookupTopic", topic=TOPIC, request_id=90)
        peer.wire.send(
            b"".join(
                command("producer", topic=TOPIC, producer_id=number, request_id=number)
                for number in range(1, 6)
            )
        )
        answers = [await peer.hear() for _ in range(5)]
        refused = [answer for answer in answers if answer.HasField("error")]
        assert sorted(answer.error.request_id for answer in refused) == [4, 5]


async def test_a_connection_may_have_so_many_consumers():
    async with LocalBroker(settings={**QUIET, "maxConsumersPerConnection": 2}) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        for number in range(1, 3):
            await peer.consume(number, subscription=f"s-{number}")
        wanted = {"topic": TOPIC, "subscription": "s-3", "subType": pb.CommandSubscribe.Shared}
        answer = await peer.ask("subscribe", consumer_id=3, request_id=4, **wanted)
        assert answer.error.error == pb.NotAllowedError
        assert "maxConsumersPerConnection" in answer.error.message
        again = {**wanted, "subscription": "s-2"}
        assert (await peer.ask("subscribe", consumer_id=2, request_id=5, **again)).HasField(
            "success"
        )
        await other.consume(3, subscription="s-3")
        await peer.ask("close_consumer", consumer_id=1, request_id=6)
        await peer.consume(3, subscription="s-4")


async def test_a_broker_works_on_so_many_requests():
    """Two at a time here. What ends something is never refused."""
    async with limited_broker(connections={"requests_running_max": 2}) as broker:
        peer = await Peer.open(broker.port)
        await peer.ask("lookupTopic", topic=TOPIC, request_id=90)
        peer.wire.send(
            b"".join(
                command("producer", topic=TOPIC, producer_id=number, request_id=number)
                for number in range(1, 4)
            )
            + command("close_producer", producer_id=9, request_id=9)
        )
        answers = [await peer.hear() for _ in range(4)]
        assert [answer.error.request_id for answer in answers if answer.HasField("error")] == [3]
        assert answers[0].error.error == pb.ServiceNotReady
        assert [answer.success.request_id for answer in answers if answer.HasField("success")] == [
            9
        ]
        await peer.produce(3)


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_a_client_with_so_many_requests_under_way_is_not_listened_to(over):
    """All wait for the owner of a producer's name, which is asked whether it lives."""
    async with LocalBroker(settings=QUIET) as broker:
        owner, peer = await Peer.open(broker.port), await Peer.open(broker.port)
        await owner.produce(1, producer_name="taken")
        await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
        count = REQUESTS_PENDING_MAX + over
        for number in range(count):
            peer.tell(
                "producer",
                topic=TOPIC,
                producer_id=number,
                request_id=number,
                producer_name="taken",
            )
        await until_idle()
        peer.tell("ping")
        await until_idle()
        assert peer.wire.waiting == (over < 0), "a PING is answered before all that waits"
        assert (await owner.hear()).HasField("ping")
        owner.answer_pings()
        owner.tell("pong")
        answers = [await peer.hear() for _ in range(count + 1)]
        assert sum(answer.HasField("error") for answer in answers) == count
        assert sum(answer.HasField("pong") for answer in answers) == 1
        await peer.nothing_more()


async def with_many_topics(port: int) -> Peer:
    """A connection that keeps the topics; the list of their names is some 90 kB."""
    peer = await Peer.open(port)
    for number in range(200):
        await peer.produce(number, f"{TOPIC}-{'x' * 400}-{number}")
    return peer


def ask_for_topics(peer: Peer, count: int) -> None:
    peer.wire.send(
        b"".join(
            command("getTopicsOfNamespace", namespace="public/default", request_id=number)
            for number in range(count)
        )
    )


async def test_long_answers_wait_until_earlier_ones_are_read():
    """6,000 requests fit into one read, and ask for the names of all topics each."""
    async with LocalBroker(settings=QUIET) as broker:
        peer, _ = await Peer.open(broker.port), await with_many_topics(broker.port)
        before, count = memory(os.getpid()), 2000  # Some 180 MB in all.
        peer.wire.pause_reading()
        ask_for_topics(peer, count)
        await until_idle()
        assert memory(os.getpid()) - before < UNREAD_BYTES_MAX
        peer.wire.resume_reading()
        for _ in range(count):
            assert (await peer.hear()).HasField("getTopicsOfNamespaceResponse")


async def test_who_asks_for_much_and_never_reads_is_hung_up_on():
    async with LocalBroker(settings=QUIET) as broker:
        peer, other = await Peer.open(broker.port), await with_many_topics(broker.port)
        peer.wire.pause_reading()
        ask_for_topics(peer, 500)
        peer.tell("ping")
        await pass_time(ANSWER_WAIT_S)
        peer.wire.resume_reading()
        answers = await peer.wire.receive_end()
        assert 1 < len(answers) < 400
        await other.nothing_more()


async def test_what_a_client_asked_for_that_is_gone_ends():
    """All the requests that may run at once are its own, and none has waited for long."""
    count = 200
    async with limited_broker(connections={"requests_running_max": count}) as broker:
        other = await with_many_topics(broker.port)
        peer = await Peer.open(broker.port)
        peer.wire.pause_reading()
        for _ in range(2):  # The answers to the first ones go into the kernel's buffers.
            ask_for_topics(peer, count)
            await until_idle()
        refused = await other.ask("lookupTopic", topic=TOPIC, request_id=1)
        assert refused.lookupTopicResponse.error == pb.ServiceNotReady
        peer.wire.close()
        await until_idle()
        served = await other.ask("lookupTopic", topic=TOPIC, request_id=2)
        assert served.lookupTopicResponse.response == pb.CommandLookupTopicResponse.Connect
