"""wire/replies: each reply, byte for byte as a broker of Pulsar was seen to send it."""

import pytest
from unit.wire.vectors import entry_of, frames

from magnetar import errors
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId
from magnetar.wire import replies
from magnetar.wire.commands import parse

RECORDED = frames("replies")
TRANSACTION_ENDED = errors.TransactionNotFound("The transaction with this txdID `(0,8)`not found ")
ONE_DAY = "2026-11-21T01:45:29.296693608Z"


def recorded_message(name, **fields):
    entry, checksum = entry_of(RECORDED[name])
    position, partition = fields.pop("position"), fields.pop("partition", -1)
    consumer_id = fields.pop("consumer_id", 1)
    pieces = replies.message(
        consumer_id, position, partition=partition, entry=entry, checksum=checksum, **fields
    )
    return b"".join(pieces)


MADE = {
    "connected": lambda: replies.connected(
        "Pulsar Server4.0.7",
        0,
        5 * 1024 * 1024,
        features=[
            "supports_topic_watchers",
            "supports_get_partitioned_metadata_without_auto_creation",
            "supports_repl_dedup_by_lid_and_eid",
        ],
    ),
    "success": lambda: replies.success(31),
    "error": lambda: replies.error(1, errors.ConsumerNotFound("Consumer not found")),
    "ping": replies.ping,
    "pong": replies.pong,
    "lookup_connect": lambda: replies.lookup_connect(
        1, "pulsar://localhost:6850", proxy_through_service_url=True
    ),
    "lookup_failed": lambda: replies.lookup_failed(
        5, errors.NamespaceNotFound("Namespace not found")
    ),
    "partitioned_metadata": lambda: replies.partitioned_metadata(1, 0),
    "partitioned_metadata_failed": lambda: replies.partitioned_metadata_failed(
        2, errors.TopicNotFound("")
    ),
    "topics_of_namespace": lambda: replies.topics_of_namespace(
        19, ["persistent://public/g-topics/a"], topics_hash="f61e8a96", filtered=True
    ),
    "topics_of_namespace_unchanged": lambda: replies.topics_of_namespace(
        12, [], topics_hash="90271b3d", changed=False
    ),
    "producer_success": lambda: replies.producer_success(4, "p", 1),
    "producer_success_with_epoch": lambda: replies.producer_success(1, "e1", topic_epoch=0),
    "send_receipt": lambda: replies.send_receipt(1, 0, 22, 1),
    "send_error": lambda: replies.send_error(
        2, 0, errors.InvalidValue("Messages must be encrypted")
    ),
    "close_producer": lambda: replies.close_producer(1),
    "message": lambda: recorded_message("message", position=Position(73, 0), partition=1),
    "message_redelivered": lambda: recorded_message(
        "message_redelivered", position=Position(59, 1), redelivery_count=1
    ),
    "message_with_ack_set": lambda: recorded_message(
        "message_with_ack_set", consumer_id=6, position=Position(67, 5), ack_set=[6]
    ),
    "message_redelivered_with_ack_set": lambda: recorded_message(
        "message_redelivered_with_ack_set",
        position=Position(55, 0),
        redelivery_count=1,
        ack_set=[9],
    ),
    "message_with_epoch": lambda: recorded_message(
        "message_with_epoch", position=Position(63, 1), consumer_epoch=1
    ),
    "ack_response": lambda: replies.ack_response(1, 2),
    "last_message_id": lambda: replies.last_message_id(
        4, Position(67, 5), partition=-1, batch_index=2, mark=Position(67, 1)
    ),
    "consumer_stats": lambda: replies.consumer_stats(
        2,
        replies.ConsumerStats(
            consumer_name="",
            address="/127.0.0.1:51546",
            connected_since=ONE_DAY,
            subscription_type="Shared",
            available_permits=0,
            unacked_messages=3,
            backlog=6,
        ),
    ),
    "active_consumer_change": lambda: replies.active_consumer_change(1, active=True),
    "reached_end_of_topic": lambda: replies.reached_end_of_topic(1),
    "close_consumer": lambda: replies.close_consumer(2),
    "get_or_create_schema_failed": lambda: replies.get_or_create_schema_failed(
        2, errors.TopicNotFound("Topic not found persistent://public/default/g-schema")
    ),
    "tc_client_connect": lambda: replies.tc_client_connect(4),
    "tc_client_connect_failed": lambda: replies.tc_client_connect_failed(
        5,
        errors.NotOwner(
            "org.apache.pulsar.broker.service.BrokerServiceException$ServiceUnitNotReadyException: "
            "Namespace bundle (pulsar/system/0x80000000_0xc0000000) for topic "
            "(persistent://pulsar/system/transaction_coordinator_assign-partition-5) not served by "
            "this instance:localhost:8280. Please redo the lookup."
        ),
    ),
    "new_txn": lambda: replies.new_txn(6, TxnId(0, 8)),
    "new_txn_failed": lambda: replies.new_txn_failed(
        3, 3, errors.CoordinatorNotFound("Transaction coordinator with id 3 not found!")
    ),
    "add_partition_to_txn": lambda: replies.add_partition_to_txn(9, TxnId(0, 8)),
    "add_partition_to_txn_failed": lambda: replies.add_partition_to_txn(
        13, TxnId(0, 8), TRANSACTION_ENDED
    ),
    "add_subscription_to_txn": lambda: replies.add_subscription_to_txn(5, TxnId(0, 18)),
    "end_txn": lambda: replies.end_txn(10, TxnId(0, 8)),
    "end_txn_failed": lambda: replies.end_txn(11, TxnId(0, 8), TRANSACTION_ENDED),
}

