"""What goes wrong in a simulated cluster, and how it is well again."""

from contextlib import suppress
from functools import partial

from magnetar.broker.resources import Resources
from magnetar.errors import MagnetarError
from magnetar.model.bundles import halved
from magnetar.model.names import NamespaceName
from magnetar.model.policy_values import DispatchRate, PersistencePolicies, PublishRate
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.testing.simulation.bookie import AT_ONCE_S
from magnetar.testing.simulation.cluster import BROKER_PORT
from magnetar.testing.simulation.processes import Process

DUEL_S = 35.0
"""So long a duel takes at most."""
ANSWERED_S = 0.05
"""So long after a bookie was sent an entry it has answered, where the network takes no time."""

NAMESPACE = NamespaceName.parse("public/default")
POLICIES = (
    {"unacked_per_consumer_max": 5},
    {"unacked_per_subscription_max": 20, "unacked_per_consumer_max": None},
    {"dispatch_rate": DispatchRate(messages=20, period_s=1)},
    {"publish_rate": PublishRate(messages=10)},
    {"persistence": PersistencePolicies(1, 1, 1, 1.0)},
    {"deduplication": True},
    {"compaction_threshold_bytes": 300},
)
"""What an operator sets. In the end nothing is."""


async def operate(cluster, work):
    """Do ``work`` with the records of a cluster, if they can be reached."""
    with suppress(MagnetarError):
        metadata = await cluster.open_metadata()
        resources = Resources(metadata, cluster.name or "standalone", codec=cluster.codec)
        try:
            await work(resources)
        finally:
            resources.close()
            await metadata.close()


