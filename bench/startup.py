"""How long a broker takes until it serves, and what it holds while idle.

    python bench/startup.py [RUNS]

The bounds are a second and 80 MB. Times are from starting the process to its ready line, on a new
data folder and again on the same one.
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
    fresh, again, idle_mb = [], [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            broker = BrokerProcess(Path(folder) / "data")
            for times in (fresh, again):
                before = time.perf_counter()
                with broker:
                    times.append(time.perf_counter() - before)
                    time.sleep(IDLE_S)
                    idle_mb.append(psutil.Process(broker.pid).memory_info().rss / 1e6)
                    broker.terminate()
    print(f"ready, new folder      median {median(fresh):.2f} s  worst {max(fresh):.2f} s")
    print(f"ready, used folder     median {median(again):.2f} s  worst {max(again):.2f} s")
    print(f"memory while idle      median {median(idle_mb):.1f} MB worst {max(idle_mb):.1f} MB")
    within = median(fresh + again) < READY_S_MAX and max(idle_mb) < IDLE_MB_MAX
    print(f"{'within' if within else 'BEYOND'} {READY_S_MAX:g} s and {IDLE_MB_MAX} MB")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
