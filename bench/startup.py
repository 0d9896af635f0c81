"""How long a broker takes until it serves, and what it holds while idle.

    python bench/startup.py [RUNS]

The bounds are a second and 80 MB. Times are from starting the process to its ready line, on a new
data folder and again on the same one. On a busy machine look at the best run and at the CPU time:
they say what the broker needs; the others say what else was going on.
"""

import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

from magnetar.testing.processes import BrokerProcess

READY_S_MAX = 1.0
IDLE_MB_MAX = 80.0
IDLE_S = 1.0
RUNS = 5


@dataclass(slots=True)
class StartUp:
    """What some starts came to."""

    new_folder_s: list[float] = field(default_factory=list)
    used_folder_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    idle_mb: list[float] = field(default_factory=list)

    @property
    def ready_s(self) -> float:
        """The better run of the slower kind."""
        return max(min(self.new_folder_s), min(self.used_folder_s))

    @property
    def within(self) -> bool:
        return self.ready_s < READY_S_MAX and max(self.idle_mb) < IDLE_MB_MAX

    def lines(self) -> list[str]:
        low_mb, high_mb = min(self.idle_mb), max(self.idle_mb)
        kinds = {"new folder": self.new_folder_s, "used folder": self.used_folder_s}
        return [
            *(
                f"ready, {what:12} best {min(taken):.2f} s   median {median(taken):.2f} s"
                for what, taken in kinds.items()
            ),
            f"CPU until ready     best {min(self.cpu_s):.2f} s   median {median(self.cpu_s):.2f} s",
            f"memory while idle   best {low_mb:.1f} MB  worst {high_mb:.1f} MB",
            (
                f"{'within' if self.within else 'BEYOND'} {READY_S_MAX:g} s (best run) "
                f"and {IDLE_MB_MAX:g} MB"
            ),
        ]


def measure(runs: int = RUNS) -> StartUp:
    """Three seconds for each run."""
    found = StartUp()
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            broker = BrokerProcess(Path(folder) / "data")
            for taken in (found.new_folder_s, found.used_folder_s):
                before = time.perf_counter()
                with broker:
                    taken.append(time.perf_counter() - before)
                    process = psutil.Process(broker.pid)
                    used = process.cpu_times()
                    found.cpu_s.append(used.user + used.system)
                    time.sleep(IDLE_S)
                    found.idle_mb.append(process.memory_info().rss / 1e6)
                    broker.terminate()
    return found


def main() -> int:
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
    print("\n".join(found.lines()))
    return 0 if found.within else 1


if __name__ == "__main__":
    sys.exit(main())
