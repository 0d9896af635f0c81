"""Encrypted messages between the official client and ours, in both directions."""

import pulsar
import pytest
from compatibility.conftest import receive_all
from support.keys import write_keys

from magnetar import Client, CompressionType, FileKeyReader, InitialPosition

pytestmark = pytest.mark.compatibility

BIG = bytes(range(256)) * (12 << 12)  # 12 MiB
COMPRESSED = pytest.mark.parametrize("compression", ["NONE", "ZSTD"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    write_keys(folder, "key")
    return folder


@pytest.fixture(scope="module")
def keys(folder):
    """The same keys, for our client and for the official one."""
    public, private = folder / "key.public.pem", folder / "key.private.pem"
    return FileKeyReader(public=public, private=private), pulsar.CryptoKeyReader(
        str(public), str(private)
    )


@COMPRESSED
async def test_they_read_what_we_encrypt(magnetar_broker, official, topic, keys, compression):
    ours, theirs = keys
    consumer = official.subscribe(topic, "s", crypto_key_reader=theirs)
    async with Client(magnetar_broker.service_url) as client:
        options = {"encryption_keys": ["key"], "crypto_key_reader": ours}
        options["compression"] = CompressionType[compression]
        batches = await client.create_producer(topic, **options)
        await batches.send_many([b"%d" % number for number in range(100)])
        await batches.send(b"details", key="k", properties={"a": "b"})
        chunks = await client.create_producer(topic, chunking=True, batching=False, **options)
        await chunks.send(BIG)
    messages = receive_all(consumer, 102)
    assert [message.data() for message in messages[:100]] == [b"%d" % n for n in range(100)]
    assert (messages[100].partition_key(), messages[100].properties()) == ("k", {"a": "b"})
    assert messages[101].data() == BIG
    context = messages[0].encryption_context()
    [key] = context.keys()
    assert key.key == "key"
    assert not context.is_decryption_failed()
    reader = official.create_reader(topic, pulsar.MessageId.earliest, crypto_key_reader=theirs)
    assert reader.read_next(20_000).data() == b"0"


@COMPRESSED
async def test_we_read_what_they_encrypt(magnetar_broker, official, topic, keys, compression):
    ours, theirs = keys
    options = {"encryption_key": "key", "crypto_key_reader": theirs}
    options["compression_type"] = getattr(pulsar.CompressionType, compression)
    batches = official.create_producer(topic, batching_enabled=True, **options)
    for number in range(100):
        batches.send_async(b"%d" % number, lambda *_: None)
    batches.flush()
    chunks = official.create_producer(topic, chunking_enabled=True, **options)
    chunks.send(BIG, partition_key="k")
    async with Client(magnetar_broker.service_url) as client:
        consumer = await client.subscribe(
            topic, "s", initial_position=InitialPosition.EARLIEST, crypto_key_reader=ours
        )
        messages = [await consumer.receive(20) for _ in range(101)]
        assert [message.data for message in messages[:100]] == [b"%d" % n for n in range(100)]
        assert (messages[100].data, messages[100].key) == (BIG, "k")
        reader = await client.create_reader(topic, crypto_key_reader=ours)
        assert (await reader.receive(20)).data == b"0"
