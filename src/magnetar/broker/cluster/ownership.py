r"""Which bundles this broker serves, each by a lease that at most one broker holds.

``TRANSITIONS`` alone decides what becomes of a bundle:

    FREE --asked--> ACQUIRING --taken--> OWNED --unload--> UNLOADING --released--> FREE
                        \--refused--> FREE
                        OWNED, UNLOADING --lost--> LOST --forgotten--> FREE

A lookup, or an administrator's request, acquires a bundle that nobody serves. It is unloaded in
this order: nothing more is taken, what is under way is answered or dropped, the logs are closed,
the lease is released. It is lost with the session of the metadata store: nothing is answered any
more, first of all, for another broker may serve it from now on.

A bundle that is handed to a certain broker has a note that names it. Others answer lookups with
that broker, which takes the lease as soon as it is released. The note ends with the transfer.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from itertools import cycle
from typing import Any, Final, Protocol

from magnetar.errors import MagnetarError, MetadataLost, NotOwner, VersionMismatch
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle
from magnetar.model.names import TopicName
from magnetar.model.system_topics import heartbeat_broker
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import Owner

from .membership import Membership

log = logging.getLogger(__name__)

TRANSFER_S_MAX: Final = 10.0
"""How long a bundle waits for the broker that it is handed to; then any may take it."""


class Place(Protocol):
    """Chooses the broker of a bundle."""

    def __call__(self, bundle: Bundle, *, leaves: bool = False) -> Awaitable[BrokerAddress]:
        """``leaves``: another one than this broker, where any may have it."""


class State(Enum):
    """The state of one bundle at this broker."""

    FREE = auto()  # Not served here.
    ACQUIRING = auto()  # Its lease is being taken.
    OWNED = auto()
    UNLOADING = auto()  # Its topics are being closed; then its lease is released.
    LOST = auto()  # Its lease is gone, and its topics are being forgotten.


class Why(Enum):
    """Why a broker serves a bundle, in the words that an administrator reads."""

    ASKED = "it was asked for it while no broker served it"
    PLACED = "no broker served it, and it had least to do by the reports"
    NAMED = "a note named it: it was chosen, or the bundle was handed to it"
    HEARTBEAT = "it has a topic of this broker alone, by which its health is checked"
    SPLIT = "it served the bundle that this one was split from"


class Event(Enum):
    """What happens to a bundle."""

    ASKED = auto()
    TAKEN = auto()
    REFUSED = auto()  # Another broker has it, or the metadata store did not answer.
    UNLOAD = auto()
    RELEASED = auto()
    LOST = auto()
    FORGOTTEN = auto()


TRANSITIONS: Final = {
    (State.FREE, Event.ASKED): State.ACQUIRING,
    (State.ACQUIRING, Event.TAKEN): State.OWNED,
    (State.ACQUIRING, Event.REFUSED): State.FREE,
    (State.OWNED, Event.UNLOAD): State.UNLOADING,
    (State.UNLOADING, Event.RELEASED): State.FREE,
    (State.OWNED, Event.LOST): State.LOST,
    (State.UNLOADING, Event.LOST): State.LOST,
    (State.LOST, Event.RELEASED): State.LOST,  # The unloading that it was lost in ends.
    (State.LOST, Event.FORGOTTEN): State.FREE,
}

_SERVED: Final = frozenset({State.OWNED, State.UNLOADING})


class Ownership:
    """The bundles of one broker."""

    def __init__(self, member: Membership) -> None:
        self.own = member.own
        self._member = member
        self._states: dict[Bundle, State] = {}  # Those that are not free.
        self._taken: dict[Bundle, tuple[Why, int]] = {}  # Of those that are owned: why, and when.
        self._changing: dict[Bundle, asyncio.Task[BrokerAddress | None]] = {}
        self._left: dict[str, object] = {}  # Notes of hand-overs: the last one at each path.
        self._give_up: Callable[[Bundle], Awaitable[None]] = _nothing
        self._successors: Iterator[BrokerAddress] | None = None
        self._place: Place | None = None
        self._exists: Callable[[Bundle], Awaitable[bool]] = _always
        self._leases = member.leases(paths.BUNDLE_OWNERS, self._lost)

    def close(self) -> None:
        """Watch the leases no more; they end with the session of the metadata store."""
        self._leases.close()

    def when_lost(self, give_up: Callable[[Bundle], Awaitable[None]]) -> None:
        """Call ``give_up`` for a bundle that was lost, and await what it returns.

        When the call returns, nothing may be answered any more for the topics of the bundle.
        """
        self._give_up = give_up

    def exist_by(self, exists: Callable[[Bundle], Awaitable[bool]]) -> None:
        """Let ``exists`` say whether there is a bundle, once its lease is held.

        By then it knows of all that happened before the lease was taken: watches tell of that
        before the metadata store answers. Who asked may not have known that the bundle was split.
        """
        self._exists = exists

    def place_by(self, place: Place) -> None:
        """Let ``place`` say which broker takes a bundle that nobody serves."""
        self._place = place

    async def successor(self, bundle: Bundle) -> BrokerAddress | None:
        """The broker that should have a bundle of this one next; None where it is free to any.

        Clients that are told of it need not ask.
        """
        if self._place is None or not self.owns(bundle):
            return None
        try:
            to = await self._place(bundle, leaves=True)
        except MagnetarError:
            return None
        return None if to == self.own else to

    def leave_to(self, others: Sequence[BrokerAddress]) -> None:
        """Acquire nothing more: who asks for a bundle that is free is sent to one of the others."""
        self._successors = cycle(others)

    @property
    def bundles(self) -> list[Bundle]:
        """The bundles that are served here, in order."""
        owned = (each for each, state in self._states.items() if state is State.OWNED)
        return sorted(owned, key=str)

    @property
    def leaving(self) -> bool:
        """Whether this broker acquires nothing more."""
        return self._successors is not None

    def states(self) -> dict[Bundle, State]:
        """The bundles that are served here, or about to be, or about to be no more."""
        return dict(self._states)

    def reason(self, bundle: Bundle) -> tuple[Why, int] | None:
        """Why a bundle is served here, and since when in milliseconds; None: it is not."""
        return self._taken.get(bundle)

    async def handed_to(self, bundle: Bundle) -> BrokerAddress | None:
        """The broker that a bundle is handed to; None where it is handed to none that runs."""
        to = await self._member.broker_at(paths.transfer(bundle))
        return None if to in self._member.gone else to

    def owns(self, bundle: Bundle) -> bool:
        """Whether a bundle is served here, and is not being unloaded."""
        return self._states.get(bundle) is State.OWNED

    def gives_up(self, bundle: Bundle) -> bool:
        """Whether a bundle is being unloaded, or was lost: its topics are being closed here."""
        return self._states.get(bundle) in {State.UNLOADING, State.LOST}

    async def acquire(self, bundle: Bundle) -> BrokerAddress:
        """Acquire a bundle if it has no owner. Returns its owner, ``own`` for this broker.

        Raises NotOwner where it is no bundle any more, and what the metadata store raises.
        """
        while not self.owns(bundle):
            owner = await self._change(bundle, self._acquire)
            if owner is not None and owner is not self.own:
                return owner
        return self.own

    async def owner(self, bundle: Bundle) -> BrokerAddress | None:
        """The owner of a bundle, ``own`` where that is this broker; None: it has none."""
        if self.owns(bundle):
            return self.own
        owner = await self._member.broker_at(paths.bundle_owner(bundle))
        return self.own if owner == self.own else owner

    def elsewhere(self, what: object, owner: BrokerAddress) -> NotOwner:
        """The refusal of what is served by another broker: it says where that is."""
        return NotOwner(
            f"{what} is served by {owner.name}",
            web_url=owner.web_url,
            web_url_tls=owner.web_url_tls,
        )

    async def check(self, bundle: Bundle, topic: TopicName, *, coming: bool = False) -> None:
        """Raise NotOwner unless a bundle is served here, or handed to this broker, or left to it.

        ``topic`` is what a client asks for without a lookup, or after an old one; ``coming``: that
        the bundle ``comes`` is known already.
        """
        coming = coming or await self.comes(bundle)
        if not (coming and await self.acquire(bundle) is self.own):
            raise NotOwner(
                f"Namespace bundle ({bundle}) for topic ({topic}) not served by this "
                f"instance:{self.own.name}. Please redo the lookup."
            )

    def check_kept(self, bundle: Bundle, topic: TopicName) -> None:
        """Raise NotOwner where a bundle is not served here any more.

        Who opens a topic asks before that and after it: to open its log is to fence that of the
        broker which serves the bundle now.
        """
        if not self.owns(bundle):
            raise NotOwner(
                f"Bundle {bundle} was unloaded while {topic} was to be opened: look it up again"
            )

    async def comes(self, bundle: Bundle) -> bool:
        """Whether a bundle is served here, or about to be as far as can be seen."""
        state = self._states.get(bundle, State.FREE)
        if state in {State.OWNED, State.ACQUIRING} or await self.handed_to(bundle) == self.own:
            return True
        # A process of before may have left its lease.
        return state is State.FREE and await self.owner(bundle) is self.own

    async def unload(
        self,
        bundle: Bundle,
        close: Callable[[Bundle], Awaitable[None]],
        to: BrokerAddress | None = None,
    ) -> None:
        """Serve a bundle no more, once ``close`` has closed its topics; nothing where it is free.

        ``to`` is another broker that has it next; without one, whichever is asked for it first.
        """
        while (changing := self._changing.get(bundle)) is not None:
            acquiring = self._states.get(bundle) is State.ACQUIRING
            await asyncio.wait([changing])
            if not acquiring:
                return  # Somebody else unloaded it.
        if self.owns(bundle):
            await self._change(bundle, partial(self._unload, close=close, to=to))

    async def _change(
        self,
        bundle: Bundle,
        change: Callable[[Bundle], Coroutine[Any, Any, BrokerAddress | None]],
    ) -> BrokerAddress | None:
        """Change the state of a bundle, or wait for the change that is under way."""
        changing = self._changing.get(bundle)
        if changing is None or changing.done():
            changing = self._begin(bundle, change(bundle))
        return await asyncio.shield(changing)

    def _begin(
        self, bundle: Bundle, change: Coroutine[Any, Any, BrokerAddress | None]
    ) -> asyncio.Task[BrokerAddress | None]:
        changing = self._changing[bundle] = self._member.tasks.start(f"bundle {bundle}", change)
        changing.add_done_callback(partial(self._ended, bundle))
        return changing

    def _ended(self, bundle: Bundle, changing: asyncio.Task[BrokerAddress | None]) -> None:
        if self._changing.get(bundle) is changing:
            del self._changing[bundle]

    async def _acquire(self, bundle: Bundle) -> BrokerAddress:
        self._on(bundle, Event.ASKED)
        owner, why = None, Why.NAMED
        try:
            to = await self.handed_to(bundle)
            if to is None and self._successors is not None:
                to = next(self._successors)
                await self._hand_over(bundle, to)
            elif to is None and self._place is not None:
                why = Why.PLACED
                to = await self._placed(bundle, self._place)
            elif to is None:
                why = Why.ASKED
            if to is None:
                owner = await self._take(bundle)
            else:
                owner = await self._take_over(bundle) if to == self.own else to
            if owner is self.own:
                if heartbeat_broker(bundle.namespace) is not None:
                    why = Why.HEARTBEAT
                elif any(bundle.is_within(each) for each in self.bundles):
                    why = Why.SPLIT  # It becomes a bundle only now.
                if why is not Why.SPLIT:
                    await self._check_exists(bundle)
                self._taken[bundle] = why, self._member.clock.wall_ms()
        finally:
            # The lease may have been given back, or the session lost since it was taken.
            taken = owner is self.own and paths.bundle_owner(bundle) in self._leases.held
            self._on(bundle, Event.TAKEN if taken else Event.REFUSED)
        if owner is self.own:  # Its topics need not wait for the end of the note.
            self._member.tasks.spawn(f"transferred {bundle}", self._end_transfer(bundle))
        return owner

    async def _check_exists(self, bundle: Bundle) -> None:
        """Raises NotOwner, without its lease, where a bundle was split."""
        exists = False
        try:
            exists = await self._exists(bundle)
        finally:
            if not exists:
                await self._leases.release(paths.bundle_owner(bundle))
        if not exists:
            raise NotOwner(f"Namespace bundle ({bundle}) was split. Please redo the lookup.")

    async def _placed(self, bundle: Bundle, place: Place) -> BrokerAddress | None:
        """Another broker, told by a note to take a bundle; None where this one should, or see."""
        if await self._member.metadata.get(paths.bundle_owner(bundle)) is not None:
            return None  # It has an owner, or one that is gone.
        to = await place(bundle)
        if to == self.own:
            return None
        version = await self._hand_over(bundle, to)
        owner = await self._member.broker_at(paths.bundle_owner(bundle))
        if owner is None or owner == to:
            return to
        # Who took it meanwhile saw no note, unless it takes the note away.
        with suppress(VersionMismatch):
            await self._member.metadata.delete(paths.transfer(bundle), expected_version=version)
        return None

    async def _take(self, bundle: Bundle, *, free: bool = False) -> BrokerAddress:
        lease = await self._leases.take(paths.bundle_owner(bundle), free=free)
        owner = self._member.codec.decode_owner(lease)
        return self.own if owner == self.own else owner

    async def _take_over(self, bundle: Bundle) -> BrokerAddress:
        """Take the lease of a bundle that is handed to us, as soon as it is released.

        Another broker may have taken it before the note was there: that ends the note.
        """
        owner: BrokerAddress | None = None
        changed = asyncio.Event()
        watches = [
            self._member.metadata.watch(path, lambda _: changed.set())
            for path in (paths.bundle_owner(bundle), paths.transfer(bundle))
        ]
        try:
            async with asyncio.timeout(TRANSFER_S_MAX):
                owner = await self._take(bundle)
                while owner is not self.own and await self.handed_to(bundle) == self.own:
                    await changed.wait()
                    changed.clear()
                    owner = await self._take(bundle, free=True)
        except TimeoutError:
            if owner is None:
                raise MetadataLost(
                    f"the metadata store has not said in {TRANSFER_S_MAX:g} s who has bundle "
                    f"{bundle}: see whether it can be reached"
                ) from None
            log.warning("bundle.not_handed_over bundle=%s owner=%s", bundle, owner.name)
        finally:
            for watch in watches:
                watch.cancel()
        return owner

    async def _unload(
        self,
        bundle: Bundle,
        close: Callable[[Bundle], Awaitable[None]],
        to: BrokerAddress | None,
    ) -> None:
        if not self.owns(bundle):
            return  # It was lost meanwhile.
        self._on(bundle, Event.UNLOAD)
        try:
            if to is not None:
                try:
                    await self._hand_over(bundle, to)
                except MagnetarError as error:  # It is free to all, then.
                    log.warning("bundle.no_successor bundle=%s error=%s", bundle, error)
            await close(bundle)
            await self._leases.release(paths.bundle_owner(bundle))
        finally:
            self._on(bundle, Event.RELEASED)

    async def _hand_over(self, bundle: Bundle, to: BrokerAddress) -> int:
        """Leave a note that names the next owner, for as long as it may take to come.

        Returns the version of the note.
        """
        note = paths.transfer(bundle)
        left = self._left[note] = object()
        try:
            return await self._member.metadata.put(
                note, self._member.codec.encode_owner(to), ephemeral=True
            )
        finally:  # It may have been left, though nobody said so.
            self._member.tasks.spawn(f"transfer {bundle}", self._reclaim(note, left))

    async def _reclaim(self, note: str, left: object) -> None:
        """Delete a note when its time is over: it would hold up its bundle for ever.

        Another one may be there by then, of the same version: a record that is new has the first.
        """
        metadata = self._member.metadata
        while True:
            await self._member.clock.sleep(TRANSFER_S_MAX)
            try:
                record = await metadata.get(note)
                if self._left.get(note) is not left:
                    return
                if record is not None and record.owner is Owner.OURS:
                    with suppress(VersionMismatch):
                        await metadata.delete(note, expected_version=record.version)
            except MagnetarError as error:
                log.warning("bundle.note_left note=%s error=%s", note, error)
                continue
            if self._left.get(note) is left:
                del self._left[note]
            return

    async def _end_transfer(self, bundle: Bundle) -> None:
        """Delete the note of a bundle that this broker has, whoever should have had it."""
        note = paths.transfer(bundle)
        with suppress(MagnetarError):  # It ends with its time, too.
            record = await self._member.metadata.get(note)
            if record is not None and self.owns(bundle):
                await self._member.metadata.delete(note, expected_version=record.version)

    def _lost(self, path: str) -> None:
        bundle = paths.bundle_owned_at(path)
        log.warning("bundle.lost bundle=%s reason=its lease ended", bundle)
        if self._states.get(bundle) not in _SERVED:
            return  # It is being acquired, which sees that, or was when that failed.
        self._on(bundle, Event.LOST)
        given_up = self._give_up(bundle)
        self._begin(bundle, self._forget(bundle, self._changing.get(bundle), given_up))

    async def _forget(
        self,
        bundle: Bundle,
        unloading: asyncio.Task[BrokerAddress | None] | None,
        given_up: Awaitable[None],
    ) -> None:
        try:
            await given_up
        finally:
            if unloading is not None:
                await asyncio.wait([unloading])
            self._on(bundle, Event.FORGOTTEN)

    def _on(self, bundle: Bundle, event: Event) -> None:
        state = TRANSITIONS[self._states.get(bundle, State.FREE), event]
        if state is State.FREE:
            del self._states[bundle]
            self._taken.pop(bundle, None)
        else:
            self._states[bundle] = state


async def _nothing(_bundle: Bundle) -> None: ...


async def _always(_bundle: Bundle) -> bool:
    return True
