import pytest
from google.protobuf.descriptor import FieldDescriptor
from unit.broker.peer import TOPIC

from magnetar.broker.resources import Resources
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.proto import PulsarApi_pb2 as pb

BY_BROKERS = {
    "CONNECTED", "SUCCESS", "ERROR", "AUTH_CHALLENGE", "SEND_RECEIPT", "SEND_ERROR", "MESSAGE",
    "PRODUCER_SUCCESS", "REACHED_END_OF_TOPIC", "ACTIVE_CONSUMER_CHANGE", "WATCH_TOPIC_UPDATE",
    "WATCH_TOPIC_LIST_SUCCESS", "TOPIC_MIGRATED",
}  # fmt: skip
TRANSACTIONS = {
    "tcClientConnectRequest": {"tc_id": 0},
    "newTxn": {},
    "addPartitionToTxn": {},
    "addSubscriptionToTxn": {},
    "endTxn": {},
    "endTxnOnPartition": {},
    "endTxnOnSubscription": {},
}


SAMPLES = {
    FieldDescriptor.TYPE_STRING: TOPIC,
    FieldDescriptor.TYPE_MESSAGE: pb.MessageIdData(ledgerId=1, entryId=1),
}


def sent_by_brokers(name: str) -> bool:
    return name in BY_BROKERS or (name.endswith("_RESPONSE") and name != "AUTH_RESPONSE")


def values_for(field: str) -> dict[str, object]:
    """Something for every required field of a command."""
    message = pb.BaseCommand.DESCRIPTOR.fields_by_name[field].message_type
    values: dict[str, object] = {}
    for one in message.fields:
        if one.is_required:
            values[one.name] = SAMPLES.get(one.type, 1)
    return values


@pytest.mark.parametrize("name", sorted(filter(sent_by_brokers, pb.BaseCommand.Type.keys())))
async def test_a_command_of_brokers_ends_the_connection(peer, name):
    number = pb.BaseCommand.Type.Value(name)
    field = pb.BaseCommand.DESCRIPTOR.fields_by_number[number].name
    peer.tell(field, **values_for(field))
    assert await peer.hung_up_on()


@pytest.mark.parametrize("field", TRANSACTIONS)
async def test_transactions_are_not_enabled(peer, field):
    answer = await peer.ask(field, request_id=8, **TRANSACTIONS[field])
    assert answer.error.request_id == 8
    assert answer.error.error == pb.NotAllowedError
    assert answer.error.message == "Transactions are not enabled."


def broken(*_: object, **__: object) -> None:
    """What a defect of ours may look like."""
    raise ZeroDivisionError("on purpose")


async def test_a_defect_of_ours_is_an_answer_and_a_line_in_the_log(peer, monkeypatch, caplog):
    monkeypatch.setattr(Resources, "partitions", broken)
    answer = await peer.ask("partitionMetadata", topic="x", request_id=8)
    response = answer.partitionMetadataResponse
    assert (response.request_id, response.error) == (8, pb.UnknownError)
    assert response.message == "ZeroDivisionError: on purpose"
    await peer.nothing_more()
    assert "command.failed command=PARTITIONED_METADATA" in caplog.text
    assert "ZeroDivisionError: on purpose" in caplog.text


async def test_a_defect_behind_a_command_without_answer_is_a_line_in_the_log(
    peer, monkeypatch, caplog
):
    await peer.consume(1)
    monkeypatch.setattr(PersistentSubscription, "acknowledge", broken)
    peer.tell("ack", consumer_id=1, ack_type=pb.CommandAck.Individual)
    await peer.nothing_more()
    assert "command.failed command=ACK" in caplog.text
