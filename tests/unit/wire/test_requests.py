"""wire/requests: each request, against recorded ones where they say the same."""

import pytest
from unit.wire.vectors import entry_of, frames

from magnetar.client.producers.encoding import FRAME_HEAD
from magnetar.model.position import EARLIEST_MESSAGE, MessageId, Position
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.subscriptions import InitialPosition, KeySharedPolicy, SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.wire import requests
from magnetar.wire.commands import parse

RECORDED = frames("requests")

MADE = {
    "flow": lambda: requests.flow(1, 1),
    "ack": lambda: requests.ack(1, [Position(49, 0)], request_id=2),
    "ack_with_validation_error": lambda: requests.ack(
        1, [Position(49, 8)], validation_error=2, request_id=16
    ),
    "ack_without_answer": lambda: requests.ack(1, [Position(49, 2)]),
    "redeliver": lambda: requests.redeliver(1, [Position(55, 0)]),
    "redeliver_all": lambda: requests.redeliver(77, None),
    "redeliver_with_epoch": lambda: requests.redeliver(1, None, consumer_epoch=1),
    "unsubscribe": lambda: requests.unsubscribe(77, 1),
    "unsubscribe_by_force": lambda: requests.unsubscribe(1, 3, force=True),
    "seek": lambda: requests.seek(1, 2, message_id=MessageId(67, 2)),
    "seek_into_batch": lambda: requests.seek(4, 11, message_id=MessageId(67, 5, -1, 1, 3)),
    "seek_time": lambda: requests.seek(11, 32, publish_time_ms=0),
    "last_message_id": lambda: requests.last_message_id(1, 2),
    "close_producer": lambda: requests.close_producer(2, 8),
    "close_consumer": lambda: requests.close_consumer(1, 7),
    "consumer_stats": lambda: requests.consumer_stats(1, 99),
    "lookup_authoritative": lambda: requests.lookup(
        18, "persistent://public/default/g-none", authoritative=True
    ),
    "partitioned_metadata_without_creation": lambda: requests.partitioned_metadata(
        16, "a/b", auto_create=False
    ),
    "topics_of_namespace": lambda: requests.topics_of_namespace(8, "public/g-topics"),
    "connect_coordinator": lambda: requests.connect_coordinator(0, 4),
    "new_transaction": lambda: requests.new_transaction(0, 60_000, 6),
    "add_partitions": lambda: requests.add_partitions(
        TxnId(0, 8), ["persistent://public/default/g-txn-publish"], 9
    ),
    "add_subscriptions": lambda: requests.add_subscriptions(
        TxnId(0, 18), [("persistent://public/default/g-txn-ack", "s")], 5
    ),
    "end_on_partition": lambda: requests.end_on_partition(
        TxnId(0, 22), "persistent://public/default/g-txn-end-on", 0, 4, commit=True
    ),
    "end_on_subscription": lambda: requests.end_on_subscription(
        TxnId(0, 23), "persistent://public/default/g-txn-end-on", "s", 0, 6, commit=True
    ),
    "commit_transaction": lambda: requests.end_transaction(TxnId(0, 8), 10, commit=True),
    "abort_transaction": lambda: requests.end_transaction(TxnId(0, 9), 19, commit=False),
    "ack_in_transaction": lambda: requests.ack(
        1, [Position(149, 0)], txn=TxnId(0, 18), request_id=2
    ),
    "ack_in_transaction_cumulative": lambda: requests.ack(
        1, [Position(149, 2)], cumulative=True, txn=TxnId(0, 18), request_id=8
    ),
    "send_in_transaction": lambda: b"".join(
        requests.send(1, 1, *entry_of(RECORDED["send_in_transaction"]), txn=TxnId(0, 8))
    ),
    "send_with_highest": lambda: b"".join(
        requests.send(1, 13, *entry_of(RECORDED["send_with_highest"]), highest_sequence_id=13)
    ),
    "send_chunk": lambda: b"".join(
        requests.send(1, 0, *entry_of(RECORDED["send_chunk"]), is_chunk=True)
    ),
}


@pytest.mark.parametrize("name", sorted(MADE.keys() - {"send_chunk"}))
def test_a_request_is_what_was_recorded(name):
    assert MADE[name]().hex() == RECORDED[name].hex()


def test_every_recorded_request_is_compared():
    assert MADE.keys() == RECORDED.keys()


def test_a_chunk_says_so():
    made, recorded = MADE["send_chunk"](), RECORDED["send_chunk"]
    send = parse(made[8 : 8 + int.from_bytes(made[4:8], "big")]).send
    assert send.is_chunk
    assert not send.HasField("num_messages")  # Recorded was the default, written out.
    assert entry_of(made) == entry_of(recorded)


def test_a_batch_says_how_many_messages_it_holds():
    head, entry = requests.send(3, 70, b"entry", 5, num_messages=1000, highest_sequence_id=1069)
    send = parse(head[8:-6]).send
    assert (send.producer_id, send.sequence_id) == (3, 70)
    assert (send.num_messages, send.highest_sequence_id) == (1000, 1069)
    assert head[-6:] + entry == b"\x0e\x01\0\0\0\x05entry"


def test_ids_of_any_size_fit_into_a_send():
    most = 2**64 - 1
    head, _ = requests.send(
        most,
        most,
        b"entry",
        5,
        highest_sequence_id=most,
        is_chunk=True,
        txn=TxnId(most, most),
    )
    send = parse(head[8:-6]).send
    assert send.producer_id == send.sequence_id == send.highest_sequence_id == most
    assert send.txnid_most_bits == send.txnid_least_bits == most
    assert len(head) <= FRAME_HEAD


