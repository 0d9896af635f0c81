"""A few threads for what blocks for a moment while an administrator is asked, or takes a while.

The threads of the event loop are also those of the application, where a broker runs in its process
(``testing/local_broker.py``): all of them may be waiting for what the broker is to answer.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 4
"""As many calls at once, of all brokers of a process; the others wait. None waits for a broker."""

_threads: Final = ThreadPoolExecutor(THREADS, "broker")


async def in_thread(work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Call ``work`` in a thread. Cancelled, it goes on."""
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(work, *args, **more))
