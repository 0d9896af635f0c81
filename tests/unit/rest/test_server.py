import asyncio
import json

import pytest
from support.loop import GIVE_UP_S

from magnetar.auth.authorization import Principal
from magnetar.auth.http import Sender
from magnetar.broker.addresses import listen
from magnetar.broker.admin.routes.functions import FORM_BYTES_MAX
from magnetar.errors import Fenced
from magnetar.rest import server as http_server
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.listener import Listener
from magnetar.rest.router import Route, Router, Routes
from magnetar.rest.server import AdminServer
from magnetar.tasks import Tasks


async def echo(_services: None, request: Request) -> Reply:
    return shown(
        {
            "path": request.path,
            "query": dict(request.query),
            "body": request.body.decode(),
            "segments": request.segments,
            "type": request.content_type,
        }
    )


async def nothing(_services: None, _: Request) -> Reply:
    return Reply(204)


async def fenced(_services: None, _: Request) -> Reply:
    raise Fenced("the log is fenced")


async def broken(_services: None, _: Request) -> Reply:
    raise ZeroDivisionError("oh")


def listening():
    return [Listener(listen("127.0.0.1", 0))]


@pytest.fixture
async def server():
    routes = [
        Route("GET", "/echo/{x}", echo),
        Route("PUT", "/echo/{x}", echo, takes=(JSON,)),
        Route("PUT", "/nothing", nothing),
        Route("GET", "/fenced", fenced),
        Route("GET", "/broken", broken),
    ]
    server = await AdminServer.start(Router(Routes(routes), "services"), listening(), Tasks("test"))
    yield server
    await server.close()


