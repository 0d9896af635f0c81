from support.stores import cluster_of

STORES = "/admin/v2/magnetar/stores"


async def test_a_broker_that_is_alone_has_none(world):
    answer = await world.ask("GET", STORES)
    assert (answer.status, "alone" in answer.json["reason"]) == (404, True)


async def test_bookies_and_sessions_are_told_with_what_was_counted(world):
    cluster = cluster_of({"b:1": "writable", "b:2": "away"}, quarantined={"b:1"})
    counts = cluster.bookies()[0].counts
    counts.added, counts.add_timeouts, counts.read_timeouts = 7, 1, 2
    counts.add_latency.note(0.004)
    cluster.sessions[0].state = "suspended"
    world.admin.broker.health.cluster = cluster
    found = (await world.ask("GET", STORES)).json
    first, second = found["bookies"]
    assert (first["state"], first["quarantined"], second["state"]) == ("writable", True, "away")
    assert (first["entriesAdded"], first["timeouts"]) == (7, 3)
    assert 4 <= first["addMs"]["p99"] <= 5
    assert first["disk"] == {"freeBytes": 40, "totalBytes": 100}
    assert (found["ensembleSize"], found["sessions"][0]["state"]) == (2, "suspended")