def test_a_transaction_tells_the_sizes_of_batches():
    frame = requests.ack(
        1,
        [Position(1, 2), Position(1, 3)],
        ack_sets=[[5], []],
        batch_sizes=[3, 0],
        txn=TxnId(1, 2),
        request_id=4,
    )
    ack = parse(frame[8:]).ack
    assert [list(each.ack_set) for each in ack.message_id] == [[5], []]
    assert [each.batch_size for each in ack.message_id] == [3, 0]
    assert (ack.txnid_most_bits, ack.txnid_least_bits, ack.request_id) == (1, 2, 4)


def test_a_subscription_says_everything():
    frame = requests.subscribe(
        1,
        2,
        "persistent://public/default/t",
        "s",
        SubscriptionType.KEY_SHARED,
        consumer_name="c",
        priority_level=3,
        initial_position=InitialPosition.EARLIEST,
        metadata={"a": "b"},
        subscription_properties={"c": "d"},
        consumer_epoch=0,
        key_shared_policy=KeySharedPolicy(
            sticky_ranges=[(0, 5), (9, 9)], allow_out_of_order_delivery=True
        ),
        replicate_state=True,
    )
    command = parse(frame[8:]).subscribe
    assert (command.consumer_id, command.request_id) == (1, 2)
    assert (command.topic, command.subscription) == ("persistent://public/default/t", "s")
    assert command.subType == command.Key_Shared
    assert command.initialPosition == command.Earliest
    assert (command.consumer_name, command.priority_level) == ("c", 3)
    assert [(pair.key, pair.value) for pair in command.metadata] == [("a", "b")]
    assert [(pair.key, pair.value) for pair in command.subscription_properties] == [("c", "d")]
    assert command.durable
    assert command.replicate_subscription_state
    policy = command.keySharedMeta
    assert (policy.keySharedMode, policy.allowOutOfOrderDelivery) == (1, True)
    assert [(each.start, each.end) for each in policy.hashRanges] == [(0, 5), (9, 9)]
    assert command.HasField("consumer_epoch")
    assert not command.HasField("start_message_id")


def test_a_reader_says_where_it_begins():
    frame = requests.subscribe(
        1, 2, "t", "s", SubscriptionType.EXCLUSIVE, durable=False, start=EARLIEST_MESSAGE
    )
    command = parse(frame[8:]).subscribe
    assert not command.durable
    assert command.start_message_id.ledgerId == command.start_message_id.entryId == 2**64 - 1


def test_a_producer_says_who_it_is():
    frame = requests.producer(
        1,
        2,
        "t",
        name="p",
        user_provided_name=False,
        epoch=4,
        metadata={"a": "b"},
        initial_subscription="s",
        access_mode=ProducerAccessMode.EXCLUSIVE,
        topic_epoch=0,
        encrypted=True,
    )
    command = parse(frame[8:]).producer
    assert command.producer_access_mode == ProducerAccessMode.EXCLUSIVE
    assert command.HasField("topic_epoch")
    assert command.encrypted
    assert (command.producer_id, command.request_id, command.topic) == (1, 2, "t")
    assert (command.producer_name, command.epoch) == ("p", 4)
    assert not command.user_provided_producer_name
    assert command.metadata[0].key == "a"
    assert command.initial_subscription_name == "s"


def test_acknowledgements_may_be_of_parts_of_entries():
    frame = requests.ack(1, [Position(5, 0), Position(5, 1)], ack_sets=[[], [6, -1]])
    command = parse(frame[8:]).ack
    assert command.ack_type == command.Individual
    assert [list(one.ack_set) for one in command.message_id] == [[], [6, -1]]


def test_a_cumulative_acknowledgement_says_so():
    command = parse(requests.ack(1, [Position(5, 0)], cumulative=True)[8:]).ack
    assert command.ack_type == command.Cumulative


def test_the_place_before_a_ledgers_first_entry_may_be_acknowledged():
    ack = parse(requests.ack(7, [Position(3, -1)], cumulative=True)[8:]).ack
    assert (ack.message_id[0].ledgerId, ack.message_id[0].entryId) == (3, 2**64 - 1)


def test_ack_sets_must_run_parallel():
    with pytest.raises(ValueError, match="zip"):
        requests.ack(1, [Position(5, 0), Position(5, 1)], ack_sets=[[1]])


def test_a_client_says_what_it_understands():
    frame = requests.connect(
        "me", 21, features=["supports_auth_refresh"], proxy_to_broker_url="b:1"
    )
    command = parse(frame[8:]).connect
    assert (command.client_version, command.protocol_version) == ("me", 21)
    assert command.feature_flags.supports_auth_refresh
    assert not command.feature_flags.supports_topic_watchers
    assert command.proxy_to_broker_url == "b:1"


def test_topics_may_be_asked_for_by_pattern():
    frame = requests.topics_of_namespace(1, "a/b", pattern="a/b/.*", topics_hash="00000000")
    command = parse(frame[8:]).getTopicsOfNamespace
    assert (command.topics_pattern, command.topics_hash) == ("a/b/.*", "00000000")


def test_keep_alive_is_the_same_on_both_sides():
    assert parse(requests.ping()[8:]).HasField("ping")
    assert parse(requests.pong()[8:]).HasField("pong")
