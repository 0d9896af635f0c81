"""The commands of docs/replication.md, as they stand, on two clusters: planned and unplanned."""

import asyncio
import json
import re
import shlex
from pathlib import Path

from click.testing import CliRunner
from replication.test_two_clusters import caught_up, published
from support.loop import until
from support.regions import regions

from magnetar.model.names import TopicName
from magnetar.tools.admin.command import admin

PAGE = (Path(__file__).parents[2] / "docs" / "replication.md").read_text()
TOPIC = "persistent://shop/orders/t"


def commands(heading):
    """The commands below a heading, by block."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    return [re.findall(r"^\$ (.*)$", block, re.MULTILINE) for block in blocks]


class Administrator:
    """Says the commands of the page to two clusters."""

    def __init__(self, *regions):
        self._regions = regions

    async def __call__(self, region, command):
        """What a command prints."""
        for each in self._regions:
            command = command.replace(f"http://{each.name}:8080", each.web_url)
            command = command.replace(f"pulsar://{each.name}:6650", each.service_url)
        program, verb, *words = shlex.split(command)
        assert (program, verb) == ("magnetar", "admin")
        done = await asyncio.to_thread(
            CliRunner().invoke, admin, ["--admin-url", region.web_url, *words]
        )
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    async def stats(self, region, command):
        return json.loads(await self(region, command + " -o json"))["replication"]


async def test_clusters_take_over_as_the_page_says(tmp_path):
    settings = {"brokerDeduplicationEnabled": True, "folder": tmp_path, "introduced": False}
    async with regions("west", "east", **settings) as (west, east):
        say = Administrator(west, east)
        at_west, at_east = commands("Setting it up")
        for region, block in ((west, at_west), (east, at_east)):
            for command in block:
                await say(region, command)
        for region in (west, east):
            await (await region.client.subscribe(TOPIC, "billing")).close()
        await (await west.client.subscribe(TOPIC, "packing")).close()
        [[replicated]] = commands("Subscriptions")
        await say(west, replicated)
        await published(west, TOPIC, count=50, name="shop")
        assert await consumed(west, "packing", 50) == list(range(50))
        await until(lambda: followed(east))
        await published(west, TOPIC, first=50, count=10, name="shop")
        await caught_up(west, east, TOPIC)

        [stats], [back_in_time] = commands("A planned failover")
        while (await say.stats(west, stats))["east"]["replicationBacklog"]:
            pass  # A marker of the replicated subscription may be on its way.
        assert await consumed(east, "packing", 10) == list(range(50, 60))
        await consumed(east, "billing", 60)
        await say(east, back_in_time)
        assert await consumed(east, "billing", 60) == list(range(60))

        [stats], [taken_out] = commands("An unplanned failover")
        await west.down()
        await published(east, TOPIC, first=60, count=40, name="other shop")
        found = (await say.stats(east, stats))["west"]
        assert (found["connected"], found["replicationBacklog"] > 0) == (False, True)
        assert found["trouble"]
        assert await consumed(east, "packing", 40) == list(range(60, 100))
        await west.up()
        await caught_up(east, west, TOPIC)
        assert await consumed(west, "billing", 100) == list(range(100))
        await until(lambda: followed(west))
        [[skipped]] = commands("Looking at it")
        await say(west, skipped)
        await say(east, taken_out)
        await until(lambda: not east.topic(TOPIC).ledger.cursors.keys() & {"pulsar.repl.west"})


async def consumed(region, subscription, count):
    """Receive and acknowledge so many messages."""
    async with await region.client.subscribe(TOPIC, subscription) as consumer:
        found = []
        for _ in range(count):
            message = await consumer.receive(20)
            found.append(int(message.data))
            await consumer.acknowledge(message)
        return found


def followed(region):
    """Whether the replicated subscription is at the end in a region."""
    topic = region.loaded.get(TopicName.parse(TOPIC))
    found = None if topic is None else topic.subscriptions.get("packing")
    return found is not None and not found.backlog
