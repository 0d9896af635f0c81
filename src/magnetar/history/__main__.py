"""The process that works for a broker: see ``worker.py``. ``background``: others go first.

``json``: its log is for programs, as the broker's.
"""

import logging
import os
import signal
import sys

import pyarrow as pa

from magnetar.json_logs import JsonLines, log_what_is_not_caught

from .worker import Worker


def main() -> None:
    """Serve the broker that started this process, until it is gone."""
    for number in (signal.SIGINT, signal.SIGHUP):  # A terminal sends them to the broker as well.
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s", stream=sys.stderr)
    if "json" in sys.argv[1:]:
        logging.getLogger().handlers[0].setFormatter(JsonLines())
        log_what_is_not_caught()
    pa.set_cpu_count(1)
    if "background" in sys.argv[1:]:
        os.nice(10)
    broker = os.getppid()
    Worker(wanted=lambda: os.getppid() == broker).serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
