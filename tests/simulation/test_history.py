"""What counts as acknowledged, of what applications did."""

from dataclasses import replace
from random import Random

import pytest
from simulation.checks import acknowledged_whole, check_deliveries, saved
from simulation.history import History, Number
from simulation.plan import draw

from magnetar.client.message import Delivery, Message
from magnetar.message.entry import join
from magnetar.message.metadata import parse
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.simulation.cluster import SimulatedCluster

PLAN = draw(1)
METADATA = parse(
    join(
        pb.MessageMetadata(
            producer_name="producer-0", sequence_id=0, publish_time=1, num_messages_in_batch=3
        ).SerializeToString(),
        b"",
    )
)
SUBSCRIBING = replace(PLAN.subscribing[0], indexes=False)


@pytest.fixture
def history():
    cluster = SimulatedCluster(Random("history"), brokers=1, bookies=1)
    yield History(cluster, PLAN)
    cluster.loop.close()


def acknowledges(history, *indexes, consumer="c"):
    """A consumer receives and acknowledges messages of one entry of three."""
    delivery = Delivery("topic-0", Position(1, 2), -1, 3, METADATA, 0, redelivered=False)
    for index in indexes:
        message = Message(delivery, index, b"", f"producer-0:{index}|".encode())
        number, what = history.was_delivered(SUBSCRIBING, consumer, 0.0, message)
        history.was_acknowledged(SUBSCRIBING, consumer, number, what)


def test_a_batch_is_acknowledged_when_all_of_it_is(history):
    acknowledges(history, 0, 1, 2)
    assert len(acknowledged_whole(history, SUBSCRIBING)) == 1


def test_a_batch_is_not_acknowledged_while_the_rest_of_it_has_come_to_nobody(history):
    acknowledges(history, 0, 1)
    assert acknowledged_whole(history, SUBSCRIBING) == {}


def test_what_came_of_a_batch_in_two_deliveries_is_not_acknowledged_together(history):
    """The last two came while the first was pending in a transaction, then all of it again."""
    acknowledges(history, 0, consumer="other")
    acknowledges(history, 1, 2, 0)
    assert acknowledged_whole(history, SUBSCRIBING) == {}
    acknowledges(history, 1, 2)
    assert len(acknowledged_whole(history, SUBSCRIBING)) == 1


@pytest.mark.parametrize(
    ("minutes", "subscribed", "found"), [(0, 2.0, 0), (0, 1.0, 1), (-1, 2.0, 1)]
)
def test_what_nobody_retains_is_not_promised_to_later_subscriptions(
    history, minutes, subscribed, found
):
    plan = replace(
        PLAN,
        settings={**PLAN.settings, "defaultRetentionTimeInMinutes": minutes},
        subscribing=[SUBSCRIBING],
    )
    number = Number("producer-0", 0)
    history.sent[number] = SUBSCRIBING.topic, ""
    history.answered[number] = 1.5
    history.subscribed[SUBSCRIBING.topic, SUBSCRIBING.name] = subscribed
    check_deliveries(history, plan, {})
    assert len(history.findings) == found


@pytest.mark.parametrize("taken_back", [True, False])
def test_what_is_pending_while_a_batch_is_acknowledged_may_come_again(history, taken_back):
    message = SUBSCRIBING, Number("producer-0", 0), (("topic-0", Position(1, 2)), 0)
    span = history.is_pending(*message)
    acknowledges(history, 0, 1, 2)
    if not taken_back:
        span[1] = span[0]  # As by a commit.
    assert bool(saved(history, SUBSCRIBING)) is not taken_back
