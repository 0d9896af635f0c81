"""Closing at the end of a block or program: it may be interrupted, and messages may be lost."""

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from magnetar.errors import NotStored

log = logging.getLogger(__name__)

INTERRUPTED_S: Final = 0.5
"""How long each close takes that an interruption leads to: it is to end the program."""


def time_to_close(timeout_s: float | None) -> float | None:
    """What was asked for; less where Ctrl-C or a cancellation is on its way through the caller."""
    if timeout_s is None and is_interruption(sys.exception()):
        return INTERRUPTED_S
    return timeout_s


def is_interruption(raised: BaseException | None) -> bool:
    """Whether it is Ctrl-C, what was made of that, or a cancellation."""
    return isinstance(raised, KeyboardInterrupt | asyncio.CancelledError) or (
        raised is not None and isinstance(raised.__cause__, KeyboardInterrupt)
    )


@contextmanager
def added_to(raised: BaseException | None) -> Iterator[None]:
    """Let what is lost while something closes be a note of what is being raised, if anything is."""
    try:
        yield
    except NotStored as lost:
        if raised is None:
            raise
        raised.add_note(str(lost))
        log.warning("client.not_stored error=%s", lost)
