"""The client: makes producers, consumers and readers, and closes what is still open at its end."""

import asyncio
import itertools
import os
import re
import secrets
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Self, Unpack

from magnetar.checks import (
    check_not_negative,
    check_number,
    check_positive,
    check_text,
    check_timeout,
)
from magnetar.clock import Clock, SystemClock
from magnetar.errors import AlreadyClosed, InvalidValue
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.position import EARLIEST, EARLIEST_MESSAGE, LATEST, LATEST_MESSAGE, MessageId
from magnetar.model.schemas import SchemaInfo
from magnetar.model.subscriptions import InitialPosition
from magnetar.schemas.schema import Schema, T, check_schema
from magnetar.tasks import Closing

from .config import ClientConfig, ClientOptions, ClientSettings
from .connections.backoff import Backoff
from .connections.cluster import Cluster
from .connections.coordinator import Coordinators
from .connections.failover_watch import watch_clusters
from .connections.lookup import Lookup
from .connections.pool import ConnectionPool
from .connections.provider_watch import watch_provider
from .consumers.config import ConsumerConfig, ConsumerOptions, ReaderOptions, TableViewOptions
from .consumers.consumer import Consumer
from .consumers.dead_letter_policy import PassedOn, dead_letter_rules
from .consumers.dead_letters import Channel, DeadLetterSetup
from .consumers.listening import check_listener
from .consumers.opening import made_up_name, open_receiver, start_of, start_on
from .consumers.reader import Reader
from .consumers.receiver import Receiver
from .consumers.table_view import TableView
from .consumers.topics_pattern import TopicsPattern
from .context import ClientContext
from .environment import read_conf, settings_in_environment
from .failover import AutoClusterFailover, ControlledClusterFailover, ServiceInfo, config_of
from .gather_all import close_all
from .leaving import added_to, time_to_close
from .memory_limit import MemoryLimit
from .message import Message
from .opening import opening
from .own_loop import enter_loop
from .producers.config import ProducerConfig, ProducerOptions
from .producers.opening import open_producer
from .producers.producer import Producer
from .transaction import Transaction

TRANSACTION_S_MAX: Final = 10_000_000.0
"""No transaction takes longer: it holds back all that is sent to its topics after it."""


