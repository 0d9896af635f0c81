import aiohttp
import pytest
from support.clock import ManualClock
from unit.broker.admin.world import SilentEnd, open_world
from unit.broker.peer import Peer

from magnetar.broker.settings.policies import PolicySettings
from magnetar.broker.topics.log.backlog import count_backlog
from magnetar.broker.topics.log.log_positions import SKIPPED_AT_ONCE_MAX
from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.broker.topics.topic_subscriptions import ABANDONED_AFTER_S
from magnetar.model.subscriptions import SubscriptionType
from magnetar.testing.local_broker import LocalBroker

ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"
S = f"{ALL}/x/subscription/s"


def message(position, **more):
    return {"ledgerId": position[0], "entryId": position[1], "partitionIndex": -1, **more}


async def next_index(world, positions, name="s"):
    """Which of the positions is delivered next; their number where none is."""
    topic = await world.topic(NAME)
    cursor = topic.subscriptions[name].cursor
    unread = [at for at in positions if not cursor.is_acknowledged(at)]
    return positions.index(unread[0]) if unread else len(positions)


async def connect(world, name="s"):
    topic = await world.topic(NAME)
    end = SilentEnd()
    request = SubscribeRequest(
        subscription=name, type=SubscriptionType.SHARED, consumer_id=1, consumer_name="c"
    )
    await topic.subscribe(request, end)
    return end


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, 5),
        (b"null", 5),
        ("latest", 5),
        ({"ledgerId": 2**63 - 1, "entryId": 2**63 - 1}, 5),
        ("earliest", 0),
        ({"ledgerId": -1, "entryId": -1}, 0),
        (2, 2),
    ],
)
async def test_a_subscription_starts_where_it_is_told(world, body, expected):
    positions = await world.publish(NAME, *range(5))
    body = message(positions[body]) if isinstance(body, int) else body
    assert (await world.ask("PUT", S, body)).status == 204
    assert await next_index(world, positions) == expected


async def test_what_is_excluded_is_the_first_all_the_same_when_a_subscription_is_made(world):
    positions = await world.publish(NAME, *range(5))
    await world.ask("PUT", S, message(positions[2], excluded=True))
    assert await next_index(world, positions) == 2


@pytest.mark.parametrize("segment", ["a%2Fb%20c", "a%252Fb%2520c"])
async def test_a_name_is_the_same_encoded_once_or_twice(world, segment):
    await world.topic(NAME)
    await world.ask("PUT", f"{ALL}/x/subscription/{segment}")
    assert (await world.ask("GET", f"{ALL}/x/subscriptions")).json == ["a/b c"]
    assert (await world.ask("DELETE", f"{ALL}/x/subscription/a%2Fb%20c")).status == 204
    assert (await world.ask("GET", f"{ALL}/x/subscriptions")).json == []


async def test_properties_are_kept(world):
    await world.topic(NAME)
    await world.ask("PUT", S, {"ledgerId": -1, "entryId": -1, "properties": {"k": "v"}})
    shown = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert shown["subscriptions"]["s"]["subscriptionProperties"] == {"k": "v"}


async def test_a_missing_topic_is_made_where_clients_may(world):
    assert (await world.ask("PUT", S)).status == 204
    async with open_world(PolicySettings(auto_topics=False)) as closed:
        answer = await closed.ask("PUT", S)
        assert (answer.status, answer.reason) == (404, f"Topic {NAME} not found")


async def test_a_subscription_of_a_partitioned_topic_is_on_every_partition(world):
    await world.ask("PUT", f"{ALL}/x/partitions", 2)
    await world.ask("PUT", f"{ALL}/x-partition-0/subscription/s")
    assert (await world.ask("PUT", S)).status == 204
    assert (await world.ask("PUT", S)).status == 409
    assert (await world.ask("GET", f"{ALL}/x-partition-1/subscriptions")).json == ["s"]
    assert (await world.ask("DELETE", S)).status == 204
    assert (await world.ask("GET", f"{ALL}/x-partition-0/subscriptions")).json == []
    assert (await world.ask("DELETE", S)).reason == "Subscription not found"


