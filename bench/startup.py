"""How long a broker takes until it serves, and what it holds while idle.

    python bench/startup.py [RUNS]

The bounds are a second and 80 MB. Times are from starting the process to its ready line, on a new
data folder and again on the same one. On a busy machine look at the best run and at the CPU time:
they say what the broker needs; the others say what else was going on.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from magnetar.testing.processes import BrokerProcess

READY_S_MAX = 1.0
IDLE_MB_MAX = 80
IDLE_S = 1.0


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    times: dict[str, list[float]] = {"new folder": [], "used folder": []}
    cpu_s, idle_mb = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            broker = BrokerProcess(Path(folder) / "data")
            for taken in times.values():
                before = time.perf_counter()
                with broker:
                    taken.append(time.perf_counter() - before)
                    process = psutil.Process(broker.pid)
                    used = process.cpu_times()
                    cpu_s.append(used.user + used.system)
                    time.sleep(IDLE_S)
                    idle_mb.append(process.memory_info().rss / 1e6)
                    broker.terminate()
    for what, taken in times.items():
        print(f"ready, {what:12} best {min(taken):.2f} s   median {median(taken):.2f} s")
    print(f"CPU until ready     best {min(cpu_s):.2f} s   median {median(cpu_s):.2f} s")
    print(f"memory while idle   best {min(idle_mb):.1f} MB  worst {max(idle_mb):.1f} MB")
    within = all(min(taken) < READY_S_MAX for taken in times.values())
    within = within and max(idle_mb) < IDLE_MB_MAX
    print(f"{'within' if within else 'BEYOND'} {READY_S_MAX:g} s (best run) and {IDLE_MB_MAX} MB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
