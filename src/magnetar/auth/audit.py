"""The audit log: who asked to change what, and who was not let in. Off by default.

A line of JSON for each request of the admin API that changes something, done or refused, and for
each sign-in that fails, whatever it came by:

    time       UTC, to the millisecond
    event      "request", or "sign_in_failed"
    role       who asked; null where nobody is asked who it is
    proxyRole  the proxy that passed it on, where one did
    address    where it came from
    method     of HTTP, or of authentication ("token", "basic", ...)
    path       of the request, with its query; role, topic or tenant are in it
    status     what was answered: below 400 it was done
    body       of requests about tenants and permissions, which say who may do what
    error      why a sign-in failed
"""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from magnetar.clock import Clock
from magnetar.errors import InvalidValue

log = logging.getLogger(__name__)

BODY_BYTES_MAX: Final = 4096
"""The most bytes of a body that are recorded; a longer one is cut."""
_READS: Final = ("GET", "HEAD", "OPTIONS")
_SHOWN: Final = ("/admin/v2/tenants/", "/permissions/")
"""Bodies of such paths are kept; others may hold secrets, or messages."""


class AuditLog:
    """Appends to a file, which is opened anew when it was moved away, as logrotate does."""

    def __init__(self, file: Path, clock: Clock) -> None:
        """Raises InvalidValue when it cannot be written."""
        from logging.handlers import WatchedFileHandler  # noqa: PLC0415 - few keep such a file

        try:
            self._file = WatchedFileHandler(file, encoding="utf-8")
        except OSError as error:
            raise InvalidValue(
                f"auditLogFile={str(file)!r} cannot be written ({error}): name a file in a folder "
                "that exists and may be written to, or leave the key out"
            ) from error
        self._clock = clock

    def requested(
        self,
        method: str,
        path: str,
        status: int,
        *,
        role: str | None,
        proxy_role: str | None,
        address: str,
        body: bytes,
    ) -> None:
        """Note a request that changes something, when it was answered."""
        if method in _READS:
            return
        shown: dict[str, Any] = {"proxyRole": proxy_role} if proxy_role else {}
        if body and any(part in path for part in _SHOWN):
            shown["body"] = body[:BODY_BYTES_MAX].decode("utf-8", "replace")
        self._note("request", role, address, method=method, path=path, status=status, **shown)

    def refused(self, method: str, address: str, error: str) -> None:
        """Note a sign-in that failed."""
        self._note("sign_in_failed", None, address, method=method, error=error)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _note(self, event: str, role: str | None, address: str, **more: Any) -> None:
        now = datetime.fromtimestamp(self._clock.wall_ms() / 1000, UTC)
        time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps(
            {"time": time, "event": event, "role": role, "address": address, **more},
            ensure_ascii=False,
        )
        record = logging.LogRecord("audit", logging.INFO, __file__, 0, line, None, None)
        self._file.handle(record)
