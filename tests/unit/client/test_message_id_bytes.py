import pulsar
import pytest

from magnetar.client.message_id_bytes import parsed, serialized
from magnetar.model.position import MessageId


@pytest.mark.parametrize(
    "message_id", [MessageId(7, 3), MessageId(7, 3, 2), MessageId(300, 2**40, -1, 4, 9)]
)
def test_ids_are_written_as_the_official_client_reads_them(message_id):
    written = serialized(message_id)
    assert parsed(written) == message_id
    theirs = pulsar.MessageId.deserialize(written)
    assert (theirs.ledger_id(), theirs.entry_id()) == message_id.position
    assert (theirs.partition(), theirs.batch_index()) == (
        message_id.partition,
        message_id.batch_index,
    )
