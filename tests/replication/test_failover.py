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
            await (await region.client.subscribe(TOPIC, "packing")).close()
        await published(west, TOPIC, count=50, name="shop")
        await caught_up(west, east, TOPIC)

        [stats], [back_in_time] = commands("A planned failover")
        assert (await say.stats(west, stats))["east"]["replicationBacklog"] == 0
        consumer = await east.client.subscribe(TOPIC, "packing")
        for _ in range(50):
            await consumer.acknowledge(await consumer.receive(20))
        await consumer.close()
        await say(east, back_in_time)
        consumer = await east.client.subscribe(TOPIC, "packing")
        again = [int((await consumer.receive(20)).data) for _ in range(50)]
        assert again == list(range(50))
        await consumer.close()

        [stats], [taken_out] = commands("An unplanned failover")
        await west.down()
        await published(east, TOPIC, first=50, count=50, name="other shop")
        found = (await say.stats(east, stats))["west"]
        assert (found["connected"], found["replicationBacklog"] > 0) == (False, True)
        assert found["trouble"]
        await west.up()
        await caught_up(east, west, TOPIC)
        consumer = await west.client.subscribe(TOPIC, "packing")
        got = [int((await consumer.receive(20)).data) for _ in range(100)]
        assert got == list(range(100))
        await say(east, taken_out)
        await until(lambda: not east.topic(TOPIC).ledger.cursors.keys() & {"pulsar.repl.west"})
