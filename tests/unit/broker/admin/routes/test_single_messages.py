import json

import pytest
from unit.storage.managed_ledger.logs import append

from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import EARLIEST

ALL = "/admin/v2/persistent/public/default"
NAME = "persistent://public/default/x"
ONE = f"{ALL}/x"


def place(answer):
    return int(answer.headers["X-Pulsar-Message-ID"].partition(":")[2])


async def test_a_message_by_its_id(world):
    ledger, entry = (await world.publish(NAME, 1, 2))[1]
    answer = await world.ask("GET", f"{ONE}/ledger/{ledger}/entry/{entry}")
    assert (answer.status, place(answer)) == (200, entry)
    assert answer.headers["X-Pulsar-publish-time"] == "1970-01-01T00:00:00.002Z"
    for at in (f"{ledger}/entry/9", f"{ledger}/entry/-1", "99/entry/0", "-1/entry/-1"):
        missing = await world.ask("GET", f"{ONE}/ledger/{at}")
        assert missing.status == 404
        assert missing.reason.startswith("Message id not found")
    assert (await world.ask("GET", f"{ONE}/ledger/x/entry/0")).status == 404


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("application/octet-stream", "application/octet-stream"),
        ("text/plain", "application/json"),
    ],
)
async def test_the_type_is_the_one_that_is_asked_for(world, accept, kind):
    await world.publish(NAME, 1)
    answer = await world.ask("GET", f"{ONE}/examinemessage", Accept=accept)
    assert (answer.status, answer.content_type) == (200, kind)


async def test_to_peek_counts_what_is_not_acknowledged_and_acknowledges_nothing(world):
    positions = await world.publish(NAME, *range(6))
    topic = await world.topic(NAME)
    subscription = await topic.create_subscription("s", EARLIEST)
    cursor = subscription.cursor
    cursor.acknowledge_entries(positions[0].ledger_id, [0, 2, 3])
    peeked = [await world.ask("GET", f"{ONE}/subscription/s/position/{n}") for n in (1, 2, 3)]
    assert [place(each) for each in peeked] == [1, 4, 5]
    behind = await world.ask("GET", f"{ONE}/subscription/s/position/4")
    assert (behind.status, behind.reason) == (404, "Message not found")
    assert cursor.backlog == 3


@pytest.mark.parametrize("number", ["0", "-1"])
async def test_a_backlog_is_counted_from_one(world, number):
    topic = await world.topic(NAME)
    await topic.create_subscription("s", EARLIEST)
    assert (await world.ask("GET", f"{ONE}/subscription/s/position/{number}")).status == 400


async def test_to_peek_makes_no_subscription(world):
    await world.publish(NAME, 1)
    assert (await world.ask("GET", f"{ONE}/subscription/new/position/1")).status == 404
    assert (await world.ask("GET", f"{ONE}/subscriptions")).json == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 4),
        ("?initialPosition=latest&messagePosition=2", 3),
        ("?initialPosition=earliest", 0),
        ("?initialPosition=earliest&messagePosition=2", 1),
        ("?initialPosition=earliest&messagePosition=99", 4),
        ("?messagePosition=99", 0),
        ("?messagePosition=-3&initialPosition=earliest", 0),
    ],
)
async def test_to_examine_counts_from_either_end(world, query, expected):
    await world.publish(NAME, *range(5))
    assert place(await world.ask("GET", f"{ONE}/examinemessage{query}")) == expected


async def test_there_is_nothing_to_examine_in_an_empty_topic(world):
    await world.topic(NAME)
    assert (await world.ask("GET", f"{ONE}/examinemessage")).status == 412


async def test_an_id_by_time(world):
    await world.publish(NAME, 10, 20, 30)
    answers = [await world.ask("GET", f"{ONE}/messageid/{t}") for t in (-5, 0, 11, 30, 31)]
    assert [each.json["entryId"] for each in answers] == [0, 0, 1, 2, 3]
    assert answers[0].json.keys() == {
        "ledgerId",
        "entryId",
        "partitionIndex",
        "batchIndex",
        "batchSize",
    }


@pytest.mark.parametrize(
    "path", ["ledger/1/entry/0", "subscription/s/position/1", "examinemessage", "messageid/0"]
)
async def test_a_partitioned_topic_has_no_single_messages(world, path):
    await world.ask("PUT", f"{ONE}/partitions", 2)
    assert (await world.ask("GET", f"{ONE}/{path}")).status == 405
    assert (await world.ask("GET", f"{ALL}/none/{path}")).status == 404


async def test_a_damaged_entry_is_told_of_and_harms_nobody(world):
    topic = await world.topic(NAME)
    ledger, entry = await append(topic.ledger, [b"\xff\xff\xff\xffx"], EntryTraits([1]))
    answer = await world.ask("GET", f"{ONE}/ledger/{ledger}/entry/{entry}")
    assert answer.status == 500
    assert "metadata up to byte" in json.dumps(answer.reason)
