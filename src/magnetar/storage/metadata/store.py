"""The contract of a metadata store: small versioned records in a tree of paths, with watches.

Paths look like ``/managed-ledgers/public/default/persistent/orders``: absolute, ``/``-separated,
no trailing slash, segments already URL-encoded by the caller (``paths.py``). A record may have
children without existing itself. Every change is durable when the call returns.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Protocol

from magnetar.late_dataclass import dataclass

ABSENT: Final = -1
"""An ``expected_version`` that says that the record must not exist yet."""


class Owner(Enum):
    """Whose session an ephemeral record ends with."""

    NONE = auto()  # It is not ephemeral.
    OURS = auto()
    OTHER = auto()


class SessionState(Enum):
    """What this process knows of its session, in which its ephemeral records live."""

    CONNECTED = auto()
    SUSPENDED = auto()  # The store does not answer; the session may live on, and stops nothing.
    LOST = auto()  # Its ephemeral records are gone or will be; the next one begins a new session.


@dataclass(slots=True, frozen=True)
class Record:
    """A value and its version, which is 0 at first and one more after each put."""

    value: bytes
    version: int
    owner: Owner = Owner.NONE


class Watch(Protocol):
    """A running watch; ``cancel`` ends it."""

    def cancel(self) -> None: ...


class MetadataStore(Protocol):
    """One session on a tree of records."""

    async def get(self, path: str) -> Record | None:
        """Return the record at ``path``, or None."""

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        """Write, and return the new version.

        ``expected_version`` None replaces any version; ``ABSENT`` creates; a version replaces only
        that version. An ephemeral record is deleted when this store's session ends: on ``close``,
        or some seconds after its process died; who has put one was told by its watches of all that
        was put before by anybody. Raises VersionMismatch.
        """

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        """Delete one record, not its children. It may be absent when no version is expected.

        Raises VersionMismatch.
        """

    async def children(self, path: str) -> list[str]:
        """Return the sorted names (not paths) directly below ``path``; [] where there are none."""

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        """Call ``changed(path)`` on the event loop after a record at or below ``prefix`` changes.

        Changes by any process are reported, perhaps late and several at once, but never lost. A
        read after the call shows the new state or a newer one.
        """

    def watch_session(self, changed: Callable[[SessionState], None]) -> Watch:
        """Call ``changed`` on the event loop whenever the state of the session changes.

        LOST is told before another session can own what this one owned, as far as this process can
        know: one that was stopped learns it when it goes on.
        """

    async def close(self) -> None:
        """End the session, its watches, and its ephemeral records. Not told as LOST."""