class Client:
    """Talks to Pulsar brokers. Use it in one event loop only, best as ``async with Client(...)``.

    Nothing connects before it is needed. ``ClientConfig`` says what the keyword arguments mean.
    """

    def __init__(
        self,
        service_url: str | ServiceInfo | AutoClusterFailover | ControlledClusterFailover,
        *,
        clock: Clock | None = None,
        chance: Callable[[], float] | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """``service_url`` is ``pulsar://host[:6650][,host...]`` or ``pulsar+ssl://...``, for TLS.

        It may be the web service's, ``http[s]://...``, a cluster with what belongs to it, or
        several. Raises InvalidValue.
        ``clock``, and ``chance`` with its numbers in [0, 1), are for tests and simulations.
        """
        if isinstance(service_url, AutoClusterFailover | ControlledClusterFailover):
            configs = service_url.configs(options)
        elif isinstance(service_url, ServiceInfo):
            configs = [config_of(service_url, options)]
        else:
            configs = [ClientConfig(service_url=service_url, **options)]
        config = configs[0]
        clock = clock or SystemClock()
        chance = chance or secrets.SystemRandom().random
        backoff = partial(
            Backoff, chance, first_s=config.backoff_first_s, max_s=config.backoff_max_s
        )
        waited_for = not isinstance(service_url, str)
        make = partial(Cluster, backoff=backoff, chance=chance, reached=waited_for)
        clusters = [make(each) for each in configs]
        self._make_cluster, self._options = make, options
        self._pool = ConnectionPool(config, clusters[0], clock)
        if isinstance(service_url, AutoClusterFailover):
            self._pool.watched(partial(watch_clusters, service_url, clusters, self._pool, clock))
        elif isinstance(service_url, ControlledClusterFailover):
            watch = partial(watch_provider, service_url, options, self._pool, make, clock)
            self._pool.watched(watch)
        self._lookup = Lookup(config, self._pool, clock, backoff)
        self._context = ClientContext(
            config,
            self._lookup,
            clock,
            chance,
            itertools.count(),
            backoff,
            MemoryLimit(config.memory_limit_bytes) if config.memory_limit_bytes else None,
        )
        self._coordinators = Coordinators(
            self._lookup,
            backoff=backoff,
            clock=clock,
            chance=chance,
            timeout_s=config.operation_timeout_s,
        )
        self._open: dict[Producer[Any] | Receiver[Any] | Transaction, None] = {}
        self._closed = False
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None  # That of its first use.
        self._closing = Closing("client", self._close)

    @classmethod
    def from_env(cls, **options: Unpack[ClientOptions]) -> Self:
        """A client with the settings of the environment; keyword arguments go before them.

        PULSAR_SERVICE_URL, PULSAR_TOKEN, PULSAR_TLS_TRUST_CERTS_FILE and so on, over the file that
        PULSAR_CLIENT_CONF names. Raises InvalidValue.
        """
        settings: ClientSettings = {**settings_in_environment(os.environ), **options}
        return cls(**settings)

    @classmethod
    def from_config(cls, file: str, **options: Unpack[ClientOptions]) -> Self:
        """A client with the settings of a ``client.conf``; keyword arguments go before them.

        Raises InvalidValue.
        """
        settings: ClientSettings = {**read_conf(file), **options}
        return cls(**settings)

    @opening
    async def create_producer(
        self, topic: str, *, schema: Schema[T] | None = None, **options: Unpack[ProducerOptions]
    ) -> Producer[T]:
        """A producer for ``topic``; ``ProducerConfig`` says what the keyword arguments mean.

        It takes values of ``schema``, or bytes, and on a partitioned topic sends to all
        partitions. Raises InvalidName, InvalidValue, IncompatibleSchema when the topic does not
        take the schema, CryptoFailed for a key that cannot be had, ProducerFenced or ProducerBusy
        when another has the topic for itself, another error of the broker, or TimedOut when the
        broker did not let it in within the operation timeout, which does not end the waiting of
        WAIT_FOR_EXCLUSIVE.
        """
        config = ProducerConfig(**options)
        check_schema(schema)
        name = self._parse(topic)
        producer = await open_producer(self._context, name, config, self._forget, schema)
        self._open[producer] = None
        return producer

    @opening
    async def subscribe(
        self,
        topic: str | Sequence[str] | re.Pattern[str],
        subscription: str,
        *,
        schema: Schema[T] | None = None,
        listener: Callable[[Consumer[T], Message[T]], Awaitable[object]] | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> Consumer[T]:
        """A consumer of ``topic``, or of several; ``ConsumerConfig`` explains the arguments.

        A list takes in those of its topics that exist, or can be created, and the others when they
        appear. So does a pattern, such as ``re.compile("persistent://tenant/namespace/a-.*")``: it
        is matched with the full names of one namespace's topics, and what vanishes is left out.
        Topics that come later are received from their first message on.

        ``listener`` is called with the consumer and each message, one after the other; a message
        is logged and left unacknowledged when it raises, or with ``negative_ack_listener_errors``
        comes again. Do not receive yourself then.

        Messages have values of ``schema``, or bytes. Creates the subscription where it does
        not exist. Raises InvalidName, InvalidValue, IncompatibleSchema when a topic does not go
        with the schema, another error of the broker, or TimedOut when the broker did not let it
        in within the operation timeout.
        """
        config = ConsumerConfig(**options)
        check_schema(schema)
        check_listener(listener)
        check_text("subscription", subscription)
        topics: TopicName | list[TopicName] | TopicsPattern
        if isinstance(topic, re.Pattern):
            self._enter()
            topics = TopicsPattern.of(topic, config.regex_subscription_mode)
        elif isinstance(topic, Iterable) and not isinstance(topic, str):
            topics = self._parse_all(topic)
        else:
            topics = self._parse(topic)
        consumer: Consumer[T] = await open_receiver(
            self._context,
            Consumer,
            topics,
            subscription,
            config,
            closed=self._forget,
            schema=schema,
            start=start_of(config),
            letters=self._letters(config, topics, subscription),
        )
        self._open[consumer] = None
        if listener is not None:
            consumer._start_listening(partial(listener, consumer))
        return consumer

    @opening
    async def create_reader(
        self,
        topic: str | Sequence[str],
        start: MessageId | Mapping[int, MessageId] | Mapping[str, MessageId] = EARLIEST_MESSAGE,
        *,
        inclusive: bool = False,
        start_rollback_s: float | None = None,
        subscription: str | None = None,
        schema: Schema[T] | None = None,
        listener: Callable[[Reader[T], Message[T]], Awaitable[object]] | None = None,
        **options: Unpack[ReaderOptions],
    ) -> Reader[T]:
        """A reader of ``topic``, or of several, from ``start`` on: it keeps no place at the broker.

        The first message is the one after ``start``, or with ``inclusive`` that one itself;
        EARLIEST_MESSAGE and LATEST_MESSAGE are the ends of the topic, and LATEST_MESSAGE with
        ``inclusive`` begins with the last message there is. On a partitioned topic, or several,
        give one of the ends, or an id for each partition index or full name; those left out begin
        at the earliest. With ``start_rollback_s`` it begins with what was published in the last so
        many seconds, instead. ``subscription`` is shown in the stats. ``listener`` is as that of
        ``subscribe``. Raises as ``subscribe``.
        """
        config = ConsumerConfig(initial_position=InitialPosition.EARLIEST, **options)
        check_schema(schema)
        check_listener(listener)
        if start_rollback_s is not None:
            check_not_negative("start_rollback_s", start_rollback_s)
            if start != EARLIEST_MESSAGE:
                raise InvalidValue("start and start_rollback_s are both set: leave one out")
            start = LATEST_MESSAGE
        if subscription is not None:
            check_text("subscription", subscription)
        topics: TopicName | list[TopicName]
        if isinstance(topic, str):
            topics = self._parse(topic)
        else:
            topics = self._parse_all(topic)
            if isinstance(start, MessageId) and start.position not in (EARLIEST, LATEST):
                raise InvalidValue(f"{start} is a place on one topic: give a start for each name")
        reader: Reader[T] = await open_receiver(
            self._context,
            Reader,
            topics,
            subscription or f"reader-{made_up_name()}",
            config,
            closed=self._forget,
            schema=schema,
            start=start_on(start, inclusive=inclusive),
        )
        self._open[reader] = None
        try:
            if start_rollback_s is not None:
                now_ms = self._context.clock.wall_ms()
                await reader.seek_time(max(now_ms - round(start_rollback_s * 1000), 0))
            elif inclusive and start == LATEST_MESSAGE:
                await reader._seek_last()
        except BaseException:
            await reader.close()
            raise
        if listener is not None:
            reader._start_listening(partial(listener, reader))
        return reader

    @opening
    async def create_table_view(
        self,
        topic: str,
        *,
        subscription: str | None = None,
        schema: Schema[T] | None = None,
        **options: Unpack[TableViewOptions],
    ) -> TableView[T]:
        """A table view of ``topic``: the latest value of each key, with all that is there now.

        It is read compacted, and keeps no place at the broker. Values are those of ``schema``, or
        bytes. Raises as ``subscribe``.
        """
        kept = self._parse(topic).persistent
        reader = await self.create_reader(
            topic,
            subscription=subscription or f"table-view-{made_up_name()}",
            schema=schema,
            read_compacted=kept,
            **options,
        )
        table = TableView(reader, kept=kept)
        try:
            await table.refresh()
        except BaseException:
            await table.close()
            raise
        return table

    @opening
    async def transaction(self, timeout_s: float = 60.0) -> Transaction:
        """Begin a transaction, to be used as ``async with client.transaction() as txn``.

        What is sent and acknowledged with ``txn=txn`` happens when the block ends, all of it; when
        an exception leaves the block, or ``timeout_s`` seconds are over before, none of it. Raises
        NotAllowed where the brokers have no transactions, TimedOut, the broker's error.
        """
        self._enter()
        check_positive("timeout_s", timeout_s)
        check_number("timeout_s", timeout_s, most=TRANSACTION_S_MAX)
        coordinator = await self._coordinators.next()
        begun = self._context.clock.now()
        txn_id = await coordinator.begin(timeout_s)
        txn = Transaction(
            coordinator,
            txn_id,
            begun=begun,
            timeout_s=timeout_s,
            end_timeout_s=self._context.config.operation_timeout_s,
            clock=self._context.clock,
            closed=self._forget,
        )
        self._open[txn] = None
        return txn

    async def partitions(self, topic: str) -> int:
        """How many partitions ``topic`` has; 0 when it is not partitioned.

        Creates nothing. Raises TopicNotFound when it does not exist, InvalidName, TimedOut.
        """
        return await self._lookup.partitions(str(self._parse(topic)), auto_create=False)

    async def schema(self, topic: str, version: int | None = None) -> SchemaInfo:
        """The schema that ``topic`` has under a number, ``Message.schema_version``, or the latest.

        A partition has that of its topic. Raises SchemaNotFound, InvalidName, TimedOut.
        """
        self._enter()
        wanted = None if version is None else version.to_bytes(8)  # As brokers count them.
        return await self._lookup.schema(str(self._parse(topic)), wanted)

    async def topics(self, namespace: str) -> list[str]:
        """The full names of the persistent topics of ``tenant/namespace``, sorted.

        Partitions are listed one by one. Raises InvalidName, TimedOut, the broker's error.
        """
        self._enter()
        return await self._lookup.topics(str(NamespaceName.parse(namespace)))

    def go_over(self, cluster: ServiceInfo) -> None:
        """Use another cluster from now on: what the client has made comes along.

        Raises InvalidValue, AlreadyClosed.
        """
        self._enter()
        self._pool.use(self._make_cluster(config_of(cluster, self._options)))

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """Close what the client has made, then the connections. As ``Producer.close``."""
        self._loop = enter_loop(self._loop)
        check_timeout(timeout_s)
        return self._closing(time_to_close(timeout_s))

    def __repr__(self) -> str:
        return f"<Client of {self._context.config.service_url}>"

    def __del__(self) -> None:
        closing = getattr(self, "_closing", None)  # None when ``__init__`` has refused it.
        if closing is None or closing.begun or self._loop is None or self._pid != os.getpid():
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, stacklevel=2, source=self)

    async def _close(self, timeout_s: float | None) -> None:
        self._closed = True
        try:
            await close_all(each.close(timeout_s) for each in list(self._open))
            await self._coordinators.close()
        finally:
            await self._pool.close()

    async def __aenter__(self) -> Self:
        self._enter()
        return self

    async def __aexit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            await self.close()

    def _letters(
        self,
        config: ConsumerConfig,
        topics: TopicName | Sequence[TopicName] | TopicsPattern,
        subscription: str,
    ) -> DeadLetterSetup | None:
        """Return the rules of a consumer for dead letters and retries. Raises InvalidValue."""
        policy = config.dead_letter_policy
        names = [] if isinstance(topics, TopicsPattern) else topics
        names = [names] if isinstance(names, TopicName) else names
        rules = dead_letter_rules(policy, names, subscription, enable_retry=config.enable_retry)
        if rules is None:
            return None
        options = {} if policy is None else policy.producer_options
        producing = ProducerConfig(**{"batching": False, "chunking": True, **options})

        async def open_letters(channel: Channel, initial_subscription: str | None) -> Producer:
            config = replace(producing, initial_subscription=initial_subscription)
            schema = None
            if channel.schema_version is not None:
                found = await self._lookup.schema(channel.schema_topic, channel.schema_version)
                schema = PassedOn(found)
            return await open_producer(self._context, channel.topic, config, self._forget, schema)

        return DeadLetterSetup(rules, open_letters)

    def _enter(self) -> None:
        self._loop = enter_loop(self._loop)
        if self._closed:
            raise AlreadyClosed("the client is closed")

    def _parse_all(self, topics: Iterable[str]) -> list[TopicName]:
        """The topics of a list, each once."""
        names = list(dict.fromkeys(self._parse(each) for each in topics))
        if not names:
            raise InvalidValue("no topic to subscribe to")
        return names

    def _parse(self, topic: str) -> TopicName:
        self._enter()
        check_text("topic", topic)
        return TopicName.parse(topic)

    def _forget(self, closed: Producer[Any] | Receiver[Any] | Transaction) -> None:
        self._open.pop(closed, None)
