"""What fuzzing found, each in its smallest form."""

import asyncio

import pytest

from magnetar.errors import Fenced
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker


@pytest.mark.parametrize("digits", ["2147483648", "9" * 30, "9" * 5000])
def test_a_number_that_no_partition_can_have_is_part_of_the_name(digits):
    # int() refuses more than 4300 digits, and no field of the protocol holds more than ten.
    name = TopicName.parse(f"t-partition-{digits}")
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


async def test_a_subscription_may_be_deleted_before_all_who_opened_it_have_it():
    async with LocalBroker() as broker:
        registry = broker.broker.registry
        topic = await registry.get(TopicName.parse("t"), create=True)
        late = asyncio.ensure_future(topic.create_subscription("s", EARLIEST))
        while "s" not in topic.ledger.cursors:  # noqa: ASYNC110 - the turn it comes is what counts
            await asyncio.sleep(0)
        # Somebody found the cursor made, and had the time to subscribe and to unsubscribe.
        await topic.ledger.delete_cursor("s")
        with pytest.raises(Fenced, match="subscribe again"):
            await late
