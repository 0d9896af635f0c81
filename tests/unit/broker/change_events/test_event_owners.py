import asyncio
import json

import pytest
from support.clock import ManualClock
from support.loop import until

from magnetar.broker.change_events.event import EventKey
from magnetar.broker.change_events.event_logs import Events
from magnetar.broker.change_events.event_owners import AGAIN_S, LOOKUPS_MAX, EventOwners
from magnetar.broker.peers import MISDIRECTED
from magnetar.errors import NotReady, Refused
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.position import Position
from magnetar.model.system_topics import change_events
from magnetar.rest.exchange import Reply

NAME = change_events(NamespaceName("public", "default"))
KEY = EventKey(TopicName.parse("persistent://public/default/t"), is_global=False)


class Other:
    """Another broker, with the answers that it will give, the last of them again and again."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []

    async def ask(self, broker, request):
        self.requests.append(request)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class Here:
    """The events that this broker serves."""

    async def since(self, name, after):
        return Events(Position(9, 9), whole=True, events=[])


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def asking(brokers, resources, clock):
    """Makes what asks another broker, which serves the topic."""
    here, there = brokers
    await there.ownership.acquire(await resources.bundle(NAME))

    def with_answers(*replies):
        other = Other(*replies)
        return EventOwners(Here(), resources, here.ownership, other, clock), other

    return with_answers


def answer(value, status=200):
    return Reply(status, json.dumps(value).encode())


async def test_the_owner_is_asked_for_what_is_new(asking):
    told = {"last": [3, 5], "whole": False, "events": []}
    owners, other = asking(answer(told))
    assert await owners.since(NAME, Position(3, 4)) == Events(Position(3, 5), False, [])
    (request,) = other.requests
    assert (request.method, request.query) == ("GET", {"after": "3:4"})
    assert request.path == "/admin/v2/persistent/public/default/__change_events/policyEvents"


async def test_the_owner_appends(asking):
    owners, other = asking(answer(False), answer(True))
    assert await owners.put(NAME, KEY, {"maxProducerPerTopic": 3}, Position(3, 4)) is False
    assert await owners.put(NAME, KEY, None, None) is True
    first, second = (json.loads(each.body) for each in other.requests)
    policies = {"maxProducerPerTopic": 3}
    assert first == {"key": str(KEY), "policies": policies, "insteadOf": [3, 4]}
    assert second == {"key": str(KEY), "policies": None, "insteadOf": None}


async def test_what_is_served_here_is_asked_here(brokers, resources, clock):
    owners = EventOwners(Here(), resources, brokers[0].ownership, Other(), clock)
    assert (await owners.since(NAME, None)).last == Position(9, 9)


async def test_an_owner_that_changes_all_the_time_is_given_up(asking, clock):
    owners, other = asking(answer({}, MISDIRECTED))
    asked = asyncio.ensure_future(owners.since(NAME, None))
    await clock.advance(2 * AGAIN_S * LOOKUPS_MAX)
    with pytest.raises(NotReady):
        await asked
    assert len(other.requests) == LOOKUPS_MAX


@pytest.mark.parametrize(
    ("status", "error"), [(400, Refused), (412, Refused), (404, NotReady), (503, NotReady)]
)
async def test_a_broker_that_knows_no_events_is_no_broker_without_events(asking, status, error):
    """One of Pulsar's answers 404."""
    owners, _ = asking(answer({"reason": "because"}, status))
    with pytest.raises(error, match="because"):
        await owners.since(NAME, None)


async def test_nobody_waits_for_a_bundle_that_is_being_unloaded(brokers, resources, clock):
    here, _ = brokers
    bundle = await resources.bundle(NAME)
    await here.ownership.acquire(bundle)
    closed = asyncio.Event()

    async def close(_):
        await closed.wait()

    unloading = asyncio.ensure_future(here.ownership.unload(bundle, close))
    owners = EventOwners(Here(), resources, here.ownership, Other(), clock)
    await until(lambda: here.ownership.gives_up(bundle))
    with pytest.raises(NotReady, match="unloaded"):
        await owners.since(NAME, None)
    closed.set()
    await unloading
