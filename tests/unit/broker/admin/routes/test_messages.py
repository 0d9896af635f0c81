"""The message browser, over a real socket."""

import pytest
from unit.broker.admin.messages.entries import batch_of, entry_of
from unit.storage.managed_ledger.logs import append

from magnetar.broker.admin.messages import merged
from magnetar.message.entry_traits import EntryTraits

ALL = "/admin/v2/persistent/public/default"


@pytest.fixture
async def stored(world):
    topic = await world.topic("persistent://public/default/x")
    for data in (
        entry_of(b"0", key="k", publish_time_ms=1000),
        batch_of(b"1", b"2", publish_time_ms=2000),
        entry_of(b"3", properties={"n": "3"}, publish_time_ms=3000),
    ):
        await append(topic.ledger, [data], EntryTraits([1]))
    return topic


async def pages(world, query, topic="x"):
    """All pages, each as the payloads of its messages."""
    answer = (await world.ask("GET", f"{ALL}/{topic}/messages?{query}")).json
    found = [answer]
    while answer["next"] is not None:
        more = query.partition("&from=")[0]
        answer = (
            await world.ask("GET", f"{ALL}/{topic}/messages?{more}&from={answer['next']}")
        ).json
        found.append(answer)
    return ["".join(each["value"] for each in page["messages"]) for page in found]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("backwards=false&count=3", ["012", "3"]),
        ("backwards=true&count=3", ["321", "0"]),
        ("backwards=true&from=latest", ["3210"]),
        ("backwards=false&from=latest", [""]),
        ("backwards=false&from=2000", ["123"]),
        ("backwards=false&from=1970-01-01T00:00:02.001Z", ["3"]),
        ("backwards=true&from=2000", ["210"]),
        ("backwards=true&from=999", [""]),
        ("backwards=false&since=1001&until=3000", ["12"]),
        ("backwards=false&key=k", ["0"]),
        ("backwards=false&filter=n=3", ["3"]),
        ("backwards=false&filter=2", ["2"]),
    ],
)
@pytest.mark.usefixtures("stored")
async def test_pages_of_messages(world, query, found):
    assert await pages(world, query) == found


@pytest.mark.usefixtures("stored")
async def test_without_a_word_it_is_the_newest_ones(world):
    answer = (await world.ask("GET", f"{ALL}/x/messages?count=1")).json
    assert [each["value"] for each in answer["messages"]] == ["3"]
    ledger_id = answer["messages"][0]["id"]["ledgerId"]
    assert answer["next"] == f"{ledger_id}:1:1"
    assert answer["scanned"]["complete"] is False
    assert answer["scanned"]["last"]["publishTime"] == 3000


async def test_partitions_are_merged_and_may_be_asked_for_one_by_one(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    for index in range(2):
        await world.publish(f"persistent://public/default/p-partition-{index}", index, 10 + index)

    async def times(query, topic="p"):
        answer = (await world.ask("GET", f"{ALL}/{topic}/messages?{query}")).json
        return [each["publishTime"] for each in answer["messages"]], answer["next"]

    assert await times("from=earliest") == ([0, 1, 10, 11], None)
    first, following = await times("from=earliest&count=1")
    assert first == [0]
    assert following.startswith("0=")
    assert await times(f"from={following}&count=9") == ([1, 10, 11], None)
    assert await times("count=9") == ([11, 10, 1, 0], None)
    assert await times("from=earliest", "p-partition-1") == ([1, 11], None)


@pytest.mark.usefixtures("stored")
async def test_no_subscription_notices(world):
    await world.ask("PUT", f"{ALL}/x/subscription/s", "earliest")
    before = (await world.ask("GET", f"{ALL}/x/stats")).json["subscriptions"]
    await pages(world, "backwards=false&count=1")
    assert (await world.ask("GET", f"{ALL}/x/stats")).json["subscriptions"] == before
    assert before.keys() == {"s"}
    assert before["s"]["msgBacklog"] == 3


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("count=0", 412, "1 to 500"),
        ("count=501", 412, "1 to 500"),
        ("from=yesterday", 412, "is no time"),
        ("from=1:2:3:4", 412, "is no place"),
        ("from=9=1:2", 412, "has 0 partitions"),
        ("since=x", 412, "is no time"),
    ],
)
@pytest.mark.usefixtures("stored")
async def test_what_cannot_be_meant_is_refused(world, query, status, said):
    answer = await world.ask("GET", f"{ALL}/x/messages?{query}")
    assert answer.status == status, answer.text
    assert said in answer.reason


async def test_of_very_many_partitions_one_is_asked_for(world):
    await world.ask("PUT", f"{ALL}/many/partitions", merged.PARTITIONS_MAX + 1)
    answer = await world.ask("GET", f"{ALL}/many/messages")
    assert (answer.status, "many-partition-0" in answer.reason) == (405, True)


async def test_a_topic_that_is_not_there_has_none(world):
    assert (await world.ask("GET", f"{ALL}/nothing/messages")).status == 404


@pytest.mark.usefixtures("stored")
async def test_what_a_subscription_has_left_is_asked_for(world):
    await world.ask("PUT", f"{ALL}/x/subscription/s", "earliest")
    await world.ask("POST", f"{ALL}/x/subscription/s/skip/1")
    assert await pages(world, "backwards=false&subscription=s") == ["123"]
    assert (await world.ask("GET", f"{ALL}/x/messages?subscription=none")).status == 404
