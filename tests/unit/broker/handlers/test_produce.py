import pytest
from unit.broker.peer import TOPIC, Peer, send

from magnetar.model.names import TopicName
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker
from magnetar.wire import replies


async def refused(peer: Peer, **values) -> tuple[int, str]:
    values = {"topic": TOPIC, "producer_id": 1, "request_id": 5, **values}
    error = (await peer.ask("producer", **values)).error
    assert error.request_id == 5
    return error.error, error.message


async def test_a_producer_without_a_name_gets_one_of_its_own(peer):
    names = {await peer.produce(1), await peer.produce(2)}
    assert len(names) == 2
    assert all(name.startswith("standalone-0-") for name in names)


async def test_an_open_producer_id_is_answered_with_its_name(peer):
    await peer.produce(1, producer_name="first")
    assert await peer.produce(1, producer_name="second", epoch=1) == "first"


async def test_an_empty_name_is_taken_literally(peer):
    assert await peer.produce(1, producer_name="") == ""


async def test_a_name_is_taken_as_long_as_its_owner_lives(peer, other):
    await peer.produce(1, producer_name="p")
    taken = (
        pb.ProducerBusy,
        f"Producer with name 'p' is already connected to topic '{TOPIC}'",
    )
    assert await refused(peer, producer_id=2, producer_name="p") == taken
    other.tell("producer", topic=TOPIC, producer_id=1, request_id=7, producer_name="p")
    assert (await peer.hear()).HasField("ping")
    peer.tell("pong")
    answer = await other.hear()
    assert (answer.error.error, answer.error.message) == taken


async def test_a_silent_owner_loses_its_name_and_its_connection(peer, other):
    await peer.produce(1, producer_name="p")
    other.tell("producer", topic=TOPIC, producer_id=1, request_id=7, producer_name="p")
    assert (await peer.hear()).HasField("ping")
    assert await peer.hung_up_on()
    assert (await other.hear()).producer_success.producer_name == "p"


async def test_sends_are_receipted_in_order(peer):
    await peer.produce(1)
    peer.wire.send(b"".join(send(1, number, b"x") for number in range(5)))
    receipts = [(await peer.hear()).send_receipt for _ in range(5)]
    assert [receipt.sequence_id for receipt in receipts] == [0, 1, 2, 3, 4]
    assert [receipt.message_id.entryId for receipt in receipts] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "on disk"])
@pytest.mark.parametrize(
    ("version", "code"),
    [("Pulsar-Java-v4.0.7", pb.NotAllowedError), ("Pulsar-CPP-v4.2.0", pb.ChecksumError)],
)
async def test_a_delay_that_is_too_long_is_refused_in_order_and_everything_else_is_stored(
    tmp_path, stored, version, code
):
    """Clients of the C++ library take no other refusal of a send for one: they send it again."""
    settings = {"webServicePort": -1, "delayedDeliveryMaxDelayInMillis": 60_000}
    async with LocalBroker(tmp_path if stored else None, settings=settings) as broker:
        peer = await Peer.open(broker.port, protocol_version=None)
        await peer.ask("connect", client_version=version, protocol_version=21)
        await peer.produce(1)
        late = 1_900_000_000_000
        delayed = {3, 4, 20, 39}
        for first in range(0, 40, 20):  # The second read waits for what is stored of the first.
            peer.wire.send(
                b"".join(
                    send(1, number, b"x", deliver_at=late if number in delayed else None)
                    for number in range(first, first + 20)
                )
            )
        peer.tell("close_producer", producer_id=1, request_id=9)
        answers = [await peer.hear() for _ in range(41)]
        assert answers.pop().success.request_id == 9
        entry_ids = iter(range(40))
        for number, answer in enumerate(answers):
            if number in delayed:
                assert answer.send_error.error == code
                assert answer.send_error.message == (
                    "Exceeds max allowed delivery delay of 60000 milliseconds"
                )
                assert answer.send_error.sequence_id == number
            else:
                assert answer.send_receipt.sequence_id == number
                assert answer.send_receipt.message_id.entryId == next(entry_ids)
        await peer.nothing_more()
        topic = broker.broker.registry.loaded[TopicName.parse(TOPIC)]
        assert topic.ledger.entry_count == 36


