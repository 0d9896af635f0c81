"""Subscriptions: lists, creation, deletion, and moving them along the log."""

from typing import Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.arguments import Place
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Route
from magnetar.broker.admin.topic_access import TopicAccess, no_subscription
from magnetar.broker.creation import Creation
from magnetar.broker.resources import Resources
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.topic import Topic
from magnetar.errors import AlreadyExists, SubscriptionNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import LATEST_MESSAGE

_AT_THE_END: Final = Place(LATEST_MESSAGE)


class Subscriptions:
    """``/persistent``, as far as it is about subscriptions."""

    def __init__(self, resources: Resources, access: TopicAccess, creation: Creation) -> None:
        self._resources = resources
        self._access = access
        self._creation = creation

    def routes(self) -> list[Route]:
        topic = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
        one = f"{topic}/subscription/{{subscription}}"
        return [
            Route("GET", f"{topic}/subscriptions", self.names),
            Route("PUT", one, self.create, takes=(JSON,)),
            Route("DELETE", one, self.delete),
            Route("POST", f"{one}/skip_all", self.skip_all),
            Route("POST", f"{one}/skip/{{count}}", self.skip),
            Route("POST", f"{one}/resetcursor/{{timestamp}}", self.reset_to_time),
            Route("POST", f"{one}/resetcursor", self.reset_to_message, takes=(JSON,)),
        ]

    async def names(self, request: Request) -> Reply:
        found: dict[str, None] = {}
        for topic in await self._topics(arguments.topic(request)):
            found |= dict.fromkeys(topic.subscriptions)
        return shown(list(found))

    async def create(self, request: Request) -> Reply:
        name, at = arguments.subscription(request), arguments.place(request) or _AT_THE_END
        topics = await self._topics_to_subscribe(arguments.topic(request))
        missing = [topic for topic in topics if name not in topic.subscriptions]
        if not missing:
            raise AlreadyExists("Subscription already exists for topic")
        for topic in missing:
            await topic.create_subscription(name, at.message.position, at.properties)
        return done()

    async def delete(self, request: Request) -> Reply:
        name, force = arguments.subscription(request), request.flag("force")
        asked = arguments.topic(request)
        topics = [t for t in await self._topics(asked) if name in t.subscriptions]
        if not topics:
            partitioned = await self._resources.partitions(asked)
            raise (
                SubscriptionNotFound("Subscription not found")
                if partitioned
                else no_subscription(name, asked)
            )
        if not force and any(topic.subscriptions[name].consumers for topic in topics):
            raise Rejection(412, "Subscription has active connected consumers")
        for topic in topics:
            await topic.delete_subscription(name, force=force)
        return done()

    async def skip_all(self, request: Request) -> Reply:
        for topic, subscription in await self._all_of(request):
            await topic.skip(subscription)
        return done()

    async def skip(self, request: Request) -> Reply:
        """Skip so many entries that are not acknowledged yet."""
        count = arguments.integer(request, "count", bits=32)
        await self._refuse_partitioned(
            request, "Skip messages on a partitioned topic is not allowed"
        )
        for topic, subscription in await self._all_of(request):
            await topic.skip(subscription, count)
        return done()

    async def reset_to_time(self, request: Request) -> Reply:
        """Go to the first message published at a time, or later."""
        time_ms = arguments.integer(request, "timestamp")
        for topic, subscription in await self._all_of(request):
            await topic.seek_to_time(subscription, time_ms)
        return done()

    async def reset_to_message(self, request: Request) -> Reply:
        at = arguments.place_to_go(request)
        await self._refuse_partitioned(
            request, "Reset-cursor at position is not allowed for partitioned-topic"
        )
        for topic, subscription in await self._all_of(request):
            await topic.seek(subscription, at.message.position, excluded=at.excluded)
        return done()

    async def _topics(self, name: TopicName) -> list[Topic]:
        """The topic, or its partitions. Raises TopicNotFound."""
        await self._resources.require_namespace(name.namespace)
        if not await self._resources.partitions(name):
            return [await self._access.open(name)]
        names = await self._access.created_partitions(name)
        return [await self._access.open(each) for each in names]

    async def _topics_to_subscribe(self, name: TopicName) -> list[Topic]:
        """The same, made where they are missing and clients may make topics."""
        count = await self._creation.partitions(name, create=True)
        names = [name.partition(index) for index in range(count)] or [name]
        return [await self._access.create(each) for each in names]

    async def _all_of(self, request: Request) -> list[tuple[Topic, Subscription]]:
        """The subscription, on the topic or on each of its partitions that has it."""
        asked, name = arguments.topic(request), arguments.subscription(request)
        found = [
            (topic, topic.subscriptions[name])
            for topic in await self._topics(asked)
            if name in topic.subscriptions
        ]
        if not found:
            raise no_subscription(name, asked)
        return found

    async def _refuse_partitioned(self, request: Request, reason: str) -> None:
        if await self._resources.partitions(arguments.topic(request)):
            raise Rejection(405, reason)
