"""Finds the handler of a request. Paths are matched encoded: ``%2F`` separates nothing."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import field
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from magnetar.auth.access import Access
from magnetar.late_dataclass import dataclass
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, WITHOUT_EFFECT, Reply, Request

log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[..., Awaitable[Reply]]
"""It gets the services that its router was made with, a broker's or a functions worker's, the
request, and where its route is about something that was found: that."""

Authorize: TypeAlias = Callable[["Route", Request], Awaitable[None]]
"""Raises Rejection for a request whose role may not have its route."""

Ask: TypeAlias = Callable[["Route", Request, Handler], Awaitable[Reply]]
"""Answers a request whose route says what it is about: by the handler, which is given that, or by
who can."""

ANY: Final = "*/*"
ANY_METHOD: Final = "*"


@dataclass(frozen=True, slots=True)
class Query:
    """A parameter that a route reads from the query."""

    name: str
    kind: str = "string"
    """A JSON type: string, boolean or integer."""
    required: bool = False


FORCE: Final = Query("force", "boolean")
DRY_RUN: Final = Query("dryRun", "boolean")

_Reader = TypeVar("_Reader", bound=Callable[..., object])
_READ: Final[dict[Callable[..., object], tuple[Query, ...]]] = {}


def reads(*query: Query) -> Callable[[_Reader], _Reader]:
    """Say which parameters a handler reads from the query."""

    def note(handler: _Reader) -> _Reader:
        _READ[handler] = query
        return handler

    return note


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path, in which each ``{name}`` stands for any one segment.

    ``takes`` are the content types of the body; () where no body is read. ``access`` is what the
    role must be allowed to do. With ``ANY_METHOD``
    it is every method, on the path and on all that begin so.
    """

    method: str
    path: str
    handler: Handler
    access: Access = Access.SUPERUSER
    about: Any = None
    """What its requests are about, for ``Ask``; None: the handler answers them anywhere."""
    takes: tuple[str, ...] = ()
    gives: str = JSON
    query: tuple[Query, ...] = ()
    """What is read from the query beside what the handler itself ``reads``."""
    body: Any = None
    """For the OpenAPI document: the type of the body, or a function that gives an example."""
    answer: Any = None
    """The same of what a GET answers."""
    family: str = ""
    """Which of the router's services its handler is given; "": these themselves."""

    @property
    def function(self) -> Callable[..., object]:
        """The handler, without what its file gave it."""
        return self.handler.func if isinstance(self.handler, partial) else self.handler

    @property
    def parameters(self) -> tuple[Query, ...]:
        """All that is read from the query; the rest of a query is ignored."""
        return (*_READ.get(self.function, ()), *self.query)


@dataclass(slots=True)
class _Node:
    literals: dict[str, "_Node"] = field(default_factory=dict)
    any: "_Node | None" = None
    routes: dict[str, Route] = field(default_factory=dict)

    def ends(self, segments: list[str]) -> Iterator["_Node"]:
        """The nodes that a path leads to; literal segments come before named ones."""
        if not segments:
            if self.routes:
                yield self
            return
        head, rest = segments[0], segments[1:]
        if head in self.literals:
            yield from self.literals[head].ends(rest)
        if head and self.any is not None:
            yield from self.any.ends(rest)


