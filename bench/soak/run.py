"""A soak from beginning to end: start everything, kill now and then, drain, delete, look."""

import re
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from magnetar.testing.processes import BrokerProcess

from .admin import Admin, Away, path_of
from .churn import Churn
from .flows import OFFICIAL, OURS
from .lives import Life, plan
from .official import OfficialFlow
from .ours import Loop, Network, OurFlow
from .tally import Tally
from .verdict import DISK_LEFT_MB_MAX, End
from .watch import Sample, Watch, disk_mb

# The broker has an address of its own, and tells clients that of the network in between.
BROKER_HOST, PROXY_HOST = "127.0.0.2", "127.0.0.1"
SETTINGS = {
    "bindAddress": BROKER_HOST,
    "advertisedAddress": PROXY_HOST,
    # What otherwise takes hours: ledgers roll over after these, and are let go of soon after.
    "managedLedgerMaxEntriesPerLedger": 1000,
    "managedLedgerMaxSizePerLedgerMbytes": 32,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "retentionCheckIntervalInSeconds": 10,
}
IDLE_S = 2.0
ANSWERS_S_MAX = 60.0
DRAIN_S_MAX = 90.0
DELETE_S_MAX = 60.0
LOOK_S = 0.5


class Soak:
    """One run. ``samples``, ``ends`` and ``tally`` are what it found."""

    def __init__(self, data: Path, minutes: float, seed: int, console: Console) -> None:
        self.minutes, self.seed = minutes, seed
        self._data = data
        self._console = console
        self._chance = Random(seed)
        self.tally = Tally()
        self.broker = BrokerProcess(data, settings=SETTINGS)
        self.ends: list[tuple[float, str]] = []  # When a life ended, and how.
        self.starts_s: list[float] = []
        self.exit_codes: list[int] = []
        self.log_events: Counter[str] = Counter()  # Level and event of each line the broker logged.
        self._load_ended = 0.0
        self._loop = Loop()
        self._flows: list[OfficialFlow] = []
        self._our_flows: list[OurFlow] = []

    @property
    def samples(self) -> list[Sample]:
        return self._watch.samples

    @property
    def under_load(self) -> list[Sample]:
        return [sample for sample in self.samples if sample.at <= self._load_ended]

    def run(self) -> End:
        """Everything; what had to be killed is dead afterwards."""
        network = Network(BROKER_HOST, 0)
        self._loop.run(network.__aenter__())
        network.leads_to(BROKER_HOST, network.port)
        self.broker.port = network.port
        try:
            with self.broker:
                return self._with_broker(network)
        finally:
            for flow in self._flows:
                flow.stop_sending()
            self._loop.run(network.__aexit__(None, None, None))
            self._loop.close()

    def _with_broker(self, network: Network) -> End:
        web_url = f"http://{BROKER_HOST}:{self.broker.web_port}"
        admin = Admin(web_url)
        topics = self._topics(admin)
        self._watch = watch = Watch(self._data, web_url, topics)
        watch.process_began(self.broker.pid)
        time.sleep(IDLE_S)
        before = watch.look()
        assert before is not None
        self._churn = Churn(
            self.broker.service_url, web_url, self.tally, topics, self._chance.getrandbits(32)
        )
        self._start_load()
        watch.start()
        trouble = self._loop.spawn(network.misbehave(Random(self.seed)))
        try:
            self._live(plan(self.minutes, self._chance))
        finally:
            trouble.cancel()
            self.tally.did("connections cut", network.connections_cut)
            self.tally.did("silences of the network", network.silences)
            self._loop.run(network.calm())
        return self._end(admin, watch, before.fds)

    def _topics(self, admin: Admin) -> list[str]:
        """All flows' topics; the partitioned ones are made, and named partition by partition."""
        topics = []
        for flow in [*OFFICIAL, *OURS]:
            for topic in flow.all_topics:
                if flow.partitions:
                    admin.ask("PUT", f"{path_of(topic)}/partitions", flow.partitions)
                    topics += [f"{topic}-partition-{each}" for each in range(flow.partitions)]
                else:
                    topics.append(topic)
        return topics

    def _start_load(self) -> None:
        url = self.broker.service_url
        for flow in OFFICIAL:
            self._flows.append(OfficialFlow(flow, url, self.tally, self._chance.getrandbits(32)))
            self._flows[-1].start()
        for flow in OURS:
            seed = self._chance.getrandbits(32)
            self._our_flows.append(self._loop.run(OurFlow.started(flow, url, self.tally, seed)))
        self._churn.start()

    def _live(self, lives: list[Life]) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console) as progress:
            bar = progress.add_task("", total=sum(life.seconds for life in lives))
            for number, life in enumerate(lives):
                end = time.monotonic() + life.seconds
                while (left := end - time.monotonic()) > 0:
                    time.sleep(min(LOOK_S, left))
                    progress.advance(bar, min(LOOK_S, left))
                    progress.update(bar, description=self._state(number + 1, len(lives)))
                if number + 1 < len(lives):
                    self._restart(life.signal)

    def _restart(self, signal: str) -> None:
        watch = self._watch
        watch.process_ends()
        if signal == "SIGKILL":
            self.broker.kill()
        else:
            self.exit_codes.append(self.broker.terminate())
        self.ends.append((watch.now, signal))
        began = time.monotonic()
        self.broker.start()
        self.starts_s.append(time.monotonic() - began)
        watch.process_began(self.broker.pid)
        self._console.print(f"{watch.now / 60:5.1f} min: {signal}, ready {self.starts_s[-1]:.2f} s")

    def _state(self, life: int, lives: int) -> str:
        samples = self._watch.samples
        if not samples:
            return "starting"
        last = samples[-1]
        backlog = next((each.backlog for each in reversed(samples) if each.backlog is not None), 0)
        return (
            f"life {life}/{lives}  {last.rss_mb:.0f} MB  {last.fds} fds  "
            f"disk {last.disk_mb:.0f} MB  backlog {backlog}  "
            f"{self.tally.total(lambda stream: stream.answered):,} answered  "
            f"{sum(self.tally.complaints.counts.values())} complaints"
        )

    def _end(self, admin: Admin, watch: Watch, fds_before: int) -> End:
        """Nothing more is sent: everything must be answered and consumed, and go."""
        self._load_ended = watch.now
        self._churn.stop()
        for flow in self._flows:
            flow.stop_sending()
        for ours in self._our_flows:
            self._loop.run(ours.stop_sending())
        stopped = time.monotonic()
        until(lambda: self._unanswered() == 0, ANSWERS_S_MAX)
        self._churn.delete_leftovers()
        until(lambda: watch.backlog() == 0, DRAIN_S_MAX)
        drained_s = time.monotonic() - stopped
        backlog = watch.backlog()
        self._churn.close()
        for flow in self._flows:
            flow.close()
        for ours in self._our_flows:
            self._loop.run(ours.close())
        until(lambda: self._fds(watch) <= fds_before, IDLE_S)
        fds_after = self._fds(watch)
        for each in OFFICIAL:
            for topic in each.all_topics if each.partitions else []:
                admin.delete(topic, partitioned=True)
        for topic in admin.topics():
            admin.delete(topic)
        until(lambda: disk_mb(self._data) <= DISK_LEFT_MB_MAX, DELETE_S_MAX)
        disk = disk_mb(self._data)
        watch.close()
        watch.process_ends()
        self.exit_codes.append(self.broker.terminate())
        log = self.broker.log_file.read_text(encoding="utf-8", errors="replace")
        self.log_events = Counter(re.findall(r"^\S+ \S+ ([A-Z]+ \S+)", log, re.MULTILINE))
        return End(
            backlog, drained_s, fds_before, fds_after, disk, self.exit_codes, log.count("Traceback")
        )

    def _unanswered(self) -> int:
        return self.tally.total(lambda stream: stream.sent - stream.answered - stream.failed)

    @staticmethod
    def _fds(watch: Watch) -> int:
        sample = watch.look()
        assert sample is not None
        return sample.fds


def until(true: Any, seconds_max: float) -> None:
    """Look again and again; the outside has no event to wait on."""
    end = time.monotonic() + seconds_max
    while time.monotonic() < end:
        try:
            if true():
                return
        except Away:
            pass
        threading.Event().wait(LOOK_S)
