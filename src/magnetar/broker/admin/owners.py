"""Who answers a request: asked by the router, with what a route says that its requests are about.

    OfTopic        its owner: the handler is given the topic, opened; elsewhere it is a 307
    AtOwner        the same for a topic that the handler looks for, or makes
    OfPartitions   as OfTopic; of a partitioned topic, each partition's owner is asked the same
                   about the partition, and what they answer is put together
    ByPartitions   each partition's owner is asked by another route, and the handler puts together
    OfPartitionsMoving  as OfPartitions; of a topic on its way to another broker that is said
    OfOneBroker    the one broker that serves all partitions; refused where there are several
    OfBundle       its owner: the handler is given the bundle; elsewhere it is a 307
    OfBundles      each owner of a namespace's bundles is asked the same about the bundle
    OfBroker       that broker; elsewhere it is a 307

A route without any is about records that all brokers share. What is asked of another broker says
that it was passed on (``broker/peers.py``), and no broker passes it on again. Where the owner
changes meanwhile, the next one is looked up.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import quote, unquote

from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.creation import Creation
from magnetar.broker.peers import MISDIRECTED, PASSED_ON, Peers
from magnetar.broker.resources import Resources
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotAllowed, NotFound, NotOwner
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle, Bundles
from magnetar.model.names import PERSISTENT, NamespaceName, TopicName
from magnetar.rest import arguments, errors
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import EVENTS, JSON, Reply, Request, done, shown
from magnetar.rest.router import Handler, Route, Router
from magnetar.turns import batches, in_turns

ANSWER_HERE: Final = "X-Magnetar-Answer-Here"
"""The header of who cannot be sent to another broker, as a page in a browser, which may ask only
the one that it came from: the other one is asked for it."""
LARGEST: Final = "LARGEST"
HOT: Final = "HOT"
"""In place of a bundle's range: that of most topics, or of most traffic by the load reports."""
LOOKUPS_MAX: Final = 5
"""How often the owner of what moves is looked up for one request."""
AGAIN_S: Final = 0.1
ASKED_AT_ONCE_MAX: Final = 8
"""Partitions, or bundles, of one request that are asked side by side."""

Subject: TypeAlias = TopicName | Bundle
Answers: TypeAlias = Mapping[Subject, Reply]
Merge: TypeAlias = Callable[[Request, Answers], Reply]
"""Makes one answer of those of all partitions, or bundles. Raises Rejection."""


class About(Protocol):
    """What requests are about."""

    async def answer(self, owners: "Owners", request: Request, handler: Handler) -> Reply:
        """Answer by the handler, or by who can. Raises NotOwner, with the address of who that is,
        and what the handler raises.
        """


