"""One table for every entry that was read for consumers and is not acknowledged yet. Pure.

An entry is *out*, held by a consumer since a time; or it is *returned*, and soon waits; or it
*waits* in a queue until it is assigned. Whichever it is, the table knows its *group*: what it must
stay with (Key_Shared: the slot of its key; Shared: the chunked message it is part of; None for most
entries). How often it was asked for again is known by the cursor, since that outlives consumers.

A queue has the entries that wait for the same: a consumer with permits, or a slot that drains.
``queue_of`` says to which queue a group belongs. Entries come and go in lists, by ledger; what is
done to each of them is done by loops in C.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from operator import attrgetter, is_not
from typing import Any, Generic

from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position

from .blocked import C
from .entry_queue import EntryQueue

Group = Any  # Hashable; each strategy has groups of its own.

_messages_of = attrgetter("messages")
_is_group = partial(is_not, None)


@dataclass(slots=True, eq=False, frozen=True)
class Delivery:
    """An entry that was delivered and is pending; entries delivered together share one."""

    since: float
    messages: int
    """Messages of the entry that are not acknowledged yet; at least one."""


class Deliveries(Generic[C]):
    """The table of one subscription."""

    def __init__(self, queue_of: Callable[[Group], Hashable] = lambda group: group) -> None:
        # Invariant: no dict of a ledger is empty, and no queue.
        self.queues: defaultdict[Hashable, EntryQueue] = defaultdict(EntryQueue)
        self.returned: deque[tuple[C | None, int, Sequence[int]]] = deque()
        """To be queued: who gave back (None: it is gone), ledger and entry ids, in log order."""
        self.messages = 0
        """Messages that are out."""
        self.waiting_count = 0
        """Entries in all queues."""
        self._queue_of = queue_of
        self._out: dict[C, dict[int, dict[int, Delivery]]] = {}
        self._groups: dict[int, dict[int, Group]] = {}  # Of what is out or waits, if it has one.
        self._waiting: Counter[Group] = Counter()  # Entries in the queues, by group.

    def hand_over(
        self,
        consumer: C,
        ledger_id: int,
        entry_ids: Iterable[int],
        messages: Sequence[int],
        since: float,
    ) -> None:
        """A consumer got entries, at least one, of so many messages each; none was in here."""
        here = self._out.setdefault(consumer, {}).setdefault(ledger_id, {})
        alike = {count: Delivery(since, count) for count in set(messages)}
        here.update(zip(entry_ids, map(alike.__getitem__, messages), strict=True))
        self._count(consumer, sum(messages))

    def release(self, consumer: C, ledger_id: int, entry_ids: Sequence[int]) -> Sequence[int]:
        """Release entries that were acknowledged or given back. Returns those the consumer held."""
        ledgers = self._out.get(consumer, {})
        here = ledgers.get(ledger_id)
        if here is None:
            return []
        found = list(map(here.pop, entry_ids, repeat(None)))
        if None in found:
            both = zip(entry_ids, found, strict=True)
            entry_ids = [entry_id for entry_id, delivery in both if delivery is not None]
        if not here:
            del ledgers[ledger_id]
        self._count(consumer, -sum(map(_messages_of, filter(None, found))))
        return entry_ids

    def release_part(self, consumer: C, position: Position, messages: int) -> bool:
        """A batch is acknowledged, but for so many ``messages``, 1 or more.

        Returns whether the consumer holds it.
        """
        here = self._out.get(consumer, {}).get(position.ledger_id, {})
        delivery = here.get(position.entry_id)
        if delivery is not None and messages < delivery.messages:
            here[position.entry_id] = Delivery(delivery.since, messages)
            self._count(consumer, messages - delivery.messages)
        return delivery is not None

    def leave(self, consumer: C) -> dict[int, list[int]]:
        """The consumer is gone. Returns what it held, in log order."""
        held = self.held(consumer)
        for here in self._out.pop(consumer, {}).values():
            self._count(consumer, -sum(map(_messages_of, here.values())))
        return held

    def forget(self, ledger_id: int, entry_ids: Iterable[int]) -> None:
        """Forget the groups of these entries, which are neither out nor wait."""
        here = self._groups.get(ledger_id)
        if here is not None:
            deque(map(here.pop, entry_ids, repeat(None)), maxlen=0)
            if not here:
                del self._groups[ledger_id]

    def group(self, ledger_id: int, entry_ids: Iterable[int], groups: Iterable[Group]) -> None:
        """Note the groups of entries that are about to be out or to wait."""
        self._groups.setdefault(ledger_id, {}).update(zip(entry_ids, groups, strict=True))

    def wait(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Queue entries that no consumer holds. Those that wait already stay queued once."""
        for key, those in self._by_queue(ledger_id, entry_ids).items():
            fresh = self.queues[key].add(ledger_id, those)
            self.waiting_count += len(fresh)
            self._waiting.update(self.groups_of(ledger_id, fresh))

    def dequeue(self, ledger_id: int, entry_ids: Sequence[int]) -> list[int]:
        """Take these out of their queues, and forget their groups. Returns those that did wait."""
        gone: list[int] = []
        for key, those in self._by_queue(ledger_id, entry_ids).items():
            queue = self.queues.get(key)
            if queue is not None:
                gone += queue.discard(ledger_id, those)
                if not queue:
                    del self.queues[key]
        self.waiting_count -= len(gone)
        for group, count in Counter(self.groups_of(ledger_id, gone)).items():
            self._waiting[group] -= count
            if not self._waiting[group]:
                del self._waiting[group]
        self.forget(ledger_id, gone)
        return gone

    def waiting(self) -> dict[int, list[int]]:
        """What waits in all queues: ledgers, and the entry ids of each, ascending."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for queue in self.queues.values():
            for ledger_id, entry_ids in queue.by_ledger().items():
                found[ledger_id] += entry_ids
        return {ledger_id: sorted(entry_ids) for ledger_id, entry_ids in found.items()}

    def requeue(self, keys: Iterable[Hashable]) -> None:
        """Queue the entries of these queues again: they may belong in others now."""
        queues = [self.queues.pop(key) for key in keys if key in self.queues]
        for queue in queues:
            for ledger_id, entry_ids in queue.by_ledger().items():
                for key, those in self._by_queue(ledger_id, entry_ids).items():
                    self.queues[key].add(ledger_id, those)

    def held(self, consumer: C) -> dict[int, list[int]]:
        """The entries pending at a consumer: ledgers and the entry ids of each, both ascending."""
        return {
            ledger: sorted(here) for ledger, here in sorted(self._out.get(consumer, {}).items())
        }

    def out_of(self, consumer: C) -> Mapping[int, Mapping[int, Delivery]]:
        """What a consumer holds: ledgers, and what is known of the entries of each. Read only."""
        return self._out.get(consumer, {})

    def held_groups(self, consumer: C) -> Counter[Group]:
        """How many entries a consumer holds of each group."""
        held = self._out.get(consumer, {})
        return Counter(chain.from_iterable(self.groups_of(led, held[led]) for led in held))

    def held_since(self, consumer: C, group: Group) -> float | None:
        """When a consumer got the first of the entries that it holds of a group."""
        return min(
            (
                delivery.since
                for ledger_id, here in self._out.get(consumer, {}).items()
                for entry_id, delivery in here.items()
                if self._groups.get(ledger_id, {}).get(entry_id) == group
            ),
            default=None,
        )

    def entry_held_since(self, consumer: C, position: Position) -> float | None:
        """When a consumer got an entry; None when it does not hold it."""
        here = self._out.get(consumer, {}).get(position.ledger_id, {})
        delivery = here.get(position.entry_id)
        return None if delivery is None else delivery.since

    def groups_of(self, ledger_id: int, entry_ids: Iterable[int]) -> Iterable[Group]:
        """The groups of those entries that have one."""
        groups = self._groups.get(ledger_id)
        if groups is None:
            return ()
        return filter(_is_group, map(groups.get, entry_ids))

    @property
    def waiting_groups(self) -> Mapping[Group, int]:
        """How many entries of each group wait."""
        return self._waiting

    def _by_queue(
        self, ledger_id: int, entry_ids: Sequence[int]
    ) -> Mapping[Hashable, Sequence[int]]:
        groups = self._groups.get(ledger_id)
        if not groups:
            return {self._queue_of(None): entry_ids} if entry_ids else {}
        found: dict[Hashable, list[int]] = defaultdict(list)
        keys = map(self._queue_of, map(groups.get, entry_ids))
        for entry_id, key in zip(entry_ids, keys, strict=True):
            found[key].append(entry_id)
        return found

    def _count(self, consumer: C, messages: int) -> None:
        self.messages += messages
        if messages > 0:
            consumer.took(messages)
        elif messages < 0:
            consumer.released(-messages)
