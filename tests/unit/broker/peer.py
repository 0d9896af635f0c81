"""A client's side of a connection: commands go in as fields, answers come out as protobuf."""

from typing import Any, Self

import google_crc32c
from support.network import WireConnection

from magnetar.proto import PulsarApi_pb2 as pb

TOPIC = "persistent://public/default/t"


def command(field: str, **values: Any) -> bytes:
    """The frame of a command, by the name of its field in BaseCommand."""
    number = pb.BaseCommand.DESCRIPTOR.fields_by_name[field].number
    base = pb.BaseCommand(type=number)
    inner = getattr(base, field)
    inner.SetInParent()
    for name, value in values.items():
        if isinstance(value, list):
            getattr(inner, name).extend(value)
        elif hasattr(value, "SerializeToString"):
            getattr(inner, name).CopyFrom(value)
        else:
            setattr(inner, name, value)
    return framed(base.SerializeToString())


def framed(body: bytes, rest: bytes = b"") -> bytes:
    inner = len(body).to_bytes(4, "big") + body + rest
    return len(inner).to_bytes(4, "big") + inner


def entry(payload: bytes, sequence_id: int = 0, publish_time: int = 1, **fields: Any) -> bytes:
    metadata = pb.MessageMetadata(
        producer_name="p", sequence_id=sequence_id, publish_time=publish_time, **fields
    ).SerializeToString()
    return len(metadata).to_bytes(4, "big") + metadata + payload


def send(
    producer_id: int,
    sequence_id: int,
    payload: bytes,
    *,
    damaged: bool = False,
    deliver_at: int | None = None,
    transaction: int | None = None,
    **values: Any,
) -> bytes:
    named = {}
    if transaction is not None:
        named = {"txnid_most_bits": 0, "txnid_least_bits": transaction}
    base = pb.BaseCommand(
        type=pb.BaseCommand.SEND,
        send=pb.CommandSend(producer_id=producer_id, sequence_id=sequence_id, **named, **values),
    )
    stored = entry(payload, sequence_id, deliver_at_time=deliver_at, **named)
    checksum = google_crc32c.value(stored) ^ (1 if damaged else 0)
    return framed(base.SerializeToString(), b"\x0e\x01" + checksum.to_bytes(4, "big") + stored)


def parsed(frame: bytes) -> pb.BaseCommand:
    return pb.BaseCommand.FromString(frame[8 : 8 + int.from_bytes(frame[4:8], "big")])


class Peer:
    """A connection, by default one that has said CONNECT."""

    def __init__(self, wire: WireConnection) -> None:
        self.wire = wire

    @classmethod
    async def open(cls, port: int, *, protocol_version: int | None = 21) -> Self:
        peer = cls(await WireConnection.open("127.0.0.1", port))
        if protocol_version is not None:
            answer = await peer.ask(
                "connect", client_version="test", protocol_version=protocol_version
            )
            assert answer.HasField("connected")
        return peer

    def tell(self, field: str, **values: Any) -> None:
        self.wire.send(command(field, **values))

    async def ask(self, field: str, **values: Any) -> pb.BaseCommand:
        self.tell(field, **values)
        return await self.hear()

    def answer_pings(self) -> None:
        """Answer each PING as it arrives, from now on, whatever else is done meanwhile."""
        self.wire.answers[command("ping")] = command("pong")

    async def hear(self, timeout_s: float = 5.0) -> pb.BaseCommand:
        frame = await self.wire.receive(timeout_s)
        assert frame is not None, "the broker closed the connection"
        return parsed(frame)

    async def hung_up_on(self) -> bool:
        """Whether the broker closes without another word."""
        return await self.wire.receive_end() == []

    async def nothing_more(self) -> None:
        """Nothing is on the way: a PING is answered before anything else."""
        answer = await self.ask("ping")
        assert answer.type == pb.BaseCommand.PONG, answer

    async def produce(self, producer_id: int = 1, topic: str = TOPIC, **values: Any) -> str:
        await self.ask("lookupTopic", topic=topic, request_id=900)
        answer = await self.ask(
            "producer", topic=topic, producer_id=producer_id, request_id=901, **values
        )
        assert answer.HasField("producer_success"), answer
        return answer.producer_success.producer_name

    async def consume(
        self,
        consumer_id: int = 1,
        topic: str = TOPIC,
        subscription: str = "s",
        permits: int = 0,
        **values: Any,
    ) -> None:
        await self.ask("lookupTopic", topic=topic, request_id=902)
        answer = await self.ask(
            "subscribe",
            topic=topic,
            subscription=subscription,
            consumer_id=consumer_id,
            request_id=903,
            **{"subType": pb.CommandSubscribe.Exclusive, **values},
        )
        assert answer.HasField("success"), answer
        if permits:
            self.tell("flow", consumer_id=consumer_id, messagePermits=permits)
