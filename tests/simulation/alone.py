"""A broker that is alone: its log is on a disk that fails, its metadata in a file of SQLite's.

Both are real files in a folder of its own. The disk of the log is that of ``support/faults.py``;
what writes to them does so in calls of the loop, which come as late as the disk is slow. It may
die between any two operations of the disk, and in the middle of a write. The metadata are on a disk
that is never lost nor full.
"""

import errno
import gc
from contextlib import chdir, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

from simulation.faults import Faults
from simulation.plan import HOUR_MS, LENGTH_S, MINUTE_MS, draw, drawn_fault
from support.faults import FaultyFiles

from magnetar.broker.assemble.broker import running_broker
from magnetar.errors import StoreLocked
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.workers import InLoop
from magnetar.testing.simulation.cluster import BROKER_PORT, SimulatedCluster
from magnetar.testing.simulation.processes import process_here
from magnetar.testing.simulation.servers import BrokerServer

BROKER = "broker-1"
MEMORY = Path("/dev/shm")
"""Where there is such a place, files cost no writes."""
AT_ONCE_S = (0.0001, 0.002)


class Disk(FaultyFiles):
    """The disk of the log: it outlives the broker."""

    def __init__(self, random):
        super().__init__()
        self.delay_s = AT_ONCE_S
        self.flips = 0.0  # How often what is read has a wrong byte.
        self.fuse = None  # Its user dies in so many operations.
        self.blown = lambda: None  # Called when it does.
        self.random = random
        self._opened = []

    def open(self, path, *, create=False, direct=False):
        file = _DiskFile(self, super().open(path, create=create, direct=direct))
        self._opened.append(file)
        return file

    @contextmanager
    def powered(self):
        self._burn()
        with super().powered():
            yield

    def about_to_write(self, path, growth, size):
        if self._burn():
            return self.random.randrange(size + 1)
        return super().about_to_write(path, growth, size)

    def write_error(self):
        return OSError(errno.EIO, "it died") if self.dead else super().write_error()

    def _burn(self):
        if self.fuse is None:
            return False
        self.fuse -= 1
        if self.fuse >= 0:
            return False
        self.fuse = None
        self.blown()
        return True

    def close(self):
        """Close what those who were killed left open."""
        for each in self._opened:
            each.close()


class _DiskFile:
    def __init__(self, disk, file):
        self._disk = disk
        self._file = file
        self._closed = False
        self.write, self.sync, self.size = file.write, file.sync, file.size
        self.truncate, self.allocate = file.truncate, file.allocate

    def read(self, offset, size):
        data = self._file.read(offset, size)
        if data and self._disk.flips and self._disk.random.random() < self._disk.flips:
            at = self._disk.random.randrange(len(data))
            data = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
        return data

    def close(self):
        if not self._closed:
            self._closed = True
            self._file.close()


class DiskWorker(InLoop):
    """What writes to a disk that takes its time."""

    def __init__(self, disk, name, work):
        self._disk = disk
        super().__init__(name, work)

    def wake(self):
        self._loop.call_later(self._disk.random.uniform(*self._disk.delay_s), self._turn, 0.0)


class LoneServer(BrokerServer):
    """The broker, and its disk."""

    def __init__(self, disk, *common):
        super().__init__(*common)
        self.disk = disk
        self._lost_power = False
        disk.blown = self.kill

    def start(self):
        if not self.runs:
            self.disk.flips = 0.0
            if self._lost_power:
                self.disk.lose_power(self.disk.random)
            self._lost_power = False
            self.disk.restore_power()
        super().start()

    def kill(self, *, power=False):
        super().kill(power=power)
        self.disk.fuse = None
        self.disk.cut_power()
        self._lost_power |= power

    async def _work(self, process):
        stopping = self._stopping
        start = partial(DiskWorker, self.disk)
        async with running_broker(
            self._config, clock=process.clock, files=self.disk, start=start
        ) as broker:
            self.broker = broker
            self._note(self.name, "serves")
            await stopping.wait()


class HeldFolder:
    """In the place of ``FolderLock``: a process that was killed holds nothing."""

    _holder = None

    def __init__(self, process):
        self._process = process

    @classmethod
    def take(cls, folder):
        process = process_here()
        if cls._holder is not None and cls._holder.alive:
            raise StoreLocked(f"{folder} is in use by {cls._holder.name}")
        cls._holder = process
        return cls(process)

    def check(self):
        """The folder is there."""

    def release(self):
        if HeldFolder._holder is self._process:
            HeldFolder._holder = None


