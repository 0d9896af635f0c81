"""A run of everything at once: load, faults by chance, then the reckoning."""

import time
from pathlib import Path
from random import Random

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bench.soak.admin import Admin, Away, path_of
from bench.soak.ours import Loop, Network, OurFlow
from bench.soak.run import BROKER_HOST, PROXY_HOST, until
from bench.soak.tally import Tally
from magnetar.testing.processes import BrokerProcess

from .account import Row, row_of
from .dispatch import DEAD_LETTERS, TICK_S, DeadLetters
from .feature_flow import FeatureFlow
from .leadership import TOPIC as LED_TOPIC
from .leadership import Leadership
from .plan import OFFICIAL, OUR_FLOWS, OURS
from .visits import Idle

SETTINGS = {
    "bindAddress": BROKER_HOST,
    "advertisedAddress": PROXY_HOST,
    "acknowledgmentAtBatchIndexLevelEnabled": True,
    "subscriptionKeySharedUseConsistentHashing": False,
    "activeConsumerFailoverDelayTimeMillis": 100,
    "delayedDeliveryTickTimeMillis": round(TICK_S * 1000),
    "brokerDeduplicationSnapshotIntervalSeconds": 5,
    "connectionLivenessCheckTimeoutMillis": 1000,
    "keepAliveIntervalSeconds": 5,
    # What otherwise takes minutes and hours.
    "topicUnloadAfterIdleSeconds": 2,
    "messageExpiryCheckIntervalInMinutes": 0.02,
    "backlogQuotaCheckIntervalInSeconds": 1,
    "brokerDeleteInactiveTopicsEnabled": False,
    "managedLedgerMaxEntriesPerLedger": 500,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "retentionCheckIntervalInSeconds": 2,
}
LIFE_S = (20.0, 70.0)
TERM_SHARE = 0.25
UNLOAD_S = 5.0
LOOK_S = 0.5
ANSWERS_S_MAX = 60.0
DRAIN_S_MAX = 120.0


