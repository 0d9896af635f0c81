"""Messages that only their receivers can read.

Time passes where nothing is to come: what a consumer holds back shows in nothing else.
"""

import asyncio
import zlib

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from support.admin import ask
from support.keys import write_keys

from magnetar import (
    CompressionType,
    ConsumerCryptoFailureAction,
    FileKeyReader,
    InitialPosition,
    ProducerCryptoFailureAction,
    SubscriptionType,
)
from magnetar.client.encryption.public_keys import decrypt_with
from magnetar.errors import CryptoFailed, TimedOut
from magnetar.message.batch import unpack

BIG = 12 << 20
EARLIEST = InitialPosition.EARLIEST


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    write_keys(folder, "orders", "audit")
    write_keys(folder, "curve", curve=True)
    return folder


@pytest.fixture(scope="module")
def reader(folder):
    return FileKeyReader(public=folder / "{name}.public.pem", private=folder / "{name}.private.pem")


async def received(consumer, count):
    messages = []
    while len(messages) < count:
        messages += await consumer.receive_many(count - len(messages), timeout_s=20)
        assert messages
    return messages


async def send_until_refused(producer):
    """A policy acts a little later, and nobody says when."""
    while True:
        await producer.send(b"1")


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize("name", ["orders", "curve"])
async def test_what_is_encrypted_is_read_by_who_has_the_key(client, topic, reader, name, batching):
    consumer = await client.subscribe(topic, "s", crypto_key_reader=reader)
    producer = await client.create_producer(
        topic,
        encryption_keys=[name],
        crypto_key_reader=reader,
        batching=batching,
        compression=CompressionType.LZ4,
    )
    payloads = [b"%d" % number * 20 for number in range(50)]
    ids = await producer.send_many(payloads)
    await producer.send(b"last", key="k", properties={"a": "b"})
    messages = await received(consumer, 51)
    assert [message.data for message in messages] == [*payloads, b"last"]
    assert [message.message_id for message in messages[:-1]] == list(ids)
    assert (messages[-1].key, messages[-1].properties) == ("k", {"a": "b"})
    context = messages[0].encryption_context
    assert context.decrypted
    assert [key.name for key in context.keys] == [name]


