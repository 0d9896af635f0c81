"""What goes wrong in a simulated cluster, and how it is well again."""

from contextlib import suppress

from magnetar.errors import MagnetarError


class Faults:
    """Carries out the faults of a plan."""

    def __init__(self, cluster, faults):
        self._cluster = cluster
        self._faults = faults
        self._servers = {each.name: each for each in cluster.servers}

    def schedule(self):
        """Let each come at its time."""
        for fault in self._faults:
            self._cluster.loop.call_later(fault.at, self._begin, fault)

    def end(self):
        """Make everything well."""
        cluster = self._cluster
        cluster.network.mend()
        cluster.network.slow.clear()
        cluster.network.torn = 0.0
        cluster.ensemble.lag_s_max = cluster.ensemble.lost_answers = 0.0
        for server in cluster.servers:
            server.resume()
            server.start()
            server.process.fuse = None
        for each in cluster.bookies:
            each.disk.fails, each.disk.flips = False, 0.0
            self._set_bookie(each, mute=False, read_only=False)

    def _begin(self, fault):
        kind, _, what = fault.kind.partition(" ")
        begin = getattr(self, f"_{kind}")
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

    def _jump(self, fault):
        server = self._servers[fault.who]
        if server.runs:
            self._note(fault, f"has a clock that jumps by {fault.number} ms")
            server.process.clock.ahead_ms += fault.number
