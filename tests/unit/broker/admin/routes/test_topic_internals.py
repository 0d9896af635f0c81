from magnetar.model.position import EARLIEST

ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"
ONE = f"{ALL}/x"


async def test_each_partition_has_a_log(world):
    await world.ask("PUT", f"{ONE}/partitions", 2)
    await world.publish(f"{NAME}-partition-1", 1, 2)
    shown = (await world.ask("GET", f"{ONE}/partitioned-internalStats")).json
    assert shown["metadata"] == {"partitions": 2, "deleted": False}
    counts = {name[-1]: each["numberOfEntries"] for name, each in shown["partitions"].items()}
    assert counts == {"0": 0, "1": 2}
    recorded = (await world.ask("GET", f"{ONE}/internal-info")).json
    assert recorded["partitions"].keys() == shown["partitions"].keys()
    assert (await world.ask("GET", f"{ONE}/internalStats")).status == 404
    assert (await world.ask("GET", f"{ALL}/none/partitioned-internalStats")).status == 404


async def test_what_is_recorded_of_a_log(world):
    positions = await world.publish(NAME, *range(5))
    topic = await world.topic(NAME)
    subscription = await topic.create_subscription("a/b c", EARLIEST)
    topic.ledger.open_reader("reader", EARLIEST)
    ledger = positions[0].ledger_id
    subscription.cursor.acknowledge_entries(ledger, [0, 2, 3])
    shown = (await world.ask("GET", f"{ONE}/internal-info")).json
    assert shown["ledgers"] == [{"ledgerId": ledger, "timestamp": 0, "isOffloaded": False}]
    assert shown["cursors"] == {
        "a%2Fb+c": {
            "version": 0,
            "cursorsLedgerId": -1,
            "markDelete": {"ledgerId": ledger, "entryId": 0},
            "individualDeletedMessages": [
                {
                    "lowerEndpoint": {"ledgerId": ledger, "entryId": 1},
                    "upperEndpoint": {"ledgerId": ledger, "entryId": 3},
                }
            ],
        }
    }
    await topic.set_properties(subscription, replicated=True)
    shown = (await world.ask("GET", f"{ONE}/internal-info")).json
    assert shown["cursors"]["a%2Fb+c"]["properties"] == {"pulsar.replicated.subscription": 1}


async def test_how_much_lies_behind_a_message(world):
    positions = await world.publish(NAME, *range(4))
    whole = (await world.ask("PUT", f"{ONE}/backlogSize", "earliest")).json
    topic = await world.topic(NAME)
    assert whole == topic.storage_bytes
    at = {"ledgerId": positions[2].ledger_id, "entryId": 2}
    assert (await world.ask("PUT", f"{ONE}/backlogSize", at)).json == whole // 2
    assert (await world.ask("PUT", f"{ONE}/backlogSize")).status == 400
    assert (await world.ask("PUT", f"{ALL}/none/backlogSize", at)).status == 404


async def test_backlogs_in_entries(world):
    await world.publish(NAME, *range(4))
    topic = await world.topic(NAME)
    await topic.create_subscription("s", EARLIEST)
    shown = (await world.ask("GET", f"{ONE}/backlog")).json
    assert (shown["totalMessages"], shown["messageBacklog"]) == (4, 4)
    assert shown["cursorDetails"]["s"]["cursorBacklog"] == 4
    assert shown["topicName"] == "public/default/persistent/x"
    assert [each["entries"] for each in shown["dataLedgerDetails"]] == [4]
