import logging
from pathlib import Path

import pytest
from support.loop import until
from unit.broker.admin.world import open_world

from magnetar.broker.dynamic_configuration import DynamicConfiguration
from magnetar.broker.resources import Resources
from magnetar.errors import CorruptEntry, InvalidValue, Refused
from magnetar.model.names import TopicName
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata import paths
from magnetar.testing.local_broker import LocalBroker

TOPIC = TopicName.parse("persistent://public/default/t")


async def ask(broker, method, path):
    import aiohttp  # noqa: PLC0415 - one test needs it

    async with aiohttp.request(method, f"{broker.web_url}/admin/v2/brokers/{path}") as answer:
        return answer.status, await answer.json() if answer.content_length else None


async def test_what_is_changed_holds_at_once_and_after_the_next_start(tmp_path: Path):
    async with LocalBroker(tmp_path, settings={"maxProducersPerTopic": 7}) as broker:
        topic = await broker.broker.registry.create(TOPIC)
        before = topic.policies.producers_per_topic_max
        assert await ask(broker, "POST", "configuration/maxProducersPerTopic/1") == (200, None)
        assert (before, topic.policies.producers_per_topic_max) == (7, 1)
    async with LocalBroker(tmp_path, settings={"maxProducersPerTopic": 7}) as broker:
        topic = await broker.broker.registry.create(TOPIC)
        assert topic.policies.producers_per_topic_max == 1
        runtime = await ask(broker, "GET", "configuration/runtime")
        assert runtime[1]["maxProducersPerTopic"] == "1"
        assert await ask(broker, "DELETE", "configuration/maxProducersPerTopic") == (200, None)
        assert topic.policies.producers_per_topic_max == 7


@pytest.fixture
async def world():
    async with open_world() as opened:
        yield opened


@pytest.fixture
async def configuration(world) -> DynamicConfiguration:
    return world.admin.records.configuration


async def test_a_value_that_cannot_be_is_refused_and_not_kept(configuration):
    with pytest.raises(InvalidValue, match="maxProducersPerTopic='many'"):
        await configuration.change("maxProducersPerTopic", "many")
    assert await configuration.values() == {}


async def test_what_is_read_at_the_start_cannot_be_changed(configuration):
    with pytest.raises(Refused, match="dispatchThrottlingRateInMsg is read when the broker starts"):
        await configuration.change("dispatchThrottlingRateInMsg", "5")
    for key, why in (
        ("superUserRoles", "superUserRoles is read when the broker starts"),
        ("authenticationEnabled", "authenticationEnabled is read when the broker starts"),
        ("maxTenants", "this broker does nothing that maxTenants would change"),
        ("nope", "there is no setting nope"),
    ):
        with pytest.raises(Refused, match=f"Can't update non-dynamic configuration: {why}"):
            await configuration.change(key, "x")
        with pytest.raises(Refused, match=f"Can't delete non-dynamic configuration: {why}"):
            await configuration.delete(key)


async def test_pulsars_settings_without_effect_are_kept_and_said_to_have_none(configuration):
    assert not await configuration.change("loadBalancerSheddingEnabled", "false")
    assert await configuration.change("maxNumPartitionsPerPartitionedTopic", "3")
    kept = {"loadBalancerSheddingEnabled": "false", "maxNumPartitionsPerPartitionedTopic": "3"}
    assert await configuration.values() == kept


async def test_what_another_broker_changes_holds_here(world, configuration):
    """Over the same metadata; nobody asks this broker for anything."""
    services = world.admin.topics
    topic = await services.topics.create(TOPIC)
    elsewhere = Resources(world.metadata, codec=JsonCodec()).objects
    change = {"maxProducersPerTopic": "3", "maxNumPartitionsPerPartitionedTopic": "5"}
    await elsewhere.put(paths.CONFIGURATION, **change)
    await until(lambda: topic.policies.producers_per_topic_max == 3)
    assert services.creation.partitions_max == 5
    assert (await configuration.runtime())["maxProducersPerTopic"] == "3"
    await elsewhere.delete(paths.CONFIGURATION)
    await until(lambda: topic.policies.producers_per_topic_max == 0)


async def test_a_record_that_cannot_be_read_leaves_what_holds(world, configuration, caplog):
    await configuration.change("maxNumPartitionsPerPartitionedTopic", "3")
    await world.metadata.put(paths.CONFIGURATION, b"{")
    await until(lambda: "configuration.unreadable" in caplog.text)
    assert world.admin.topics.creation.partitions_max == 3
    with pytest.raises(CorruptEntry, match=paths.CONFIGURATION):
        await configuration.load()


async def test_limits_that_are_no_policies_change_too(world, configuration):
    before = world.admin.topics.creation.partitions_max
    await configuration.change("maxNumPartitionsPerPartitionedTopic", "3")
    assert world.admin.topics.creation.partitions_max == 3
    await configuration.delete("maxNumPartitionsPerPartitionedTopic")
    assert world.admin.topics.creation.partitions_max == before


async def test_what_was_kept_and_is_not_taken_any_more_is_left_out(configuration, caplog):
    await configuration._objects.put("/admin/configuration", maxProducersPerTopic="many")
    await configuration.load()
    assert "maxProducersPerTopic='many'" in caplog.text
    assert configuration.policies.producers_per_topic_max == 0


async def test_nothing_secret_is_shown(configuration):
    shown = await configuration.runtime()
    assert shown["brokerServicePort"] == "6650"
    secrets = [key for key, value in shown.items() if value and "secret" in key.lower()]
    assert all(shown[key] == "*****" for key in secrets)


async def test_the_level_of_the_log_changes_while_the_broker_runs(tmp_path: Path):
    ours = logging.getLogger("magnetar")
    before = ours.level
    try:
        async with LocalBroker(tmp_path) as broker:
            assert await ask(broker, "POST", "configuration/logLevel/debug") == (200, None)
            assert ours.getEffectiveLevel() == logging.DEBUG
            status, said = await ask(broker, "POST", "configuration/logLevel/loud")
            assert status == 412
            assert "use one of debug, info, warning, error" in said["reason"]
            assert await ask(broker, "DELETE", "configuration/logLevel") == (200, None)
            assert ours.getEffectiveLevel() == logging.WARNING
    finally:
        ours.setLevel(before)
