"""Calls, dependencies and insides that have one home, and what to use elsewhere."""

import ast

import pytest
from architecture.source import calls, files, imported, tree

OPENERS = (
    "storage/ledger/local/",  # segments and the journal
    "storage/metadata/sqlite.py",
    "tools/",
    "broker/config.py",
    "spark/",
)

BANNED = {
    "time.time": (("clock.py",), "take a Clock and ask wall_ms()"),
    "time.time_ns": (("clock.py",), "take a Clock and ask wall_ms()"),
    "time.monotonic": (("clock.py",), "take a Clock and ask now()"),
    "time.perf_counter": (("clock.py",), "take a Clock and ask now()"),
    "datetime.now": (("tools/",), "take a Clock and ask wall_ms()"),
    "time.sleep": ((), "await an event, or Clock.sleep"),
    "asyncio.sleep": (("clock.py",), "Clock.sleep, so that tests need not wait"),
    "asyncio.create_task": ((), "Tasks.spawn names it, keeps it and logs its failure"),
    "asyncio.ensure_future": (
        ("testing/simulation/",),
        "Tasks.spawn names it, keeps it and logs its failure",
    ),
    "create_task": (
        ("tasks.py", "testing/simulation/"),
        "Tasks.spawn names it, keeps it and logs its failure",
    ),
    "print": (("tools/",), "log an event, or return the text to tools"),
    "open": (OPENERS, "files are opened in the rooms that store, and in tools"),
    "asyncio.Queue": ((), "a list inbox and one Event per turn; give it a ..._max"),
}

DOORS = {
    "sqlite3": ("storage/metadata/",),
    "aiohttp": (
        "rest/",
        "auth/",
        "client/authentication/oauth2.py",
        "client/connections/http_request.py",
        "client/connections/provider_watch.py",
    ),
    "pyspark": ("spark/", "functions/", "pipelines/"),
    "bcrypt": (),
    "duckdb": ("history/",),
    "jwt": ("auth/", "tools/"),
    "passlib": ("auth/", "tools/"),
    "prometheus_client": ("broker/admin/",),
    "obstore": ("history/",),
    "pyiceberg": ("history/",),
    "cramjam": ("message/compression.py",),
    "kazoo": ("storage/metadata/", "testing/simulation/"),
    "random": ("testing/simulation/",),
}

# The threads of a broker and of its client, which docs/decisions/0045 lists with the contract
# behind which each stands. What blocks a broker for a moment goes to ``broker/threads.py``.
THREADS = ("threading.Thread", "ThreadPoolExecutor")
THREAD_ROOMS = ("auth/", "broker/", "client/", "rest/", "storage/")
THREAD_HOMES = {
    "auth/basic.py",
    "broker/threads.py",
    "broker/tracing/spans.py",
    "client/listener_thread.py",
    "client/loop_thread.py",
    "storage/ledger/local/store.py",
    "storage/workers.py",
}

# The bytes of records. An entry of a compacted ledger is no record of the metadata store.
CODEC = "magnetar.storage.codec."
# A store of schemas is of one scale, as a codec is.
CODEC_HOMES = ("storage/codec/", "storage/schemas/")
ENTRIES = ("encode_compacted", "decode_compacted")

# Rooms that a broker imports at its start: docs/decisions/0059. ``late_dataclass`` has no order.
LATE_ROOMS = ("auth/", "broker/", "inner/", "message/", "model/", "rest/", "storage/", "wire/")
ORDERED = {"broker/dispatch/delayed.py"}

# What a topic is made of. Its contract says what others may ask; not every topic has a log.
INSIDES = ("ledger", "cursor")
INSIDES_HOMES = ("broker/topics/", "storage/")


def at_home(name: str, homes: tuple[str, ...]) -> bool:
    return any(name == home or (home.endswith("/") and name.startswith(home)) for home in homes)


@pytest.mark.parametrize("banned", BANNED)
def test_calls_that_have_one_home_stay_there(banned):
    homes, instead = BANNED[banned]
    strays = [
        f"{name}:{line} {call}"
        for name in files()
        if not at_home(name, homes)
        for line, call in calls(name)
        if call == banned or (banned == "create_task" and call.endswith(".create_task"))
    ]
    assert not strays, instead


def test_the_threads_are_those_that_the_decision_lists():
    found = {
        name
        for name in files()
        if name.startswith(THREAD_ROOMS)
        for _, call in calls(name)
        if call in THREADS
    }
    assert found == THREAD_HOMES


@pytest.mark.parametrize("module", DOORS)
def test_each_dependency_has_its_door(module):
    homes = DOORS[module]
    strangers = [name for name in files() if module in imported(name) and not at_home(name, homes)]
    assert not strangers, f"only {homes or 'nobody'} may import {module}"


def test_what_a_broker_imports_compiles_the_methods_of_dataclasses_late():
    strays = {
        name
        for name in files()
        if at_home(name, LATE_ROOMS)
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if "dataclass" in {each.name for each in node.names}
    }
    assert strays == ORDERED, "take it from late_dataclass.py: a start defines 200 of them"


@pytest.mark.parametrize("inside", INSIDES)
def test_nobody_reaches_into_a_topic(inside):
    strays = [
        f"{name}:{node.lineno} .{inside}"
        for name in files()
        if not at_home(name, INSIDES_HOMES)
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Attribute) and node.attr == inside
    ]
    assert not strays, "ask the topic or the subscription: broker/topics/topic.py"


def test_whoever_needs_the_bytes_of_a_record_is_given_a_codec():
    strays = [
        f"{name}:{node.lineno} {each.name}"
        for name in files()
        if not at_home(name, CODEC_HOMES)
        for node in ast.walk(tree(name))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CODEC)
        for each in node.names
        if each.name.startswith(("encode", "decode")) and each.name not in ENTRIES
    ]
    assert not strays, "call the Codec that broker/assemble/stores.py names"
