from support.loop import until

ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"


async def done(world, name=NAME):
    topic = await world.topic(name)
    await until(lambda: not topic.compaction.running)


async def test_a_topic_is_compacted_once_at_a_time(world):
    await world.publish(NAME, 1, 2)
    status = await world.ask("GET", f"{ALL}/x/compaction")
    assert status.json == {"status": "NOT_RUN", "lastError": ""}
    assert (await world.ask("PUT", f"{ALL}/x/compaction")).status == 204
    again = await world.ask("PUT", f"{ALL}/x/compaction")
    assert (again.status, again.json) == (409, {"reason": "Compaction already in progress"})
    status = await world.ask("GET", f"{ALL}/x/compaction")
    assert status.json == {"status": "RUNNING", "lastError": ""}
    await done(world)
    status = await world.ask("GET", f"{ALL}/x/compaction")
    assert status.json == {"status": "SUCCESS", "lastError": ""}


async def test_all_partitions_are_compacted(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    for index in range(2):
        await world.publish(f"{NAME[:-1]}p-partition-{index}", 1)
    assert (await world.ask("PUT", f"{ALL}/p/compaction")).status == 204
    assert (await world.ask("PUT", f"{ALL}/p/compaction")).status == 409
    for index in range(2):
        await done(world, f"{NAME[:-1]}p-partition-{index}")
    asked = await world.ask("GET", f"{ALL}/p/compaction")
    assert (asked.status, asked.json["reason"]) == (404, f"Topic {NAME[:-1]}p not found")


async def test_what_is_not_there_is_not_compacted(world):
    for method in ("PUT", "GET"):
        asked = await world.ask(method, f"{ALL}/none/compaction")
        assert (asked.status, asked.json["reason"]) == (404, f"Topic {NAME[:-1]}none not found")


async def test_its_cursor_and_its_ledger_are_shown(world):
    await world.publish(NAME, 1, 2)
    shown = (await world.ask("GET", f"{ALL}/x/internalStats")).json
    assert shown["compactedLedger"]["ledgerId"] == -1
    await world.ask("PUT", f"{ALL}/x/subscription/s", "earliest")
    await world.ask("PUT", f"{ALL}/x/compaction")
    await done(world)
    shown = (await world.ask("GET", f"{ALL}/x/internalStats")).json
    # They had no keys.
    assert (shown["compactedLedger"]["ledgerId"], shown["compactedLedger"]["entries"]) == (-1, 0)
    assert shown["cursors"]["__compaction"]["markDeletePosition"] == shown["lastConfirmedEntry"]
    stats = (await world.ask("GET", f"{ALL}/x/stats")).json
    assert stats["compaction"]["lastCompactionRemovedEventCount"] == 2
    assert stats["compaction"]["lastCompactionSucceedTimestamp"] > 0
    assert sorted(stats["subscriptions"]) == ["s"]
    names = await world.ask("GET", f"{ALL}/x/subscriptions")
    assert names.json == ["s", "__compaction"]
    gone = [await world.ask("DELETE", f"{ALL}/x/subscription/__compaction") for _ in range(2)]
    assert [each.status for each in gone] == [204, 404]
    names = await world.ask("GET", f"{ALL}/x/subscriptions")
    assert names.json == ["s"]
