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
    if timeout_s is None and isinstance(
        sys.exception(), KeyboardInterrupt | asyncio.CancelledError
    ):
        return INTERRUPTED_S
    return timeout_s


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
