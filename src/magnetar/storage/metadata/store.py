"""The contract of a metadata store: small versioned records in a tree of paths, watched.

Paths look like ``/managed-ledgers/public/default/persistent/orders``: absolute, ``/``-separated,
no trailing slash, segments already URL-encoded by the caller (``paths.py``). A record may have
children without existing itself. Every change is durable when the call returns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

ABSENT: Final = -1
"""As ``expected_version``: the record must not exist yet."""


@dataclass(slots=True, frozen=True)
class Record:
    """A value and its version: 0 when created, one more with each put."""

    value: bytes
    version: int


class Watch(Protocol):
    """A running watch; ``cancel`` ends it."""

    def cancel(self) -> None: ...


class MetadataStore(Protocol):
    """Get, put-if-version, delete, children, watch, ephemeral."""

    async def get(self, path: str) -> Record | None:
        """The record at ``path``, or None."""

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        """Write, and return the new version.

        ``expected_version`` None writes whatever was there; ``ABSENT`` creates; a version replaces
        just that version. An ephemeral record vanishes when this store's session ends: on
        ``close``, or some seconds after its process died. Raises VersionMismatch.
        """

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        """Remove one record (not its children). Absent is fine when no version is expected.

        Raises VersionMismatch.
        """

    async def children(self, path: str) -> list[str]:
        """The names (not paths) directly below ``path``, sorted; [] where there are none."""

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        """Call ``changed(path)`` on the event loop after a record at or below ``prefix`` changes.

        By whichever process. Changes may be reported late and together, never lost: after the
        call, a read shows the new state or a newer one.
        """

    async def close(self) -> None:
        """End the session: ephemeral records go, watches end."""
