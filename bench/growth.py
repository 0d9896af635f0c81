"""What very many partitions cost a broker: to make them, to scrape it, to start again.

    python -m bench.growth [TOPICS]      each of 10,000 partitions; 2 by default

Look at the CPU time and the bytes: on a busy machine the seconds say what else was going on.
"""

import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

import psutil

from magnetar.testing.processes import BrokerProcess

PARTITIONS = 10_000
TIMEOUT_S = 600


class Look(NamedTuple):
    """What a process has used so far."""

    at_s: float
    cpu_s: float
    written: int
    memory: int


def look(pid: int) -> Look:
    process = psutil.Process(pid)
    cpu = process.cpu_times()
    written = process.io_counters().write_bytes
    memory = process.memory_full_info().uss
    return Look(time.perf_counter(), cpu.user + cpu.system, written, memory)


def ask(url: str, body: bytes | None = None) -> int:
    """Read an answer, and return how long it is."""
    request = urllib.request.Request(
        url,
        data=body,
        method="GET" if body is None else "PUT",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return len(answer.read())


def main() -> None:
    topics = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as folder, BrokerProcess(Path(folder) / "data") as broker:
        url = f"{broker.web_url}/admin/v2/persistent/public/default"
        ask(f"{url}/first/partitions", b"1")  # What is imported at the first request is.
        for number in range(topics):
            before = look(broker.pid)
            ask(f"{url}/growing-{number}/partitions", str(PARTITIONS).encode())
            made = look(broker.pid)
            size = ask(f"{broker.web_url}/metrics/")
            scraped = look(broker.pid)
            print(
                f"{PARTITIONS} more partitions: {made.at_s - before.at_s:.1f} s, of one "
                f"{(made.cpu_s - before.cpu_s) / PARTITIONS * 1e6:.0f} us of CPU, "
                f"{(made.written - before.written) / PARTITIONS:.0f} B written, "
                f"{(made.memory - before.memory) / PARTITIONS:.0f} B of memory; scrape of "
                f"{size / 1e6:.2f} MB: {scraped.cpu_s - made.cpu_s:.2f} s of CPU",
                flush=True,
            )
        broker.terminate()
        began = time.perf_counter()
        broker.start()
        took, cpu_s = time.perf_counter() - began, look(broker.pid).cpu_s
        print(f"started again: {took:.1f} s, {cpu_s:.2f} s of CPU")


if __name__ == "__main__":
    main()
