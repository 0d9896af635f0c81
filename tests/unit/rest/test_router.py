import pytest

from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, text
from magnetar.rest.router import ANY, Route, Router, Routes


def handler(word: str):
    async def answer(services: str, request: Request) -> Reply:
        assert services == "services"
        return text(f"{word} {sorted(request.segments.items())}")

    return answer


def router() -> Router:
    routes = Routes(
        [
            Route("GET", "/v2/t", handler("all")),
            Route("GET", "/v2/t/{name}", handler("one")),
            Route("PUT", "/v2/t/{name}", handler("put"), takes=(JSON,)),
            Route("GET", "/v2/t/special", handler("special")),
            Route("POST", "/v2/t/{name}/{other}/go", handler("go")),
            Route("GET", "/v2/version", handler("version"), gives=ANY),
        ]
    )
    return Router(routes, "services")


async def ask(method: str, path: str, **more) -> bytes:
    return (await router().answer(Request(method, path, **more))).body


async def refusal(method: str, path: str, **more) -> Rejection:
    with pytest.raises(Rejection) as refused:
        await router().answer(Request(method, path, **more))
    return refused.value


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v2/t", b"all []"),
        ("GET", "/v2/t/", b"all []"),
        ("GET", "/v2/t/a", b"one [('name', 'a')]"),
        ("GET", "/v2/t/a/", b"one [('name', 'a')]"),
        ("GET", "/v2/t/a%2Fb", b"one [('name', 'a%2Fb')]"),
        ("HEAD", "/v2/t/a", b"one [('name', 'a')]"),
        ("GET", "/v2/t/special", b"special []"),
        ("PUT", "/v2/t/special", b"put [('name', 'special')]"),
        ("POST", "/v2/t/special/x/go", b"go [('name', 'special'), ('other', 'x')]"),
    ],
)
async def test_a_request_finds_its_handler(method, path, expected):
    assert await ask(method, path) == expected


@pytest.mark.parametrize("path", ["/", "/v2", "/v2/t/a/b", "/v2//t", "/v2/t//", "/v2/t//x/go", "x"])
async def test_a_path_without_a_route_is_not_found(path):
    assert (await refusal("GET", path)).status == 404


async def test_a_wrong_method_is_told_the_right_ones():
    refused = await refusal("DELETE", "/v2/t/special")
    assert (refused.status, refused.reply().headers["Allow"]) == (405, "GET,HEAD,OPTIONS,PUT")


async def test_options_are_answered_for_every_path():
    reply = await router().answer(Request("OPTIONS", "/v2/t"))
    assert (reply.status, reply.headers["Allow"]) == (200, "GET,HEAD,OPTIONS")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (None, b""),
        ("application/json", b"{}"),
        ("application/json; charset=utf-8", b"{}"),
        ("Application/JSON", b"{}"),
    ],
)
async def test_a_body_of_the_right_type_is_taken(content_type, body):
    assert await ask("PUT", "/v2/t/a", content_type=content_type, body=body)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [(None, b"{}"), ("text/plain", b"{}"), ("text/plain", b"")],
)
async def test_a_body_of_another_type_is_refused(content_type, body):
    refused = await refusal("PUT", "/v2/t/a", content_type=content_type, body=body)
    assert refused.status == 415


async def test_a_body_nobody_reads_may_be_anything():
    assert await ask("POST", "/v2/t/a/b/go", content_type="text/plain", body=b"null")


async def test_a_client_that_takes_no_json_is_refused_unless_there_is_only_text():
    assert (await refusal("GET", "/v2/t", accept="text/plain")).status == 406
    assert await ask("GET", "/v2/version", accept="text/plain")


def test_two_routes_for_one_thing_are_a_mistake():
    with pytest.raises(AssertionError, match="two routes for GET /x"):
        Routes([Route("GET", "/x", handler("a")), Route("GET", "/x", handler("b"))])
