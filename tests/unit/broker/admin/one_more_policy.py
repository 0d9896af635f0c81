"""Run by test_policies.py: a broker whose table of policies has one row more than the file."""

import asyncio
import importlib.util
import sys

ROW = """    letters_a_day: int | None = policy(
        Endpoint("letters_a_day", "lettersPerDay"), Endpoint("lettersADay", "letters", applies=True)
    )
"""
NAME = "magnetar.model.policies"


def load_with_one_more():
    spec = importlib.util.find_spec(NAME)
    source = spec.loader.get_source(NAME)
    end = "    # Only the broker has these."
    assert source.count(end) == 1
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    exec(compile(source.replace(end, ROW + end), spec.origin, "exec"), module.__dict__)


async def set_shown_and_removed(world, namespace, topic):
    topic_policies = world.admin.records.policies
    name = TopicName.parse("persistent://public/default/t")
    await world.topic(str(name))
    for where, path, value, level in (
        (namespace, "lettersPerDay", 3, "namespace"),
        (topic, "letters", 4, "topic"),
    ):
        answer = await world.ask("POST", f"{where}/{path}", value)
        assert (answer.status, answer.headers.get("X-Magnetar-Without-Effect")) == (204, None)
        assert (await world.ask("GET", f"{where}/{path}")).json == value
        assert (await topic_policies.of(name)).letters_a_day == value
        [others] = [
            group["policies"]
            for group in (await world.ask("GET", f"{where}/policies")).json
            if group["title"] == "Others"
        ]
        [shown] = [each for each in others if each["path"] == path]
        assert (shown["label"], shown["value"], shown["level"], shown["removable"]) == (
            "Letters a day",
            value,
            level,
            True,
        )
        assert shown["shape"]["kind"] == "number"
    assert (await world.ask("GET", namespace)).json["letters_a_day"] == 3
    assert (await world.ask("POST", f"{topic}/letters", -1)).status == 412
    assert (await world.ask("DELETE", f"{topic}/letters")).status == 204
    assert (await world.ask("GET", f"{topic}/letters?applied=true")).json == 3


async def main():
    async with open_world() as world:
        await set_shown_and_removed(
            world,
            "/admin/v2/namespaces/public/default",
            "/admin/v2/persistent/public/default/t",
        )
    verbs = {verb.name: verb for verb in verbs_of("namespaces")}
    assert verbs["set-letters-per-day"].path == "namespaces/{namespace}/lettersPerDay"
    assert {"get-letters-per-day", "remove-letters-per-day"} < verbs.keys()
    assert "get-letters" in {verb.name for verb in verbs_of("topicPolicies")}


load_with_one_more()
from unit.broker.admin.world import open_world  # noqa: E402

from magnetar.model.names import TopicName  # noqa: E402
from magnetar.tools.admin.table import verbs_of  # noqa: E402

asyncio.run(main())
