"""MESSAGE frames that are the same for several consumers, made once in a loop iteration.

Consumer ids are small numbers per connection, so the consumers of a topic's many subscriptions
often have the same one, and then their frames for a run are the same bytes.
"""

import asyncio

from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.wire import replies


class SharedFrames:
    """Keeps the frames of this loop iteration, and drops them at its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # The run is kept with its frames, so that no other run gets its id meanwhile.
        self._made: dict[tuple[int, int, int], tuple[EntryRun, list[bytes]]] = {}

    def of(self, consumer_id: int, run: EntryRun, partition: int) -> list[bytes]:
        """The frames of a run that is delivered for the first time, whole batches and all."""
        key = (id(run), consumer_id, partition)
        made = self._made.get(key)
        if made is not None:
            return made[1]
        frames = replies.message_frames(consumer_id, run, partition=partition)
        if not self._made:
            self._loop.call_soon(self._made.clear)
        self._made[key] = (run, frames)
        return frames