# Of these our error has another code: there are no schemas.
FIELDS_ONLY = {
    "get_schema_failed": lambda: replies.get_schema_failed(
        16, errors.NotAllowed("Empty schema version")
    ),
}


def fields(frame):
    """Names of what is set, inner messages included."""

    def walk(message):
        return {
            field.name: walk(value)
            if field.type == field.TYPE_MESSAGE and not field.is_repeated
            else None
            for field, value in message.ListFields()
        }

    return walk(parse(frame[8:]))


@pytest.mark.parametrize("name", MADE)
def test_a_reply_is_what_was_recorded(name):
    assert MADE[name]().hex() == RECORDED[name].hex()


@pytest.mark.parametrize("name", FIELDS_ONLY)
def test_a_reply_sets_the_fields_that_were_recorded(name):
    assert fields(FIELDS_ONLY[name]()) == fields(RECORDED[name])


def test_every_recorded_reply_is_compared():
    assert MADE.keys() | FIELDS_ONLY.keys() == RECORDED.keys()


def test_minus_one_travels_as_the_greatest_number():
    command = parse(replies.send_receipt(1, 0, -1, -1)[8:]).send_receipt
    assert command.message_id.ledgerId == command.message_id.entryId == 2**64 - 1
    frame = replies.last_message_id(
        1, Position(-1, -1), partition=0, batch_index=-1, mark=Position(7, -1)
    )
    answer = parse(frame[8:]).getLastMessageIdResponse
    assert answer.last_message_id.ledgerId == 2**64 - 1
    assert answer.consumer_mark_delete_position.entryId == 2**64 - 1


def test_permits_may_be_negative():
    stats = replies.ConsumerStats("", "", "", "Shared", -4, 0, 0)
    frame = replies.consumer_stats(1, stats)
    assert parse(frame[8:]).consumerStatsResponse.availablePermits == 2**64 - 4


def test_each_send_of_a_run_gets_its_error():
    run = SendRun.of(9, [7, 300], [b"a", b"b"], [0, 0], [1, 1], [0, 0])
    error = errors.NotAllowed("no")
    together = replies.send_errors(run, error)
    assert together == replies.send_error(9, 7, error) + replies.send_error(9, 300, error)


def test_a_redirection_names_the_other_broker():
    answer = parse(replies.lookup_redirect(3, "pulsar://b:6650")[8:]).lookupTopicResponse
    assert answer.response == answer.Redirect
    assert (answer.brokerServiceUrl, answer.authoritative) == ("pulsar://b:6650", False)


def test_failures_carry_code_and_text():
    error = errors.NotReady("not yet")
    schema = parse(replies.get_schema_failed(3, error)[8:]).getSchemaResponse
    assert (schema.request_id, schema.error_message) == (3, "not yet")
    ack = parse(replies.ack_response(1, 2, error)[8:]).ackResponse
    assert (ack.request_id, ack.message, ack.HasField("error")) == (2, "not yet", True)


def test_only_what_this_broker_can_do_is_advertised():
    flags = parse(replies.connected("x", 21, 100)[8:]).connected.feature_flags
    assert [field.name for field, _ in flags.ListFields()] == list(replies.FEATURES)
