"""What an application sends with, whether one topic or many partitions stand behind it.

Calls that wait are coroutines and may be cancelled at any time; the others return at once. All
may only be called on the client's event loop.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Protocol, Self, Unpack

from magnetar.model.position import MessageId

from .message import MessageDetails, OutgoingMessage


class Producer(Protocol):
    """Sends messages to one topic.

    At most ``max_pending_messages`` and ``max_pending_bytes`` wait for their receipts. A message
    sent on one producer is stored behind those sent before it, also across reconnections; after a
    reconnection it may be stored twice.
    """

    @property
    def topic(self) -> str:
        """The full name of the topic; without the partition on a partitioned one."""

    @property
    def name(self) -> str:
        """The producer's name: as given, or as the broker made it up."""

    @property
    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""

    @property
    def connected(self) -> bool:
        """It is attached to its broker now. It need not be: sends wait for the reconnection."""

    async def send(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> MessageId:
        """Send one message, and return its id when the broker has stored it.

        Waits for room in the queue, too. ``MessageDetails`` says what the keyword arguments mean;
        what they refer to may be changed as soon as this has begun. Raises NotAllowed when closed,
        MessageTooLarge, InvalidValue for what no message can carry, the broker's error, or
        TimedOut after ``send_timeout_s`` seconds, whose ``__cause__`` is what kept the broker from
        storing it, if that is known. Cancelled, the message may be sent all the same.
        """

    def submit(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> asyncio.Future[MessageId]:
        """Send one message without waiting; the future brings what ``send`` returns or raises.

        Raises at once: NotReady when the queue is full (await ``ready``), NotAllowed when closed,
        MessageTooLarge, InvalidValue. A message whose future is cancelled is sent all the same.
        """

    def send_nowait(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> None:
        """The same without a future; what goes wrong later is raised by ``flush``."""

    async def send_many(self, values: Iterable[bytes | OutgoingMessage]) -> Sequence[MessageId]:
        """Send messages, waiting for room as needed; their ids, in the same order.

        The cheapest way to send. Raises the first error, after everything that was taken has been
        settled. When cancelled, the messages already taken are sent all the same.
        """

    async def enqueue(self, values: Iterable[bytes | OutgoingMessage]) -> None:
        """Send messages, and return when the queue has taken them: receipts come later.

        What goes wrong later is raised by ``flush``. Raises NotAllowed when closed; InvalidValue
        or MessageTooLarge for one of them, when those before it have been taken.
        """

    async def ready(self) -> None:
        """Return when there is room for a message. Raises NotAllowed when closed."""

    async def flush(self) -> None:
        """Send what waits in batches, and return when all that was sent has been settled.

        Raises the first error of what it waited for, or of a ``send_nowait`` since the last flush.
        """

    def close(self) -> Coroutine[Any, Any, None]:
        """Flush for at most the operation timeout, and detach. May be called again.

        What is then still without receipt fails with NotAllowed. It begins with the call;
        cancelled, it goes on without who waited for it, and another call waits for its end.
        """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None:
        """Closes it."""
