"""What the broker's process takes up, second by second, and how much waits: a thread."""

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .admin import Admin, Away

PAUSE_S = 1.0
BACKLOG_PAUSE_S = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look. ``at`` is seconds since the beginning; lives of the process count from 0."""

    at: float
    life: int
    age_s: float
    rss_mb: float
    fds: int
    threads: int
    cpu_s: float
    disk_mb: float
    backlog: int | None  # Entries, over all topics; None where nobody asked just then.


class Watch:
    """Samples whatever process it is told to, until closed."""

    def __init__(self, data: Path, web_url: str, topics: list[str]) -> None:
        self._data = data
        self._admin = Admin(web_url)
        self._topics = topics
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._process: psutil.Process | None = None
        self._life = -1
        self._life_began = 0.0
        self._ended = threading.Event()
        self._backlog: int | None = None
        self._disk_mb = 0.0
        self.samples: list[Sample] = []
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._run, self._ask, self._weigh)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    @property
    def now(self) -> float:
        return time.monotonic() - self._began

    def process_began(self, pid: int) -> None:
        with self._lock:
            self._process = psutil.Process(pid)
            self._life += 1
            self._life_began = self.now

    def process_ends(self) -> None:
        """Before it is killed."""
        with self._lock:
            self._process = None

    def look(self) -> Sample | None:
        """Now; None while there is no process."""
        with self._lock, suppress(psutil.Error):
            if self._process is None:
                return None
            with self._process.oneshot():
                times = self._process.cpu_times()
                sample = Sample(
                    at=self.now,
                    life=self._life,
                    age_s=self.now - self._life_began,
                    rss_mb=self._process.memory_info().rss / 1e6,
                    fds=self._process.num_fds(),
                    threads=self._process.num_threads(),
                    cpu_s=times.user + times.system,
                    disk_mb=self._disk_mb,
                    backlog=self._backlog,
                )
            self._backlog = None
            return sample
        return None

    def backlog(self) -> int:
        """Of all topics, now. Raises Away."""
        return sum(self._admin.backlog(topic) for topic in self._topics)

    def _run(self) -> None:
        while not self._ended.wait(PAUSE_S):
            sample = self.look()
            if sample is not None:
                self.samples.append(sample)

    def _weigh(self) -> None:
        """Apart from the rest: a disk that stalls holds up whoever looks at its folders."""
        while not self._ended.wait(PAUSE_S):
            self._disk_mb = disk_mb(self._data)

    def _ask(self) -> None:
        while not self._ended.wait(BACKLOG_PAUSE_S):
            with suppress(Away):
                self._backlog = self.backlog()


def disk_mb(folder: Path) -> float:
    """What a folder takes on disk: holes in files do not count."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # Gone meanwhile.
            total += path.stat().st_blocks * 512
    return total / 1e6
