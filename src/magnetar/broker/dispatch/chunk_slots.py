"""Slots that stay with a consumer because it got a part of a chunked message. Pure.

All chunks of a message must go to one consumer, and no consumer acknowledges a part. So a slot that
got another owner meanwhile (Key_Shared) stays with the old one until the message is complete: only
then does it drain. A message of which the rest never comes keeps its slot no longer than the
consumer keeps what it got.
"""

from typing import Generic

from magnetar.message.metadata import ChunkInfo

from .blocked import C


class ChunkSlots(Generic[C]):
    """The slots of at most ``messages_max`` messages that were delivered in part, oldest first."""

    def __init__(self, messages_max: int) -> None:
        self._messages_max = messages_max
        self._slots: dict[str, int] = {}  # By the uuid of the message.
        self._holders: dict[int, tuple[C, set[str]]] = {}  # Invariant: no set is empty.

    def __len__(self) -> int:
        return len(self._holders)

    def holder(self, slot: int) -> C | None:
        """The consumer that a slot stays with, if it does."""
        found = self._holders.get(slot)
        return None if found is None else found[0]

    def delivered(self, chunk: ChunkInfo, slot: int, consumer: C) -> bool:
        """A consumer gets a chunk. True: a slot no longer stays with the consumer that had it."""
        if self._slots.get(chunk.uuid) == slot and self.holder(slot) == consumer and not chunk.last:
            return False
        freed = self._end(chunk.uuid)
        if chunk.last:
            return freed
        if self.holder(slot) not in (None, consumer):
            freed = self.free(slot)
        self._slots[chunk.uuid] = slot
        self._holders.setdefault(slot, (consumer, set()))[1].add(chunk.uuid)
        if len(self._slots) > self._messages_max:
            freed = self._end(next(iter(self._slots))) or freed
        return freed

    def free(self, slot: int) -> bool:
        """Forget the chunked messages of this slot that were delivered in part. False: none was."""
        _, uuids = self._holders.pop(slot, (None, ()))
        for uuid in uuids:
            del self._slots[uuid]
        return bool(uuids)

    def forget(self, consumer: C) -> None:
        """The consumer is gone."""
        for slot in [slot for slot, (holder, _) in self._holders.items() if holder == consumer]:
            self.free(slot)

    def _end(self, uuid: str) -> bool:
        slot = self._slots.pop(uuid, None)
        if slot is None:
            return False
        _, uuids = self._holders[slot]
        uuids.discard(uuid)
        if uuids:
            return False
        del self._holders[slot]
        return True
