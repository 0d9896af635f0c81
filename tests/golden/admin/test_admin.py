"""What Pulsar 4.0.7 answered an administrator is what we answer, in the order of the recording.

``exchanges.jsonl`` has all 1,564 exchanges with a live Apache Pulsar, which coordinated
transactions; ``coordinator_off.jsonl`` the 38 about those, of one that is configured to coordinate
none, as ours. ``groups`` has, for each group of them, what clients did in between (BEFORE) and what
we answer in another way, with the reason (DIFFERENCES). ``pytest -s`` shows how many of each group
are the same.
"""

import json
from collections import Counter
from importlib import import_module
from pathlib import Path

from golden.admin.answers import differences, translated
from golden.admin.world import open_world

HERE = Path(__file__).parent


def read(name):
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


EXCHANGES = read("exchanges.jsonl")
OFF = {exchange["name"]: exchange for exchange in read("coordinator_off.jsonl")}
OFF_DIFFERENCES = {
    "bufferInternal": "Pulsar looks for a snapshot first, and says 404 as there is none",
}
GROUPS = {
    name: import_module(f"golden.admin.groups.{name}")
    for name in sorted({exchange["group"] for exchange in EXCHANGES})
}
SAME_MIN = 0.948
"""The share of exchanges that are answered as recorded, those about transactions by a broker that
coordinates none. It only ever rises."""
SAME_OF_OTHERS_MIN = 0.951
"""The same without the group of transactions."""


async def found_in(world, exchange):
    """Where the answer to one exchange differs from the recorded one, if it does."""
    path, body = translated(exchange, world.ledgers, world.times)
    answer = await world.ask(
        exchange["method"],
        path,
        None if body is None else body.encode(),
        **exchange.get("request_headers", {}),
    )
    return differences(exchange, answer, world.ledgers)


async def test_an_administrator_is_answered_as_recorded():
    same, same_off, unexpected, gone = Counter(), set(), [], []
    async with open_world() as world:
        for exchange in EXCHANGES:
            group, name = exchange["group"], exchange["name"]
            if name in GROUPS[group].BEFORE:
                await GROUPS[group].BEFORE[name](world)
            found = await found_in(world, exchange)
            if group == "transactions" and name in OFF and not await found_in(world, OFF[name]):
                same_off.add(name)
            same[group] += not found
            listed = name in GROUPS[group].DIFFERENCES
            if found and not listed:
                unexpected.append((group, name, exchange["method"], exchange["path"], found[:4]))
            if listed and not found:
                gone.append((group, name))
    show(same, len(same_off))
    assert not unexpected, "\n" + "\n".join(map(str, unexpected))
    assert not gone, f"these are answered as recorded now: take them out of DIFFERENCES: {gone}"
    assert OFF.keys() - same_off == OFF_DIFFERENCES.keys()
    assert share(same, GROUPS, len(same_off)) >= SAME_MIN
    assert share(same, GROUPS.keys() - {"transactions"}) >= SAME_OF_OTHERS_MIN


ALL_OF = Counter(exchange["group"] for exchange in EXCHANGES)


def share(same, groups, more=0):
    return (sum(same[group] for group in groups) + more) / sum(ALL_OF[group] for group in groups)


def show(same, same_off):
    for group, count in ALL_OF.items():
        print(f"{group:22} {same[group]:4} of {count:4}")
    others = share(same, GROUPS.keys() - {"transactions"})
    print(f"{'all':22} {same.total():4} of {ALL_OF.total():4} = {share(same, GROUPS):.2%}")
    print(f"{'without transactions':30} {others:.2%}")
    print(f"{'asked with no coordinator':22} {same_off:4} of {len(OFF):4}")
    print(f"{'all, with those':30} {share(same, GROUPS, same_off):.2%}")


def test_every_difference_and_every_preparation_is_for_an_exchange():
    for group, module in GROUPS.items():
        names = {exchange["name"] for exchange in EXCHANGES if exchange["group"] == group}
        assert module.DIFFERENCES.keys() | module.BEFORE.keys() <= names, group
        assert all(module.DIFFERENCES.values()), group
