"""The process that works for a broker: see ``worker.py``. ``background``: others go first."""

import logging
import os
import signal
import sys

import pyarrow as pa

from .worker import Worker


def main() -> None:
    """Serve the broker that started this process, until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A terminal sends it to the broker as well.
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s", stream=sys.stderr)
    pa.set_cpu_count(1)
    if "background" in sys.argv[1:]:
        os.nice(10)
    broker = os.getppid()
    Worker(wanted=lambda: os.getppid() == broker).serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
