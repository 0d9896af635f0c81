"""Which addresses a request goes to; what else becomes of it is test_http_lookup's."""

import pytest
from aiohttp import web
from support.web import serving

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.http_request import HttpRequests
from magnetar.errors import ConnectionLost, NotAllowed
from magnetar.testing.ports import free_port


def requests_of(**settings):
    return HttpRequests(Credentials(AuthenticationToken("t")), None, 9.0, 9.0, 3, 99, **settings)


async def test_the_next_address_is_asked_where_one_is_away():
    async def serve(request):
        return web.Response(text=request.raw_path + (await request.text()))

    away = f"http://127.0.0.1:{free_port()}"
    async with serving(serve) as there:
        bases = [away, f"http://{there}"]
        answer = await requests_of().ask(bases, "/a%2Fb?x=%26", "PUT", body=b"!")
        assert (answer.status, answer.body, answer.url) == (
            200,
            b"/a%2Fb?x=%26!",
            f"{bases[1]}/a%2Fb?x=%26",
        )
    with pytest.raises(ConnectionLost, match="nothing listens there; cannot ask"):
        await requests_of().ask([away, away], "/")


async def test_who_hangs_up_may_have_acted_and_no_other_is_asked():
    asked = []

    async def hang_up(request):
        asked.append(request)
        request.transport.close()
        return web.Response()

    async with serving(hang_up) as there:
        with pytest.raises(ConnectionLost, match=f"cannot ask {there} over http"):
            await requests_of().ask([f"http://{there}"] * 2, "/", "POST", body=b"x")
    assert len(asked) == 1


async def test_credentials_go_to_brokers_alone():
    asked = []

    async def owner(request):
        asked.append((request.method, request.headers["Authorization"], await request.text()))
        return web.Response(text="mine")

    async with serving(owner) as there:

        async def first(_):
            return web.Response(status=307, headers={"Location": f"http://{there}/x"})

        async with serving(first) as here:
            requests = requests_of(is_broker=lambda address: address == there)
            answer = await requests.ask([f"http://{here}"], "/", "POST", body=b"b")
            assert answer.body == b"mine"
            requests = requests_of(is_broker=lambda address: address == here)
            with pytest.raises(NotAllowed, match=f"on to http://{there}/x, which is no broker"):
                await requests.ask([f"http://{here}"], "/", "POST", body=b"b")
    assert asked == [("POST", "Bearer t", "b")]
