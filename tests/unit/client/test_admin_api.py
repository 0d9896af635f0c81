import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from magnetar import AuthenticationToken
from magnetar.client import admin_api
from magnetar.client.admin_api import AdminApi, AsyncAdminApi, Remedies, segment, topic_path
from magnetar.errors import (
    Conflict,
    InvalidValue,
    MagnetarError,
    NotAllowed,
    NotAuthenticated,
    NotAuthorized,
    NotFound,
    NotReady,
    Refused,
    Unreachable,
)
from magnetar.testing.ports import free_port


class Web(BaseHTTPRequestHandler):
    """Answers as the test says, and keeps what it was asked."""

    answers: list
    asked: list

    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        self.asked.append((self.command, self.path, self.rfile.read(size)))
        status, headers, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the names it calls

    def log_message(self, *_):
        pass


@contextmanager
def web(*answers):
    handler = type("It", (Web,), {"answers": list(answers), "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_values_go_and_come_as_json():
    answers = [(200, {}, b'["a"]'), (204, {}, b""), (200, {}, b"ok")]
    with web(*answers) as (url, asked):
        api = AdminApi(url + "/")
        assert api.get("/admin/v2/tenants", mode="ALL", deep=True, none=None, n=["1", "2"]) == ["a"]
        assert api.send("PUT", "/admin/v2/tenants/t", {"adminRoles": []}) is None
        assert api.get("/admin/v2/brokers/health") == "ok"
    assert asked == [
        ("GET", "/admin/v2/tenants?mode=ALL&deep=true&n=1&n=2", b""),
        ("PUT", "/admin/v2/tenants/t", b'{"adminRoles": []}'),
        ("GET", "/admin/v2/brokers/health", b""),
    ]


def test_the_owner_is_asked_what_the_first_was_asked():
    with web((204, {}, b"")) as (owner, asked):
        with web((307, {"Location": f"{owner}/x?authoritative=true"}, b"")) as (first, _):
            AdminApi(first).send("POST", "/x", 7)
        assert asked == [("POST", "/x?authoritative=true", b"7")]


@pytest.mark.parametrize(
    ("location", "kind", "says"),
    [
        ("/x", NotReady, "send each other's questions on"),
        ("https://other/x", Refused, "sends us on to https://other/x, not http"),
    ],
)
def test_it_is_not_sent_on_for_ever_nor_elsewhere(location, kind, says):
    with (
        web(*[(307, {"Location": location}, b"")] * 5) as (url, _),
        pytest.raises(kind, match=says),
    ):
        AdminApi(url).get("/x")


def test_the_next_address_is_asked_when_one_is_away():
    with web((200, {}, b"1")) as (url, _):
        several = f"http://127.0.0.1:{free_port()},{url.removeprefix('http://')}"
        assert AdminApi(several).get("/x") == 1


UNEXPECTED = (
    b'{"reason":"\\n --- An unexpected error occurred in the server ---\\n\\n'
    b'Message: Cursor not found\\n\\nStacktrace:\\n\\njava.lang.Exception"}'
)


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, b"", NotAuthenticated, r"^it does not say why \(401 Unauthorized: GET .*\); say who"),
        (
            403,
            b'{"reason": "no"}',
            NotAuthorized,
            r"^no \(403 Forbidden: GET http://\S*/x\); ask for",
        ),
        (401, b'{"reason": "Unauthorized to x"}', NotAuthorized, r"\); ask for the permission"),
        (401, b'{"reason": "no super-user access"}', NotAuthorized, r"\); ask as a superuser$"),
        (403, b'{"reason": "validateTenantOperation"}', NotAuthorized, r"\); ask as an admin of "),
        (404, b'{"reason": "gone"}', NotFound, "^gone"),
        (409, b'{"message": "held"}', Conflict, "^held"),
        (412, b"text\n of two lines", Refused, "^text of two lines"),
        (503, b"", NotReady, "503 Service Unavailable"),
        (500, b"[]", MagnetarError, "500"),
        (500, UNEXPECTED, MagnetarError, r"^Cursor not found \(500"),
        (599, b"", MagnetarError, "599 unknown status"),
    ],
)
def test_a_refusal_is_an_error_of_its_kind(status, body, kind, says):
    with web((status, {}, body)) as (url, _), pytest.raises(kind, match=says):
        AdminApi(url).get("/x", a=1)


def test_credentials_that_are_refused_are_not_asked_for():
    with web((401, {}, b'{"reason": "expired"}')) as (url, _):
        api = AdminApi(url, authentication=AuthenticationToken("x"))
        with pytest.raises(NotAuthenticated, match=r"^expired \([^)]*\)$"):
            api.get("/x")


def test_nobody_there_names_the_address_and_the_remedy():
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Unreachable, match=f"at {url}: Connection refused: start one"):
        AdminApi(url, remedies=Remedies("start one")).get("/x")
    with pytest.raises(InvalidValue, match="no URL of an admin API"):
        AdminApi("pulsar://localhost:6650")
    with (
        web((200, {}, b"")) as (url, _),
        pytest.raises(NotAllowed, match=r"no TLS with it .*for http://, or its version too old\?$"),
    ):
        AdminApi(url.replace("http", "https")).get("/x")


def test_an_answer_that_breaks_off_or_does_not_come_is_named():
    with (
        web((200, {"Content-Length": "9"}, b"1")) as (url, _),
        pytest.raises(NotReady, match="broke off its answer"),
    ):
        AdminApi(url).get("/x")


def test_an_answer_may_be_so_long(monkeypatch):
    monkeypatch.setattr(admin_api, "ANSWER_SIZE_MAX", 3)
    with web((200, {}, b"123"), (200, {}, b"1234")) as (url, _):
        assert AdminApi(url).get("/x") == 123
        with pytest.raises(Refused, match="more than 3 bytes"):
            AdminApi(url).get("/x")


async def test_it_is_asked_from_an_event_loop_as_well():
    no = b'{"reason": "Namespace not found"}'
    with web((200, {}, b"[1]"), (204, {}, b""), (404, {}, no)) as (url, asked):
        api = AsyncAdminApi(f"http://127.0.0.1:{free_port()},{url.removeprefix('http://')}")
        assert await api.get("/a%2Fb", deep=True, none=None) == [1]
        assert await api.send("PUT", "/x", {"a": []}) is None
        with pytest.raises(NotFound, match=f"Namespace not found .404 Not Found: GET {url}/y"):
            await api.get("/y")
    assert asked == [
        ("GET", "/a%2Fb?deep=true", b""),
        ("PUT", "/x", b'{"a": []}'),
        ("GET", "/y", b""),
    ]


def test_names_are_encoded():
    assert segment("a/b c%") == "a%2Fb%20c%25"
    assert topic_path("persistent://t/n/a/b") == "persistent/t/n/a%2Fb"
    assert topic_path("x") == "persistent/public/default/x"
