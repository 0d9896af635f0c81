"""Publishes the chunks of messages in any order, as several producers at once may."""

import asyncio
from itertools import count
from urllib.parse import urlsplit

from support.network import WireConnection

from magnetar.message.entry import checksum, join
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import requests

PUBLISHED_MS = 1
NAMES = count()


def publish(service_url, topic, words, **options):
    """For tests that run on no event loop: publish, and disconnect."""

    async def once():
        publisher = await Publisher.open(service_url, topic)
        await publisher.publish(*words, **options)
        await publisher.close()

    asyncio.run(once())


class Publisher:
    """Publishes entries in any order: ``m1/3`` is the second of three chunks of message m."""

    @classmethod
    async def open(cls, service_url, topic):
        made = cls()
        at = urlsplit(service_url)
        made._wire = await WireConnection.open(at.hostname, at.port)
        made._wire.send(requests.connect("test", 21))
        await made._wire.receive()  # A broker that checks credentials takes nothing before.
        made._wire.send(requests.lookup(0, topic))
        await made._wire.receive()  # It has the topic's bundle taken, without which none opens.
        made._name = f"p{next(NAMES)}"
        made._wire.send(requests.producer(1, 1, topic, name=made._name))
        made._sequence = count()
        await made._wire.receive()
        return made

    async def publish(self, *words, publish_time_ms=PUBLISHED_MS, **fields):
        """``fields`` are more of their metadata."""
        for word in words:
            await self._publish(word, publish_time_ms, fields)

    async def close(self):
        self._wire.close()
        await self._wire.receive_end()

    async def _publish(self, word, publish_time_ms, more):
        name, _, of = word.partition("/")
        fields = dict(more)
        if of:
            uuid, index = name[:-1], int(name[-1])
            fields |= {
                "uuid": uuid,
                "chunk_id": index,
                "num_chunks_from_msg": int(of),
                "total_chunk_msg_size": len(name) * int(of),
            }
        sequence_id = next(self._sequence)
        metadata = pb.MessageMetadata(
            producer_name=self._name,
            sequence_id=sequence_id,
            publish_time=publish_time_ms,
            **fields,
        )
        entry = join(metadata.SerializeToString(), name.encode())
        pieces = requests.send(1, sequence_id, entry, checksum(entry), is_chunk=bool(of))
        self._wire.send(b"".join(pieces))
        await self._wire.receive()