class Semantics:
    """One run. ``rows`` and ``tally`` are what it found."""

    def __init__(self, data: Path, minutes: float, seed: int, console: Console) -> None:
        self._seconds = minutes * 60
        self._chance = Random(seed)
        self._console = console
        self.tally = Tally()
        self.broker = BrokerProcess(
            data, settings=SETTINGS, module="bench.soak.semantics.talkative"
        )
        self._loop = Loop()
        self._flows: dict[str, FeatureFlow] = {}
        self._our_flows: list[OurFlow] = []
        self._ended = False

    def run(self) -> list[Row]:
        """Everything; whatever was started is gone afterwards."""
        network = Network(BROKER_HOST, 0)
        self._loop.run(network.__aenter__())
        network.leads_to(BROKER_HOST, network.port)
        self.broker.port = network.port
        try:
            with self.broker:
                return self._with_broker(network)
        finally:
            for flow in self._flows.values():
                flow.stop_sending()
            self._loop.run(network.__aexit__(None, None, None))
            self._loop.close()

    def _with_broker(self, network: Network) -> list[Row]:
        self._web_url = f"http://{BROKER_HOST}:{self.broker.web_port}"
        self._admin = Admin(self._web_url)
        self._start_load()
        trouble = self._loop.spawn(network.misbehave(Random(self._chance.getrandbits(32))))
        try:
            self._live()
        finally:
            trouble.cancel()
            self._loop.run(network.calm())
            self._leadership.stop_sending()
        self.tally.did("connections cut", network.connections_cut)
        self.tally.did("silences of the network", network.silences)
        return self._end()

    def _start_load(self) -> None:
        url = self.broker.service_url
        for use in OFFICIAL:
            seed = self._chance.getrandbits(32)
            flow = use.kind(use.flow, url, self._web_url, self.tally, seed)
            self._flows[use.flow.name] = flow
            for topic in use.flow.all_topics if use.flow.partitions else []:
                self._admin.ask("PUT", f"{path_of(topic)}/partitions", use.flow.partitions)
            flow.prepare()
            flow.start()
        for ours in OUR_FLOWS:
            seed = self._chance.getrandbits(32)
            self._our_flows.append(self._loop.run(OurFlow.started(ours, url, self.tally, seed)))
        self._leadership = Leadership(url, self.tally, self._chance.getrandbits(32))
        self._leadership.start()

    def _live(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        began = time.monotonic()
        fault_at, unload_at = began + self._chance.uniform(*LIFE_S), began
        with Progress(*columns, console=self._console) as progress:
            bar = progress.add_task("", total=self._seconds)
            while (now := time.monotonic()) < began + self._seconds:
                if now > fault_at:
                    self._restart(now - began)
                    fault_at = time.monotonic() + self._chance.uniform(*LIFE_S)
                if now > unload_at:
                    self._unload()
                    unload_at = now + self._chance.uniform(0.5, 1.5) * UNLOAD_S
                time.sleep(LOOK_S)
                progress.update(bar, completed=now - began, description=self._state())

    def _restart(self, at: float) -> None:
        if self._chance.random() < TERM_SHARE:
            self.broker.terminate()
            how = "SIGTERM"
        else:
            self.broker.kill()
            how = "SIGKILL"
        self.tally.did(f"{how} to the broker")
        began = time.monotonic()
        self.broker.start()
        took = time.monotonic() - began
        self._console.print(f"{at / 60:5.1f} min: {how}, ready again in {took:.2f} s")

    def _unload(self) -> None:
        """An administrator unloads a topic in use."""
        flow = self._flows[self._chance.choice(list(self._flows))].flow
        if flow.partitions or flow.lossy:
            return
        try:
            self._admin.ask("PUT", f"{path_of(flow.topic(0))}/unload")
            self.tally.did("topics unloaded by an administrator")
        except Away:
            self.tally.expected("unload")

    def _state(self) -> str:
        answered = self.tally.total(lambda stream: stream.answered) + self._leadership.answered
        kills = sum(n for what, n in self.tally.done.items() if "to the broker" in what)
        complaints = sum(self.tally.complaints.counts.values())
        return f"{answered:,} answered  {kills} restarts  {complaints} complaints"

    def _end(self) -> list[Row]:
        """Nothing more is sent or broken: all that was answered is to come, and to be gone."""
        for flow in self._flows.values():
            flow.stop_sending()
        for ours in self._our_flows:
            self._loop.run(ours.stop_sending())
        stopped = time.monotonic()
        until(lambda: self._unanswered() == 0, ANSWERS_S_MAX)
        answered_s = time.monotonic() - stopped
        until(lambda: sum(self._backlogs().values()) == 0, DRAIN_S_MAX)
        drained_s = time.monotonic() - stopped
        for flow in self._flows.values():
            flow.finish()
        backlogs = self._backlogs()
        self._console.print(
            f"after the last send: all answered in {answered_s:.1f} s, "
            f"backlog zero in {drained_s:.1f} s"
        )
        rows = self._rows(backlogs)
        for stream in self.tally.streams.values():
            if unanswered := stream.sent - stream.answered - stream.failed:
                what = f"{unanswered} of {stream.name} neither answered nor refused"
                self.tally.complaints.add("send", what)
        for flow in self._flows.values():
            flow.close()
        self._leadership.close()
        for ours in self._our_flows:
            self._loop.run(ours.close())
        code = self.broker.terminate()
        if code:
            self.tally.complaints.add("broker", f"exit code {code} after SIGTERM")
        self._read_log()
        return rows

    def _read_log(self) -> None:
        log = self.broker.log_file.read_text(encoding="utf-8", errors="replace")
        for use in OFFICIAL:
            if use.kind is Idle:
                line = f"topic.unloaded topic={use.flow.topic(0)} idle_s="
                self.tally.did("topics unloaded when idle", log.count(line))
                if line not in log:
                    self.tally.complaints.add("idle", f"{use.flow.name} was never unloaded")
        for _ in range(log.count("Traceback")):
            self.tally.complaints.add("broker", "a traceback in its log")

    def _backlogs(self) -> dict[str, int]:
        """By flow. Raises Away."""
        found = {LED_TOPIC: self._admin.backlog(LED_TOPIC)}
        for flow in [*(each.flow for each in self._flows.values()), *OUR_FLOWS]:
            topics = flow.all_topics
            if flow.partitions:
                topics = [f"{t}-partition-{n}" for t in topics for n in range(flow.partitions)]
            persistent = [] if flow.lossy else topics
            found[flow.name] = sum(self._admin.backlog(topic) for topic in persistent)
        for each in self._flows.values():
            if isinstance(each, DeadLetters):
                found[DEAD_LETTERS] = self._admin.backlog(each.dead_topic)
        return found

    def _rows(self, backlogs: dict[str, int]) -> list[Row]:
        tally, rows = self.tally, []
        for use in OFFICIAL:
            flow = use.flow
            rows.append(row_of(flow, use.feature, tally, backlogs[flow.name]))
            if use.kind is DeadLetters:
                backlog, what = backlogs[DEAD_LETTERS], "the dead letters of these"
                options = {"subscription": DEAD_LETTERS, "name": DEAD_LETTERS}
                rows.append(row_of(flow, what, tally, backlog, **options))
        ours = [row_of(each, OURS[each.name], tally, backlogs[each.name]) for each in OUR_FLOWS]
        return [*rows, *ours, self._leadership.row(backlogs[LED_TOPIC])]

    def _unanswered(self) -> int:
        return self.tally.total(lambda stream: stream.sent - stream.answered - stream.failed)
