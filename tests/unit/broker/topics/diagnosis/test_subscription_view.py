"""Views of topics that clients use are in ``unit/broker/admin/routes/test_diagnosis.py``."""

from unit.broker.admin.world import open_world

from magnetar.broker.topics.diagnosis.subscription_view import subscription_view
from magnetar.model.position import Position

NAME = "persistent://public/default/x"


async def test_ranges_ascend_and_positions_are_those_of_the_cursor():
    async with open_world() as world:
        positions = await world.publish(NAME, *range(1, 11))
        topic = await world.topic(NAME)
        subscription = await topic.create_subscription("s", positions[0])
        for index in (8, 2, 3, 5):
            subscription.cursor.acknowledge_entries(*_one(positions[index]))
        view = subscription_view(topic, subscription, 0.0)
        ledger_id = positions[0].ledger_id
        assert list(view.ranges()) == [(ledger_id, 2, 3), (ledger_id, 5, 5), (ledger_id, 8, 8)]
        assert (view.ranges_count, view.beyond, view.backlog) == (3, 4, 6)
        assert view.mark == Position(ledger_id, -1)
        assert view.last == positions[-1]
        assert not view.consumers
        assert view.delivered == 0


def _one(position):
    return position.ledger_id, [position.entry_id]
