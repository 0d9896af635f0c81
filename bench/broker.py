"""A broker to be measured: where it is, and what its process uses."""

import contextlib
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self
from urllib.parse import quote

import psutil

from magnetar.testing.processes import PROGRAM, BrokerProcess


class Broker:
    """Something at ``url``; ``pid`` is None when it is not ours to look into."""

    def __init__(self, name: str, url: str = "", web_url: str = "", pid: int | None = None) -> None:
        self.name = name
        self.url = url
        self.web_url = web_url
        self.pid = pid
        self.startup_s = 0.0
        self.bookies: list[int] = []
        """Process ids of the bookies that it writes to, where they are not in its own process."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends what was started."""

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("pulsar://").rpartition(":")
        return host, int(port)

    def address_of(self, topic: str) -> tuple[str, int]:
        """Where a topic is served."""
        return self.address

    def cpu_s(self) -> float:
        """CPU its process has used so far, all threads."""
        return sum(self.cpu_times_s())

    def bookies_cpu_s(self) -> float:
        """CPU that its bookies have used so far, for whomever."""
        times = [psutil.Process(pid).cpu_times() for pid in self.bookies]
        return sum(float(each.user + each.system) for each in times)

    def cpu_times_s(self) -> tuple[float, float]:
        """The same, by where: in the program, in the kernel."""
        if self.pid is None:
            return 0.0, 0.0
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user), float(times.system)

    def memory_mb(self) -> float:
        """Its share of the machine's memory (PSS), in MB of a million bytes."""
        if self.pid is None:
            return 0.0
        process = psutil.Process(self.pid)
        with contextlib.suppress(psutil.AccessDenied, AttributeError):
            return float(process.memory_full_info().pss) / 1e6
        return float(process.memory_info().rss) / 1e6

    def delete_topics(self, topics: list[str]) -> None:
        """Give the disk back what a run wrote. What cannot be deleted stays."""
        if not self.web_url:
            return
        for topic in topics:
            path = quote(topic.replace("://", "/"))
            url = f"{self.web_url}/admin/v2/{path}?force=true"
            with contextlib.suppress(OSError):
                urllib.request.urlopen(
                    urllib.request.Request(url, method="DELETE"), timeout=10
                ).close()


class Magnetar(Broker):
    """``magnetar standalone`` of this checkout, on a data folder of its own."""

    def __init__(
        self,
        folder: Path,
        durability: str,
        module: str = PROGRAM,
        settings: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """``module`` is run in the place of ``magnetar``, and does what it does."""
        super().__init__(f"Magnetar, {durability}")
        self._process = BrokerProcess(
            folder / "data", settings={**settings, "durability": durability}, module=module
        )

    def __enter__(self) -> Self:
        started = time.perf_counter()
        self._process.start()
        self.startup_s = time.perf_counter() - started
        self.pid = self._process.pid
        self.url = self._process.service_url
        self.web_url = self._process.web_url
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