async def test_a_subscription_in_use_is_deleted_only_by_force(world):
    await world.topic(NAME)
    end = await connect(world)
    answer = await world.ask("DELETE", S)
    assert (answer.status, answer.reason) == (412, "Subscription has active connected consumers")
    assert (await world.ask("DELETE", f"{S}?force=true")).status == 204
    assert end.closed == [("consumer", 1)]


async def test_a_reserved_name_is_refused(world):
    await world.topic(NAME)
    answer = await world.ask("PUT", f"{ALL}/x/subscription/pulsar.repl.x")
    assert answer.status == 412
    assert (await world.ask("GET", f"{ALL}/x/subscriptions")).json == []


@pytest.mark.parametrize(("skipped", "expected"), [(0, 0), (-1, 0), (1, 1), (3, 3), (99, 5)])
async def test_so_many_entries_are_skipped(world, skipped, expected):
    positions = await world.publish(NAME, *range(5))
    await world.ask("PUT", S, "earliest")
    assert (await world.ask("POST", f"{S}/skip/{skipped}")).status == 204
    assert await next_index(world, positions) == expected


@pytest.mark.parametrize("skipped", [3, SKIPPED_AT_ONCE_MAX + 3])
async def test_only_what_is_not_acknowledged_counts_as_skipped(world, skipped):
    positions = await world.publish(NAME, *range(skipped + 6))
    await world.ask("PUT", S, "earliest")
    cursor = (await world.topic(NAME)).subscriptions["s"].cursor
    cursor.acknowledge_entries(positions[0].ledger_id, [0, 2, 3])
    await world.ask("POST", f"{S}/skip/{skipped}")
    assert await next_index(world, positions) == skipped + 3


async def test_everything_is_skipped_on_every_partition(world):
    await world.ask("PUT", f"{ALL}/x/partitions", 2)
    for index in range(2):
        await world.publish(f"{NAME}-partition-{index}", 1, 2)
    await world.ask("PUT", S, "earliest")
    backlog = f"{ALL}/x/partitioned-stats"
    assert (await world.ask("GET", backlog)).json["subscriptions"]["s"]["msgBacklog"] == 4
    assert (await world.ask("POST", f"{S}/skip_all")).status == 204
    assert (await world.ask("GET", backlog)).json["subscriptions"]["s"]["msgBacklog"] == 0


async def test_everything_of_an_empty_topic_is_skipped(world):
    await world.topic(NAME)
    await world.ask("PUT", S)
    assert (await world.ask("POST", f"{S}/skip_all")).status == 204
    positions = await world.publish(NAME, 1)
    assert await next_index(world, positions) == 0


@pytest.mark.parametrize(
    ("time_ms", "expected"), [(0, 0), (-1, 0), (100, 0), (250, 2), (300, 2), (10**13, 5)]
)
async def test_a_subscription_goes_to_a_time(world, time_ms, expected):
    positions = await world.publish(NAME, 100, 200, 300, 400, 500)
    await world.ask("PUT", S)
    assert (await world.ask("POST", f"{S}/resetcursor/{time_ms}")).status == 204
    assert await next_index(world, positions) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("earliest", 0),
        ("latest", 5),
        ({"ledgerId": 999999, "entryId": 4}, 5),
        ({"ledgerId": 2**63 - 1, "entryId": 2**63 - 1}, 5),
        ((3, {}), 3),
        ((3, {"excluded": True}), 4),
        ((3, {"isExcluded": True}), 3),
        ((4, {"excluded": True}), 5),
    ],
)
async def test_a_subscription_goes_to_a_message(world, body, expected):
    positions = await world.publish(NAME, *range(5))
    await world.ask("PUT", S, message(positions[1]))
    body = message(positions[body[0]], **body[1]) if isinstance(body, tuple) else body
    assert (await world.ask("POST", f"{S}/resetcursor", body)).status == 204
    assert await next_index(world, positions) == expected


async def test_consumers_are_sent_away_first(world):
    await world.publish(NAME, *range(5))
    end = await connect(world)
    await world.ask("POST", f"{S}/resetcursor/0")
    assert end.closed == [("consumer", 1)]


