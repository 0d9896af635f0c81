"""One client per Python worker process and service URL.

Spark uses its workers again for later tasks, so a connection is worth keeping. Workers are forked:
a client belongs to the process that made it, and is never pickled into a task.
"""

import os
from functools import cache

from magnetar.client import blocking


def client_for(service_url: str, timeout_s: float) -> blocking.Client:
    """The client of this process for ``service_url``, shared by its tasks: do not close it."""
    return _client_of(os.getpid(), service_url, timeout_s)


@cache
def _client_of(_process_id: int, service_url: str, timeout_s: float) -> blocking.Client:
    # A worker may be the first to connect while a broker restarts.
    return blocking.Client(
        service_url, operation_timeout_s=timeout_s, first_connection_timeout_s=timeout_s
    )
