"""Our errors as HTTP statuses, each with a body that says why: ``{"reason": ...}``.

Pure. Where Pulsar leaves an error to its servlet container (no such route, wrong method, wrong
content type, a body that is no JSON) the statuses are the container's; the reason is ours.
"""

import json
from typing import Final

from magnetar import errors
from magnetar.errors import MagnetarError, NotOwner
from magnetar.rest.exchange import JSON, Reply

# A class also stands for its subclasses, except those that have a status of their own.
STATUSES: Final[dict[type[MagnetarError], int]] = {
    errors.ProtocolError: 400,
    errors.ChecksumMismatch: 400,
    errors.UndecodableValue: 400,
    errors.AccessError: 403,
    errors.NotAuthenticated: 401,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.ProducerBusy: 412,
    errors.ConsumerBusy: 412,
    errors.InvalidSchema: 422,
    errors.Refused: 412,
    errors.NotAllowed: 405,
    errors.Unavailable: 503,
    errors.CoordinatorNotFound: 404,
    errors.StorageError: 500,
    errors.WriteFailed: 503,
    errors.MetadataLost: 503,
    errors.VersionMismatch: 409,
    errors.UnknownFailure: 500,
}


class Rejection(Exception):
    """A request refused with a status of its own.

    ``allow``: the methods that would be taken; ``challenge``: how to show who one is.
    """

    def __init__(self, status: int, reason: str, *, allow: str = "", challenge: str = "") -> None:
        super().__init__(reason)
        self.status = status
        headers = {"Allow": allow, "WWW-Authenticate": challenge}
        self._headers = {name: value for name, value in headers.items() if value}

    def reply(self) -> Reply:
        return _reason(self.status, str(self), self._headers)


def status_of(error: MagnetarError) -> int:
    """The status of any of our errors."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def answer(error: MagnetarError) -> Reply:
    """One of our errors, as an administrator reads it."""
    return _reason(status_of(error), str(error))


def redirection(error: NotOwner, path: str, *, tls: bool) -> Reply:
    """What leads to the broker that serves what a request is about; 503 where that is unknown.

    As of Pulsar's brokers that are no leader, it says that the other may find a newer owner.
    """
    url = error.web_url_tls if tls else error.web_url
    if not url:
        return answer(error)
    where, _, query = path.partition("?")
    kept = [each for each in query.split("&") if each and not each.startswith("authoritative=")]
    return Reply(
        307, headers={"Location": f"{url}{where}?{'&'.join([*kept, 'authoritative=false'])}"}
    )


def unexpected(error: Exception) -> Reply:
    """A defect of ours. The log has its traceback."""
    heading = "\n --- An unexpected error occurred in the server ---\n\nMessage: "
    return _reason(500, f"{heading}{type(error).__name__}: {error}")


def _reason(status: int, reason: str, headers: dict[str, str] | None = None) -> Reply:
    body = json.dumps({"reason": reason}, separators=(",", ":")).encode()
    return Reply(status, body, JSON, headers or {})