@pytest.mark.parametrize(
    "body", [None, {}, {"ledgerId": 0}, {"ledgerId": 2**63, "entryId": 0}, {"ledgerId": -2}, "end"]
)
async def test_where_to_go_must_be_said_and_exist(world, body):
    """A place beyond the log is its end, as in Pulsar; half of one is none."""
    positions = await world.publish(NAME, *range(5))
    await world.ask("PUT", S, message(positions[3]))
    answer = await world.ask("POST", f"{S}/resetcursor", body)
    assert answer.status == 400
    assert answer.reason
    assert await next_index(world, positions) == 3


async def test_a_partitioned_topic_goes_to_a_time_as_a_whole_and_to_no_message(world):
    await world.ask("PUT", f"{ALL}/x/partitions", 2)
    await world.publish(f"{NAME}-partition-1", 100, 200)
    await world.ask("PUT", S)
    assert (await world.ask("POST", f"{S}/resetcursor/150")).status == 204
    shown = (await world.ask("GET", f"{ALL}/x/partitioned-stats")).json
    assert shown["subscriptions"]["s"]["msgBacklog"] == 1
    assert (await world.ask("POST", f"{S}/resetcursor", "earliest")).status == 405
    assert (await world.ask("POST", f"{S}/skip/1")).status == 405


@pytest.mark.parametrize("where", ["resetcursor/0", "resetcursor"])
@pytest.mark.parametrize("returns", [True, False])
async def test_a_reader_that_is_reset_and_does_not_return_leaves_nothing_behind(where, returns):
    """The entries it read would be kept for nobody, as after a seek of its own."""
    clock = ManualClock()
    settings = {"keepAliveIntervalSeconds": 1000}
    async with LocalBroker(settings=settings, clock=clock) as broker:
        peer = await Peer.open(broker.port)
        await peer.consume(1, NAME, "reader-x", durable=False)
        url = f"{broker.web_url}{ALL}/x/subscription/reader-x/{where}"
        async with aiohttp.request("POST", url, json="earliest") as answer:
            assert answer.status == 204
        assert (await peer.hear()).close_consumer.consumer_id == 1
        if returns:
            await peer.consume(1, NAME, "reader-x", durable=False)
        await clock.advance(ABANDONED_AFTER_S + 1)
        async with aiohttp.request("GET", f"{broker.web_url}{ALL}/x/subscriptions") as answer:
            assert await answer.json() == (["reader-x"] if returns else [])
        (topic,) = broker.broker.registry.loaded.values()
        assert list(topic.ledger.cursors) == (["reader-x"] if returns else [])


async def test_a_backlog_is_counted_in_entries_and_messages(world):
    """What is acknowledged does not count, and neither do messages of a batch that are."""
    positions = await world.publish(NAME, *range(4), batches=[8, 3])
    await world.ask("PUT", S, "earliest")
    cursor = (await world.topic(NAME)).subscriptions["s"].cursor
    cursor.acknowledge_entries(positions[0].ledger_id, [0, 2])
    cursor.acknowledge_batch(positions[4], [0b11100000])

    async def counted(start=None):
        shown = (await world.ask("POST", f"{S}/analyzeBacklog", start)).json
        assert shown["filterAcceptedEntries"] == shown["entries"]
        assert shown["filterAcceptedMessages"] == shown["messages"]
        assert shown["aborted"] is False
        names = ("entries", "messages", "firstMessageId", "lastMessageId")
        return tuple(shown[name] for name in names)

    assert await counted() == (4, 2 + 3 + 3, str(positions[1]), str(positions[5]))
    assert await counted(message(positions[4])) == (2, 6, str(positions[4]), str(positions[5]))
    await world.ask("POST", f"{S}/skip_all")
    assert await counted() == (0, 0, None, None)


@pytest.mark.parametrize(("limits", "entries"), [((3, 60), 3), ((4, 60), 4), ((4, 0), 0)])
async def test_a_backlog_is_counted_up_to_so_many_entries_and_for_so_long(world, limits, entries):
    await world.publish(NAME, *range(4))
    await world.ask("PUT", S, "earliest")
    topic = await world.topic(NAME)
    found = await count_backlog(
        topic.ledger,
        topic.subscriptions["s"].cursor,
        None,
        entries_max=limits[0],
        time_s_max=limits[1],
        clock=ManualClock(),
    )
    assert (found.entries, found.aborted) == (entries, entries < 4)
