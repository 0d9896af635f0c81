"""The HTTP server: the only file that uses the HTTP library."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import Any, Final, Self, cast
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from magnetar.auth.audit import AuditLog
from magnetar.auth.certificates import common_name
from magnetar.auth.http import SAID_ONCE, HttpSignIn, shows_token
from magnetar.errors import MagnetarError, NotAuthenticated, NotOwner
from magnetar.model.broker_address import LOOPBACK_NAMES
from magnetar.rest import errors
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import BODY_BYTES_MAX, Reply, Request, Stream, Tracer
from magnetar.rest.listener import Listener, accept_no_more
from magnetar.rest.router import Router
from magnetar.tasks import Tasks


def is_own_page(origin: str, host: str, advertised: str) -> bool:
    """Whether a page of ``origin`` came from here, and so may change something.

    A browser says with ``Origin`` where a page came from, and with ``Host`` what it believes to
    talk to. A page from elsewhere has another origin. A page whose name was made to point here
    after it was loaded (DNS rebinding) has the same one, so the name must be one that no other
    machine can take: an IP address, a name of this machine, or ``advertised``, "" for none.
    """
    scheme, _, authority = origin.partition("://")
    if scheme not in ("http", "https") or not authority or authority.lower() != host.lower():
        return False
    try:
        name = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    return name in LOOPBACK_NAMES or name == advertised.lower() or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


log = logging.getLogger(__name__)

SHUTDOWN_TIMEOUT_S: Final = 1.0
"""How long running requests may go on when the server closes."""
ALLOWED_S: Final = 1.0
"""After so long it is asked again whether who reads a body that goes on may."""
HEADERS_TIMEOUT_S: Final = 10.0
"""So long may the headers of a request take, from the first byte, and of a connection's first one
from the start: others may need its place."""
IDLE_S: Final = 75.0
"""A connection that asks nothing for so long is closed."""
BODY_TIMEOUT_S: Final = 60.0
"""A body must have come in this time."""
PACKAGE_TIMEOUT_S: Final = 300.0
"""A body that says that it is larger than others may be, a function's package, in this."""
READER_TIMEOUT_S: Final = 20.0
"""Who takes nothing of a stream for so long is cut off."""


_SERVER: Final = {"Server": "Magnetar"}  # The library's own tells versions.
_REFUSAL: Final = (
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    "Connection: close\r\nContent-Length: {}\r\n\r\n{}"
)


