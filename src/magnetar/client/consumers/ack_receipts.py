"""The broker's answers to acknowledgements, for the callers that wait for them.

What one command or a few acknowledge has one receipt, however many messages that are. Nothing has
to be awaited: a receipt that is not awaited costs no more, and its error is logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, Final

from magnetar.client.gather_all import gather_all
from magnetar.errors import MagnetarError, TimedOut

from .acknowledgements import AckBatch

log = logging.getLogger(__name__)

COMMANDS_MAX: Final = 1000
"""Commands that wait for an answer; with so many, acknowledgements wait to be sent."""


class _Acknowledged:
    """Stands for a receipt where the broker is not asked."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


ACKNOWLEDGED: Final[Awaitable[None]] = _Acknowledged()


class Receipt:
    """The answer to a group of acknowledgements. May be awaited several times, or never."""

    def __init__(self, timeout_s: float, hurry: Callable[[], None]) -> None:
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timeout_s = timeout_s
        self._hurry = hurry

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()

    async def wait(self) -> None:
        """Raises the broker's error, or TimedOut."""
        if not self.answer.done():
            self._hurry()
        try:
            async with asyncio.timeout(self._timeout_s):
                await asyncio.shield(self.answer)
        except TimeoutError:
            raise TimedOut(
                f"an acknowledgement was not answered within {self._timeout_s:g} s; it is sent "
                "again when there is a connection"
            ) from None


class _Group:
    """Commands that leave together, and the receipts that they are for."""

    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt
        self.receipts = [receipt]
        self.unanswered = 0

    def end(self, error: MagnetarError | None) -> None:
        for receipt in self.receipts:
            if receipt.answer.done():
                continue
            if error is None:
                receipt.answer.set_result(None)
            else:
                receipt.answer.set_exception(error)
                receipt.answer.exception()  # Retrieved, even when it is not awaited.


class AckReceipts:
    """The receipts of one consumer on one topic."""

    def __init__(
        self,
        topic: str,
        timeout_s: float,
        send: Callable[[], None],
        *,
        commands_max: int = COMMANDS_MAX,
    ) -> None:
        """``send`` is called soon after a receipt is awaited that was not sent yet."""
        self._topic = topic
        self._timeout_s = timeout_s
        self._send = send
        self._commands_max = commands_max
        self._next: _Group | None = None  # What is sent next.
        self._unanswered: dict[int, tuple[_Group, AckBatch]] = {}  # By request id.
        self._settled = asyncio.Event()  # Nothing is unanswered.
        self._settled.set()
        self._hurried = False
        self._over: MagnetarError | None = None  # Why there will be no more answers.

    @property
    def full(self) -> bool:
        """Whether nothing more should be sent before there are answers."""
        return len(self._unanswered) >= self._commands_max

    def receipt(self) -> Receipt:
        """Return the receipt of what is sent next."""
        return self._group().receipt

    def begin(self) -> Callable[[int, AckBatch], None]:
        """Send what waits now. Call what this returns with the request id of each command."""
        group, self._next = self._group(), None

        def sent(request_id: int, batch: AckBatch) -> None:
            group.unanswered += 1
            self._unanswered[request_id] = group, batch
            self._settled.clear()

        return sent

    def answered(self, request_id: int, error: MagnetarError | None) -> None:
        found = self._unanswered.pop(request_id, None)
        if found is None:
            return
        group, _ = found
        group.unanswered -= 1
        if error is not None:
            log.warning("consumer.not_acknowledged topic=%s error=%s", self._topic, error)
            group.end(error)
        elif not group.unanswered:
            group.end(None)
        if not self._unanswered:
            self._settled.set()

    def take_unanswered(self) -> list[AckBatch]:
        """Take what must be sent again, after a detachment; its receipts wait for that."""
        taken = list(self._unanswered.values())
        self._unanswered.clear()
        self._settled.set()
        for group in dict.fromkeys(group for group, _ in taken):
            self._group().receipts += group.receipts
        return [batch for _, batch in taken]

    async def settled(self) -> None:
        """Return when all that was sent is answered or must be sent again. Raises TimedOut."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._settled.wait()
        except TimeoutError:
            raise TimedOut(
                f"acknowledgements on {self._topic} were not answered within {self._timeout_s:g} s"
            ) from None

    def end(self, error: MagnetarError | None = None) -> None:
        """End all receipts: they mean nothing any more, or ``error``: none will be answered."""
        self.take_unanswered()
        self._over = error
        if self._next is not None:
            self._next.end(error)
            self._next = None

    def _group(self) -> _Group:
        if self._next is None:
            self._next = _Group(Receipt(self._timeout_s, self._hurry))
            if self._over is not None:
                self._next.end(self._over)
        return self._next

    def _hurry(self) -> None:
        if not self._hurried and self._next is not None:
            self._hurried = True
            asyncio.get_running_loop().call_soon(self._send_now)

    def _send_now(self) -> None:
        self._hurried = False
        self._send()


class Begun:
    """The answer to what a task asks. May be awaited several times, or never."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()

    async def wait(self) -> None:
        """Raises the error of the task."""
        await asyncio.shield(self._task)


def all_of(receipts: Iterable[Awaitable[None]]) -> Awaitable[None]:
    """Join receipts to one."""
    wanted = list(dict.fromkeys(each for each in receipts if isinstance(each, Receipt | Begun)))
    if not wanted:
        return ACKNOWLEDGED
    return wanted[0] if len(wanted) == 1 else _All(wanted)


class _All:
    """Several receipts. Awaited, it raises the first error when all have ended."""

    def __init__(self, receipts: list[Receipt | Begun]) -> None:
        self._receipts = receipts

    def __await__(self) -> Generator[Any, None, None]:
        return self._wait().__await__()

    async def _wait(self) -> None:
        await gather_all(receipt.wait() for receipt in self._receipts)
