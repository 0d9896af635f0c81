"""Commands with any values in their fields, built through the descriptors of the protocol.

What the bytes of ``mutate.py`` hardly ever hit: commands that are well-formed, of every type, with
ids that exist and values that nobody expects. Some lack what is required, repeat it, have it in
another order, or say things nobody knows.
"""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from fuzz import corpus
from fuzz.mutate import NUMBERS, Mutator
from golden.frames import join, parse, split
from google.protobuf.message import DecodeError, Message

from magnetar.message.entry import checksum
from magnetar.model.varint import varint
from magnetar.proto import PulsarApi_pb2 as pb

IDS = 4  # Producers and consumers of a connection are 0 to 3,
STAY = 2  # and those below 2 are not closed by polite commands.
TOPICS = tuple(f"persistent://public/default/fuzz-{number}" for number in range(12))
SUBSCRIPTIONS = ("s-0", "s-1", "s-2", "s-3", "s-4", "s-5")
TEXTS = (
    "",
    "x",
    "/",
    "..",
    "../../etc/passwd",
    "%2F%00",
    "\0",
    "a\nb ERROR Traceback",
    "🜁" * 20,
    "x" * 300,
    "y" * 5000,
    "pulsar.repl.x",
    "public/default",
    "persistent://public/default/",
    "persistent://public/default/a/b/c",
    "non-persistent://public/default/fuzz",
    "persistent://public/nowhere/fuzz",
    "persistent://public/default/fuzz-0-partition-0",
    "persistent://public/default/fuzz-0-partition-2147483648",
    "persistent://public/default/fuzz-0-partition-" + "9" * 30,
    "persistent://public/default/fuzz-0-partition-" + "9" * 5000,
    "persistent://public/default/fuzz-0-partition--1",
    "persistent://public/default/.*",
    "public/default/fuzz-.*",
    "(a+)+$",
    "[",
    "a{1,99999}",
)
INTEGERS = {
    "TYPE_INT32": [*(n for n in NUMBERS if n < 1 << 31), -1, -2, -(1 << 31)],
    "TYPE_INT64": [*(n for n in NUMBERS if n < 1 << 63), -1, -2, -(1 << 63)],
    "TYPE_UINT32": [n for n in NUMBERS if n < 1 << 32],
    "TYPE_UINT64": NUMBERS,
}
CLOSING = {
    *(pb.BaseCommand.CLOSE_PRODUCER, pb.BaseCommand.CLOSE_CONSUMER),
    *(pb.BaseCommand.UNSUBSCRIBE, pb.BaseCommand.SEEK),
}
NEEDING = {pb.BaseCommand.SEND, pb.BaseCommand.CONSUMER_STATS}
RUDE = {pb.BaseCommand.CONNECT, pb.BaseCommand.AUTH_RESPONSE, pb.BaseCommand.SEND}
INTEGERS["TYPE_SINT32"] = INTEGERS["TYPE_INT32"]
INTEGERS["TYPE_SINT64"] = INTEGERS["TYPE_INT64"]
TYPE_NAMES = {
    number: name
    for name, number in vars(type(pb.BaseCommand.DESCRIPTOR.fields[0])).items()
    if name.startswith("TYPE_")
}
CLIENTS = (  # What reaches the handlers of a broker, the more often the more it does there.
    *["FLOW", "ACK", "ACK", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "SEEK", "SUBSCRIBE", "PRODUCER"],
    *["CLOSE_PRODUCER", "CLOSE_CONSUMER", "UNSUBSCRIBE", "GET_LAST_MESSAGE_ID", "CONSUMER_STATS"],
    *["LOOKUP", "PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "GET_SCHEMA", "PING"],
)


@cache
def _polite_recordings() -> tuple[bytes, ...]:
    """Recorded requests that do not end a connection by themselves."""
    found = ((frame, parse(frame)) for frame in corpus.recorded(">"))
    return tuple(frame for frame, command in found if command and command.type not in RUDE)


class Commands:
    """A source of commands for one connection."""

    def __init__(self, chance: Random, mutator: Mutator) -> None:
        self.chance = chance
        self._mutator = mutator
        self._requests = 100
        self._polite = False  # Nothing for which a broker hangs up at once.

    def polite(self) -> bytes:
        """A command of a client that a broker should answer and live with; mostly."""
        self._polite = True
        try:
            if self.chance.random() < 0.8:
                return self.any(CLIENTS)
            return self.altered(self.chance.choice(_polite_recordings()))
        finally:
            self._polite = False

    def any(self, kinds: Sequence[str] = ()) -> bytes:
        """A frame with a command of any type, or one of ``kinds``."""
        number = pb.BaseCommand.Type.Value(self.chance.choice(kinds or pb.BaseCommand.Type.keys()))
        command = pb.BaseCommand(type=number)
        self._fill(getattr(command, self._field(number)), depth=0)
        getattr(command, self._field(number)).SetInParent()
        if self._polite:
            self._point(number, getattr(command, self._field(number)))
        data = self._spoiled(command)
        if number in {pb.BaseCommand.SEND, pb.BaseCommand.MESSAGE}:
            return join(data, self.payload())
        return join(data, b"")

    def altered(self, frame: bytes) -> bytes:
        """The frame, with other values in a few fields of its command; sizes are right."""
        data, payload = split(frame)
        try:
            command = pb.BaseCommand.FromString(data)
        except DecodeError:
            return join(data, payload)
        number = command.type
        if number not in pb.BaseCommand.DESCRIPTOR.fields_by_number:
            return join(data, payload)
        inner = getattr(command, self._field(number))
        for _ in range(self.chance.randint(1, 3)):
            self._set(inner, self.chance.choice(inner.DESCRIPTOR.fields or [None]), depth=0)
        if self._polite:
            self._point(number, inner)
        if payload and self.chance.random() < 0.3:
            payload = self.payload()
        return join(self._spoiled(command), payload)

    def send(self, producer_id: int) -> bytes:
        """A SEND that will be stored, whatever its entry is."""
        command = pb.BaseCommand(type=pb.BaseCommand.SEND)
        command.send.producer_id = producer_id
        command.send.sequence_id = self.chance.choice(NUMBERS)
        if self.chance.random() < 0.3:
            self._set(command.send, self.chance.choice(command.send.DESCRIPTOR.fields), depth=0)
            command.send.producer_id = producer_id
        return join(command.SerializePartialToString(), self.payload(right=True))

    def payload(self, *, right: bool = False) -> bytes:
        """Checksum and entry; mostly with metadata that somebody changed in a field or two."""
        entry = self.entry()
        number = checksum(entry)
        if not right and self.chance.random() < 0.2:
            number ^= 1 << self.chance.randrange(32)
        head = b""
        if not right and self.chance.random() < 0.1:
            size = self.chance.choice((0, 3, 1 << 31, 0xFFFF_FFFF))
            head = b"\x0e\x02" + size.to_bytes(4) + self.chance.randbytes(3)
        return head + b"\x0e\x01" + number.to_bytes(4) + entry

    def entry(self) -> bytes:
        entry = self.chance.choice(corpus.entries()) or b"\0"
        way = self.chance.random()
        if way < 0.4:
            return entry
        if way < 0.6:
            return self._mutator.mutate(entry) or b"\0"
        start = 4 + int.from_bytes(entry[:4])
        try:
            metadata = pb.MessageMetadata.FromString(entry[4:start])
        except DecodeError:
            return entry
        for _ in range(self.chance.randint(1, 3)):
            self._set(metadata, self.chance.choice(metadata.DESCRIPTOR.fields), depth=0)
        data = self._spoiled(metadata)
        return len(data).to_bytes(4) + data + entry[start:]

    def _point(self, kind: int, inner: Message) -> None:
        """Make it mean somebody who may be closed, if it closes, and who is there, if it must."""
        for name in {"producer_id", "consumer_id"} & set(inner.DESCRIPTOR.fields_by_name):
            low, high = (STAY, IDS) if kind in CLOSING else (0, STAY if kind in NEEDING else IDS)
            setattr(inner, name, self.chance.randrange(low, high))

    def _field(self, number: int) -> str:
        name: str = pb.BaseCommand.DESCRIPTOR.fields_by_number[number].name
        return name

    # Messages of any type.

    def _fill(self, message: Message, depth: int) -> None:
        """All that is required, and some of what is not."""
        for field in message.DESCRIPTOR.fields:
            if field.is_required or self.chance.random() < (0.3 if depth < 2 else 0.1):
                self._set(message, field, depth)

    def _set(self, message: Message, field: Any, depth: int) -> None:
        if field is None:
            return
        message.ClearField(field.name)
        if field.is_repeated:
            count = self.chance.choice((0, 1, 1, 2, 3, 40)) if depth < 2 else 1
            for _ in range(count):
                if field.message_type is not None:
                    self._fill(getattr(message, field.name).add(), depth + 1)
                else:
                    getattr(message, field.name).append(self._value(field))
        elif field.message_type is not None:
            if depth > 4:
                return
            self._fill(getattr(message, field.name), depth + 1)
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, self._value(field))

    def _value(self, field: Any) -> Any:
        if field.enum_type is not None:
            return self.chance.choice(field.enum_type.values).number
        kind = TYPE_NAMES[field.type]
        if kind == "TYPE_STRING":
            return self._text(field.name)
        if kind == "TYPE_BYTES":
            return self.chance.choice((b"", b"\xff\0", self._mutator.garbage()))
        if kind == "TYPE_BOOL":
            return self.chance.random() < 0.5
        if kind in {"TYPE_DOUBLE", "TYPE_FLOAT"}:
            return self.chance.choice((0.0, -1.0, float("inf"), float("nan"), 1e300))
        return self._number(field.name, INTEGERS[kind])

    def _number(self, name: str, extremes: Sequence[int]) -> int:
        if name == "request_id":
            self._requests += 1
            return self._requests
        known = {"producer_id", "consumer_id"}
        if name in known and (self._polite or self.chance.random() < 0.9):
            return self.chance.randrange(IDS)
        if name in {"ledgerId", "entryId", "messagePermits"} and self.chance.random() < 0.6:
            return self.chance.randint(1, 60)
        return self.chance.choice(extremes)

    def _text(self, name: str) -> str:
        if self.chance.random() < 0.7:
            if name == "topic":
                return self.chance.choice(TOPICS)
            if "subscription" in name:
                return self.chance.choice(SUBSCRIPTIONS)
        if name == "namespace" and (self._polite or self.chance.random() < 0.7):
            return "public/default"
        return self.chance.choice(TEXTS)

    # What a serialiser would not write.

    def _spoiled(self, message: Message) -> bytes:
        """As bytes; now and then something is missing, out of order, double or unknown."""
        if self.chance.random() < 0.9:
            return message.SerializePartialToString()
        pieces = [self._alone(message, field) for field, _ in message.ListFields()]
        way = self.chance.randrange(1 if self._polite else 0, 4)
        if way == 0 and pieces:
            del pieces[self.chance.randrange(len(pieces))]
        elif way == 1:
            self.chance.shuffle(pieces)
        elif way == 2 and pieces:
            pieces.append(self.chance.choice(pieces))
        else:
            pieces.append(self._unknown())
        return b"".join(pieces)

    def _alone(self, message: Message, field: Any) -> bytes:
        other = type(message)()
        other.CopyFrom(message)
        for another, _ in message.ListFields():
            if another.number != field.number:
                other.ClearField(another.name)
        return other.SerializePartialToString()

    def _unknown(self) -> bytes:
        number = self.chance.choice((200, 1000, 1 << 20, (1 << 29) - 1))
        if self.chance.random() < 0.5:
            return varint(number << 3) + varint(self.chance.choice(NUMBERS))
        data = self._mutator.garbage()
        return varint(number << 3 | 2) + varint(len(data)) + data
