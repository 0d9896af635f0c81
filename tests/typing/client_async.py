"""What an application writes against the asyncio client. ``make check`` checks its types."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from magnetar import (
    EARLIEST_MESSAGE,
    Authentication,
    AuthenticationOAuth2,
    AuthenticationToken,
    AutoClusterFailover,
    Client,
    Consumer,
    ConsumerCryptoFailureAction,
    EncryptionContext,
    FileKeyReader,
    InitialPosition,
    KeySharedPolicy,
    Message,
    MessageId,
    OutgoingMessage,
    Producer,
    ProducerAccessMode,
    ProducerInterceptor,
    Reader,
    RegexSubscriptionMode,
    SubscriptionType,
    TableView,
    Transaction,
    TransactionState,
    TxnId,
)
from magnetar.client.tracing import ConsumerTracing, ProducerTracing
from magnetar.errors import (
    AlreadyClosed,
    CommitUnknown,
    MagnetarError,
    QueueFull,
    TimedOut,
    TransactionAborted,
)
from magnetar.schemas import StringSchema


async def send(client: Client) -> None:
    producer = await client.create_producer("orders", batch_delay_s=0.01)
    assert_type(producer, Producer)
    assert_type(await producer.send(b"one", key="k", properties={"a": "b"}), MessageId)
    assert_type(await producer.submit(OutgoingMessage(b"two", event_time_ms=1)), MessageId)
    producer.send_nowait(b"three", deliver_after_s=timedelta(hours=1))
    await producer.send_many([b"a"], key="k", deliver_at_ms=datetime.now(UTC))
    await producer.enqueue(b"%d" % number for number in range(10))
    for message_id in await producer.send_many([b"four", OutgoingMessage(b"five")]):
        assert_type(message_id, MessageId)
    await producer.flush()


async def read_process_write(client: Client, consumer: Consumer[bytes]) -> None:
    producer = await client.create_producer("results")
    async with client.transaction(timeout_s=30) as txn:
        assert_type(txn, Transaction)
        messages = await consumer.receive_many(100)
        assert_type(await producer.send(b"one", txn=txn, key="k"), MessageId)
        await producer.send_many([message.data for message in messages], txn=txn)
        await producer.enqueue([b"more"], txn=txn)
        consumer.acknowledge(messages, txn=txn)
        await consumer.acknowledge_cumulative(messages[-1], txn=txn)
    assert_type(txn.id, TxnId)
    assert txn.state is TransactionState.COMMITTED
    begun = await client.transaction()
    try:
        await begun.commit()
    except (TransactionAborted, CommitUnknown) as error:
        assert_type(error.__cause__, BaseException | None)
        await begun.abort()


class Stamp(ProducerInterceptor):
    def before_send(
        self, producer: Producer[Any], message: OutgoingMessage[Any]
    ) -> OutgoingMessage[Any]:
        return replace(message, properties={"by": producer.name})


def route(message: OutgoingMessage, partitions: int) -> int:
    return len(message.value) % partitions


async def produce(client: Client) -> None:
    tracing = ConsumerTracing()
    keys = FileKeyReader(public="{name}.pub", private="{name}.priv")
    producer = await client.create_producer(
        "orders",
        access_mode=ProducerAccessMode.WAIT_FOR_EXCLUSIVE,
        routing=route,
        block_if_queue_full=False,
        encryption_keys=["orders"],
        crypto_key_reader=keys,
        interceptors=[Stamp(), ProducerTracing()],
    )
    try:
        await producer.send(b"one")
    except QueueFull:
        await producer.ready()
    consumer = await client.subscribe(
        "orders",
        "billing",
        crypto_key_reader=keys,
        crypto_failure_action=ConsumerCryptoFailureAction.CONSUME,
        interceptors=[tracing],
    )
    message = await consumer.receive()
    with tracing.processing(message):
        assert_type(message.encryption_context, EncryptionContext | None)


async def make(client: Client) -> None:
    async with client.create_producer("orders") as producer:
        assert_type(producer, Producer)
        assert_type(await producer.send(bytearray(b"one")), MessageId)
        assert_type(await producer.send_many({b"two": 2, b"three": 3}), Sequence[MessageId])
    async with client.subscribe("orders", "billing") as consumer:
        assert_type(consumer, Consumer)
        assert_type(await anext(aiter(consumer)), Message)
    async with await client.create_reader("orders") as reader, asyncio.TaskGroup() as group:
        assert_type(reader, Reader)
        assert_type(group.create_task(client.subscribe("o", "b")), asyncio.Task[Consumer])
    both = await asyncio.gather(client.create_producer("a"), client.create_reader("b"))
    assert_type(both, tuple[Producer, Reader])
    try:
        await asyncio.wait_for(consumer.receive(), 1)
    except TimeoutError:
        await client.close()
    except AlreadyClosed as error:
        assert_type(error.retriable, bool)


async def listen(client: Client) -> None:
    async def listener(consumer: Consumer, message: Message) -> None:
        await consumer.acknowledge(message)

    async with client.subscribe("orders", "billing", listener=listener) as consumer:
        assert_type(consumer, Consumer)


async def receive(client: Client) -> None:
    consumer = await client.subscribe(
        ["orders", "invoices"],
        "billing",
        type=SubscriptionType.SHARED,
        initial_position=InitialPosition.EARLIEST,
    )
    assert_type(consumer, Consumer)
    try:
        message = await consumer.receive(timeout_s=1)
    except TimedOut as error:
        assert_type(error.retriable, bool)
        return
    assert_type(message, Message)
    assert_type(message.data, bytes)
    assert_type(message.key, str | None)
    consumer.acknowledge(message)
    assert_type(await consumer.acknowledge(message), None)
    await consumer.reconsume_later(message, 1.5, {"why": "later"})
    async for another in consumer:
        consumer.acknowledge([another, another.message_id])


async def receive_from_many(client: Client) -> None:
    policy = KeySharedPolicy(sticky_ranges=[(0, 99)])
    consumer = await client.subscribe(
        re.compile("persistent://public/default/a-.*"),
        "billing",
        type=SubscriptionType.KEY_SHARED,
        key_shared_policy=policy,
        regex_subscription_mode=RegexSubscriptionMode.ALL_TOPICS,
    )
    assert_type(consumer, Consumer)
    messages = await consumer.receive_many(10, 1.0, count_min=10, bytes_max=1 << 20)
    assert_type(messages, list[Message])
    reader = await client.create_reader(["a", "b"], await consumer.last_message_ids())
    await reader.seek_each(lambda topic: EARLIEST_MESSAGE if topic.endswith("a") else 0)


async def look_up(client: Client) -> None:
    async with client.create_table_view("prices") as prices:
        assert_type(prices, TableView[bytes])
        assert_type(prices.get("EUR"), bytes | None)
        assert_type(dict(prices), dict[str, bytes])
    rates = await client.create_table_view("rates", schema=StringSchema())
    assert_type(rates["EUR"], str)
    rates.listen(lambda key, value: print(key, value or "removed"))
    for key in rates:
        assert_type(key, str)


async def read() -> None:
    try:
        async with (
            Client("pulsar://localhost:6650") as client,
            client.create_reader("orders", EARLIEST_MESSAGE) as reader,
        ):
            assert_type(reader, Reader)
            async for message in reader:
                print(message.data)
    except MagnetarError as error:
        print(error)


class Signed:
    """A method of authentication of one's own."""

    method = "signed"

    async def data(self) -> bytes:
        return b"me"


def connect() -> list[Client]:
    login: Authentication = AuthenticationOAuth2("https://login.example", "/key.json", scope="a")
    return [
        Client("pulsar+ssl://h", authentication=login, tls_trust_certs_file="/ca.pem"),
        Client("pulsar://h", authentication=AuthenticationToken(lambda: "token")),
        Client("pulsar://h", authentication=Signed()),
        Client(AutoClusterFailover("pulsar://a", ["pulsar://b"], check_interval_s=1)),
        Client.from_env(listener_name="external"),
        Client.from_config("client.conf", operation_timeout_s=5),
    ]