class Routes:
    """Routes as a tree of path segments, which never changes."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        self._whole: list[Route] = []  # Those of everything below a path.
        for route in routes:
            if route.method == ANY_METHOD:
                self._whole.append(route)
                continue
            node = self._root
            for part in _split(route.path):
                if part.startswith("{"):
                    node.any = node.any or _Node()
                    node = node.any
                else:
                    node = node.literals.setdefault(part, _Node())
            assert route.method not in node.routes, f"two routes for {route.method} {route.path}"
            node.routes[route.method] = route

    def find(self, request: Request) -> Route:
        """The route of a request, which is told what its segments are called.

        Raises Rejection for none.
        """
        segments = _split(request.path)
        for whole in self._whole:
            if (below := _named(whole, segments)) is not None:
                request.segments, request.route = below, whole.path
                return whole
        ends = list(self._root.ends(segments))
        if not ends:
            raise not_found(request)
        if request.method == "OPTIONS":
            request.route = request.path
            return _options(request.path, _allowed(ends))
        method = "GET" if request.method == "HEAD" else request.method
        route = next((end.routes[method] for end in ends if method in end.routes), None)
        if route is None:
            allow = _allowed(ends)
            reason = f"{request.method} is not allowed for {request.path}: use one of {allow}"
            raise Rejection(405, reason, allow=allow)
        named = _named(route, segments)
        assert named is not None, "the tree led to this route"
        request.segments, request.route = named, route.path
        return route


LoadRoutes: TypeAlias = Callable[[], Awaitable[Routes]]


class Router:
    """Answers requests: by its routes, the services of their handlers, and who may ask."""

    def __init__(
        self,
        routes: Routes | LoadRoutes,
        services: Any,
        *,
        authorize: Authorize | None = None,
        ask: Ask | None = None,
    ) -> None:
        """``authorize`` may keep a request from its handler.

        ``ask`` answers what is about something. What loads the routes is called for the first
        request.
        """
        self._routes = routes
        self._services = services
        self._authorize = authorize
        self._ask = ask

    async def answer(self, request: Request) -> Reply:
        """Call the handler a request is for. Raises Rejection when there is none."""
        route = await self.find(request)
        await self.authorize(route, request)
        return await self.call(route, request)

    async def find(self, request: Request) -> Route:
        """The route of a request, whose body need not be there. Raises Rejection for none."""
        if not isinstance(self._routes, Routes):
            self._routes = await self._routes()
        return self._routes.find(request)

    async def authorize(self, route: Route, request: Request) -> None:
        """Whether the role of a request may have its route. Raises Rejection, NotFound."""
        if self._authorize is not None:
            await self._authorize(route, request)

    async def call(self, route: Route, request: Request) -> Reply:
        """Call the handler of a route that was found. Raises Rejection for a wrong type."""
        if route.method != ANY_METHOD:
            _check_types(route, request)
        services = getattr(self._services, route.family) if route.family else self._services
        handler = partial(route.handler, services, request)
        asked = None if route.about is None else self._ask
        reply = await (handler() if asked is None else asked(route, request, handler))
        if WITHOUT_EFFECT in reply.headers:
            log.warning(
                "admin.without_effect %s=%s is kept and shown, and nothing is done about it",
                request.path,
                reply.headers[WITHOUT_EFFECT],
            )
        return reply


def _options(path: str, allowed: str) -> Route:
    """What tells anybody the methods of a path."""

    async def tell(*_given: Any) -> Reply:
        return Reply(200, content_type=JSON, headers={"Allow": allowed})

    return Route("OPTIONS", path, tell, Access.PUBLIC, gives=ANY)


def not_found(request: Request) -> Rejection:
    """The refusal of a path that has no route."""
    return Rejection(
        404, f"There is nothing at {request.path}: docs/admin.md lists what this broker answers to"
    )


def _split(path: str) -> list[str]:
    """The segments of a path, without a slash at its end."""
    return path.removeprefix("/").removesuffix("/").split("/")


def _named(route: Route, segments: list[str]) -> dict[str, str] | None:
    """The named segments of a path that begins as a route's does; None for another path."""
    found = {}
    parts = _split(route.path)
    if len(segments) < len(parts):
        return None
    for part, segment in zip(parts, segments, strict=False):
        if part.startswith("{") and segment:
            found[part[1:-1]] = segment
        elif part != segment:
            return None
    return found


def _allowed(ends: list[_Node]) -> str:
    methods = {"OPTIONS"}.union(*(end.routes for end in ends))
    return ",".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


def _check_types(route: Route, request: Request) -> None:
    if route.takes:
        sent = request.content_type
        kind = JSON if sent is None and not request.body else sent or "none"
        if kind.partition(";")[0].strip().lower() not in route.takes:
            raise Rejection(
                415,
                f"A body of Content-Type {kind} is not read here: send {' or '.join(route.takes)}",
            )
    if route.gives != ANY and request.method in ("GET", "HEAD") and not request.accepts(JSON):
        raise Rejection(406, f"The answer is {JSON}, which is not among what you Accept")
