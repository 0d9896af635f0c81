"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

from support.stores import cluster_of

from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata import paths

RACKS = "/admin/v2/bookies/racks-info"


async def test_there_are_none(world):
    assert (await world.ask("GET", "/admin/v2/bookies/all")).json == {"bookies": []}


async def test_a_rack_is_in_one_group(world):
    for group in ("a", "b"):
        kept = await world.ask("POST", f"{RACKS}/k:1?group={group}", {"rack": "/r"})
        assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (204, "racks-info")
    assert (await world.ask("GET", RACKS)).json == {"b": {"k:1": {"rack": "/r"}}}
    assert (await world.ask("POST", f"{RACKS}/k:1?group=a", {"rack": [5]})).status == 400
    assert (await world.ask("GET", f"{RACKS}/k%3A1")).json == {"rack": "/r"}
    assert (await world.ask("DELETE", f"{RACKS}/k%3A1")).status == 204
    assert (await world.ask("GET", RACKS)).json == {}


async def test_bookies_of_a_cluster_are_named_and_their_racks_have_an_effect(world):
    world.admin.records.health.cluster = cluster_of(
        {"k:1": "writable", "k:2": "read-only", "k:3": "away"}
    )
    there = (await world.ask("GET", "/admin/v2/bookies/all")).json
    assert there == {"bookies": [{"bookieId": "k:1"}, {"bookieId": "k:2"}]}
    kept = await world.ask("POST", f"{RACKS}/k:1?group=a", {"rack": "/r"})
    assert "X-Magnetar-Without-Effect" not in kept.headers


async def test_racks_that_another_broker_wrote_are_read(world):
    assert (await world.ask("GET", RACKS)).json == {}
    racks = {"a": {"k:1": {"rack": "/r"}}}
    await world.metadata.put(paths.BOOKIES, JsonCodec().encode_object(racks))
    assert (await world.ask("GET", RACKS)).json == racks