class Owners:
    """Finds owners, and asks them."""

    router: Router  # That of this broker's own routes.

    def __init__(
        self,
        resources: Resources,
        registry: TopicRegistry,
        creation: Creation,
        *,
        brokers: Brokers,
        peers: Peers,
        clock: Clock,
        asks_always: bool = False,
    ) -> None:
        """``asks_always``: this broker asks the one that has the answer, whoever wants it."""
        self.resources = resources
        self.registry = registry
        self.ownership = registry.ownership
        self.creation = creation
        self.access = TopicAccess(resources, registry, creation)
        self.brokers = brokers
        self._peers = peers
        self._clock = clock
        self._asks_always = asks_always

    async def answer(self, route: Route, request: Request, handler: Handler) -> Reply:
        """Answer a request of a route that is about something, again where that moves meanwhile."""
        about: About = route.about
        arguments.check_numbers(request)  # Before anything is looked for.
        for left in reversed(range(LOOKUPS_MAX)):
            try:
                return await about.answer(self, request, handler)
            except NotOwner as error:
                if PASSED_ON in request.headers:
                    raise Rejection(MISDIRECTED, str(error)) from None
                where, here = error.web_url or error.web_url_tls, self._asks_here(request)
                if where and here:
                    reply = await self.ask_at(where, request)
                    if reply is not None and reply.status != MISDIRECTED:
                        return reply
                if (where and not here) or not left:
                    raise
            await self._clock.sleep(AGAIN_S)
        raise AssertionError("the last look has returned or raised")

    async def ask(self, subject: Subject, request: Request) -> Reply:
        """The answer of whoever serves a topic or a bundle: this broker, where nobody does."""
        reply = None
        for _ in range(LOOKUPS_MAX):
            if reply is not None:
                await self._clock.sleep(AGAIN_S)
            try:
                bundle = subject
                if isinstance(bundle, TopicName):
                    bundle = await self.resources.bundle(bundle)
                owner = await self.ownership.acquire(bundle)
                if owner is self.ownership.own:
                    return await self.router.call(await self.router.find(request), request)
                if PASSED_ON in request.headers:
                    raise self.ownership.elsewhere(subject, owner)
                reply = await self._peers.ask(owner, request)
                if reply.status != MISDIRECTED:
                    return reply
            except NotOwner as error:
                reply = errors.answer(error)
            except Rejection as error:
                return error.reply()
            except MagnetarError as error:
                return errors.answer(error)
        assert reply is not None, "it was asked for"
        return replace(reply, status=503)

    async def most_of(self, namespace: NamespaceName, bundles: Bundles, what: str) -> Bundle:
        """The bundle of a namespace with most topics, or with most traffic. Raises NotFound."""
        found: Counter[Bundle] = Counter()
        if what == LARGEST:
            for name in await self.resources.topics(namespace, PERSISTENT):
                found[bundles.bundle_of(name)] += 1
        else:
            report = Request("GET", "/admin/v2/broker-stats/load-report")
            for broker in await self.brokers.all():
                reply = await self.ask_broker(broker, report)
                stats = json.loads(reply.body)["lastStats"] if reply.status == 200 else {}
                for each in bundles.of(namespace):
                    its = stats.get(str(each), {})
                    traffic = its.get("msgThroughputIn", 0) + its.get("msgThroughputOut", 0)
                    if traffic:
                        found[each] += int(traffic)
        if not found:
            raise NotFound(f"Namespace {namespace} has no bundle with topics that are in use")
        return max(found, key=found.__getitem__)

    async def ask_broker(self, broker: BrokerAddress, request: Request) -> Reply:
        """The answer of a broker about itself. Raises NotReady, and what its handler raises."""
        if broker == self.brokers.own:
            return await self.router.call(await self.router.find(request), request)
        return await self._peers.ask(broker, request)

    def _asks_here(self, request: Request) -> bool:
        """Whether this broker shall ask the one that has the answer; what does not end is none."""
        return (self._asks_always or ANSWER_HERE in request.headers) and request.accept != EVENTS

    async def ask_at(self, web_url: str, request: Request) -> Reply | None:
        """The answer of the broker with this address; None where there is none."""
        for broker in await self.brokers.all():
            if web_url and web_url in (broker.web_url, broker.web_url_tls):
                return await self._peers.ask(broker, request)
        return None

    async def ask_all(
        self,
        subjects: Iterable[Subject],
        request: Callable[[Any], Request],
        *,
        at_once: int = ASKED_AT_ONCE_MAX,
    ) -> Answers:
        """Ask about a few at a time, in order, until a broker does not answer."""
        answers: dict[Subject, Reply] = {}
        for some in batches(list(subjects), at_once):
            found = await asyncio.gather(*(self.ask(each, request(each)) for each in some))
            answers |= zip(some, found, strict=True)
            if any(reply.status == 503 for reply in found):
                break
        return answers

    async def ask_topic(
        self, name: TopicName, method: str, rest: str = "", *, body: Any = None, **query: str
    ) -> Reply:
        """Ask the owner of a topic by one of its routes: ``rest`` is what follows its name."""
        sent = b"" if body is None else json.dumps(body).encode()
        request = Request(method, path_of(name) + rest, query, body=sent, content_type=JSON)
        return await self.ask(name, request)

    async def partitions(self, name: TopicName) -> list[TopicName]:
        """The partitions that exist. Of non-persistent ones only their owners know: all."""
        if name.persistent:
            return await self.access.created_partitions(name)
        return await self.access.partitions(name)

    async def non_persistent_topics(self, namespace: NamespaceName) -> list[TopicName]:
        """The non-persistent topics of a namespace, wherever they are. Raises Rejection."""
        path = f"/admin/v2/non-persistent/{namespace}"
        answers = await OfBundles(served=True).ask(
            self, namespace, lambda bundle: Request("GET", f"{path}/{bundle.range}")
        )
        names = sorted(name for reply in granted(answers) for name in json.loads(reply.body))
        return list(map(TopicName.parse, names))


