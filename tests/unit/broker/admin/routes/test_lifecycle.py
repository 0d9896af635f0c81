from support.loop import until

from magnetar.model.position import EARLIEST

ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"
ONE = f"{ALL}/x"
ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"


async def test_a_topic_ends_with_its_last_message(world):
    last = (await world.publish(NAME, 1, 2, 3))[-1]
    for _ in range(2):
        answer = await world.ask("POST", f"{ONE}/terminate")
        assert answer.status == 200
        assert (answer.json["ledgerId"], answer.json["entryId"]) == last
    assert (await world.ask("GET", f"{ONE}/internalStats")).json["state"] == "Terminated"
    end = (await world.ask("GET", f"{ONE}/internal-info")).json["terminatedPosition"]
    assert end == {"ledgerId": last.ledger_id, "entryId": last.entry_id}
    assert (await world.ask("GET", f"{ONE}/properties")).json == {}


async def test_it_has_still_ended_when_it_is_opened_again(world):
    last = (await world.publish(NAME, 1))[-1]
    await world.ask("POST", f"{ONE}/terminate")
    await world.ask("PUT", f"{ONE}/unload")
    assert (await world.topic(NAME)).terminated_at == last
    await world.ask("DELETE", ONE)
    await world.ask("PUT", ONE)
    assert (await world.topic(NAME)).terminated_at is None


async def test_partitions_end_together(world):
    await world.ask("PUT", f"{ONE}/partitions", 2)
    assert (await world.ask("POST", f"{ONE}/terminate")).status == 405
    ended = await world.ask("POST", f"{ONE}/terminate/partitions")
    assert ended.json.keys() == {"0", "1"}
    assert (await world.topic(f"{NAME}-partition-1")).terminated_at is not None
    await world.ask("PUT", f"{ALL}/plain")
    assert (await world.ask("POST", f"{ALL}/plain/terminate/partitions")).status == 405
    assert (await world.ask("POST", f"{ALL}/none/terminate/partitions")).status == 404
    assert (await world.ask("POST", f"{ALL}/none/terminate")).status == 404


async def test_to_truncate_empties_every_subscription_and_what_retention_keeps(world):
    await world.publish(NAME, *range(4))
    topic = await world.topic(NAME)
    for name in ("a", "b"):
        await topic.create_subscription(name, EARLIEST)
    topic.ledger.retain(-1, -1)
    await topic.ledger._writer.end_ledger()
    await world.publish(NAME, 5)
    assert (await world.ask("DELETE", f"{ONE}/truncate")).status == 204
    assert [each.backlog for each in topic.subscriptions.values()] == [0, 0]
    assert topic.ledger.entry_count == 1  # The ledger that takes appends stays.


async def test_to_trim_deletes_what_nobody_needs_and_nothing_else(world):
    await world.publish(NAME, *range(4))
    topic = await world.topic(NAME)
    await topic.ledger._writer.end_ledger()
    topic.ledger.retain(-1, -1)
    assert (await world.ask("POST", f"{ONE}/trim")).status == 200
    assert topic.ledger.entry_count == 4
    topic.ledger.retain(0, 0)
    await topic.create_subscription("s", EARLIEST)
    await world.ask("POST", f"{ONE}/trim")
    assert topic.ledger.entry_count == 4
    await topic.skip(topic.subscriptions["s"])
    await world.ask("POST", f"{ONE}/trim")
    assert topic.ledger.entry_count == 0


async def test_both_are_for_partitions_too(world):
    await world.ask("PUT", f"{ONE}/partitions", 2)
    assert (await world.ask("DELETE", f"{ONE}/truncate")).status == 204
    assert (await world.ask("POST", f"{ONE}/trim")).status == 200
    assert (await world.ask("DELETE", f"{ALL}/none/truncate")).status == 404


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
    assert (shown["compactedLedger"]["ledgerId"], shown["compactedLedger"]["entries"]) == (2, 0)
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
