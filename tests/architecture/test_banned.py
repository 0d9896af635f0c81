"""Calls that have one home, and what to use instead."""

import pytest
from architecture.source import calls, files, imported

OPENERS = (
    "storage/ledger/local/",  # segments and the journal
    "storage/metadata/sqlite.py",
    "testing/processes.py",  # a broker process' log
    "tools/",
    "broker/config.py",
    "spark/",
)

BANNED = {
    "time.time": (("clock.py",), "take a Clock and ask wall_ms()"),
    "time.time_ns": (("clock.py",), "take a Clock and ask wall_ms()"),
    "time.monotonic": (("clock.py",), "take a Clock and ask now()"),
    "time.sleep": ((), "await an event, or Clock.sleep"),
    "asyncio.create_task": ((), "Tasks.spawn names it, keeps it and logs its failure"),
    "asyncio.ensure_future": ((), "Tasks.spawn names it, keeps it and logs its failure"),
    "create_task": (("tasks.py",), "Tasks.spawn names it, keeps it and logs its failure"),
    "print": (("tools/",), "log an event, or return the text to tools"),
    "open": (OPENERS, "files are opened in the rooms that store, and in tools"),
    "asyncio.Queue": ((), "a list inbox and one Event per turn; give it a ..._max"),
}


def at_home(name: str, homes: tuple[str, ...]) -> bool:
    return any(name == home or (home.endswith("/") and name.startswith(home)) for home in homes)


@pytest.mark.parametrize("name", files())
def test_calls_that_have_one_home_stay_there(name):
    for line, call in calls(name):
        for banned, (homes, instead) in BANNED.items():
            called = call == banned or (banned == "create_task" and call.endswith(".create_task"))
            assert not called or at_home(name, homes), f"{name}:{line} calls {call}: {instead}"


@pytest.mark.parametrize(
    ("module", "homes"),
    [
        ("sqlite3", ("storage/metadata/sqlite.py",)),
        ("aiohttp", ("broker/admin/", "client/http_lookup.py", "client/admin.py")),
        ("pyspark", ("spark/",)),
        ("cramjam", ("message/compression.py",)),
        ("kazoo", ("storage/metadata/zookeeper.py",)),
        ("random", ()),
    ],
)
def test_each_dependency_has_one_door(module, homes):
    strangers = [name for name in files() if module in imported(name) and not at_home(name, homes)]
    assert not strangers, f"only {homes} may import {module}"