def path_of(name: TopicName) -> str:
    """The path of a topic's routes."""
    return f"/admin/v2/{name.domain}/{name.namespace}/{quote(name.local, safe='')}"


def granted(answers: Answers, but: int = 404) -> list[Reply]:
    """The answers that are no refusals. Raises Rejection for the first that is one.

    Refusals with the status ``but`` do not count.
    """
    good = [each for each in answers.values() if each.status < 400]
    refused = {
        name: each for name, each in answers.items() if each.status >= 400 and each.status != but
    }
    for name, first in refused.items():
        reason = reason_of(first)
        if good:
            reason += (
                f" ({name}; {len(refused)} of {len(answers)} refuse it, and others have done it)"
            )
        raise Rejection(first.status, reason)
    return good


def reason_of(reply: Reply) -> str:
    """Why a request was refused."""
    try:
        return str(json.loads(reply.body)["reason"])
    except (ValueError, KeyError, TypeError):
        return reply.body.decode(errors="replace") or f"status {reply.status}"


def by_name(answers: Answers) -> dict[str, Any]:
    """The values of the answers, by who they are about. Raises Rejection for a refusal."""
    granted(answers)
    return {str(name): json.loads(each.body) for name, each in answers.items() if each.status < 400}


def done_by_all(_request: Request, answers: Answers) -> Reply:
    """The answer of any, if nobody refuses, or if all find nothing."""
    return next(iter(granted(answers) or answers.values()), done())


def all_of(_request: Request, answers: Answers) -> Reply:
    """One list of all lists, without repetitions; one object of all objects."""
    found: dict[str, Any] = {}
    lists = True
    for reply in granted(answers):
        part = json.loads(reply.body)
        lists = isinstance(part, list)
        found |= dict.fromkeys(part) if lists else part
    return shown(list(found) if lists else found)


@dataclass(frozen=True, slots=True)
class OfTopic:
    """One topic, or one partition. ``refusal``: why this cannot be asked of a partitioned one."""

    refusal: str = ""

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        name = arguments.topic(request)
        if self.refusal and await owners.resources.partitions(name):
            raise Rejection(405, self.refusal)
        return await handler(await owners.access.open(name))


@dataclass(frozen=True, slots=True)
class OfTopicOrRecord:
    """As OfTopic; of a partitioned topic the record: the handler is given None."""

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        name = arguments.topic(request)
        await owners.resources.require_namespace(name.namespace)
        if await owners.resources.partitions(name):
            return await handler(None)
        return await handler(await owners.access.open(name))


@dataclass(frozen=True, slots=True)
class AtOwner:
    """A topic that need not exist."""

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        name = arguments.topic(request)
        if await owners.resources.namespace(name.namespace) is not None:
            await owners.registry.serve(name)
        return await handler()


@dataclass(frozen=True, slots=True)
class OfOneBroker:
    """A topic, or the partitions of one, which the same broker must serve: the handler has all.

    ``why`` is what one broker alone can do for all of them.
    """

    why: str

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        name = arguments.topic(request)
        await owners.resources.require_namespace(name.namespace)
        found = set()
        names = await owners.partitions(name) or [name]
        async for each in in_turns(names):
            bundle = await owners.resources.bundle(each)
            found.add(await owners.ownership.acquire(bundle))
        if len(found) > 1:
            raise NotAllowed(
                f"The partitions of {name} are served by {len(found)} brokers, and {self.why}: "
                f"ask for one partition, as {names[0]}"
            )
        if found != {owners.ownership.own}:
            raise owners.ownership.elsewhere(name, found.pop())
        return await handler()


@dataclass(frozen=True, slots=True)
class OfPartitions:
    """A topic, or all partitions of one.

    ``creates``: those that are missing are made where clients may make them.
    """

    merge: Merge = done_by_all
    creates: bool = False

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        name = arguments.topic(request)
        await owners.resources.require_namespace(name.namespace)
        if self.creates:
            count = await owners.creation.partitions(name, create=True)
            if not count:
                return await handler(await owners.access.create(name))
            names = await owners.access.partitions(name)
        elif await owners.resources.partitions(name):
            names = await owners.partitions(name)
        else:
            return await handler(await owners.access.open(name))
        return self.merge(request, await owners.ask_all(names, partial(of_partition, request)))


