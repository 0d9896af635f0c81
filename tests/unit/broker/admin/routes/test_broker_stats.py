"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

ALL = "/admin/v2/broker-stats"
TOPIC = "persistent://public/default/t"


async def test_open_topics_are_shown_by_namespace_and_bundle(world):
    await world.publish(TOPIC, 1, 2)
    bundle = (await world.ask("GET", "/lookup/v2/topic/persistent/public/default/t/bundle")).text
    found = (await world.ask("GET", f"{ALL}/topics")).json
    assert list(found) == ["public/default"]
    assert found["public/default"][bundle]["persistent"][TOPIC]["storageSize"] > 0


async def test_the_metrics_are_those_of_namespaces(world):
    await world.publish(TOPIC, 1, 2)
    [found] = (await world.ask("GET", f"{ALL}/metrics")).json
    assert found["dimensions"] == {"namespace": "public/default"}
    assert found["metrics"]["brk_no_of_topics"] == 1


async def test_memory_is_that_of_the_process(world):
    found = (await world.ask("GET", f"{ALL}/allocator-stats/default")).json
    assert found["usedHeapMemory"] > 1_000_000
