"""A few threads for what blocks for a moment while an administrator is asked, or takes a while.

The threads of the event loop are also those of the application, where a broker runs in its process
(``testing/local_broker.py``): all of them may be waiting for what the broker is to answer.
"""

import asyncio
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 4
"""As many calls at once, of all brokers of a process; the others wait. None waits for a broker."""

IMPORT_SWITCH_S: Final = 0.0005
"""After so long an import gives the interpreter to the loop, which would wait 5 ms each time."""

_threads: Final = ThreadPoolExecutor(THREADS, "broker")
_one_import: Final = threading.Lock()


async def in_thread(work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Call ``work`` in a thread. Cancelled, it goes on."""
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(work, *args, **more))


async def imported(name: str) -> Any:
    """Import a module that takes a while, and return it."""
    return await in_thread(_import, name)


def _import(name: str) -> object:
    with _one_import:
        usual = sys.getswitchinterval()
        sys.setswitchinterval(min(usual, IMPORT_SWITCH_S))
        try:
            return import_module(name)
        finally:
            sys.setswitchinterval(usual)
