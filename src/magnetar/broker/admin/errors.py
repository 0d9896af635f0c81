"""What went wrong, as HTTP: our errors to statuses, and the forms an error takes. Pure.

Pulsar answers most errors as ``{"reason": ...}``. A body that is no JSON gets plain text, and what
its servlet container refuses (no such route, wrong method, wrong content type) gets a page in the
form the client accepts, empty for PUT, DELETE and PATCH.
"""

import json
from html import escape
from http import HTTPStatus
from typing import Final

from magnetar import errors
from magnetar.broker.admin.exchange import JSON, Reply, Request
from magnetar.errors import MagnetarError

# A class stands for everything below it in the tree, until a class below says otherwise.
STATUSES: Final[dict[type[MagnetarError], int]] = {
    errors.ProtocolError: 400,
    errors.ChecksumMismatch: 400,
    errors.AccessError: 403,
    errors.NotAuthenticated: 401,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.ProducerBusy: 412,
    errors.ConsumerBusy: 412,
    errors.Refused: 412,
    errors.NotAllowed: 405,
    errors.Unavailable: 503,
    errors.StorageError: 500,
    errors.WriteFailed: 503,
    errors.VersionMismatch: 409,
    errors.UnknownFailure: 500,
}

_PAGED: Final = ("GET", "POST", "HEAD")


class Rejection(Exception):
    """A request refused with a status and a reason of its own, as Pulsar words it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status

    def reply(self) -> Reply:
        return _reason(self.status, str(self))


class Unreadable(Rejection):
    """A body that is not the JSON it should be: 400, in plain words."""

    def __init__(self, reason: str, content_type: str = "text/plain") -> None:
        super().__init__(400, reason)
        self._content_type = content_type

    def reply(self) -> Reply:
        return Reply(self.status, str(self).encode(errors="replace"), self._content_type)


class Misdirected(Exception):
    """A request that fits no route: wrong path, method, content type or parameter."""

    def __init__(self, status: int, allow: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.allow = allow


def status_of(error: MagnetarError) -> int:
    """The status of any of our errors."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def answer(error: MagnetarError) -> Reply:
    """One of our errors, as an administrator reads it."""
    return _reason(status_of(error), str(error))


def unexpected(error: Exception) -> Reply:
    """A failure nobody foresaw. The log has the rest."""
    heading = "\n --- An unexpected error occurred in the server ---\n\nMessage: "
    return _reason(500, f"{heading}{type(error).__name__}: {error}")


def page(request: Request, status: int, allow: str = "") -> Reply:
    """What the container answers by itself, in the form the client accepts."""
    headers = {"Allow": allow} if allow else {}
    if request.method not in _PAGED:
        return Reply(status, headers=headers)
    facts = {
        "servlet": "magnetar",
        "message": HTTPStatus(status).phrase,
        "url": request.path,
        "status": str(status),
    }
    if "application/json" in request.accept:
        return Reply(status, json.dumps(facts).encode(), JSON, headers)
    if request.accepts("text/html"):
        return Reply(status, _html(facts).encode(errors="replace"), "text/html", headers)
    text = f"HTTP ERROR {status} {facts['message']}\nURI: {request.path}\n"
    return Reply(status, text.encode(errors="replace"), "text/plain", headers)


def _html(facts: dict[str, str]) -> str:
    title = f"{facts['status']} {escape(facts['message'])}"
    return (
        f"<html><head><title>Error {title}</title></head>"
        f"<body><h2>HTTP ERROR {title}</h2><p>URI: {escape(facts['url'])}</p></body></html>\n"
    )


def _reason(status: int, reason: str) -> Reply:
    return Reply(status, json.dumps({"reason": reason}, separators=(",", ":")).encode(), JSON)
