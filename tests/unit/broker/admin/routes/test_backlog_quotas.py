"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest
from unit.broker.admin.world import open_world

NAMESPACE = "/admin/v2/namespaces/public/default"
TOPIC = "/admin/v2/persistent/public/default/t"


@pytest.fixture
async def world():
    async with open_world() as opened:
        await opened.topic("persistent://public/default/t")
        yield opened


async def test_a_topic_is_stronger_than_its_namespace_kind_by_kind(world):
    size = {"limitSize": 1, "policy": "producer_exception"}
    age = {"limitTime": 2, "policy": "producer_exception"}
    await world.ask("POST", f"{NAMESPACE}/backlogQuota", size)
    await world.ask("POST", f"{TOPIC}/backlogQuota?backlogQuotaType=message_age", age)
    applied = (await world.ask("GET", f"{TOPIC}/backlogQuotaMap?applied=true")).json
    assert applied["destination_storage"]["limitSize"] == 1
    assert applied["message_age"]["limitTime"] == 2
    assert list((await world.ask("GET", f"{TOPIC}/backlogQuotaMap")).json) == ["message_age"]


@pytest.mark.parametrize("sent", ["x", 5, [], {"limitSize": "x", "policy": "producer_exception"}])
async def test_what_is_no_quota_is_refused(world, sent):
    for one in (NAMESPACE, TOPIC):
        assert (await world.ask("POST", f"{one}/backlogQuota", sent)).status == 400


async def test_the_old_key_of_a_size_counts_where_the_new_one_is_missing(world):
    sent = {"limit": 5, "limitSize": 7, "policy": "producer_exception"}
    await world.ask("POST", f"{TOPIC}/backlogQuota", sent)
    shown = (await world.ask("GET", f"{TOPIC}/backlogQuotaMap")).json["destination_storage"]
    assert (shown["limit"], shown["limitSize"]) == (7, 7)


async def test_the_old_key_and_a_size_as_text_are_taken_wherever_a_quota_is(world):
    sent = {"limit": "10240", "policy": "producer_request_hold"}
    assert (await world.ask("POST", f"{NAMESPACE}/backlogQuota", sent)).status == 204
    made = {"backlog_quota_map": {"destination_storage": sent}}
    assert (await world.ask("PUT", "/admin/v2/namespaces/public/made", made)).status == 204
    for namespace in (NAMESPACE, "/admin/v2/namespaces/public/made"):
        quota = (await world.ask("GET", f"{namespace}/backlogQuotaMap")).json["destination_storage"]
        assert (quota["limitSize"], quota["policy"]) == (10240, "producer_request_hold")
