"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

from magnetar.broker.admin.routes import clusters, roots


def test_old_paths_ask_for_the_same_access():
    [old] = [route for route in roots.ROUTES if route.path == "/admin/clusters"]
    [new] = [route for route in clusters.ROUTES if route.path == "/admin/v2/clusters"]
    assert (old.handler, old.access, old.method) == (new.handler, new.access, new.method)


async def test_old_paths_only_read(world):
    assert (await world.ask("DELETE", "/admin/clusters")).status == 405
