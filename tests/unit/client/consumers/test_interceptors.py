"""Refusals and time that is up; ``tests/client/test_interceptors.py`` has the rest."""

from support.loop import until
from unit.client.local import put

from magnetar.client.consumers.interceptors import ConsumerInterceptor
from magnetar.model.subscriptions import InitialPosition, SubscriptionType


class Told(ConsumerInterceptor):
    def __init__(self):
        self.refused, self.late = [], []

    def on_negative_acks_send(self, consumer, message_ids):
        self.refused.append(message_ids)

    def on_ack_timeout_send(self, consumer, message_ids):
        self.late.append(message_ids)


async def test_what_was_refused_and_what_came_late_are_told_apart(local_client):
    told = Told()
    ids = await put(local_client, "t", b"0", b"1", b"2")
    consumer = await local_client.subscribe(
        "t",
        "s",
        type=SubscriptionType.SHARED,
        initial_position=InitialPosition.EARLIEST,
        ack_timeout_s=0.4,
        ack_timeout_tick_s=0.1,
        negative_ack_delay_s=0.1,
        interceptors=[told],
    )
    messages = [await consumer.receive(5) for _ in ids]
    consumer.negative_acknowledge(messages[0])
    consumer.acknowledge(messages[1])
    await until(lambda: told.late)
    assert told.refused[0] == {ids[0]}
    assert ids[2] in told.late[0]
    assert ids[1] not in frozenset().union(*told.refused, *told.late)
