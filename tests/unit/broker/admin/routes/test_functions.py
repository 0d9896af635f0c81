"""What the routes of functions answer while functions are off, and which ones are the worker's."""

import pytest

from magnetar.broker.admin.routes.functions import ROUTES
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request, text
from magnetar.rest.router import Router, Routes

OFF = "Pulsar Function Worker is not enabled, probably functionsWorkerEnabled is set to false"


class Services:
    """As much of a broker's as these routes use."""

    def __init__(self, functions=None) -> None:
        self.functions = functions


class Worker:
    async def answer(self, request: Request):
        return text(request.path)


async def refused(path: str, services: Services) -> tuple[int, str]:
    with pytest.raises(Rejection) as rejection:
        await Router(Routes(ROUTES), services).answer(Request("GET", path))
    return rejection.value.status, str(rejection.value)


@pytest.mark.parametrize(
    "path",
    [
        "/admin/v2/worker/cluster",
        "/admin/v2/worker-stats/metrics",
        "/admin/v2/functions/connectors",
        "/admin/v3/functions/public/default",
        "/admin/v3/functions/public/default/f",
        "/admin/v3/sinks/builtinsinks",
        "/admin/v3/sources/public/default",
    ],
)
async def test_without_a_worker_they_answer_as_pulsars(path):
    assert await refused(path, Services()) == (409, OFF)


async def test_packages_are_not_managed():
    said = (503, "Package Management Service is not enabled in the broker.")
    assert await refused("/admin/v3/packages/function/public/default", Services()) == said


async def test_a_worker_is_asked_whatever_the_method():
    router = Router(Routes(ROUTES), Services(Worker()))
    for method in ("GET", "POST", "PUT", "DELETE"):
        reply = await router.answer(Request(method, "/admin/v3/functions/a/b/c"))
        assert reply.body == b"/admin/v3/functions/a/b/c"
    status, said = await refused("/admin/v3/sinks/a/b", Services(Worker()))
    assert status == 409
    assert "no connectors" in said
    assert (await refused("/admin/v3/functionsx", Services(Worker())))[0] == 404
