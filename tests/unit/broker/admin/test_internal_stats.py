import json
from pathlib import Path

from magnetar.broker.admin.internal_stats import internal_stats
from magnetar.model.position import EARLIEST, Position

GOLDEN = json.loads((Path(__file__).parents[3] / "golden/admin/internal-stats.json").read_text())
NAME = "persistent://public/default/x"


async def test_every_key_of_a_recorded_answer_is_there(world):
    topic = await world.topic(NAME)
    await world.publish(NAME, 1)
    await topic.create_subscription("s", EARLIEST)
    shown = internal_stats(topic.log.info())
    assert shown.keys() == GOLDEN.keys()
    recorded = GOLDEN["cursors"]["sub-sh2"]
    assert shown["cursors"]["s"].keys() == recorded.keys()
    assert shown["ledgers"][0].keys() == GOLDEN["ledgers"][0].keys()
    for key, value in GOLDEN.items():
        assert type(shown[key]) is type(value), key
    for key, value in recorded.items():
        assert type(shown["cursors"]["s"][key]) is type(value), key


async def test_a_cursor_shows_how_far_it_is_as_recorded(world):
    topic = await world.topic(NAME)
    [(ledger_id, _), *_] = await world.publish(NAME, *range(15))
    subscription = await topic.create_subscription("sub sh/2", EARLIEST)
    cursor = subscription.cursor
    cursor.acknowledge_entries(ledger_id, [0, 2, 3, 4])
    cursor.reader.read_position = Position(ledger_id, 15)
    shown = internal_stats(topic.log.info())["cursors"]["sub+sh%2F2"]
    recorded = GOLDEN["cursors"]["sub-sh2"]
    for key in (
        "markDeletePosition",
        "readPosition",
        "individuallyDeletedMessages",
        "numberOfEntriesSinceFirstNotAckedMessage",
        "totalNonContiguousDeletedMessagesRange",
        "messagesConsumedCounter",
        "state",
    ):
        expected = recorded[key]
        if isinstance(expected, str):
            expected = expected.replace("54:", f"{ledger_id}:")
        assert shown[key] == expected, key


async def test_the_log_shows_what_it_holds(world):
    topic = await world.topic(NAME)
    [(ledger_id, _), *_] = await world.publish(NAME, *range(15))
    shown = internal_stats(topic.log.info())
    assert shown["lastConfirmedEntry"] == f"{ledger_id}:14"
    assert shown["entriesAddedCounter"] == shown["numberOfEntries"] == 15
    assert shown["currentLedgerEntries"] == 15
    assert shown["totalSize"] == shown["currentLedgerSize"] == topic.ledger.size_bytes
    assert shown["ledgers"][0]["entries"] == 0
    assert shown["state"] == "LedgerOpened"
