"""The quickstart's broker: ``magnetar standalone`` that ends when whoever started it is gone.

Its stdin is a pipe nobody writes to. The pipe ends with the other process, however that ends.
"""

import os
import signal
import sys
import threading

from magnetar.tools.cli import main


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # Not sys.stdin.read: its lock would be missed at the exit.
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    main()
