"""Clusters that replicate to each other: ``make simulate ARGS=--regions``.

Each has brokers, bookies and ZooKeeper of its own, whose names begin with its own. Beside what goes
wrong in each, the way from one to the other is cut, slow or reset. Who publishes and consumes is in
one of them, but for one who consumes by a replicated subscription, now here, now there.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random

from simulation.checks import (
    all_or_nothing,
    check_deliveries,
    check_leaks,
    check_records,
    stored_in_order,
)
from simulation.faults import NAMESPACE, Faults, operate
from simulation.history import History, number_of
from simulation.plan import (
    HOUR_MS,
    LENGTH_S,
    MINUTE_MS,
    QUORUMS,
    Fault,
    Plan,
    Producing,
    Subscribing,
)
from simulation.reading import READ_S, all_of, receive_left
from simulation.stored import cluster_named_in, topics_of
from simulation.workload import CLIENT, RETRY_S, Consumers, Publisher, subscribe

from magnetar.errors import MagnetarError
from magnetar.model.names import TopicName
from magnetar.model.records import ClusterData, TenantInfo
from magnetar.model.subscriptions import SubscriptionType
from magnetar.testing.simulation.cluster import SimulatedCluster
from magnetar.testing.simulation.processes import Process

NAMES = ("west", "east", "north")
MOVING = "moving"
SENT_S = 300.0
"""So long after all is well everything is everywhere."""
NEAR_S, STAYS_S = 0.02, 8.0
"""Who moves keeps up where answers come so soon, and where it stays for so long."""
REPEATED_S = 5.0
"""What was acknowledged so long ago comes no more in another cluster, where nothing goes wrong."""

INSIDE = (
    *("kill broker", "power broker", "pause broker", "stop broker", "expire"),
    *("kill bookie", "pause bookie", "kill zookeeper", "pause zookeeper"),
    *("cut", "cut one way", "reset", "slow", "unload", "transfer"),
)
"""Faults in one cluster."""
FURTHER = ("split", "policy", "jump")
"""Those that came later: drawn by themselves, so that what is drawn else stays as it was."""
BETWEEN = ("sever", "sever one way", "far", "disconnect")
"""Faults between two."""


@dataclass(frozen=True)
class RegionsPlan(Plan):
    """Brokers and bookies are those of each; producers and subscriptions are of where they say."""

    names: tuple[str, ...] = NAMES[:2]
    stays_s: float = 0.0  # Who moves is in each about so long.

    @property
    def deduplicated(self):
        return self.settings["brokerDeduplicationEnabled"]

    def within(self, name):
        """What of it is about one cluster alone."""
        prefix = f"{name}-"
        return replace(
            self,
            producing=tuple(each for each in self.producing if each.name.startswith(prefix)),
            subscribing=tuple(each for each in self.subscribing if each.name.startswith(prefix)),
            faults=tuple(each for each in self.faults if each.who.startswith(prefix)),
        )


def draw_regions(seed):
    """The plan of a seed."""
    random = Random(f"regions {seed}")
    names = NAMES if random.random() < 0.2 else NAMES[:2]
    ensemble, write, ack = random.choice(QUORUMS)
    brokers, bookies = random.choice([1, 2, 2]), ensemble + random.choice([0, 1])
    settings = {
        "managedLedgerDefaultEnsembleSize": ensemble,
        "managedLedgerDefaultWriteQuorum": write,
        "managedLedgerDefaultAckQuorum": ack,
        "brokerDeduplicationEnabled": random.random() < 0.6,
        "transactionCoordinatorEnabled": False,
        "defaultRetentionTimeInMinutes": -1,
        "defaultRetentionSizeInMB": -1,
        "replicationProducerQueueSize": random.choice([3, 50, 1000]),
    }
    if random.random() < 0.5:
        settings["managedLedgerMaxEntriesPerLedger"] = random.choice([5, 20, 50])
        settings["managedLedgerMinLedgerRolloverTimeMinutes"] = 0
        settings["retentionCheckIntervalInSeconds"] = random.choice([2, 5, 120])
    if random.random() < 0.3:
        settings["brokerDeduplicationEntriesInterval"] = random.choice([1, 10])
    partitions = {
        f"topic-{number}": random.choice([0, 0, 2]) for number in range(random.choice([1, 1, 2]))
    }
    producing = tuple(
        _producing(random, f"{name}-producer-{number}", partitions, settings)
        for name in names
        for number in range(random.choice([1, 1, 2]))
    )
    subscribing = tuple(
        _subscribing(random, f"{name}-subscription", topic)
        for name in names
        for topic in partitions
        if random.random() < 0.7
    )
    if random.random() < 0.6:
        topic = random.choice(list(partitions))
        moving = Subscribing(
            MOVING, topic, SubscriptionType.FAILOVER, 1, 0.0, 0.0, False, 1000.0, 100
        )
        subscribing += (replace(moving, work_s=random.choice([0.0, 0.0, 0.3])),)
    kinds = [kind for kind in (*INSIDE, *BETWEEN, *BETWEEN) if random.random() < 0.4]
    storms = [random.uniform(5.0, LENGTH_S - 10.0) for _ in range(random.choice([0, 1, 2, 4]))]
    count = random.choice([0, 4, 8, 16, 24]) if kinds else 0
    faults = [
        _fault(random, random.choice(kinds), names, (brokers, bookies), storms)
        for _ in range(count)
    ]
    further = Random(f"further in regions {seed}")
    faults += [
        _fault(further, further.choice(FURTHER), names, (brokers, bookies), storms)
        for _ in range(further.choice([0, 0, 1, 3, 6]))
    ]
    if further.random() < 0.3:
        settings["transactionCoordinatorEnabled"] = True
        producing = tuple(
            each if each.again else replace(each, transactions=further.choice([0, 1, 3, 5]))
            for each in producing
        )
        faults = [
            replace(each, number=MINUTE_MS) if abs(each.number) == HOUR_MS else each
            for each in faults
        ]
    return RegionsPlan(
        seed,
        brokers,
        bookies,
        settings,
        partitions,
        producing,
        subscribing,
        tuple(sorted(faults, key=lambda fault: fault.at)),
        torn=random.choice([0.0, 0.0, 0.3]),
        latency_s=random.choice([(0.0001, 0.001), (0.001, 0.02), (0.0001, 0.1)]),
        lag_s=random.choice([0.0, 0.0, 0.05]),
        keep_alive_s=random.choice([5.0, 10.0, 30.0]),
        names=names,
        stays_s=random.choice([3.0, 8.0, 20.0]),
    )


def _producing(random, name, topics, settings):
    messages = random.choice([20, 60, 120])
    topic = random.choice(list(topics))
    named = settings["brokerDeduplicationEnabled"] and random.random() < 0.7
    return Producing(
        name,
        topic,
        messages,
        LENGTH_S / messages * random.choice([0.1, 0.8, 0.8]),
        batching=random.random() < 0.5,
        size=random.choice([0, 0, 100, 5000]),
        keys=random.choice([3, 10] if named and topics[topic] else [0, 3, 10]),
        dies_at=tuple(sorted(random.randrange(messages) for _ in range(random.choice([0, 0, 1])))),
        again=named,
    )


def _subscribing(random, name, topic):
    kind = random.choice(list(SubscriptionType))
    return Subscribing(
        name,
        topic,
        kind,
        consumers=1 if kind is SubscriptionType.EXCLUSIVE else random.choice([1, 2]),
        refused=0.0,
        forgotten=0.0,
        cumulative=kind.single_active and random.random() < 0.5,
        lives_s=random.choice([10.0, 1000.0]),
        queue=random.choice([1, 10, 1000]),
    )


def _fault(random, kind, names, counts, storms):
    at = random.choice(storms) + random.uniform(0, 3.0) if storms else random.uniform(0.5, LENGTH_S)
    for_s = random.uniform(*random.choice([(0.1, 3.0), (3.0, 10.0), (10.0, 20.0), (20.0, 40.0)]))
    number = random.choice([0, 0, random.randrange(1, 400)])
    name = random.choice(names)
    if kind in BETWEEN:
        other = random.choice([each for each in names if each != name])
        return Fault(at, kind, name, other, for_s, number)
    brokers, bookies = (
        [f"{name}-{what}-{each}" for each in range(1, count + 1)]
        for what, count in zip(("broker", "bookie"), counts, strict=True)
    )
    zookeeper, who, whom = f"{name}-zookeeper", random.choice(brokers), ""
    if kind in {"cut", "cut one way", "reset", "slow"}:
        whom = random.choice([each for each in [*brokers, *bookies, zookeeper] if each != who])
    elif "bookie" in kind:
        who = random.choice(bookies)
    elif "zookeeper" in kind:
        who = zookeeper
    elif kind == "transfer":
        whom = random.choice(brokers)
    elif kind == "jump":
        number = random.choice([-HOUR_MS, MINUTE_MS, HOUR_MS])
    return Fault(at, kind, who, whom, for_s, number)


def made(plan):
    """The clusters of a plan, of which the first runs them all."""
    first = None
    for name in plan.names:
        cluster = SimulatedCluster(
            Random(f"cluster {name} {plan.seed}"),
            brokers=plan.brokers,
            bookies=plan.bookies,
            settings=plan.settings,
            name=name,
            beside=first,
        )
        cluster.seed = f"{name} {plan.seed}"
        first = first or cluster
    return first


async def carry_out(first, plan, history):
    """What happens in all clusters, from the beginning to the checks."""
    clusters = first.regions
    for cluster in clusters:
        await cluster.start()
        await Process("operator").run(_introduce(cluster, plan))
        cluster.ensemble.lag_s_max = plan.lag_s
    first.network.latency_s = plan.latency_s
    first.network.torn = plan.torn
    histories = [_beside(history, cluster, plan) for cluster in clusters]
    faults = [Faults(each.cluster, plan.within(each.cluster.name), each) for each in histories]
    for each in faults:
        each.schedule()
    between = Between(clusters, plan)
    publishers, consumers = [], []
    for each in histories:
        here = plan.within(each.cluster.name)
        publishers += [Publisher(one, each, each.cluster) for one in here.producing]
        consumers += [Consumers(one, each, each.cluster) for one in here.subscribing]
    moving = [each for each in plan.subscribing if each.name == MOVING]
    consumers += [Mover(each, history, clusters, plan.stays_s) for each in moving]
    for each in [*consumers, *publishers]:
        each.start()
    await first.sleep(LENGTH_S)
    history.note("world", "all is well from now on")
    between.end()
    for each in faults:
        each.end()
    if not await first.until(lambda: all(each.ended for each in publishers), SENT_S):
        waiting = [each.plan.name for each in publishers if not each.ended]
        history.find(f"not all is published in {SENT_S:g} s: {waiting}")
        return
    if plan.settings["transactionCoordinatorEnabled"]:
        await first.sleep(plan.ended_s)
    if not await first.until(lambda: not _unsent(clusters), SENT_S):
        history.find(f"not all is sent in {SENT_S:g} s: {_unsent(clusters)}")
        return
    well_s = first.loop.time()
    await first.sleep(2 * REPEATED_S)
    for each in consumers:
        each.stop()
    for each in histories:
        await _check_within(each, plan, moving, history, well_s)
    for each in moving:
        _check_moving(plan, each, history)


async def _introduce(cluster, plan):
    """As an operator does in each cluster, before anything goes wrong."""

    async def introduce(resources):
        for other in cluster.regions:
            if other is not cluster:
                data = ClusterData.of(f"http://{other.name}", other.service_url)
                await resources.create_cluster(other.name, data)
        names = list(plan.names)
        await resources.update_tenant(NAMESPACE.tenant, TenantInfo(allowed_clusters=names))
        clusters = {"replication_clusters": tuple(names)}
        await resources.change_policies(NAMESPACE, lambda _: clusters)
        for topic, partitions in plan.partitions.items():
            if partitions:
                await resources.create_partitioned_topic(TopicName.parse(topic), partitions)

    await operate(cluster, introduce)


def _beside(history, cluster, plan):
    """What happens in one cluster; what was published, and what is found, is known in all."""
    found = History(cluster, plan)
    found.sent, found.answered, found.findings = history.sent, history.answered, history.findings
    found.committed = history.committed
    return found


class Between:
    """Carries out what goes wrong between clusters."""

    def __init__(self, clusters, plan):
        self._clusters = {each.name: each for each in clusters}
        self._network = clusters[0].network
        for fault in plan.faults:
            if fault.who in self._clusters:
                clusters[0].loop.call_later(fault.at, self._begin, fault)

    def end(self):
        """Let all clusters reach each other."""
        self._network.mend()
        self._network.slow.clear()

    def _begin(self, fault):
        here, there = self._clusters[fault.who], self._clusters[fault.whom]
        links = [(one.name, other.name) for one in here.brokers for other in there.brokers]
        back = [link[::-1] for link in links]
        kind, _, how = fault.kind.partition(" ")
        here.note(fault.who, f"{fault.kind} {fault.whom} for {fault.for_s:.3f}")
        if kind == "sever":
            if not how:
                links += back
            for link in links:
                self._network.cut(*link)
            here.loop.call_later(fault.for_s, self._network.mend, links)
        elif kind == "far":
            for link in [*links, *back]:
                self._network.slow[link] = (fault.number % 20 + 1) / 10
            here.loop.call_later(fault.for_s, self._near, [*links, *back])
        else:
            for each in list(self._network.transports):
                if (each.here, each.there) in links:
                    self._network.reset(each)

    def _near(self, links):
        for link in links:
            self._network.slow.pop(link, None)


class Mover:
    """Consumes by one subscription, in one cluster after the other."""

    def __init__(self, plan, history, clusters, stays_s):
        self.plan = plan
        self._history = history
        self._clusters = clusters
        self._stays_s = stays_s
        self._random = Random(f"moving {clusters[0].seed}")
        self._count = 0
        self._stopping = False
        self._cluster = self._process = None

    def start(self):
        """Go to the next cluster."""
        if self._process is not None:
            self._cluster.kill_client(self._process)
        if self._stopping:
            return
        self._cluster = cluster = self._clusters[self._count % len(self._clusters)]
        self._count += 1
        process, client = cluster.new_client(
            f"{MOVING}/{self._count}", **CLIENT, keep_alive_interval_s=self._history.keep_alive_s
        )
        self._process = process
        self._history.note(process.name, f"goes to {cluster.name}")
        process.run(self._consume(process, client))
        cluster.loop.call_later(self._random.uniform(0.5, 1.5) * self._stays_s, self.start)

    def stop(self):
        """End where it is."""
        self._stopping = True
        self._cluster.kill_client(self._process)

    async def _consume(self, process, client):
        history, plan = self._history, self.plan
        while True:
            try:
                consumer = await subscribe(client, plan, replicate_subscription_state=True)
                since = history.now
                while True:
                    message = await consumer.receive()
                    number, entry = history.was_delivered(plan, process.name, since, message)
                    done = (plan, process.name, number, entry)
                    work = self._acknowledge(consumer.acknowledge(message), done)
                    asyncio.create_task(work)  # noqa: RUF006
                    await process.clock.sleep(self._random.uniform(0, 2 * plan.work_s))
            except MagnetarError as error:
                history.note(process.name, f"consumes no more: {error!r}")
                await process.clock.sleep(RETRY_S)

    async def _acknowledge(self, asked, done):
        with suppress(MagnetarError):
            await asked
            self._history.was_acknowledged(*done)


def _unsent(clusters):
    """What is still to be sent, by topic: how many entries, or that nobody has it open."""
    found = {}
    for cluster in clusters:
        loaded = {
            name.local: topic
            for server in cluster.brokers
            if server.runs and server.broker is not None
            for name, topic in server.broker.registry.loaded.items()
        }
        for topic in topics_of(cluster):
            if topic not in loaded:
                found[cluster.name, topic] = "is not open"
                continue
            replicators = loaded[topic].writer.replicators
            for other in clusters:
                left = replicators[other.name].backlog if other.name in replicators else "unknown"
                if other is not cluster and left:
                    found[cluster.name, topic, other.name] = left
    return found


async def _check_within(history, plan, moving, everywhere, well_s):
    """Read all there is in one cluster, and check it."""
    cluster, here = history.cluster, plan.within(history.cluster.name)
    process, client = cluster.new_client("reader", **CLIENT)

    async def read():
        for each in here.subscribing:
            await receive_left(client, each, history, process)
        for each in moving:
            await receive_left(client, each, everywhere, process)
        return {topic: await all_of(client, topic, process) for topic in plan.partitions}

    reading = process.run(read())
    if not await cluster.until(reading.done, READ_S):
        history.find(f"not all could be read in {cluster.name} in {READ_S:g} s")
        return
    check_deliveries(history, replace(here, producing=plan.producing), {})
    for topic, messages in reading.result().items():
        _check_topic(history, plan, topic, messages)
    all_or_nothing(history, reading.result())
    _check_origins(history)
    check_records(history, well_s)
    closed = process.run(client.close())
    await cluster.until(closed.done)
    await cluster.sleep(5.0)
    before = {task for each in cluster.brokers for task in each.process.tasks}
    await cluster.sleep(20.0)
    check_leaks(history, before)


def _check_topic(history, plan, topic, messages):
    """All that was answered anywhere is there, in order, once where it was published once."""
    times = Counter(map(number_of, messages))
    label = f"{topic} of {history.cluster.name}"
    for number in history.answered:
        if history.sent[number][0] == topic and not times[number]:
            history.find(f"{number} was answered, and is not stored in {label}")
    once = {each.name for each in plan.producing if each.again}
    if plan.deduplicated:
        for number, count in times.items():
            if count > 1 and number.producer in once:
                history.find(f"{number} is stored {count} times in {label}")
    stored_in_order(history, plan, messages, label)


def _check_origins(history):
    """Each entry says where it was published, and what was published here came from here."""
    here = history.cluster.name
    for entry, published, said in cluster_named_in(history.cluster):
        if said != (None if published == here else published):
            history.find(f"{entry} was published in {published}, and says {said}, in {here}")


def _check_moving(plan, subscribing, history):
    """What a replicated subscription promises to who moves."""
    deliveries = history.deliveries[subscribing.topic, subscribing.name]
    delivered = {each.number for each in deliveries}
    for number in history.answered:
        if history.sent[number][0] == subscribing.topic and number not in delivered:
            history.find(f"{number} was answered, and never delivered to who moves")
    slow = plan.latency_s[1] > NEAR_S or subscribing.work_s
    if plan.faults or slow or plan.stays_s < STAYS_S:
        return  # Else it may be so far behind that nobody else is told.
    acknowledged = {}
    for turns in history.acknowledged[subscribing.topic, subscribing.name].values():
        for times in turns.values():
            for number, at in times.items():
                acknowledged[number] = min(at, acknowledged.get(number, at))
    for each in deliveries:
        at = acknowledged.get(each.number, each.at)
        if each.since > at + REPEATED_S:
            history.find(
                f"{each.number} was acknowledged {each.since - at:.1f} s before {each.consumer} "
                "came, and comes again"
            )
