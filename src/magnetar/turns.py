"""Long jobs in turns: everything else that is ready is served in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

STEPS_PER_TURN: Final = 20
"""Of a job, each of which takes some ten microseconds: a turn is a millisecond at most."""


async def yield_to_loop() -> None:
    """Let the loop serve everything else that is ready, in the middle of a long job."""
    reached = asyncio.Event()
    asyncio.get_running_loop().call_soon(reached.set)
    await reached.wait()


async def in_turns(items: Iterable[T], per_turn: int = STEPS_PER_TURN) -> AsyncIterator[T]:
    """These items, with a pause after so many."""
    for count, item in enumerate(items, start=1):
        yield item
        if count % per_turn == 0:
            await yield_to_loop()


def batches(items: Sequence[T], size: int = STEPS_PER_TURN) -> Iterator[Sequence[T]]:
    """The same, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
