import re

import pytest

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.table import ROUTES
from magnetar.rest.openapi import document, summary
from magnetar.rest.router import ANY_METHOD, Query, Route, reads

WHOLE = document(ROUTES, version="1")


@reads(Query("a", "boolean"))
async def shown(_admin, _request):
    """Show a thing. And another sentence.

    More.
    """


async def silent(_admin, _request): ...


def operation(route):
    made = document([route], version="1")
    [item] = made["paths"].values()
    return item[route.method.lower()]


def test_every_route_is_there_once():
    there = {
        (m.upper(), p) for p, item in WHOLE["paths"].items() for m in item if m != "parameters"
    }
    routes = {(each.method, each.path) for each in ROUTES if each.method != ANY_METHOD}
    shapes = {(method, re.sub("{.*?}", "{}", path)) for method, path in routes}
    assert {(method, re.sub("{.*?}", "{}", path)) for method, path in there} == shapes
    assert len(there) == len(routes)


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does():
    found = [
        each for item in WHOLE["paths"].values() for m, each in item.items() if m != "parameters"
    ]
    assert len({each["operationId"] for each in found}) == len(found)
    assert all(each["summary"] for each in found)


def test_what_is_referred_to_is_there():
    def references(value):
        if isinstance(value, dict):
            if "$ref" in value:
                yield value["$ref"]
            value = list(value.values())
        for each in value if isinstance(value, list) else []:
            yield from references(each)

    for reference in set(references(WHOLE)):
        found = WHOLE
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        (Route("GET", "/admin/v2/x", shown), "Show a thing"),
        (
            Route("GET", "/admin/v2/x/{namespace}/retention", silent),
            "Show retention of a namespace",
        ),
        (Route("DELETE", "/admin/v2/x", silent), "Remove x"),
    ],
)
def test_a_summary_is_what_the_handler_says_or_the_path(route, expected):
    assert summary(route) == expected


def test_an_operation_says_who_may_and_what_is_read():
    found = operation(Route("PUT", "/admin/v2/x/{count}", shown, takes=("a/b",), body=int))
    assert found["x-magnetar-access"] == "SUPERUSER"
    assert {"token": []} in found["security"]
    assert found["parameters"] == [{"name": "a", "in": "query", "schema": {"type": "boolean"}}]
    assert found["requestBody"] == {"content": {"a/b": {"schema": {"type": "integer"}}}}
    assert "415" in found["responses"]
    open_to_all = operation(Route("GET", "/x", shown, access=Access.PUBLIC, answer=lambda: [1]))
    assert open_to_all["security"] == []
    assert not {"401", "403", "415"} & open_to_all["responses"].keys()
    schema = open_to_all["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"type": "array", "items": {"type": "integer"}}


def test_two_names_of_one_segment_are_one_path():
    routes = [Route("GET", "/x/{a}", shown), Route("PUT", "/x/{b}", shown)]
    assert list(document(routes, version="1")["paths"]) == ["/x/{a}"]
