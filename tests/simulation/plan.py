"""What one seed means: how large the cluster is, what is done in it, and what goes wrong when.

A plan is drawn whole before anything runs, so that it can be made smaller, and run again.
"""

from dataclasses import dataclass, field, replace
from random import Random

from magnetar.model.subscriptions import SubscriptionType

LENGTH_S = 60.0
"""About so long faults come, in simulated time."""

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
TRANSACTION_S = 20.0
"""Who ends a transaction later than that finds it aborted."""

QUORUMS = [(1, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 2), (3, 2, 1)]


@dataclass(frozen=True)
class Fault:
    """Something goes wrong, and is well again after ``for_s``."""

    at: float
    kind: str
    who: str
    whom: str = ""
    for_s: float = 0.0
    number: int = 0

    def __str__(self):
        return f"{self.at:8.3f} {self.kind} {self.who} {self.whom} {self.for_s:.3f} {self.number}"


@dataclass(frozen=True)
class Producing:
    """A client that publishes numbers."""

    name: str
    topic: str
    messages: int
    pause_s: float
    batching: bool
    size: int
    keys: int
    dies_at: tuple[int, ...] = ()  # Numbers before which it is killed, and comes back.
    again: bool = False  # It sends again what was not answered, and is deduplicated.
    transactions: int = 0  # So many messages in each; 0: none.
    chunked: bool = False  # Each message goes in several entries.
    late_s: float = 0.0  # Some are to be delivered up to so much later.

    @property
    def by_key(self):
        """Whether its batches have one key each.

        They are not stored by rising sequence ids, so who begins again with the first that was not
        answered could have it taken for a duplicate (docs/client/producing.md).
        """
        return self.batching and self.keys > 0 and not (self.again and self.dies_at)


@dataclass(frozen=True)
class Subscribing:
    """Clients that consume by one subscription."""

    name: str
    topic: str
    type: SubscriptionType
    consumers: int
    refused: float  # How often a message is refused, and comes again.
    forgotten: float  # How often one is neither acknowledged nor refused.
    cumulative: bool
    lives_s: float  # About so long a consumer is there; then it leaves, or is killed.
    queue: int
    work_s: float = 0.0  # About so long it works on each message.
    indexes: bool = False  # Single messages of batches are acknowledged.
    redeliveries_max: int = 0  # What comes more often goes to a topic of its own; 0: nothing does.
    in_transactions: bool = False  # Some are acknowledged in transactions, some of these aborted.

    @property
    def dead_letters(self):
        """The topic of what came too often."""
        return f"{self.topic}-{self.name}-dead"


@dataclass(frozen=True)
class Plan:
    """Everything that follows from a seed but chance while it runs."""

    seed: int
    brokers: int
    bookies: int
    settings: dict[str, object]
    partitions: dict[str, int]  # Of each topic; 0: it has none.
    producing: tuple[Producing, ...]
    subscribing: tuple[Subscribing, ...]
    faults: tuple[Fault, ...]
    torn: float = 0.0
    latency_s: tuple[float, float] = (0.0001, 0.001)
    lag_s: float = 0.0
    lost_answers: float = 0.0
    keep_alive_s: float = 10.0  # Of clients.
    seeking: tuple[str, ...] = ()  # Topics that are read to and fro.
    rates: dict[str, float] = field(default_factory=dict)  # Of clocks, by process.

    @property
    def alone(self):
        """Whether it is a broker without a cluster, with a log of its own."""
        return not self.bookies

    @property
    def retained(self):
        """Whether what is acknowledged stays stored."""
        return self.settings["defaultRetentionTimeInMinutes"] != 0

    @property
    def compacted(self):
        """Whether topics are compacted."""
        return "brokerServiceCompactionThresholdInBytes" in self.settings

    @property
    def clocks_agree(self):
        """Whether all processes have about the same date."""
        return not self.rates and not any(each.kind == "jump" for each in self.faults)

    @property
    def ended_s(self):
        """So long after the last was published, every transaction has ended."""
        jumps = [each.number for each in self.faults if each.kind == "jump" and each.number > 0]
        ahead_s = sum(jumps) / 1000 if self.settings["transactionCoordinatorEnabled"] else 0.0
        return TRANSACTION_S + ahead_s + 10.0

    def shown(self):
        """The plan as text."""
        lines = [
            f"seed {self.seed}: {self.brokers} brokers, {self.bookies} bookies",
            f"settings {self.settings}",
            f"network {self.latency_s} torn {self.torn:.2f}, clocks {self.rates}",
            f"metadata: lag {self.lag_s:.3f}, lost answers {self.lost_answers:.3f}",
            f"topics {self.partitions}",
            *map(str, self.producing),
            *map(str, self.subscribing),
            *map(str, self.faults),
        ]
        return "\n".join(lines)


