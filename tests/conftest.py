"""For all tests: the fixtures we give our users, and each other's helpers by folder name."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # Every process of ``make test`` and every program that it starts would compile it all anew.
    sys.dont_write_bytecode = False

sys.path.insert(0, str(Path(__file__).parent))  # `from golden.frames import ...`
sys.path.append(str(Path(__file__).parents[1] / "examples"))  # `from quickstart import ...`

from support.forks import Forked
from support.loop import WatchedLoop

from magnetar.testing.processes import BrokerProcess

if hasattr(os, "pidfd_open"):
    BrokerProcess.begin = Forked

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # As in the background of a script.
    # Programs that tests start would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Speed is not tested here, so no example has a deadline. In CI the examples are always the same.
settings.register_profile(
    "magnetar",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=int(os.environ.get("EXAMPLES", "30")),  # ``make fuzz`` tries more.
)
settings.load_profile("magnetar")

pytest_plugins = [
    "magnetar.testing.plugin",
    "support.long",
    "support.workers",
    "support.clusters",
    "support.by_proxy",
    "support.by_processes",
    "support.on_cluster",
]


def pytest_asyncio_loop_factories():
    return {"watched": WatchedLoop}


@pytest.fixture(scope="module", autouse=True)
def _pulsar_stays():
    """Functions in this process import ours by the official client's name: other tests do not."""
    before = _named_pulsar()
    yield
    for name, module in _named_pulsar().items():
        if name in before:
            sys.modules[name] = before[name]
        elif module.__name__.startswith("magnetar."):
            del sys.modules[name]


def _named_pulsar():
    modules = sys.modules.copy()  # In one step: threads import too.
    return {name: module for name, module in modules.items() if name.partition(".")[0] == "pulsar"}
