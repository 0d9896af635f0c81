"""What we warn of in Spark's workers reaches Spark's log: they print it, and Spark passes it on."""

import logging

from magnetar.spark.one_line import in_worker

_FORMAT = "%(asctime)s WARN magnetar: %(message)s"
_TIME = "%H:%M:%S"


def show_warnings() -> None:
    """Print what we warn of, in a worker where nobody else has set up logging. May be repeated."""
    ours = logging.getLogger("magnetar")
    shown = any(isinstance(each, logging.StreamHandler) for each in ours.handlers)
    if in_worker() and not shown and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING)
        handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
        ours.addHandler(handler)