def draw(seed):
    """The plan of a seed."""
    random = Random(f"plan {seed}")
    ensemble, write, ack = random.choice(QUORUMS)
    bookies = ensemble + random.choice([0, 1, 1, 2])
    brokers = random.choice([1, 2, 3, 3])
    deduplicated = random.random() < 0.4
    transactions = random.random() < 0.3
    settings = {
        "managedLedgerDefaultEnsembleSize": ensemble,
        "managedLedgerDefaultWriteQuorum": write,
        "managedLedgerDefaultAckQuorum": ack,
        "brokerDeduplicationEnabled": deduplicated,
        "transactionCoordinatorEnabled": transactions,
        "defaultRetentionTimeInMinutes": -1,
        "defaultRetentionSizeInMB": -1,
    }
    if random.random() < 0.5:
        settings["managedLedgerMaxEntriesPerLedger"] = random.choice([5, 20, 50])
        settings["managedLedgerMinLedgerRolloverTimeMinutes"] = 0
        settings["retentionCheckIntervalInSeconds"] = random.choice([2, 5, 120])
        if random.random() < 0.4:
            settings |= _offload(random)
    if random.random() < 0.4:
        settings["acknowledgmentAtBatchIndexLevelEnabled"] = True
    if random.random() < 0.2:
        settings["brokerServiceCompactionThresholdInBytes"] = random.choice([300, 3_000])
        settings["brokerServiceCompactionMonitorIntervalInSeconds"] = random.choice([2, 10])
    if random.random() < 0.3:
        settings["maxMessageSize"] = 2_000
    partitions = {
        f"topic-{number}": random.choice([0, 0, 2, 3]) for number in range(random.choice([1, 2, 3]))
    }
    producing = tuple(
        _producing(random, f"producer-{number}", partitions, deduplicated, transactions)
        for number in range(random.choice([1, 2, 3, 4]))
    )
    subscribing = tuple(
        _subscribing(random, f"subscription-{number}", topic, settings)
        for topic in partitions
        for number in range(random.choice([1, 1, 2]))
    )
    names = [f"broker-{number}" for number in range(1, brokers + 1)]
    bookie_names = [f"bookie-{number}" for number in range(1, bookies + 1)]
    kinds = [kind for kind in FAULTS if random.random() < 0.4]
    storms = [random.uniform(5.0, LENGTH_S - 10.0) for _ in range(random.choice([0, 1, 2, 4]))]
    faults = [
        drawn_fault(random, random.choice(kinds), names, bookie_names, storms)
        for _ in range(random.choice([0, 4, 8, 16, 24]) if kinds else 0)
    ]
    if transactions:  # Who ends those that nobody ends goes by the clock of who began them.
        faults = [
            replace(each, number=MINUTE_MS) if abs(each.number) == HOUR_MS else each
            for each in faults
        ]
    faults += _further(seed, ack, (names, bookie_names), storms)
    retained = random.random() < 0.7
    if not retained:
        settings["defaultRetentionTimeInMinutes"] = settings["defaultRetentionSizeInMB"] = 0
    subscribing = tuple(
        replace(each, work_s=random.choice([0.0, 0.0, 0.2, 1.0])) for each in subscribing
    )
    producing = tuple(_with_features(random, each, settings) for each in producing)
    whole = [topic for topic, count in partitions.items() if not count and retained]
    return Plan(
        seed,
        brokers,
        bookies,
        settings,
        partitions,
        producing,
        subscribing,
        tuple(sorted(faults, key=lambda fault: fault.at)),
        torn=random.choice([0.0, 0.0, 0.3]),
        latency_s=random.choice([(0.0001, 0.001), (0.001, 0.02), (0.0001, 0.2)]),
        lag_s=random.choice([0.0, 0.0, 0.05, 0.5]),
        lost_answers=random.choice([0.0, 0.0, 0.02]),
        keep_alive_s=random.choice([5.0, 10.0, 30.0]),
        seeking=tuple(topic for topic in whole if random.random() < 0.4),
        rates={name: random.uniform(0.9, 1.1) for name in names if random.random() < 0.15},
    )


def _producing(random, name, topics, deduplicated, transactions):
    messages = random.choice([20, 60, 120])
    topic = random.choice(list(topics))
    named = deduplicated and random.random() < 0.7
    in_transactions = transactions and not named and random.random() < 0.6
    return Producing(
        name,
        topic,
        messages,
        LENGTH_S / messages * random.choice([0.1, 0.8, 0.8]),
        batching=random.random() < 0.5,
        size=random.choice([0, 0, 100, 5000]),
        # What is sent again must go to the partition that it went to before.
        keys=random.choice([3, 10] if named and topics[topic] else [0, 3, 10]),
        dies_at=tuple(
            sorted(random.randrange(messages) for _ in range(random.choice([0, 0, 1, 2])))
        ),
        again=named,
        transactions=random.choice([1, 3, 5]) if in_transactions else 0,
    )