async def raw(server, request: str) -> tuple[str, dict[str, str], bytes]:
    """Send bytes as they are; the status line, headers and body of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request.encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    status, *lines = head.decode().split("\r\n")
    return status, dict(line.lower().split(": ", 1) for line in lines), body


def get(path: str, method: str = "GET", more: str = "", body: str = "") -> str:
    size = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{size}{more}\r\n{body}"


async def test_a_path_arrives_as_it_was_sent(server):
    _, headers, body = await raw(server, get("/echo/a%2Fb%20c%252F?k=v%20w&e="))
    seen = json.loads(body)
    assert seen["path"] == "/echo/a%2Fb%20c%252F"
    assert seen["segments"] == {"x": "a%2Fb%20c%252F"}
    assert seen["query"] == {"k": "v w", "e": ""}
    assert headers["content-type"] == "application/json"


async def test_a_body_arrives_with_its_type(server):
    request = get("/echo/x", "PUT", "Content-Type: application/json\r\n", '{"a": 1}')
    _, _, body = await raw(server, request)
    seen = json.loads(body)
    assert (seen["body"], seen["type"]) == ('{"a": 1}', "application/json")


async def test_no_body_has_no_type_either(server):
    status, headers, body = await raw(server, get("/nothing", "PUT"))
    assert status == "HTTP/1.1 204 No Content"
    assert "content-type" not in headers
    assert body == b""


async def test_head_is_get_without_the_body(server):
    status, headers, body = await raw(server, get("/echo/x", "HEAD"))
    assert status == "HTTP/1.1 200 OK"
    assert headers["content-type"] == "application/json"
    assert body == b""


@pytest.mark.parametrize(
    ("path", "status"),
    [("/fenced", "503 Service Unavailable"), ("/none", "404 Not Found"), ("/broken", "500")],
)
async def test_every_failure_is_an_answer(server, path, status, caplog):
    line, _, body = await raw(server, get(path, more="Accept: application/json\r\n"))
    assert status in line
    assert json.loads(body)
    assert ("ZeroDivisionError" in caplog.text) is (path == "/broken")


async def test_a_wrong_method_learns_the_right_ones(server):
    status, headers, _ = await raw(server, get("/nothing", "POST"))
    assert "405" in status
    assert headers["allow"] == "options,put"


async def test_a_body_beyond_reason_is_refused(server):
    body = "x" * (2 * 1024 * 1024)
    request = get("/echo/x", "PUT", "Content-Type: application/json\r\n", body)
    status, _, answer = await raw(server, request)
    assert "413" in status
    assert "1048576" in json.loads(answer)["reason"]


async def test_where_functions_are_on_a_package_may_be_sent():
    router = Router(Routes([Route("PUT", "/echo/{x}", echo, takes=(JSON,))]), "services")
    listener = listen("127.0.0.1", 0)
    server = await AdminServer.start(
        router, [Listener(listener)], Tasks("test"), body_bytes_max=FORM_BYTES_MAX
    )
    body = "x" * (2 * 1024 * 1024)
    request = get("/echo/x", "PUT", "Content-Type: application/json\r\n", body)
    status, _, _ = await raw(server, request)
    assert "200" in status
    await server.close()


async def test_a_page_in_a_browser_may_look_and_not_touch(server):
    page = "Origin: http://elsewhere\r\n"
    status, _, body = await raw(server, get("/nothing", "PUT", page))
    assert status == "HTTP/1.1 403 Forbidden"
    assert "may not change anything here: use a program" in json.loads(body)["reason"]
    assert (await raw(server, get("/echo/x", more=page)))[0] == "HTTP/1.1 200 OK"


async def test_a_page_that_came_from_here_may_change_something(server):
    def sent(origin, host):
        more = f"Origin: http://{origin}\r\nContent-Type: application/json\r\n"
        return get("/echo/x", "PUT", more, "{}").replace("Host: x", f"Host: {host}")

    assert (await raw(server, sent("localhost:1", "localhost:1")))[0] == "HTTP/1.1 200 OK"
    refused = "HTTP/1.1 403 Forbidden"
    assert (await raw(server, sent("localhost:2", "localhost:1")))[0] == refused
    assert (await raw(server, sent("evil.example", "evil.example")))[0] == refused


async def test_a_page_whose_name_was_made_to_lead_here_reads_nothing_either(server):
    def sent(host, more="Accept-Language: en\r\n"):
        return get("/echo/x", more=more).replace("Host: x", f"Host: {host}")

    status, _, body = await raw(server, sent("evil.example:8080"))
    assert status == "HTTP/1.1 403 Forbidden"
    assert "is no name of this broker" in json.loads(body)["reason"]
    for own in ("localhost:1", "127.0.0.1", "[::1]:8080"):
        assert (await raw(server, sent(own)))[0] == "HTTP/1.1 200 OK"
    assert (await raw(server, sent("evil.example", more="")))[0] == "HTTP/1.1 200 OK"  # A program.


class EndsSoon:
    """Knows every sender, for a moment."""

    challenge = "x"

    def asks(self, _access, _path):
        return True

    async def sender(self, _headers, _certificate):
        return Sender(Principal("me"), 0.05)


async def test_a_body_that_goes_on_ends_with_the_credentials_of_its_reader():
    closed = asyncio.Event()

    async def endless(_services: None, _: Request) -> Reply:
        async def pieces():
            try:
                yield b"first"
                await asyncio.Event().wait()
            finally:
                closed.set()

        return Reply(200, stream=pieces())

    server = await AdminServer.start(
        Router(Routes([Route("GET", "/endless", endless)]), "services"),
        listening(),
        Tasks("test"),
        sign_in=EndsSoon(),
    )
    status, _, body = await raw(server, get("/endless"))
    assert status == "HTTP/1.1 200 OK"
    assert b"first" in body
    assert closed.is_set()
    await server.close()


BEGUN = "GET /echo/x HTTP/1.1\r\nHost: x\r\nA: "


@pytest.mark.parametrize("begun", ["", BEGUN])
async def test_who_sends_no_whole_headers_does_not_keep_its_place(monkeypatch, server, begun):
    monkeypatch.setattr(http_server, "HEADERS_TIMEOUT_S", 0.1)
    async with asyncio.timeout(GIVE_UP_S):
        assert (await raw(server, begun))[2] == b""  # It is closed, or this would hang.


async def test_each_request_has_so_long_for_its_headers(monkeypatch, server):
    monkeypatch.setattr(http_server, "HEADERS_TIMEOUT_S", 0.5)
    whole = b"HEAD /echo/x HTTP/1.1\r\nHost: x\r\n\r\n"
    async with asyncio.timeout(GIVE_UP_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(whole)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        with pytest.raises(TimeoutError):  # Without a beginning of another it has longer.
            await asyncio.wait_for(reader.read(1), 0.7)
        writer.write(whole)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        writer.write(whole[:30])
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_who_asks_nothing_does_not_keep_its_place(monkeypatch):
    monkeypatch.setattr(http_server, "IDLE_S", 0.1)
    server = await AdminServer.start(Router(Routes([]), "services"), listening(), Tasks("test"))
    async with asyncio.timeout(GIVE_UP_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 404")
        writer.close()
        await writer.wait_closed()
    await server.close()


@pytest.mark.parametrize("request_text", [get("/echo/x"), get("/nowhere"), "NONSENSE\r\n\r\n"])
async def test_the_name_of_the_server_tells_no_version(server, request_text):
    assert (await raw(server, request_text))[1]["server"] == "magnetar"


async def test_who_never_ends_a_body_is_told_so(monkeypatch, server):
    assert http_server.BODY_TIMEOUT_S == 60
    monkeypatch.setattr(http_server, "BODY_TIMEOUT_S", 0.1)
    async with asyncio.timeout(GIVE_UP_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"PUT /echo/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408")
        writer.close()
        await writer.wait_closed()


async def test_closing_lets_a_request_under_way_finish():
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(_services: None, _: Request) -> Reply:
        entered.set()
        await leave.wait()
        return shown("done")

    server = await AdminServer.start(
        Router(Routes([Route("GET", "/slow", slow)]), "services"),
        listening(),
        Tasks("test"),
    )
    asking = asyncio.gather(raw(server, get("/slow")))
    await entered.wait()
    closing = asyncio.gather(server.close())
    leave.set()
    [(status, _, body)] = await asking
    await closing
    assert (status, body) == ("HTTP/1.1 200 OK", b'"done"')


class Endless:
    """A body that goes on."""

    def __init__(self):
        self.closed = asyncio.Event()

    def __aiter__(self):
        return self

    async def __anext__(self):
        return bytes(1024 * 1024)

    async def aclose(self):
        self.closed.set()


@pytest.mark.parametrize("ends", ["reads nothing", "goes"])
async def test_who_reads_nothing_of_a_stream_or_goes_is_let_go(monkeypatch, ends):
    monkeypatch.setattr("magnetar.rest.server.READER_TIMEOUT_S", 0.05)
    stream = Endless()

    async def endless(_services: None, _: Request) -> Reply:
        return Reply(200, content_type="text/plain", stream=stream)

    router = Router(Routes([Route("GET", "/endless", endless)]), "services")
    server = await AdminServer.start(router, listening(), Tasks("test"))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    writer.write(get("/endless").encode())
    await reader.readuntil(b"\r\n")
    if ends == "goes":
        writer.transport.abort()
    async with asyncio.timeout(GIVE_UP_S):
        await stream.closed.wait()
    writer.close()
    await server.close()


async def test_head_of_a_stream_is_its_head():
    stream = Endless()

    async def endless(_services: None, _: Request) -> Reply:
        return Reply(200, content_type="text/event-stream", stream=stream)

    router = Router(Routes([Route("GET", "/endless", endless)]), "services")
    server = await AdminServer.start(router, listening(), Tasks("test"))
    status, headers, body = await raw(server, get("/endless", "HEAD"))
    assert "200" in status
    assert headers["content-type"].startswith("text/event-stream")
    assert body == b""
    assert stream.closed.is_set()
    await server.close()
