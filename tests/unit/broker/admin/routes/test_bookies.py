"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

RACKS = "/admin/v2/bookies/racks-info"


async def test_there_are_none(world):
    assert (await world.ask("GET", "/admin/v2/bookies/all")).json == {"bookies": []}


async def test_a_rack_is_in_one_group(world):
    for group in ("a", "b"):
        kept = await world.ask("POST", f"{RACKS}/k:1?group={group}", {"rack": "/r"})
        assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (204, "racks-info")
    assert (await world.ask("GET", RACKS)).json == {"b": {"k:1": {"rack": "/r"}}}
    assert (await world.ask("POST", f"{RACKS}/k:1?group=a", {"rack": [5]})).status == 400
    assert (await world.ask("DELETE", f"{RACKS}/k:1")).status == 204
    assert (await world.ask("GET", RACKS)).json == {}