async def test_a_damaged_send_is_refused_alone(peer):
    await peer.produce(1)
    peer.wire.send(send(1, 0, b"a") + send(1, 1, b"b", damaged=True) + send(1, 2, b"c"))
    answers = [await peer.hear() for _ in range(3)]
    error = next(answer.send_error for answer in answers if answer.HasField("send_error"))
    assert (error.sequence_id, error.error) == (1, pb.ChecksumError)
    assert error.message == "Checksum failed on the broker"
    assert [a.send_receipt.sequence_id for a in answers if a.HasField("send_receipt")] == [0, 2]
    await peer.nothing_more()


async def test_a_send_in_a_transaction_is_refused(peer):
    await peer.produce(1)
    peer.wire.send(send(1, 0, b"a", txnid_most_bits=0, txnid_least_bits=1))
    error = (await peer.hear()).send_error
    assert (error.error, error.message) == (pb.NotAllowedError, "Transactions are not enabled.")


async def test_closing_is_answered_behind_the_receipts(peer):
    await peer.produce(1)
    peer.wire.send(b"".join(send(1, number, b"x") for number in range(3)))
    peer.tell("close_producer", producer_id=1, request_id=2)
    answers = [await peer.hear() for _ in range(4)]
    assert [answer.HasField("send_receipt") for answer in answers] == [True, True, True, False]
    assert answers[3].success.request_id == 2


async def test_closing_what_is_not_open_succeeds(peer):
    assert (await peer.ask("close_producer", producer_id=77, request_id=2)).HasField("success")


async def test_a_send_after_closing_ends_the_connection(peer):
    await peer.produce(1)
    await peer.ask("close_producer", producer_id=1, request_id=2)
    peer.wire.send(send(1, 0, b"x"))
    assert await peer.hung_up_on()


async def test_a_send_to_a_producer_never_opened_ends_the_connection(peer):
    await peer.produce(1)
    peer.wire.send(send(7, 0, b"x"))
    assert await peer.hung_up_on()


async def test_strays_are_excused_when_the_topic_closed_the_producer(broker, peer):
    await peer.produce(1)
    await broker.broker.registry.unload(TopicName.parse(TOPIC))
    closed = (await peer.hear()).close_producer
    assert (closed.producer_id, closed.request_id) == (1, 2**64 - 1)
    peer.wire.send(send(1, 0, b"late") + send(1, 1, b"late", damaged=True))
    await peer.nothing_more()
    assert await peer.produce(1, producer_name="again") == "again"
    peer.wire.send(send(1, 0, b"x"))
    assert (await peer.hear()).HasField("send_receipt")


async def test_a_client_too_old_for_the_command_is_hung_up_on_instead(broker):
    old = await Peer.open(broker.port, protocol_version=4)
    await old.produce(1)
    await broker.broker.registry.unload(TopicName.parse(TOPIC))
    assert await old.hung_up_on()


async def test_a_bundle_must_be_looked_up_first(peer):
    code, text = await refused(peer)
    assert code == pb.ServiceNotReady
    assert text.startswith("Namespace bundle (public/default/0x")
    assert "Please redo the lookup." in text
    await peer.produce(1)


@pytest.mark.parametrize(
    ("values", "code", "text"),
    [
        (
            {"topic": "bad://x"},
            pb.InvalidTopicName,
            "Invalid topic name: Invalid topic domain: 'bad'",
        ),
        ({"txn_enabled": True}, pb.NotAllowedError, "Transactions are not enabled."),
    ],
)
async def test_what_is_not_supported_is_refused_with_a_remedy(peer, values, code, text):
    await peer.produce(9)
    assert await refused(peer, **values) == (code, text)
    await peer.nothing_more()


