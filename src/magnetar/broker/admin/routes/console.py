"""The console: the pages, styles and scripts that a browser shows, as they are in the package.

They ask nothing but the public REST API, with the credentials of who signed in, so that the files
themselves are for everybody.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import BrokerServices
from magnetar.rest.exchange import Reply, Request
from magnetar.rest.router import ANY, Route, not_found

FOLDER: Final = Path(__file__).parent.parent / "console" / "static"
HOME: Final = "/console/"

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Scripts and styles only from here, and none inside of pages; no other page may frame this one.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-cache",  # Ask with the ETag: a new version is seen at once.
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


async def root(_: BrokerServices, request: Request) -> Reply:
    """Show the console to browsers; for programs there is nothing here, as in Pulsar."""
    if request.method in ("GET", "HEAD") and "text/html" in request.accept:
        return Reply(302, headers={"Location": HOME})
    raise not_found(request)


async def page(_: BrokerServices, request: Request) -> Reply:
    """A file. Its name is looked for among those of the folder, and so cannot lead out of it."""
    if request.path == HOME.rstrip("/"):
        return Reply(302, headers={"Location": HOME})
    name = request.path.removeprefix(HOME) or "index.html"
    if name not in _names():
        raise not_found(request)
    body, tag = _read(name)
    headers = {**_HEADERS, "ETag": tag}
    if tag in request.headers.get("If-None-Match", ""):
        return Reply(304, headers=headers)
    return Reply(200, body, _TYPES[Path(name).suffix], headers)


@cache
def _names() -> frozenset[str]:
    files = (file for file in FOLDER.rglob("*") if file.suffix in _TYPES)
    return frozenset(file.relative_to(FOLDER).as_posix() for file in files)


@cache
def _read(name: str) -> tuple[bytes, str]:
    body = (FOLDER / name).read_bytes()
    return body, f'"{sha256(body).hexdigest()[:32]}"'


def _shown(path: str) -> Route:
    return Route("GET", path, page, Access.PUBLIC, gives=ANY)


SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", "/", root, Access.PUBLIC, gives=ANY),
    _shown("/console"),
    _shown("/console/{file}"),
    _shown("/console/{folder}/{file}"),
    _shown("/console/{folder}/{within}/{file}"),
)