async def test_a_large_message_is_encrypted_chunk_by_chunk(client, topic, reader):
    consumer = await client.subscribe(topic, "s", crypto_key_reader=reader)
    producer = await client.create_producer(
        topic, encryption_keys=["orders"], crypto_key_reader=reader, chunking=True
    )
    payload = bytes(range(256)) * (BIG // 256)
    await producer.send(payload)
    message = await consumer.receive(20)
    assert message.data == payload
    assert len(message.delivery.chunks) == 3


async def test_each_of_several_receivers_has_a_key_of_its_own(client, topic, folder, reader):
    producer = await client.create_producer(
        topic, encryption_keys=["orders", "audit", "curve"], crypto_key_reader=reader
    )
    await producer.send_many([b"0", b"1"])
    for name in ("orders", "audit", "curve"):
        one = FileKeyReader(private=folder / f"{name}.private.pem")
        reader_of_one = await client.create_reader(topic, crypto_key_reader=one)
        assert [(await reader_of_one.receive(20)).data for _ in range(2)] == [b"0", b"1"]


async def test_what_cannot_be_read_is_held_back_until_it_can(client, topic, folder, reader):
    key = folder / "late.private.pem"
    late = FileKeyReader(private=key)
    consumer = await client.subscribe(
        topic, "s", crypto_key_reader=late, type=SubscriptionType.SHARED
    )
    producer = await client.create_producer(
        topic, encryption_keys=["orders"], crypto_key_reader=reader
    )
    clear = await client.create_producer(topic)
    await producer.send_many([b"0", b"1"])
    await clear.send(b"in clear")
    assert (await consumer.receive(20)).data == b"in clear"
    key.write_bytes((folder / "orders.private.pem").read_bytes())
    await consumer.redeliver_unacknowledged()
    data = {message.data for message in await received(consumer, 3)}
    assert data == {b"0", b"1", b"in clear"}


@pytest.mark.unmoved
@pytest.mark.parametrize("kind", [SubscriptionType.EXCLUSIVE, SubscriptionType.SHARED])
async def test_no_more_comes_than_may_be_held_back_and_all_comes_with_the_key(
    client, topic, folder, reader, kind
):
    key = folder / f"later-{kind.name}.private.pem"
    consumer = await client.subscribe(
        topic, "s", crypto_key_reader=FileKeyReader(private=key), type=kind, receiver_queue_size=4
    )
    producer = await client.create_producer(
        topic, encryption_keys=["orders"], crypto_key_reader=reader, batching=False
    )
    await producer.send_many([b"%d" % number for number in range(10)])
    await (await client.create_producer(topic)).send(b"in clear")
    with pytest.raises(TimedOut):
        await consumer.receive(timeout_s=0.2)
    key.write_bytes((folder / "orders.private.pem").read_bytes())
    await consumer.redeliver_unacknowledged()
    messages = await received(consumer, 11)
    consumer.acknowledge(messages)
    assert sorted(message.data for message in messages) == [
        *(b"%d" % number for number in range(10)),
        b"in clear",
    ]


async def test_what_is_held_back_comes_again_when_its_time_is_up(client, topic, folder, reader):
    key = folder / "in-time.private.pem"
    consumer = await client.subscribe(
        topic,
        "s",
        crypto_key_reader=FileKeyReader(private=key),
        type=SubscriptionType.SHARED,
        ack_timeout_s=0.2,
        ack_timeout_tick_s=0.1,
        receiver_queue_size=1,
    )
    producer = await client.create_producer(
        topic, encryption_keys=["orders"], crypto_key_reader=reader, batching=False
    )
    await producer.send_many([b"0", b"1"])
    with pytest.raises(TimedOut):
        await consumer.receive(timeout_s=0.1)
    key.write_bytes((folder / "orders.private.pem").read_bytes())
    messages = []
    while len(messages) < 2:
        messages.append(await consumer.receive(20))
        await consumer.acknowledge(messages[-1])
    assert {message.data for message in messages} == {b"0", b"1"}


async def test_no_cumulative_acknowledgement_takes_in_what_is_held_back(client, topic, reader):
    producer = await client.create_producer(
        topic, encryption_keys=["orders"], crypto_key_reader=reader
    )
    clear = await client.create_producer(topic)
    blind = await client.subscribe(topic, "s", initial_position=EARLIEST)
    await producer.send(b"secret")
    await clear.send(b"in clear")
    message = await blind.receive(20)
    assert message.data == b"in clear"
    blind.acknowledge_cumulative(message)
    await blind.close()
    seeing = await client.subscribe(topic, "s", crypto_key_reader=reader)
    assert (await seeing.receive(20)).data == b"secret"


async def test_what_cannot_be_read_may_be_discarded_or_taken_as_it_is(
    client, topic, folder, reader
):
    producer = await client.create_producer(
        topic,
        encryption_keys=["orders"],
        crypto_key_reader=reader,
        compression=CompressionType.ZLIB,
    )
    clear = await client.create_producer(topic)
    discards = await client.subscribe(
        topic, "d", crypto_failure_action=ConsumerCryptoFailureAction.DISCARD
    )
    consumes = await client.subscribe(
        topic, "c", crypto_failure_action=ConsumerCryptoFailureAction.CONSUME
    )
    await producer.send_many([b"0", b"1", b"2"])
    await clear.send(b"in clear")
    assert (await discards.receive(20)).data == b"in clear"
    raw = await consumes.receive(20)
    context = raw.encryption_context
    assert not context.decrypted
    assert (context.batch_size, context.compression) == (3, CompressionType.ZLIB)
    assert [key.name for key in context.keys] == ["orders"]
    assert raw.message_id.batch_index == -1
    data_key = decrypt_with((folder / "orders.private.pem").read_bytes(), context.keys[0].value)
    packed = zlib.decompress(AESGCM(data_key).decrypt(context.param, raw.data, None))
    assert unpack(packed, context.batch_size)[1] == [b"0", b"1", b"2"]
    consumes.acknowledge(raw)
    last = await consumes.receive(20)
    assert last.data == b"in clear"
    assert last.encryption_context is None


async def test_a_key_that_is_not_there_fails_the_producer_or_lets_it_send_in_clear(
    client, topic, folder, caplog
):
    none = FileKeyReader(public=folder / "nobody.public.pem")
    with pytest.raises(CryptoFailed, match=r"no public key of 'nobody'.*nobody\.public\.pem"):
        await client.create_producer(topic, encryption_keys=["nobody"], crypto_key_reader=none)
    producer = await client.create_producer(
        topic,
        encryption_keys=["nobody"],
        crypto_key_reader=none,
        crypto_failure_action=ProducerCryptoFailureAction.SEND,
    )
    assert "producer.sends_in_clear" in caplog.text
    consumer = await client.subscribe(topic, "s")
    await producer.send(b"in clear")
    assert (await consumer.receive(20)).encryption_context is None


async def test_a_topic_that_requires_encryption_says_so_at_once(broker, client, reader):
    namespace = "public/encrypted"
    ask(broker, "PUT", f"namespaces/{namespace}")
    ask(broker, "POST", f"namespaces/{namespace}/encryptionRequired", True)
    topic = f"persistent://{namespace}/t"
    with pytest.raises(CryptoFailed, match=r"Encryption is required.*encryption_keys"):
        await client.create_producer(topic)
    producer = await client.create_producer(
        topic, encryption_keys=["orders"], crypto_key_reader=reader
    )
    await producer.send(b"0")


async def test_a_topic_that_comes_to_require_encryption_refuses_what_is_not(broker, client):
    namespace = "public/encrypted-later"
    ask(broker, "PUT", f"namespaces/{namespace}")
    producer = await client.create_producer(f"persistent://{namespace}/t")
    await producer.send(b"0")
    ask(broker, "POST", f"namespaces/{namespace}/encryptionRequired", True)
    with pytest.raises(CryptoFailed, match="encrypt"):
        await asyncio.wait_for(send_until_refused(producer), 20)
