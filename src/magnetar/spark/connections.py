"""One client per Python worker process and kind of connection.

Spark uses its workers again for later tasks, so a connection is worth keeping. Workers are forked:
a client belongs to the process that made it, and is never pickled into a task.
"""

import logging
import os
from functools import cache

from magnetar.client import blocking
from magnetar.spark.client_settings import Connection
from magnetar.spark.one_line import in_worker

_FOR_EVER_S = 10 * 365 * 86_400.0
_FORMAT = "%(asctime)s WARN magnetar: %(message)s"
_TIME = "%H:%M:%S"


def client_for(options: Connection) -> blocking.Client:
    """The client of this process for such a connection, shared by its tasks: do not close it."""
    wanted = Connection(
        options.service_url, options.timeout_s, options.retry_forever, options.client
    )
    return _client_of(os.getpid(), wanted)


@cache
def _client_of(_process_id: int, wanted: Connection) -> blocking.Client:
    show_warnings()
    # A worker may be the first to connect while a broker restarts.
    wait_s = _FOR_EVER_S if wanted.retry_forever else wanted.timeout_s
    settings = wanted.client.options()
    settings["operation_timeout_s"] = settings["first_connection_timeout_s"] = wait_s
    return blocking.Client(wanted.service_url, **settings)


def show_warnings() -> None:
    """Print what we warn of, in a worker whose program has set up no logging. May be repeated.

    Spark passes on to its log what its workers print.
    """
    ours = logging.getLogger("magnetar")
    shown = any(isinstance(each, logging.StreamHandler) for each in ours.handlers)
    if in_worker() and not shown and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING)
        handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
        ours.addHandler(handler)