class Faults:
    """Carries out the faults of a plan."""

    def __init__(self, cluster, plan, history):
        self._cluster = cluster
        self._wrong = history.wrong
        self._faults = plan.faults
        self._topics = list(plan.partitions)
        self._servers = {each.name: each for each in cluster.servers}
        self._ended = False

    def schedule(self):
        """Let each come at its time."""
        for fault in self._faults:
            self._cluster.loop.call_later(fault.at, self._begin, fault)

    def end(self):
        """Make everything well."""
        cluster, self._ended = self._cluster, True
        cluster.network.mend()
        cluster.network.slow.clear()
        cluster.network.torn = 0.0
        cluster.bucket.fails = False
        cluster.prepared = lambda _: None  # Who begins again has a clock that is right.
        cluster.ensemble.lag_s_max = cluster.ensemble.lost_answers = 0.0
        for server in cluster.servers:
            server.resume()
            server.start()
            server.process.fuse = None
            server.process.clock.set_right()
        if any(each.kind == "policy" for each in self._faults):
            self._set({name: None for changed in POLICIES for name in changed})
        for each in cluster.bookies:
            each.disk.mend()
            self._set_bookie(each, mute=False, read_only=False)

    def _begin(self, fault):
        kind, _, what = fault.kind.partition(" ")
        begin = getattr(self, f"_{kind}")
        now = self._cluster.loop.time()
        self._wrong.append((now, now + (DUEL_S if kind == "duel" else fault.for_s)))
        begin(fault) if kind != "cut" else begin(fault, one_way=what == "one way")

    def _later(self, fault, end):
        self._cluster.loop.call_later(fault.for_s, end)

    def _note(self, fault, what):
        self._cluster.note(fault.who, what)

    def _kill(self, fault):
        server = self._servers[fault.who]
        if fault.number:
            server.kill_after(fault.number)
        else:
            server.kill()
        self._later(fault, server.start)

    def _power(self, fault):
        server = self._servers[fault.who]
        server.kill(power=True)
        self._later(fault, server.start)

    def _pause(self, fault):
        server = self._servers[fault.who]
        server.pause()
        self._later(fault, server.resume)

    def _stop(self, fault):
        server = self._servers[fault.who]
        server.stop()
        self._later(fault, server.start)

    def _expire(self, fault):
        if not self._cluster.zookeeper.runs:
            return
        for session in self._cluster.ensemble.sessions_from(fault.who):
            self._note(fault, "loses its session")
            self._cluster.zookeeper.process.call(self._cluster.ensemble.end, session)

    def _sick(self, fault):
        self._note(fault, "has a disk that fails")
        disk = self._servers[fault.who].disk
        disk.fails = True

        def well():
            disk.fails = False

        self._later(fault, well)

    def _full(self, fault):
        self._note(fault, "has a disk that is full")
        disk = self._servers[fault.who].disk
        disk.room = fault.number * 10

        def well():
            disk.room = None

        self._later(fault, well)

    def _late(self, fault):
        self._note(fault, "has a disk that is slow")
        disk = self._servers[fault.who].disk
        disk.sync_s = disk.read_s = 0.01, 0.1 + fault.number / 100

        def well():
            disk.sync_s, disk.read_s = AT_ONCE_S, None

        self._later(fault, well)

    def _torn(self, fault):
        """Let a bookie lose power while it writes."""
        server = self._servers[fault.who]
        server.disk.fuse = fault.number % 4
        server.disk.blown = partial(server.kill, power=True)

        def well():
            server.disk.fuse = None
            server.start()

        self._later(fault, well)

    def _flip(self, fault):
        self._note(fault, "reads wrong bytes")
        disk = self._servers[fault.who].disk
        disk.flips = 0.3

        def well():
            disk.flips = 0.0

        self._later(fault, well)

    def _mute(self, fault):
        self._note(fault, "answers nothing")
        server = self._servers[fault.who]
        self._set_bookie(server, mute=True)
        self._later(fault, lambda: self._set_bookie(server, mute=False))

    def _readonly(self, fault):
        self._note(fault, "takes no entries")
        server = self._servers[fault.who]
        self._set_bookie(server, read_only=True)
        self._later(fault, lambda: self._set_bookie(server, read_only=False))

    @staticmethod
    def _set_bookie(server, mute=None, read_only=None):
        bookie = server.bookie
        if bookie is None or not server.runs:
            return
        if mute is not None:
            bookie.mute = mute
        if read_only is not None and bookie.read_only is not read_only:
            bookie.read_only = read_only
            server.process.call(bookie.presence_changed)

    def _cut(self, fault, *, one_way):
        self._note(fault, f"cannot reach {fault.whom}{'' if one_way else ', nor be reached'}")
        links = [(fault.who, fault.whom)]
        if not one_way:
            links.append((fault.whom, fault.who))
        for link in links:
            self._cluster.network.cut(*link)
        self._later(fault, lambda: self._cluster.network.mend(links))

    def _slow(self, fault):
        self._note(fault, f"is slow to reach {fault.whom}")
        slow = self._cluster.network.slow
        slow[fault.who, fault.whom] = slow[fault.whom, fault.who] = 0.7

        def well():
            slow.pop((fault.who, fault.whom), None)
            slow.pop((fault.whom, fault.who), None)

        self._later(fault, well)

    def _reset(self, fault):
        self._note(fault, f"loses its connections to {fault.whom}")
        network = self._cluster.network
        for each in list(network.transports):
            if (each.here, each.there) == (fault.who, fault.whom):
                network.reset(each)

    def _duel(self, fault):
        """Let another one serve what a broker has that does not know it, and goes on.

        It cannot reach ZooKeeper, or stands still, until its session has ended and others were
        asked for its topics, and a little longer.
        """
        cluster = self._cluster
        server = self._busiest()
        others = [each for each in cluster.brokers if each.runs and each is not server]
        if server is None or not others:
            return
        frozen, links = fault.number % 3 == 0, [(server.name, cluster.zookeeper.name)]
        if frozen:
            server.pause()
        else:
            if fault.number % 3 == 1:
                links.append((cluster.zookeeper.name, server.name))
            cluster.note(server.name, "cannot reach zookeeper")
            for link in links:
                cluster.network.cut(*link)

        async def duel():
            here = set(cluster.ensemble.sessions_from(server.name))
            await cluster.until(lambda: not here & cluster.ensemble.sessions.keys(), DUEL_S - 5)
            cluster.note("world", f"{server.name} has no session, and is not told")
            self._pass_by(others[fault.number % len(others)])
            await cluster.sleep(fault.for_s % 4)
            cluster.network.mend(links)
            server.resume()

        cluster.spawn(duel())

    def _pass_by(self, broker):
        """Let somebody ask a broker for all topics, so that it serves what is free."""
        process, client = self._cluster.new_client(
            "passer-by", f"pulsar://{broker.name}:{BROKER_PORT}", operation_timeout_s=5.0
        )

        async def look():
            for topic in self._topics:
                with suppress(MagnetarError):
                    await client.create_reader(topic, EARLIEST_MESSAGE)
            await process.clock.sleep(5.0)
            self._cluster.kill_client(process)

        process.run(look())

    def _alone(self, fault):
        """Let a broker reach one bookie alone; it may be killed before it reaches others again."""
        cluster = self._cluster
        server = self._busiest()
        if server is None:
            return
        left = max(cluster.bookies, key=lambda each: each.disk.added_at)
        links = [(server.name, each.name) for each in cluster.bookies if each is not left]
        links += [link[::-1] for link in links]
        cluster.note(server.name, f"cannot reach any bookie but {left.name}")
        for link in links:
            cluster.network.cut(*link)

        def end():
            if fault.number % 4 and not self._ended:
                server.kill()
                self._later(fault, server.start)
            cluster.network.mend(links)

        cluster.loop.call_later(fault.for_s % 4, end)

    def _apart(self, fault):
        """End a broker, and the only bookie that has what it wrote last, before others have it.

        It reaches one bookie alone, until that has stored something and it may have been answered.
        """
        cluster = self._cluster
        server = self._busiest()
        if server is None:
            return
        left = max(cluster.bookies, key=lambda each: each.disk.added_at)
        links = [(server.name, each.name) for each in cluster.bookies if each is not left]
        cluster.note(server.name, f"sends to {left.name} alone")
        for link in links:
            cluster.network.cut(*link)

        async def end():
            began = cluster.loop.time()
            await cluster.until(lambda: left.disk.added_at > began, fault.for_s / 4)
            await cluster.sleep(2 * cluster.network.latency_s[1] + ANSWERED_S)
            if not self._ended:
                server.kill(power=True)
                left.kill(power=True)
                cluster.loop.call_later(fault.for_s / 4, server.start)
                cluster.loop.call_later(fault.for_s / 2, left.start)
            cluster.network.mend(links)

        cluster.spawn(end())

    def _blackout(self, fault):
        """Let all bookies lose power at once, and come back one after the other."""
        for number, each in enumerate(self._cluster.bookies):
            each.kill(power=True)
            self._cluster.loop.call_later(fault.for_s % 4 + number / 2, each.start)

    def _bucket(self, fault):
        bucket = self._cluster.bucket
        self._cluster.note("bucket", "answers nothing")
        bucket.fails = True

        def well():
            bucket.fails = False

        self._later(fault, well)

    def _busiest(self):
        """The broker that has most topics; None where none runs that has any."""
        topics = {
            each: len(each.broker.registry.loaded)
            for each in self._cluster.brokers
            if each.runs and each.broker is not None and not each.process.paused
        }
        busiest = max(topics, key=topics.get, default=None)
        return busiest if busiest is not None and topics[busiest] else None

    def _unload(self, fault):
        self._hand_over(fault, None)

    def _transfer(self, fault):
        to = self._servers[fault.whom]
        if to.broker is not None and to.runs:
            self._hand_over(fault, to.broker.address)

    def _hand_over(self, fault, to):
        server = self._servers[fault.who]
        if not server.runs or server.broker is None:
            return
        registry = server.broker.registry
        bundles = registry.ownership.bundles
        if not bundles:
            return
        bundle = bundles[fault.number % len(bundles)]
        self._note(fault, f"hands over {bundle}{f' to {fault.whom}' if to else ''}")

        async def hand_over():
            with suppress(MagnetarError):
                await registry.unload_bundle(bundle, to)

        server.process.run(hand_over())

    def _split(self, fault):
        """Let an operator split a bundle that is served."""
        server = self._busiest()
        if server is None:
            return
        registry = server.broker.registry
        bundles = sorted(registry.by_bundle(), key=str)
        bundle = bundles[fault.number % len(bundles)]
        boundaries = list(halved(bundle))
        self._cluster.note(server.name, f"splits {bundle}")
        resources = registry._resources  # In the session of the broker, as its admin API does.

        async def split():
            with suppress(MagnetarError):
                await registry.split_bundle(
                    bundle,
                    bundle.split_at(boundaries),
                    lambda: resources.split_bundles(bundle.namespace, boundaries),
                )

        server.process.run(split())

    def _policy(self, fault):
        """Let an operator change what holds for all topics."""
        changed = POLICIES[fault.number % len(POLICIES)]
        self._cluster.note("operator", f"sets {changed}")
        self._set(changed)

    def _set(self, policies):
        async def change(resources):
            await resources.change_policies(NAMESPACE, lambda _: policies)

        Process("operator").run(operate(self._cluster, change))

    def _jump(self, fault):
        server = self._servers[fault.who]
        if server.runs:
            self._note(fault, f"has a clock that jumps by {fault.number} ms")
            server.process.clock.ahead_ms += fault.number
