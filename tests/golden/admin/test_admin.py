"""What Pulsar 4.0.7 answered an administrator is what we answer, in the order of the recording.

``exchanges.jsonl`` has all 1,564 exchanges with a live Apache Pulsar. ``groups`` has, for each
group of them, what clients did in between (BEFORE) and what we answer in another way, with the
reason (DIFFERENCES). ``pytest -s`` shows how many of each group are the same.
"""

import json
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from golden.admin import behind_proxy
from golden.admin.answers import differences, of_values_alone, translated
from golden.admin.world import open_world

HERE = Path(__file__).parent
EXCHANGES = [json.loads(line) for line in (HERE / "exchanges.jsonl").read_text().splitlines()]
GROUPS = {
    name: import_module(f"golden.admin.groups.{name}")
    for name in sorted({exchange["group"] for exchange in EXCHANGES})
}
SAME_MIN = 0.945
"""The share of exchanges that are answered as recorded. It only ever rises."""
SAME_FIELDS_MIN = 0.96
"""The same without a look at values: status, and names and types of fields."""
SAME_OF_OTHERS_MIN = 0.951
"""The same without the group of transactions, which the recorded broker coordinated."""


def as_it_is(body):
    return body


def as_text(body):
    """A body in which every number, true and false is text, which Jackson reads as what it says."""
    try:
        return json.dumps(quoted(json.loads(body)))
    except ValueError:
        return body


def quoted(value):
    if isinstance(value, dict):
        return {key: quoted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [quoted(item) for item in value]
    return json.dumps(value) if isinstance(value, bool | int | float) else value


async def found_in(world, exchange, written):
    """Where the answer to one exchange differs from the recorded one, if it does."""
    path, body = translated(exchange, world.ledgers, world.times)
    answer = await world.ask(
        exchange["method"],
        path,
        None if body is None else written(body).encode(),
        **exchange.get("request_headers", {}),
    )
    return differences(exchange, answer, world.ledgers)


@pytest.mark.parametrize("written", [as_it_is, as_text])
async def test_an_administrator_is_answered_as_recorded(written):
    same, same_fields, unexpected, gone = Counter(), 0, [], []
    async with open_world() as world:
        for exchange in EXCHANGES:
            group, name = exchange["group"], exchange["name"]
            if name in GROUPS[group].BEFORE:
                await GROUPS[group].BEFORE[name](world)
            found = await found_in(world, exchange, written)
            if found and world.behind_proxy and (group, name) in behind_proxy.DIFFERENCES:
                found = []
            same[group] += not found
            same_fields += of_values_alone(found)
            listed = name in GROUPS[group].DIFFERENCES
            if found and not listed:
                unexpected.append((group, name, exchange["method"], exchange["path"], found[:4]))
            if listed and not found:
                gone.append((group, name))
    show(same, same_fields / len(EXCHANGES))
    assert not unexpected, "\n" + "\n".join(map(str, unexpected))
    assert not gone, f"these are answered as recorded now: take them out of DIFFERENCES: {gone}"
    assert share(same, GROUPS) >= SAME_MIN
    assert same_fields / len(EXCHANGES) >= SAME_FIELDS_MIN
    assert share(same, GROUPS.keys() - {"transactions"}) >= SAME_OF_OTHERS_MIN


ALL_OF = Counter(exchange["group"] for exchange in EXCHANGES)


def share(same, groups):
    return sum(same[group] for group in groups) / sum(ALL_OF[group] for group in groups)


def show(same, same_fields):
    for group, count in ALL_OF.items():
        print(f"{group:22} {same[group]:4} of {count:4}")
    others = share(same, GROUPS.keys() - {"transactions"})
    print(f"{'all':22} {same.total():4} of {ALL_OF.total():4} = {share(same, GROUPS):.2%}")
    print(f"{'without transactions':30} {others:.2%}")
    print(f"{'all, without values':30} {same_fields:.2%}")


def test_every_difference_and_every_preparation_is_for_an_exchange():
    for group, module in GROUPS.items():
        names = {exchange["name"] for exchange in EXCHANGES if exchange["group"] == group}
        assert module.DIFFERENCES.keys() | module.BEFORE.keys() <= names, group
        assert all(module.DIFFERENCES.values()), group