def _with_features(random, producing, settings):
    """Some of what a producer can do beside: what goes together with all else of it."""
    if "maxMessageSize" in settings:
        if producing.transactions or producing.batching:
            producing = replace(producing, size=min(producing.size, 100))
        else:
            producing = replace(producing, chunked=True)
    if not producing.transactions and not producing.again and random.random() < 0.2:
        producing = replace(producing, late_s=random.choice([2.0, 10.0]))
    return producing


def _subscribing(random, name, topic, settings):
    kind = random.choice(list(SubscriptionType))
    indexes = "acknowledgmentAtBatchIndexLevelEnabled" in settings
    transactions = settings["transactionCoordinatorEnabled"]
    return Subscribing(
        name,
        topic,
        kind,
        consumers=1 if kind is SubscriptionType.EXCLUSIVE else random.choice([1, 2, 3]),
        refused=random.choice([0.0, 0.0, 0.1]),
        forgotten=random.choice([0.0, 0.0, 0.05]),
        cumulative=kind.single_active and random.random() < 0.3,
        lives_s=random.choice([1000.0, 1000.0, 20.0, 5.0]),
        queue=random.choice([1, 10, 1000]),
        indexes=indexes and random.random() < 0.7,
        redeliveries_max=0 if kind.single_active else random.choice([0, 0, 1, 3]),
        in_transactions=transactions and random.random() < 0.5,
    )


def _offload(random):
    return {
        "managedLedgerOffloadDriver": "filesystem",
        "fileSystemURI": "file:///bucket",
        "managedLedgerOffloadAutoTriggerSizeThresholdBytes": random.choice([0, 2_000]),
        "managedLedgerOffloadDeletionLagMs": random.choice([0, 0, 5_000]),
        "managedLedgerDataReadPriority": random.choice(
            ["tiered-storage-first", "bookkeeper-first"]
        ),
    }


FAULTS = [
    *("kill broker", "power broker", "pause broker", "stop broker", "expire"),
    *(
        "kill bookie",
        "power bookie",
        "pause bookie",
        "sick bookie",
        "mute bookie",
        "readonly bookie",
    ),
    *("kill zookeeper", "pause zookeeper"),
    *("cut", "cut one way", "reset", "slow"),
    *("unload", "transfer", "split", "policy", "jump", "flip"),
    *("duel", "alone", "blackout", "bucket"),
]
FURTHER = ("full bookie", "late bookie", "torn bookie", "apart")
"""Those that came later: drawn by themselves, so that a seed without them is as it was."""


def _further(seed, ack, servers, storms):
    """What bookies' disks do beside, in some seeds."""
    random = Random(f"further {seed}")
    if random.random() < 0.6:
        return []
    kinds = [kind for kind in FURTHER if random.random() < 0.6]
    if ack == 1:  # What is torn at one bookie may have been answered, for all that others know.
        kinds = [kind for kind in kinds if kind != "torn bookie"]
    count = random.choice([1, 2, 4, 8]) if kinds else 0
    faults = [drawn_fault(random, random.choice(kinds), *servers, storms) for _ in range(count)]
    return [
        replace(each, for_s=each.for_s + 20.0) if each.kind in {"late bookie", "apart"} else each
        for each in faults
    ]


def drawn_fault(random, kind, brokers, bookies, storms):
    """Where there are storms, all comes in them, one soon after the other."""
    at = random.choice(storms) + random.uniform(0, 3.0) if storms else random.uniform(0.5, LENGTH_S)
    for_s = random.uniform(*random.choice([(0.1, 3.0), (3.0, 10.0), (10.0, 20.0), (20.0, 40.0)]))
    number = random.choice([0, 0, random.randrange(1, 400)])
    who, bookie, whom = random.choice(brokers), random.choice(bookies), ""
    if kind in {"cut", "cut one way", "reset", "slow"}:
        whom = random.choice([each for each in [*brokers, *bookies, "zookeeper"] if each != who])
    elif kind in {"flip", "torn bookie"}:
        who = bookies[0]  # Of any other a good copy is needed.
    elif "bookie" in kind:
        who = bookie
    elif "zookeeper" in kind:
        who = "zookeeper"
    elif kind == "transfer":
        whom = random.choice(brokers)
    elif kind in {"duel", "alone"}:
        number = random.randrange(1000)
    elif kind == "jump":
        number = random.choice([-HOUR_MS, MINUTE_MS, HOUR_MS])
    return Fault(at, kind, who, whom, for_s, number)
