"""Messages of a consumer or reader that were taken before the application asks for them.

Each call of our client for threads crosses to the thread of its event loop and back, which costs
ten times what receiving a message does: a list crosses once.
"""

import threading
from collections import deque
from typing import Any, Final

from magnetar.client import blocking
from magnetar.client.message import Message as OurMessage
from magnetar.errors import TimedOut

COUNT_MAX: Final = 32  # More of them would come twice when a connection is lost.
QUEUE_SHARE: Final = 10  # At most this part of the queue is taken: it bounds what is sent ahead.


class Ahead:
    """The messages taken ahead from one consumer or reader. All threads may call it."""

    def __init__(
        self, receiver: blocking.Receiver[Any], queue_size: int, *, one_by_one: bool = False
    ) -> None:
        """``one_by_one``: nothing is taken ahead, as time runs for what was taken."""
        self._receiver = receiver
        self._count_max = 1 if one_by_one else min(COUNT_MAX, queue_size // QUEUE_SHARE)
        self._taken: deque[OurMessage[Any]] = deque()
        self._refilling = threading.Lock()  # So that threads do not mix up the order.

    def __len__(self) -> int:
        return len(self._taken)

    def next(self, timeout_s: float | None) -> OurMessage[Any]:
        """The next message. Raises as ``receive`` of our client."""
        if self._taken:
            try:
                return self._taken.popleft()
            except IndexError:  # Another thread was faster.
                pass
        if self._count_max <= 1:
            return self._receiver.receive(timeout_s)
        if not self._refilling.acquire(timeout=-1 if timeout_s is None else timeout_s):
            raise self._timed_out(timeout_s)
        try:
            if not self._taken:
                self._taken.extend(self._receiver.receive_many(self._count_max, timeout_s))
            if not self._taken:
                raise self._timed_out(timeout_s)
            return self._taken.popleft()
        finally:
            self._refilling.release()

    def take(self, count_max: int) -> list[OurMessage[Any]]:
        """Some of those that were taken, without waiting."""
        return [self._taken.popleft() for _ in range(min(count_max, len(self._taken)))]

    def clear(self) -> None:
        """Forget them: they come again, or are wanted no more."""
        self._taken.clear()

    def _timed_out(self, timeout_s: float | None) -> TimedOut:
        return TimedOut(f"no message from {self._receiver.topic} within {timeout_s:g} s")
