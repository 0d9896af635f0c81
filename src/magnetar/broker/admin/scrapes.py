"""What is kept from one request for metrics to the next, and answers that are being made.

An answer is dear where there are many topics. Whoever asks while one is being made gets that one.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.position import Position
from magnetar.tasks import Tasks

if TYPE_CHECKING:
    from magnetar.broker.admin.encoded_families import Known
    from magnetar.broker.admin.exposition import KeptLines
    from magnetar.broker.admin.topic_rows import TopicRows

Make: TypeAlias = Callable[[], Awaitable[tuple[AsyncIterator[bytes], str]]]
"""Begins an answer: brings its pieces and its content type."""
SumsOfRows: TypeAlias = dict[
    tuple[NamespaceName, int], tuple[Sequence[Sequence[float]], Sequence[float]]
]
"""Rows that are summed together, and their sums; by how many topics of the namespace that makes."""
_OPENMETRICS: Final = "openmetrics"


class SharedAnswer:
    """An answer that is being made, or was, as a body for any number of readers."""

    def __init__(self, made_at: float) -> None:
        self.made_at = made_at
        self.done = False
        self._content_type = ""
        self._pieces: list[bytes] = []
        self._error: Exception | None = None
        self._changed = asyncio.Event()

    async def begun(self) -> str:
        """Wait for its first piece. Brings its content type; raises why there is none."""
        while not self._pieces and not self.done:
            await self._changed.wait()
        if self._error is not None and not self._pieces:
            raise self._error
        return self._content_type

    async def __aiter__(self) -> AsyncIterator[bytes]:
        given = 0
        while True:
            while given < len(self._pieces):
                given += 1
                yield self._pieces[given - 1]
            if self._error is not None:
                raise self._error
            if self.done:
                return
            await self._changed.wait()

    async def aclose(self) -> None:
        """A reader that goes leaves it to the others."""

    async def fill(self, make: Make) -> None:
        """Make it. It is done in any case."""
        try:
            pieces, self._content_type = await make()
            async for piece in pieces:
                self._pieces.append(piece)
                self._tell()
        except Exception as error:  # noqa: BLE001 - whoever reads it gets it.
            self._error = error
        finally:
            self.done = True
            self._tell()

    @property
    def failed(self) -> bool:
        return self._error is not None

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Scrapes:
    """The oldest messages that were looked up, and answers: one of each format at a time."""

    def __init__(self) -> None:
        # By topic and subscription: its mark, and when the first message behind that was published.
        self.oldest: dict[tuple[str, str], tuple[Position, int]] = {}
        self.rows: dict[TopicName, TopicRows] = {}  # Of topics at which nothing happens.
        self.lines: KeptLines = {}  # Of their rows, and others'.
        self.sums: SumsOfRows = {}
        self.families: dict[str, Known] = {}  # What was told of the broker, by content type.
        self._tasks = Tasks("metrics")
        # By whether it is OpenMetrics, and of this process alone.
        self._answers: dict[tuple[bool, bool], SharedAnswer] = {}

    def keep(self, name: TopicName, rows: "TopicRows") -> None:
        """Keep the rows of a topic until it has another mark, if it has one."""
        if rows.mark is not None:
            self.rows[name] = rows
        else:
            self.rows.pop(name, None)

    def ask(
        self, accept: str, make: Make, *, now: float, keep_s: float, alone: bool = True
    ) -> SharedAnswer:
        """The answer that is being made, or is not older than ``keep_s``; else a new one."""
        kind = (_OPENMETRICS in accept, alone)
        answer = self._answers.get(kind)
        if answer is None or answer.failed or (answer.done and now - answer.made_at >= keep_s):
            answer = self._answers[kind] = SharedAnswer(now)
            self._tasks.spawn("answer", self._fill(kind, answer, make, keep_s))
        return answer

    async def run(self) -> None:
        """Until it is cancelled; then nothing is made any more."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self._tasks.close()

    async def _fill(
        self, kind: tuple[bool, bool], answer: SharedAnswer, make: Make, keep_s: float
    ) -> None:
        await answer.fill(make)
        if not keep_s and self._answers.get(kind) is answer:
            del self._answers[kind]
