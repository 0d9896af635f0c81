r"""A client's producers, or its consumers, by id: those that are open, and those being opened.

Opening one takes a while (the topic may have to be loaded), and meanwhile the client may close it
or be lost. ``TRANSITIONS`` alone decides what an event does to it.

    OPENING --attached--> OPEN --closed--> CLOSED
       |   \--refused--------------------> CLOSED
       \--closed--> ABANDONED --attached, refused--> CLOSED

An abandoned one is detached as soon as the topic has attached it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import field
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from magnetar.errors import NotAllowed, NotReady
from magnetar.late_dataclass import dataclass

T = TypeVar("T")


class State(Enum):
    """The state of one producer or consumer."""

    OPENING = auto()  # The topic has been asked to attach it.
    OPEN = auto()  # It is attached, and commands find it by its id.
    ABANDONED = auto()  # It was closed before the topic answered.
    CLOSED = auto()


class Event(Enum):
    """What happens to a producer or consumer."""

    ATTACHED = auto()  # The topic has attached it.
    REFUSED = auto()  # The topic could not attach it.
    CLOSED = auto()  # The client or the topic closed it, or the connection is lost.


TRANSITIONS: Final = {
    (State.OPENING, Event.ATTACHED): State.OPEN,
    (State.OPENING, Event.REFUSED): State.CLOSED,
    (State.OPENING, Event.CLOSED): State.ABANDONED,
    (State.OPEN, Event.CLOSED): State.CLOSED,
    (State.ABANDONED, Event.ATTACHED): State.CLOSED,
    (State.ABANDONED, Event.REFUSED): State.CLOSED,
}


class Opening:
    """One attempt to open a producer or consumer."""

    __slots__ = ("_abandoned", "id", "state")

    def __init__(self, id: int) -> None:  # noqa: A002 - the protocol calls it an id
        self.id = id
        self.state = State.OPENING
        self._abandoned: Callable[[], None] | None = None

    def when_abandoned(self, leave: Callable[[], None]) -> None:
        """Call ``leave`` once the client closes it; now where it has."""
        self._abandoned = leave
        if self.state is State.ABANDONED:
            leave()

    def on(self, event: Event) -> State:
        self.state = TRANSITIONS[self.state, event]
        if self.state is State.ABANDONED and self._abandoned is not None:
            self._abandoned()
        return self.state


@dataclass(slots=True, eq=False)
class Attachments(Generic[T]):
    """A client's producers, or its consumers; ``open`` has those that commands may use."""

    noun: str  # For errors, as the next one.
    setting: str
    let_go: Callable[[T], Awaitable[None]]  # It detaches an abandoned one.
    open: dict[int, T] = field(default_factory=dict, init=False)
    _opening: dict[int, Opening] = field(default_factory=dict, init=False)

    def begin(self, id: int, *, count_max: int) -> Opening:  # noqa: A002
        """Note that ``id`` is being opened, so that a close right behind finds it.

        The caller must then await ``complete``. A ``count_max`` of 0 is no limit. Raises NotReady
        when ``id`` is being opened already, and NotAllowed at the limit.
        """
        if id in self._opening:
            raise NotReady(f"{self.noun.capitalize()} is already present on the connection")
        count = len(self.open) + len(self._opening)
        if count_max and count >= count_max:
            raise NotAllowed(
                f"The connection has {count} {self.noun}s, as many as it may: close some, connect "
                f"again, or raise {self.setting}"
            )
        opening = self._opening[id] = Opening(id)
        return opening

    async def complete(self, opening: Opening, attach: Awaitable[T]) -> T | None:
        """Await ``attach``. None: it was closed meanwhile, so that nobody waits for an answer."""
        try:
            attached = await attach
        except BaseException:
            opening.on(Event.REFUSED)
            raise
        else:
            if opening.on(Event.ATTACHED) is not State.OPEN:
                await self.let_go(attached)
                return None
            self.open[opening.id] = attached
            return attached
        finally:
            if self._opening.get(opening.id) is opening:
                del self._opening[opening.id]

    def close(self, id: int) -> T | None:  # noqa: A002
        """Forget ``id``. Returns what was open under it, for the caller to detach."""
        opening = self._opening.pop(id, None)
        if opening is not None:
            opening.on(Event.CLOSED)
        return self.open.pop(id, None)

    def close_all(self) -> list[T]:
        """Forget all, since the connection is lost. Returns what was open, to be detached."""
        for id in list(self._opening):  # noqa: A001
            self.close(id)
        was_open = list(self.open.values())
        self.open.clear()
        return was_open
