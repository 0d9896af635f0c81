"""What the load consists of: flows by name. Pure.

Rates are fixed, and low enough that consumers always keep up: what is looked for is what hours do,
not what the peak is.
"""

from dataclasses import dataclass

from magnetar.model.subscriptions import SubscriptionType as Type

KIB = 1024
MIB = 1024 * KIB
NAMESPACE = "public/default"


@dataclass(frozen=True, slots=True)
class Flow:
    """Topics alike, each with one producer and one subscription at least."""

    name: str
    type: Type
    topics: int
    rate: float  # Messages a second, for each topic.
    sizes: tuple[int, ...]
    consumers: int = 1  # Of each topic's subscription.
    batching: bool = False
    chunking: bool = False
    lanes: int = 1  # Keys of a stream.
    partitions: int = 0
    refused_share: float = 0.0  # So many are negatively acknowledged, or asked for again.
    seeks: bool = False  # Back by some seconds, now and then.
    renewed: bool = False  # Consumers come and go.
    slow: bool = False  # One more consumer that takes a few a second.
    dying: bool = False  # One more, a process that takes, never acknowledges, and is killed.
    compressed: bool = False
    meddled: bool = False  # Something else is done to it every few seconds.
    lossy: bool = False  # Messages may go without being delivered.
    domain: str = "persistent"

    @property
    def ordered(self) -> bool:
        """Whether each stream arrives in order, with one lane or within each."""
        return self.type is not Type.SHARED and not self.partitions

    def topic(self, index: int) -> str:
        return f"{self.domain}://{NAMESPACE}/{self.name}-{index}"

    @property
    def all_topics(self) -> list[str]:
        return [self.topic(index) for index in range(self.topics)]


SMALL = (100, 300, KIB, 2 * KIB)
OFFICIAL = [
    Flow("single", Type.EXCLUSIVE, topics=10, rate=20, sizes=SMALL),
    Flow(
        "batches",
        Type.FAILOVER,
        topics=10,
        rate=50,
        sizes=(100,),
        consumers=2,
        batching=True,
        renewed=True,
    ),
    Flow(
        "shared",
        Type.SHARED,
        topics=8,
        rate=20,
        sizes=(100, KIB, 16 * KIB),
        consumers=3,
        refused_share=0.02,
        renewed=True,
        slow=True,
        dying=True,
    ),
    Flow(
        "shared-batches",
        Type.SHARED,
        topics=4,
        rate=50,
        sizes=(100, 200),
        consumers=2,
        batching=True,
        refused_share=0.01,
        compressed=True,
    ),
    Flow(
        "keys",
        Type.KEY_SHARED,
        topics=8,
        rate=20,
        sizes=SMALL,
        consumers=3,
        lanes=7,
        renewed=True,
    ),
    Flow("partitions", Type.SHARED, topics=2, rate=40, sizes=SMALL, consumers=2, partitions=4),
    Flow("large", Type.EXCLUSIVE, topics=4, rate=0.8, sizes=(64 * KIB, 256 * KIB, MIB)),
    Flow("seeking", Type.EXCLUSIVE, topics=4, rate=10, sizes=SMALL, seeks=True),
]
OURS = [
    # Pulsar's C++ client up to 3.x loses a chunked message of which chunks were sent twice, as they
    # are when a kill comes between them (apache/pulsar-client-cpp#587); so this is ours alone.
    Flow(
        "our-chunks", Type.EXCLUSIVE, topics=2, rate=0.07, sizes=(6 * MIB, 12 * MIB), chunking=True
    ),
    Flow(
        "our-batches",
        Type.EXCLUSIVE,
        topics=8,
        rate=100,
        sizes=(100, 400),
        batching=True,
        compressed=True,
    ),
    Flow("our-failover", Type.FAILOVER, topics=4, rate=20, sizes=SMALL, consumers=2, renewed=True),
    Flow(
        "our-shared",
        Type.SHARED,
        topics=4,
        rate=20,
        sizes=SMALL,
        consumers=2,
        refused_share=0.02,
        renewed=True,
    ),
    Flow(
        "our-keys",
        Type.KEY_SHARED,
        topics=4,
        rate=20,
        sizes=SMALL,
        consumers=3,
        lanes=5,
        renewed=True,
    ),
    Flow("our-seeking", Type.EXCLUSIVE, topics=2, rate=10, sizes=SMALL, seeks=True),
]
SUBSCRIPTION = "worker"
