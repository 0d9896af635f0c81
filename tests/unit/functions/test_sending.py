import threading
from contextlib import closing
from functools import partial

import pytest
from support.admin import ask
from support.functions import configured
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.compat.enums import CompressionType, Result
from magnetar.errors import NotAllowed, ProducerBusy
from magnetar.functions import sending
from magnetar.functions.sending import (
    OUTPUTS_MAX,
    OnceSender,
    Outgoing,
    PlainSender,
    Producers,
    sequence_id,
)
from magnetar.model.names import TopicName
from magnetar.spark.admin import TopicAdmin


@pytest.fixture
def producers(client):
    return Producers(client, configured("Double"), 0, None)


@pytest.fixture
def once(broker, producers):
    return partial(OnceSender, producers, TopicAdmin(broker.web_url, 10.0).deduplicates)


@pytest.fixture
def inputs(client, function):
    """Ten messages that were received, of two batches."""
    function.send(*range(5))
    function.send(*range(5, 10))
    with client.create_reader(function.input) as reader:
        found = []
        while len(found) < 10:
            found += reader.receive_many(10, 10.0)
    return found


def outgoing(function, inputs):
    return [Outgoing(function.output, OutgoingMessage(each.data), cause=each) for each in inputs]


def test_callbacks_are_told_of_what_is_stored(function, producers):
    told = []
    sent = [
        Outgoing(
            function.output,
            OutgoingMessage(b"a"),
            CompressionType.ZSTD,
            lambda *it: told.append(it),
        ),
        Outgoing(f"{function.output}-2", OutgoingMessage(b"b")),
        Outgoing(function.output, OutgoingMessage(b"c"), None, lambda *_: 1 // 0),
    ]
    with closing(PlainSender(producers)) as sender:
        sender.send(sent)
    assert function.received(2) == [b"a", b"c"]
    assert function.received(1, f"{function.output}-2") == [b"b"]
    ((result, message_id),) = told
    assert (result, message_id.ledger_id() >= 0) == (Result.Ok, True)


def test_as_many_messages_wait_as_the_configuration_says(client, function, monkeypatch):
    asked, create = {}, client.create_producer

    def recorded(topic, **options):
        asked.update(options)
        return create(topic, **options)

    monkeypatch.setattr(client, "create_producer", recorded)
    given = {"maxPendingMessages": 3, "maxPendingMessagesAcrossPartitions": 7}
    config = configured("Double", producerConfig=given)
    with closing(PlainSender(Producers(client, config, 0, None))) as sender:
        sender.send([Outgoing(function.output, OutgoingMessage(b"%d" % n)) for n in range(9)])
    names = ("max_pending_messages", "max_pending_messages_across_partitions")
    assert [asked[name] for name in names] == [3, 7]
    assert len(function.received(9)) == 9


def test_a_name_that_stays_in_use_is_not_waited_for_without_end(
    client, function, producers, monkeypatch
):
    monkeypatch.setattr(sending, "_BUSY_MAX_S", 0.0)
    with (
        client.create_producer(function.output, name="taken"),
        pytest.raises(ProducerBusy, match="taken"),
    ):
        producers.open(function.output, None, "taken")


def test_numbers_rise_with_the_place_in_the_ledger(inputs):
    numbers = [sequence_id(each, count) for each in inputs for count in (0, 1, OUTPUTS_MAX - 1)]
    assert numbers == sorted(set(numbers))


def test_what_was_sent_for_an_input_is_not_sent_again(function, once, inputs):
    with closing(once()) as sender:
        sender.send(outgoing(function, inputs[:7]))
    with closing(once()) as again:
        again.send(outgoing(function, inputs[3:]))
    with closing(once()) as more:
        more.send(outgoing(function, inputs))
        more.send([Outgoing(function.output, OutgoingMessage(b"end"), cause=inputs[9])] * 2)
    assert function.received(11) == [b"%d" % n for n in range(10)] + [b"end"]


def test_a_message_goes_to_the_same_place_each_time(client, broker, function, once, inputs):
    create_partitioned_topic(broker.web_url, TopicName.parse(function.output), 3)
    for key in (None, None, "k"):
        with closing(once()) as sender:
            sender.send(
                Outgoing(function.output, OutgoingMessage(each.data, key=key), cause=each)
                for each in inputs
            )
        with client.create_reader(function.output) as reader:
            found = []
            while reader.has_message_available():
                found.append(reader.receive(10.0))
        if key is None:
            assert len(found) == 10
            assert {message.partition for message in found} == {0, 1, 2}
    assert sorted({message.data for message in found}) == [b"%d" % n for n in range(10)]


def test_one_input_has_so_many_outputs(function, once, inputs):
    sent = outgoing(function, inputs[:1]) * (OUTPUTS_MAX + 1)
    with closing(once()) as sender, pytest.raises(NotAllowed, match="more than 4096 messages"):
        sender.send(sent)


def test_a_topic_that_does_not_deduplicate_is_refused(function, producers, inputs):
    sender = OnceSender(producers, lambda _topic: False)
    with closing(sender), pytest.raises(NotAllowed, match="does not deduplicate"):
        sender.send(outgoing(function, inputs))


def test_an_output_that_a_backlog_holds_is_waited_for(broker, function):
    path = str(TopicName.parse(function.output)).replace("://", "/")
    with blocking.Client(broker.service_url, operation_timeout_s=0.1) as client:
        consumer = client.subscribe(function.output, "slow")
        with client.create_producer(function.output, batching=False) as filling:
            filling.send_many([b"x" * 1024] * 8)
        quota = {"limitSize": 4096, "policy": "producer_request_hold"}
        ask(broker, "POST", f"{path}/backlogQuota", quota)
        opened = []
        opener = Producers(client, configured("Double"), 0, None)
        opening = threading.Thread(target=lambda: opened.append(opener.open(function.output, None)))
        opening.start()
        opening.join(0.5)
        assert opening.is_alive()
        consumer.acknowledge(consumer.receive_many(8, count_min=8))
        opening.join(20)
        assert opened[0].send(b"y")