class _ClientErrors(logging.Filter):
    """Logs a client's malformed requests as one line each; the library logs them as errors."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, HttpProcessingError | web.RequestPayloadError | ConnectionError):
            return True
        what = str(error).partition("b'")[0].partition('b"')[0]  # What comes may be a token.
        log.info("admin.unreadable error=%s", ascii(" ".join(what.split())))
        _drop_frames(error)
        return False


_library_log = logging.getLogger(f"{__name__}.http")
_library_log.addFilter(_ClientErrors())


class AdminServer:
    """The listening API."""

    def __init__(
        self, runner: web.ServerRunner, answers: "_Answers", at: Sequence[Listener], tasks: Tasks
    ) -> None:
        self._runner = runner
        self._answers = answers
        self._listeners = at
        self._tasks = tasks
        self.port = at[0].port

    @classmethod
    async def start(
        cls,
        router: Router,
        listeners: Sequence[Listener],
        tasks: Tasks,
        *,
        connections_max: int = 0,
        connections_per_ip_max: int = 0,
        body_bytes_max: int = BODY_BYTES_MAX,
        sign_in: HttpSignIn | None = None,
        advertised: str = "",
        traces: Tracer | None = None,
        audit: AuditLog | None = None,
    ) -> Self:
        """Accept connections on ``listeners``, which are closed with the server, as ``tasks`` are.

        One more than ``connections_max``, or from one address than ``connections_per_ip_max``, is
        turned away; 0 is no limit. So is a body of more than ``body_bytes_max``. Without
        ``sign_in`` nobody is asked who it is. Pages from here may change something; ``advertised``
        is a host name that they may come by.
        """
        addresses = [ip_address(each.socket.getsockname()[0]) for each in listeners]
        local = all(each.is_loopback for each in addresses)
        answers = _Answers(
            router, body_bytes_max, sign_in, advertised, local=local, traces=traces, audit=audit
        )
        runner = web.ServerRunner(
            _Connections(answers.answer, connections_max, connections_per_ip_max),
            handle_signals=False,
            shutdown_timeout=SHUTDOWN_TIMEOUT_S,
        )
        await runner.setup()
        for each in listeners:
            await web.SockSite(runner, each.socket, ssl_context=each.tls).start()
        return cls(runner, answers, listeners, tasks)

    async def close(self) -> None:
        """Take no more requests, end streams, and wait a moment for other running ones."""
        await accept_no_more(self._listeners)
        self._answers.end_streams()
        await self._runner.cleanup()
        await self._tasks.close()


class _Connection(web.RequestHandler):
    """One that has a place, and must send whole headers in time."""

    __slots__ = ("_connections", "_headers_due", "_host")

    def __init__(self, connections: "_Connections", **options: Any) -> None:
        super().__init__(connections, **options)
        self._connections = connections
        self._host: str | None = None  # None: it has no place.
        self._headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        host = str(peer[0]) if peer else ""
        full = self._connections.full(host)
        if full is not None:
            self.force_close()  # The library never hears of it.
            self._connections.refuse(cast("asyncio.Transport", transport), full)
            return
        self._connections.take(host)
        self._host = host
        super().connection_made(transport)
        self._headers_due = self._loop.call_later(HEADERS_TIMEOUT_S, self.force_close)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._headers_came()
        if self._host is not None:
            self._connections.leave(self._host)
            self._host = None

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._waiter is None or self._waiter.done():  # It does not wait for a request.
            self._headers_came()
        elif self._headers_due is None:
            self._headers_due = self._loop.call_later(HEADERS_TIMEOUT_S, self.force_close)

    def _headers_came(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        response = super().handle_error(request, status, exc, message)
        response.headers.update(_SERVER)
        return response


class _Connections(web.Server):
    """The connections that are open, each with a place."""

    def __init__(
        self,
        answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        connections_max: int,
        connections_per_ip_max: int,
    ) -> None:
        # A small compressed body could unzip into more than fits, so none is unzipped.
        super().__init__(
            answer,
            access_log=None,
            logger=_library_log,
            auto_decompress=False,
            keepalive_timeout=IDLE_S,
        )
        self._connections_max = connections_max
        self._connections_per_ip_max = connections_per_ip_max
        self._places: Counter[str] = Counter()  # By address.
        self._taken = 0

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    def full(self, host: str) -> str | None:
        """The setting that leaves an address no place; None where there is one."""
        if 0 < self._connections_max <= self._taken:
            return "maxHttpServerConnections"
        if 0 < self._connections_per_ip_max <= self._places[host]:
            return "maxHttpServerConnectionsPerIp"
        return None

    def take(self, host: str) -> None:
        self._places[host] += 1
        self._taken += 1

    def leave(self, host: str) -> None:
        self._taken -= 1
        self._places[host] -= 1
        if not self._places[host]:
            del self._places[host]

    def refuse(self, transport: asyncio.Transport, setting: str) -> None:
        """Say in one line of the log, and to the client, that there is no place; end it."""
        log.info("admin.refused status=503 reason=too many connections setting=%s", setting)
        reason = json.dumps(
            {
                "reason": f"Reached the maximum number of connections ({setting}): close some, or "
                "try again later"
            }
        )
        transport.write(_REFUSAL.format(len(reason), reason).encode())
        transport.close()


class _Answers:
    """Answers every request, whatever happens."""

    def __init__(
        self,
        router: Router,
        body_bytes_max: int,
        sign_in: HttpSignIn | None,
        advertised: str,
        *,
        local: bool,
        traces: Tracer | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        """``local``: only programs on this machine reach it."""
        self._router = router
        self._body_bytes_max = body_bytes_max
        self._sign_in = sign_in
        self._advertised = advertised
        self._local = local
        self._traces = traces
        self._audit = audit
        self._streaming: set[asyncio.Task[object]] = set()
        self._closing = False

    def end_streams(self) -> None:
        """Send nothing more of bodies that go on."""
        self._closing = True
        for task in list(self._streaming):
            task.cancel()

    async def answer(self, http: web.BaseRequest) -> web.StreamResponse:
        path, _, _ = http.raw_path.partition("?")
        request = Request(
            method=http.method,
            path=path,
            query=http.rel_url.query,
            accept=http.headers.get("Accept", "*/*"),
            content_type=http.headers.get("Content-Type"),
            headers=http.headers,
        )
        if self._traces is None:
            reply = await self._reply(request, http)
        else:
            reply = await self._traces.around(request, partial(self._reply, request, http))
        if reply.status >= 400:
            log.info("admin.refused %s %s status=%d", request.method, path, reply.status)
        if self._audit is not None:
            self._audit.requested(
                request.method,
                http.raw_path,
                reply.status,
                role=request.role,
                proxy_role=request.proxy_role,
                address=http.remote or "",
                body=request.body,
            )
        headers = {**_SERVER, **reply.headers}
        if reply.content_type is not None:
            headers["Content-Type"] = reply.content_type
        if reply.stream is not None:
            return await self._send_stream(http, reply.stream, headers, request.life_s)
        return web.Response(status=reply.status, body=reply.body or None, headers=headers)

    async def _send_stream(
        self,
        http: web.BaseRequest,
        stream: Stream,
        headers: dict[str, str],
        life_s: float | None,
    ) -> web.StreamResponse:
        """Send a body that goes on, until it ends, the server closes or its reader is gone.

        It ends after ``life_s``, when the credentials of its reader do.
        """
        response = web.StreamResponse(headers=headers)
        task = asyncio.current_task()
        assert task is not None, "the HTTP library answers in tasks"
        self._streaming.add(task)
        try:
            await response.prepare(http)
            if http.method != "HEAD" and not self._closing:
                ends_at = None if life_s is None else asyncio.get_running_loop().time() + life_s
                await _write_until(ends_at, response, stream)
        except ConnectionError:
            pass  # Its reader is gone.
        except Rejection as error:  # It is too late for a status.
            log.info("admin.cut_off address=%s reason=%s", http.remote, error)
        except TimeoutError:
            log.info("admin.cut_off address=%s reason=it reads too slowly", http.remote)
            if http.transport is not None:
                http.transport.abort()
        except asyncio.CancelledError:
            if not self._closing:
                raise
        finally:
            self._streaming.discard(task)
            await stream.aclose()
        return response

    async def _reply(self, request: Request, http: web.BaseRequest) -> Reply:
        try:
            route = await self._router.find(request)
            if self._sign_in is not None and self._sign_in.asks(route.access, request.path):
                await self._ask_who(self._sign_in, request, http)
            if request.role is None or not shows_token(http.headers):
                _check_page(http, self._advertised)  # Browsers add no token by themselves.
            if request.role is None and self._local:
                _check_name(http, self._advertised)
            await self._router.authorize(route, request)
            request.body = await _body(http.clone(client_max_size=self._body_bytes_max))
            reply = await self._router.call(route, request)
            if reply.stream is not None:
                again = partial(self._router.authorize, route, request)
                reply.stream = _WhileAllowed(reply.stream, again)
        except Rejection as error:
            return error.reply()
        except NotOwner as error:
            return errors.redirection(error, http.raw_path, tls=http.secure)
        except MagnetarError as error:
            return errors.answer(error)
        except Exception as error:
            log.exception("admin.failed %s %s", request.method, request.path)
            return errors.unexpected(error)
        else:
            return reply

    async def _ask_who(self, sign_in: HttpSignIn, request: Request, http: web.BaseRequest) -> None:
        """Give the request its role, before its body is read. Raises Rejection."""
        certificate = http.get_extra_info("peercert")
        for name in SAID_ONCE:
            if len(http.headers.getall(name, ())) > 1:
                raise Rejection(400, f"{name} is there more than once: send it once")
        try:
            sender = await sign_in.sender(http.headers, common_name(certificate))
        except NotAuthenticated as error:
            log.info("admin.not_authenticated address=%s error=%s", http.remote, error)
            sign_in.note_refused(http.headers, http.remote, error)
            reason = f"Authentication required: {error}"
            raise Rejection(401, reason, challenge=sign_in.challenge) from None
        request.role, request.proxy_role = sender.principal
        request.life_s = sender.life_s


class _WhileAllowed:
    """A body that goes on, as long as its reader may have it."""

    def __init__(self, stream: Stream, again: Callable[[], Awaitable[None]]) -> None:
        """``again`` asks whether the reader may. It raises what refuses that."""
        self._stream = stream
        self._again = again

    async def __aiter__(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        async for piece in self._stream:
            if loop.time() - asked_at >= ALLOWED_S:
                asked_at = loop.time()
                try:
                    await self._again()
                except (Rejection, MagnetarError) as error:
                    log.info("admin.cut_off reason=%s", error)
                    return
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _write_until(ends_at: float | None, response: web.StreamResponse, stream: Stream) -> None:
    """Write the pieces of a body, until a time of the loop. Raises TimeoutError: nobody reads."""
    try:
        async with asyncio.timeout_at(ends_at) as life:
            async for piece in stream:
                async with asyncio.timeout(READER_TIMEOUT_S):
                    await response.write(piece)
    except TimeoutError:
        if not life.expired():
            raise


def _check_page(http: web.BaseRequest, advertised: str) -> None:
    """Refuse what a page from elsewhere sends: any may send forms here, and so functions."""
    origin, host = http.headers.get("Origin"), http.headers.get("Host", "")
    if origin is None or http.method in ("GET", "HEAD"):
        return
    if not is_own_page(origin, host, advertised):
        raise Rejection(
            403,
            f"A page in a browser from {origin:.100} may not change anything here: use a program, "
            "or the console by an IP address, localhost or the advertised address",
        )


def _check_name(http: web.BaseRequest, advertised: str) -> None:
    """Refuse what a browser asks by a name that somebody else can make lead to this machine.

    A page of that name could read whatever is for nobody but this machine's programs. Browsers send
    no Origin for what they only read, but always the language of who looks; programs do not.
    """
    host = http.headers.get("Host", "")
    browser = "Accept-Language" in http.headers
    if browser and not is_own_page(f"http://{host}", host, advertised):
        raise Rejection(
            403,
            f"A browser asks for {host:.100}, which is no name of this broker: use localhost, or "
            "set advertisedAddress to the name",
        )


async def _body(http: web.BaseRequest) -> bytes:
    """The body of a request. Raises Rejection."""
    if http.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise Rejection(415, "Content-Encoding is not supported: send the body as it is")
    package = (http.content_length or 0) > BODY_BYTES_MAX
    timeout_s = PACKAGE_TIMEOUT_S if package else BODY_TIMEOUT_S
    try:
        async with asyncio.timeout(timeout_s):
            return await http.read()
    except TimeoutError:
        reason = f"The body did not come in {timeout_s:g} s: send it again"
        raise Rejection(408, reason) from None
    except web.HTTPRequestEntityTooLarge as error:
        raise Rejection(413, f"The body is too large: {error.text}") from None
    except (web.RequestPayloadError, ConnectionError) as error:
        _drop_frames(error)
        raise Rejection(400, f"The body cannot be read: {error}") from None


def _drop_frames(error: BaseException) -> None:
    """Drop tracebacks: the library keeps errors in cycles, and with their frames whole bodies."""
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__ = None
        seen = seen.__cause__ or seen.__context__