class Alone(SimulatedCluster):
    """One broker without a cluster."""

    codec = JsonCodec()

    def __init__(self, random, *, settings):
        super().__init__(random, brokers=0, bookies=0)
        self.disk = Disk(self._fork(random))
        settings = {
            "dataDirectory": "data",
            "brokerServicePort": BROKER_PORT,
            "webServicePort": -1,
            **settings,
        }
        common = (self.prepare, self.loop, self.network, self.note)
        self.brokers = [LoneServer(self.disk, BROKER, settings, *common)]

    @property
    def servers(self):
        return list(self.brokers)

    def run(self, work):
        place = MEMORY if MEMORY.is_dir() else None
        lock = patch("magnetar.storage.ledger.local.store.FolderLock", HeldFolder)
        with TemporaryDirectory(dir=place) as folder, chdir(folder), lock:
            try:
                return super().run(work)
            finally:
                HeldFolder._holder = None
                self.disk.close()
                gc.collect()

    async def start(self):
        self.brokers[0].start()
        await self.until(lambda: self.brokers[0].broker is not None)

    async def open_metadata(self):
        return await SqliteMetadataStore.open(
            Path("data/metadata.sqlite"), clock=process_here().clock, start=InLoop
        )


class AloneFaults(Faults):
    """What goes wrong with a broker that is alone."""

    def end(self):
        disk = self._cluster.disk
        disk.repair()
        disk.fuse, disk.flips, disk.delay_s = None, 0.0, AT_ONCE_S
        super().end()

    def _sick(self, fault):
        disk = self._cluster.disk
        self._note(fault, "has a disk that fails")
        fail = disk.fail_syncs if fault.number % 2 else disk.fail_writes
        fail(times=1_000_000)
        self._later(fault, disk.repair)

    def _full(self, fault):
        disk = self._cluster.disk
        self._note(fault, "has a disk that is full")
        disk.space_left = fault.number * 10
        self._later(fault, disk.repair)

    def _late(self, fault):
        disk = self._cluster.disk
        self._note(fault, "has a disk that is slow")
        disk.delay_s = (0.05, 0.5 + fault.number / 100)

        def well():
            disk.delay_s = AT_ONCE_S

        self._later(fault, well)

    def _flip(self, fault):
        disk = self._cluster.disk
        self._note(fault, "reads wrong bytes")
        disk.flips = 0.3

        def well():
            disk.flips = 0.0

        self._later(fault, well)

    def _fuse(self, fault):
        """Let it die at an operation of its disk."""
        server = self._cluster.brokers[0]
        self._cluster.disk.fuse = fault.number
        self._cluster.disk.blown = partial(server.kill, power=fault.number % 2 == 1)
        self._later(fault, server.start)


OF_DISKS = ["power broker", "fuse disk", "sick disk", "full disk", "late disk", "flip disk"]
ALONE = [
    *("kill broker", "pause broker", "stop broker"),
    *("cut", "cut one way", "reset", "slow"),
    *("unload", "policy", "jump", "bucket"),
]
LOSSY = {"power broker", "fuse disk", "sick disk"}


def draw_alone(seed):
    """The plan of a seed for a broker that is alone: what clients do is as in a cluster."""
    plan, random = draw(seed), Random(f"alone {seed}")
    settings = {
        name: value
        for name, value in plan.settings.items()
        if not name.endswith(("EnsembleSize", "Quorum"))
    }
    settings["logSizeLimit"] = random.choice([64 * 1024] * 3 + [1024 * 1024])
    settings["logSpareSizeMB"] = random.choice([0, 1])
    settings["managedLedgerCacheSizeMB"] = random.choice([0, 64])
    kinds = [kind for kind in OF_DISKS if random.random() < 0.6]
    kinds += [kind for kind in ALONE if random.random() < 0.3]
    storms = [random.uniform(5.0, LENGTH_S - 10.0) for _ in range(random.choice([0, 1, 2, 4]))]
    faults = [
        drawn_fault(random, random.choice(kinds), [BROKER], [""], storms)
        for _ in range(random.choice([0, 4, 8, 16, 24]) if kinds else 0)
    ]
    clients = [each.name for each in plan.producing]
    faults = [replace(each, whom=random.choice(clients)) if each.whom else each for each in faults]
    if settings["transactionCoordinatorEnabled"]:
        faults = [
            replace(each, number=MINUTE_MS) if abs(each.number) == HOUR_MS else each
            for each in faults
        ]
    if not LOSSY & {each.kind for each in faults}:
        settings["durability"] = random.choice(["fsync", "interval", "none"])
    return replace(
        plan,
        brokers=1,
        bookies=0,
        settings=settings,
        faults=tuple(sorted(faults, key=lambda fault: fault.at)),
        lag_s=0.0,
        lost_answers=0.0,
        rates={name: rate for name, rate in plan.rates.items() if name == BROKER},
    )