@dataclass(frozen=True, slots=True)
class OfPartitionsMoving(OfPartitions):
    """As OfPartitions; while the bundle of a topic is on its way ``moving`` answers instead.

    It is given what happens to the bundle, and what helps.
    """

    moving: Callable[[Request, str, str], Reply] = field(kw_only=True)

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        name = arguments.topic(request)
        if not await owners.resources.partitions(name):
            bundle = await owners.resources.bundle(name)
            own, to = owners.ownership.own.name, await owners.ownership.handed_to(bundle)
            next_one = "the broker that is asked for it next" if to is None else to.name
            if owners.ownership.gives_up(bundle):
                said = f"The broker {own} unloads the bundle {bundle}; then {next_one} serves it"
                return self.moving(request, said, f"look at the log of {own} if it lasts")
            if to is not None and await owners.ownership.owner(bundle) is None:
                said = f"Nobody serves the bundle {bundle}, which waits for the broker {to.name}"
                return self.moving(request, said, f"does {to.name} run? after 10 s any takes it")
        return await OfPartitions.answer(self, owners, request, handler)


@dataclass(frozen=True, slots=True)
class ByPartitions:
    """A partitioned topic whose partitions are asked by another of their routes.

    ``rest`` is what follows their names. The handler is given what they answer.
    """

    method: str
    rest: str

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        names = await owners.partitions(arguments.topic(request))

        def asked(name: TopicName) -> Request:
            return replace(request, method=self.method, path=path_of(name) + self.rest)

        return await handler(await owners.ask_all(names, asked))


@dataclass(frozen=True, slots=True)
class OfBundle:
    """One bundle. ``unserved``: the handler is also given one that nobody serves.

    ``check`` raises Rejection for what is refused whatever the bundle is.
    """

    unserved: bool = False
    check: Callable[[Request], None] | None = None

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        if self.check is not None:
            self.check(request)
        namespace = arguments.namespace(request)
        bundles = (await owners.resources.require_namespace(namespace)).bundles
        named = request.segments["bundle"]
        if named in (LARGEST, HOT):
            bundle = await owners.most_of(namespace, bundles, named)
        else:
            bundle = bundles.named(named, namespace)
        owner = await owners.ownership.owner(bundle)
        if owner is None and not self.unserved:
            raise Rejection(412, f"Failed to find ownership for ServiceUnit:{bundle}")
        if owner is not None and owner is not owners.ownership.own:
            raise owners.ownership.elsewhere(bundle, owner)
        return await handler(bundle)


@dataclass(frozen=True, slots=True)
class OfBundles:
    """The bundles of a namespace: those that are served, or those that have persistent topics."""

    merge: Merge = done_by_all
    served: bool = False

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        template = request.route.replace("{namespace}", "{namespace}/{bundle}")

        def asked(bundle: Bundle) -> Request:
            return replace(request, path=_path(template, request.segments, bundle=bundle.range))

        return self.merge(request, await self.ask(owners, arguments.namespace(request), asked))

    async def ask(
        self, owners: Owners, namespace: NamespaceName, request: Callable[[Bundle], Request]
    ) -> Answers:
        """What the owners of the bundles answer. Raises NamespaceNotFound."""
        bundles = (await owners.resources.require_namespace(namespace)).bundles
        if self.served:
            chosen = [
                each
                for each in bundles.of(namespace)
                if await owners.ownership.owner(each) is not None
            ]
        else:
            topics = await owners.resources.topics(namespace, PERSISTENT)
            chosen = sorted({bundles.bundle_of(name) for name in topics})
        return await owners.ask_all(chosen, request)


@dataclass(frozen=True, slots=True)
class OfBroker:
    """A broker of the cluster."""

    async def answer(self, owners: Owners, request: Request, handler: Handler) -> Reply:
        named = request.segments["broker"]
        broker = await owners.brokers.get(unquote(named))
        if broker is None:
            raise NotFound(f"Broker id '{named}' not found in available brokers.")
        if broker != owners.brokers.own:
            raise owners.ownership.elsewhere(named, broker)
        return await handler()


def of_partition(request: Request, name: TopicName) -> Request:
    """The same request about a partition."""
    local = quote(name.local, safe="")
    return replace(request, path=_path(request.route, request.segments, topic=local))


def _path(template: str, segments: Mapping[str, str], **others: str) -> str:
    """The path that the path of a route stands for."""
    found = {**segments, **others}
    return re.sub(r"\{(\w+)\}", lambda name: found[name[1]], template)
