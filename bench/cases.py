"""What is measured: cases by name. Pure."""

from dataclasses import dataclass, replace
from typing import Any

from magnetar.model.subscriptions import SubscriptionType

KIB = 1024
ACKS = ("", "each", "list", "cumulative")


@dataclass(frozen=True, slots=True)
class Case:
    """One load. Closed loop: ``in_flight`` per connection. Open loop: ``rate`` entries a second."""

    name: str
    size: int = 100  # Bytes of an entry, or of each message of a batch: the middle of its sizes.
    vary: int = 30  # Sizes are drawn evenly from so many per cent below it to as many above it.
    batch: int = 1  # Messages per entry.
    connections: int = 1
    topics: int = 1  # At least one per connection, unless all share the one.
    producers: int = 1  # Of each topic on each connection; they send in turn.
    in_flight: int = 1000
    consumers: int = 0  # Of the first topic, each with a connection.
    kind: SubscriptionType = SubscriptionType.EXCLUSIVE  # Others share one subscription.
    acks: str = ""  # What consumers acknowledge: nothing, "each" alone, in a "list", "cumulative".
    keys: int = 0  # So many sticky keys, drawn evenly; 0 for none.
    properties: int = 0  # So many on each entry, with values of 8 to 24 characters.
    delayed: int = 0  # One of so many entries is delayed for longer than the case lasts.
    recorded: str = ""  # Sends of this recording (bench/recordings) instead of entries of our own.
    official: int = 0  # So many producers of the official Python client, which send by themselves.
    rate: int = 0
    seconds: float = 4.0
    warm_up_s: float = 1.0

    def __post_init__(self) -> None:
        if self.topics > 1 and self.topics % self.connections:
            raise ValueError(f"{self.name}: each connection needs as many topics as the others")
        if not 0 <= self.vary < 100:
            raise ValueError(f"{self.name}: sizes vary by 0 to 99 per cent, not {self.vary}")
        if self.consumers and self.topics > 1:
            raise ValueError(f"{self.name}: consumers need the one topic")
        if self.rate and self.connections > 1:
            raise ValueError(f"{self.name}: a rate is that of one connection")
        if self.acks not in ACKS or (self.kind is not SubscriptionType.EXCLUSIVE and not self.acks):
            raise ValueError(f"{self.name}: a shared subscription needs acks, one of {ACKS[1:]}")

    @property
    def topics_per_connection(self) -> int:
        return max(self.topics // self.connections, 1)

    @property
    def producers_per_connection(self) -> int:
        return self.topics_per_connection * self.producers

    @property
    def measures(self) -> str:
        """Which of its figures is compared: deliveries, messages or publishes."""
        if self.rate:
            return "latency"
        return "deliveries" if self.consumers else "messages"

    def lasting(self, seconds: float | None) -> "Case":
        return self if seconds is None else replace(self, seconds=seconds)


PUBLISH = [
    Case("publish 100 B"),
    Case("publish 1 KiB", size=KIB),
    Case("publish 64 KiB", size=64 * KIB, in_flight=200),
    Case("publish 100 B, 10,000 in flight", in_flight=10_000),
    Case("publish 1 KiB, 10,000 in flight", size=KIB, in_flight=10_000),
    Case("batches 1000 x 100 B", batch=1000, in_flight=50),
    Case("batches 120 x 1 KiB", size=KIB, batch=120, in_flight=50),
    Case("publish 100 B, all of one size", vary=0),
    Case("publish 1 KiB, all of one size", size=KIB, vary=0),
    Case(
        "publish 1 KiB, 10 producers, keys, properties", KIB, producers=10, keys=1000, properties=3
    ),
]
RECORDED = [
    Case(f"recorded from {client}'s client, 1 KiB", size=KIB, recorded=f"{client.lower()}-alone")
    for client in ("Python", "Java", "Go")
] + [
    Case(
        f"recorded from {client}'s client, batches",
        size=KIB,
        in_flight=50,
        recorded=f"{client.lower()}-batches",
    )
    for client in ("Python", "Java", "Go")
]
TOPICS = [
    Case("10 topics, 1000 in flight", size=KIB, connections=10, topics=10, in_flight=100),
    Case("100 topics, 1000 in flight", size=KIB, connections=100, topics=100, in_flight=10),
    Case("1000 topics, 1000 in flight", size=KIB, connections=100, topics=1000, in_flight=10),
    Case("1000 topics x 1 in flight, 1 KiB", size=KIB, connections=1000, topics=1000, in_flight=1),
    Case(
        "1000 topics x 1 on 10 connections, 1 KiB", KIB, connections=10, topics=1000, in_flight=100
    ),
    Case("1000 topics x 10 on 10 connections, 1 KiB", KIB, connections=10, topics=1000),
    Case("100 topics x 20 in flight, 100 B", connections=100, topics=100, in_flight=20),
    Case("100 topics x 20 in flight, 1 KiB", size=KIB, connections=100, topics=100, in_flight=20),
]
CONSUME = [
    Case("end to end 100 B", consumers=1),
    Case("end to end 1 KiB", size=KIB, consumers=1),
    Case("end to end, batches 1000 x 100 B", batch=1000, in_flight=50, consumers=1),
    Case("fan-out 10, 1 KiB", size=KIB, consumers=10),
    Case("fan-out 100, 1 KiB", size=KIB, consumers=100),
]
ACKNOWLEDGE = [
    Case("Exclusive, each acknowledged, 1 KiB", size=KIB, consumers=1, acks="each"),
    Case("Exclusive, acknowledged in lists, 1 KiB", size=KIB, consumers=1, acks="list"),
    Case("Exclusive, cumulative, 1 KiB", size=KIB, consumers=1, acks="cumulative"),
    *(
        Case(f"{kind.printed} 10, {how}, 1 KiB", KIB, consumers=10, kind=kind, acks=acks, keys=keys)
        for kind, keys in ((SubscriptionType.SHARED, 0), (SubscriptionType.KEY_SHARED, 1000))
        for how, acks in (("each acknowledged", "each"), ("acknowledged in lists", "list"))
    ),
]
DELAYED = [
    replace(case, name=f"{case.name}, one of 1000 delayed", delayed=1000)
    for case in ACKNOWLEDGE
    if case.kind is SubscriptionType.SHARED and case.acks == "list"
]
OFFICIAL = [Case("16 producers of the official client, 1 KiB", size=KIB, official=16)]
# What Apache Pulsar publishes for its releases, with its sizes: they do not vary.
RELEASE = [
    Case(
        "500 producers 128 B, 20 Key_Shared consumers",
        size=128,
        vary=0,
        connections=20,
        producers=25,
        in_flight=500,
        consumers=20,
        kind=SubscriptionType.KEY_SHARED,
        acks="each",
        keys=1000,
    ),
]
LATENCY = [
    Case("1,000/s, 1 KiB", size=KIB, rate=1000, consumers=1),
    Case("10,000/s, 1 KiB", size=KIB, rate=10_000, consumers=1),
]
_NUMBERS = (
    "size", "vary", "batch", "connections", "topics", "producers", "in_flight", "consumers",
    "keys", "properties", "rate",
)  # fmt: skip

ALL = [
    *PUBLISH,
    *RECORDED,
    *TOPICS,
    *CONSUME,
    *ACKNOWLEDGE,
    *DELAYED,
    *OFFICIAL,
    *RELEASE,
    *LATENCY,
]

# Where the question is what syncing costs.
SYNCED = [
    *PUBLISH[:3],
    *(case for case in TOPICS if case.name.startswith("100 topics x 20")),
    *LATENCY,
]


def named(names: list[str], among: list[Case] | None = None) -> list[Case]:
    """Cases whose names contain one of ``names``; all when there are none."""
    cases = ALL if among is None else among
    chosen = [case for case in cases if not names or any(name in case.name for name in names)]
    if not chosen:
        known = "; ".join(case.name for case in cases)
        raise ValueError(f"no case has {' or '.join(names)} in its name; there are: {known}")
    return chosen


def custom(text: str) -> Case:
    """A case of one's own, as in ``size=1024,in_flight=5000``; what is not named is as usual."""
    values: dict[str, Any] = {}  # Any: not all fields of a case are numbers, those named here are
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in _NUMBERS or not value.isdecimal():
            raise ValueError(f"{part!r}: say NAME=NUMBER, with one of {', '.join(_NUMBERS)}")
        values[name] = int(value)
    return Case(text, **values)
