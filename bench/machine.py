"""Where a measurement was made: interpreter and how it was built, machine, disk, date."""

import os
import platform
import sys
import sysconfig
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

from magnetar import inner

# They build their packages with profile-guided optimisation, and their build flags do not say so.
_DISTRIBUTIONS = ("debian", "ubuntu", "fedora", "rhel")
_LOOPS = 20_000


def describe(folder: Path) -> list[str]:
    """Lines for the head of a report; ``folder`` is where data goes."""
    memory_gb = psutil.virtual_memory().total / 1e9
    load = os.getloadavg()[0]
    system = f"{platform.system()} {platform.release()}"
    return [
        f"date         {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"interpreter  {interpreter()}",
        f"inner loops  {inner.BUILD}",
        (
            f"machine      {_processor()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, {system}; "
            f"load average before {load:.1f}"
        ),
        f"data         {_file_system(folder)}",
    ]


def interpreter() -> str:
    """Which Python, and whether its build was optimised: that makes a factor of two or three."""
    loop_ns = min(_loop() for _ in range(7)) / _LOOPS * 1e9
    executable = os.path.realpath(sys.executable)
    return (
        f"{platform.python_implementation()} {platform.python_version()} ({executable}), "
        f"{platform.python_compiler()}, {build()}; a plain loop takes {loop_ns:.0f} ns a turn"
    )


def build() -> str:
    """Whether it was built with profile-guided optimisation, as far as it says."""
    flags = " ".join(
        str(sysconfig.get_config_var(name) or "")
        for name in ("CONFIG_ARGS", "PY_CFLAGS", "PY_CORE_CFLAGS")
    )
    if "--enable-optimizations" in flags or "-fprofile-use" in flags:
        return "optimised build"
    base = Path(sys.base_prefix)
    if base == Path("/usr") and platform.system() == "Linux":
        name = platform.freedesktop_os_release().get("ID", "")
        if name in _DISTRIBUTIONS:
            return f"optimised build ({name}'s own)"
    return "NOT an optimised build, as far as its build flags say"


def _loop() -> float:
    started = time.perf_counter()
    total = 0
    for number in range(_LOOPS):
        total += number & 7
    return time.perf_counter() - started


def _processor() -> str:
    with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _file_system(folder: Path) -> str:
    path = folder.resolve()
    mounts = [
        part for part in psutil.disk_partitions(all=True) if path.is_relative_to(part.mountpoint)
    ]
    best = max(mounts, key=lambda part: len(part.mountpoint), default=None)
    return f"{best.fstype} on {best.device}" if best else "unknown file system"
