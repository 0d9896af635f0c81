"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import asyncio

import pytest

NAMESPACE = "/admin/v2/namespaces/public/default"


async def test_those_who_set_properties_at_once_do_not_undo_each_other(world):
    paths = [f"{NAMESPACE}/property/k{index}/v%20{index}" for index in range(10)]
    answers = await asyncio.gather(*(world.ask("PUT", path) for path in paths))
    assert {answer.status for answer in answers} == {204}
    expected = {f"k{index}": f"v {index}" for index in range(10)}
    assert (await world.ask("GET", f"{NAMESPACE}/properties")).json == expected


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "properties"),
        ("PUT", "properties"),
        ("DELETE", "properties"),
        ("GET", "property/a"),
        ("PUT", "property/a/b"),
        ("DELETE", "property/a"),
        ("POST", "migration"),
    ],
)
async def test_a_missing_namespace_is_named(world, method, path):
    body = {"PUT": {}, "POST": True}.get(method)
    answer = await world.ask(method, f"/admin/v2/namespaces/public/nope/{path}", body)
    assert (answer.status, answer.reason) == (404, "Namespace does not exist")


async def test_a_migration_is_kept_and_named_as_without_effect(world):
    kept = await world.ask("POST", f"{NAMESPACE}/migration", True)
    assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (204, "migration")
    assert (await world.ask("GET", NAMESPACE)).json["migrated"] is True
    assert (await world.ask("POST", f"{NAMESPACE}/migration", "yes")).status == 400