async def test_an_exclusive_producer_hears_its_epoch_and_so_does_who_asks_again(peer):
    wanted = {"topic": TOPIC, "producer_id": 1, "producer_access_mode": pb.Exclusive}
    await peer.produce(7)
    await peer.ask("close_producer", producer_id=7, request_id=1)
    for request_id in (2, 3):
        opened = (await peer.ask("producer", request_id=request_id, **wanted)).producer_success
        assert (opened.request_id, opened.topic_epoch, opened.producer_ready) == (
            request_id,
            0,
            True,
        )
    assert await refused(peer, producer_id=2) == (
        pb.ProducerBusy,
        f"Topic has an existing exclusive producer: {opened.producer_name}",
    )


@pytest.mark.parametrize("mode", [pb.Exclusive, pb.ExclusiveWithFencing, pb.WaitForExclusive])
async def test_no_producer_brings_an_epoch_that_has_no_next_one(peer, mode):
    await peer.produce(7)
    await peer.ask("close_producer", producer_id=7, request_id=1)
    wanted = {"producer_access_mode": mode, "producer_id": 1}
    code, text = await refused(
        peer, topic_epoch=2**64 - 1, producer_id=2, producer_access_mode=mode
    )
    assert (code, str(2**64 - 1) in text) == (pb.MetadataError, True)
    for epoch in (2**63 - 1, 2**63):  # As asked for, and the one after.
        asked = {"topic_epoch": epoch} if epoch < 2**63 else {}
        opened = await peer.ask("producer", topic=TOPIC, request_id=5, **wanted, **asked)
        assert opened.producer_success.topic_epoch == epoch
        await peer.ask("close_producer", producer_id=1, request_id=6)


async def test_a_producer_that_waits_is_answered_twice_and_is_no_request_meanwhile(peer, other):
    await peer.produce(1, producer_name="owner")
    wanted = {"topic": TOPIC, "producer_access_mode": pb.WaitForExclusive}
    for number in range(40):  # More than the requests of a connection that run at once.
        waits = await other.ask("producer", producer_id=number, request_id=number, **wanted)
        assert waits.producer_success.request_id == number
        assert not waits.producer_success.producer_ready
    for number in range(39):
        closed = await other.ask("close_producer", producer_id=number, request_id=100 + number)
        assert closed.success.request_id == 100 + number
    other.wire.answers[replies.ping()] = replies.pong()
    await peer.ask("close_producer", producer_id=1, request_id=9)
    opened = (await other.hear()).producer_success
    assert (opened.request_id, opened.producer_ready, opened.topic_epoch) == (39, True, 0)
    other.wire.send(send(39, 0, b"x"))
    assert (await other.hear()).HasField("send_receipt")
    await other.nothing_more()


async def test_a_producer_that_waits_may_not_send(peer, other):
    await peer.produce(1)
    wanted = {"topic": TOPIC, "producer_access_mode": pb.WaitForExclusive}
    await other.ask("producer", producer_id=1, request_id=1, **wanted)
    other.wire.send(send(1, 0, b"x"))
    assert await other.hung_up_on()


async def test_a_producer_that_waits_hears_when_its_topic_closes(broker, peer, other):
    await peer.produce(1)
    wanted = {"topic": TOPIC, "producer_access_mode": pb.WaitForExclusive}
    await other.ask("producer", producer_id=1, request_id=5, **wanted)
    await broker.broker.registry.unload(TopicName.parse(TOPIC))
    error = (await other.hear()).error
    assert (error.request_id, error.error) == (5, pb.ServiceNotReady)


async def test_an_initial_subscription_sees_what_is_sent(peer):
    await peer.produce(1, initial_subscription_name="first")
    peer.wire.send(send(1, 0, b"kept"))
    assert (await peer.hear()).HasField("send_receipt")
    await peer.consume(1, subscription="first", permits=1)
    assert (await peer.hear()).message.message_id.entryId == 0
