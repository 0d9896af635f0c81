"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

ONE = "/admin/v2/persistent/public/default/t/shadowTopics"


async def test_a_shadow_of_a_topic_is_refused_by_name(world):
    await world.topic("persistent://public/default/t")
    await world.topic("persistent://public/default/s")
    refused = await world.ask("PUT", ONE, ["persistent://public/default/s"])
    assert (refused.status, "shadow topics" in refused.reason) == (405, True)
    assert (await world.ask("PUT", ONE, [])).status == 204
    assert (await world.ask("PUT", ONE, ["nowhere://a/b"])).status == 412
    assert (await world.ask("GET", ONE)).text == ""
    assert (await world.ask("DELETE", ONE)).status == 204


async def test_a_missing_topic_is_named(world):
    for method in ("GET", "PUT", "DELETE"):
        answer = await world.ask(method, ONE, [] if method == "PUT" else None)
        assert answer.reason == "Topic persistent://public/default/t not found"
