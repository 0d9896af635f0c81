"""Processes are killed and stopped under load: nothing answered is lost, and soon all is served.

``KILLS=20 pytest -s tests/processes/test_deaths.py`` does each 20 times, and prints how long
publishing stood still.
"""

import os
import signal
from functools import partial

import pytest
from processes.conftest import KILLS, Load, check_kept

TOPICS = [f"persistent://public/default/t-{number}" for number in range(10)]

pytestmark = [pytest.mark.slow, pytest.mark.crash, pytest.mark.timeout(180 + 90 * KILLS)]


@pytest.mark.parametrize("count", [2, 3])
def test_nothing_answered_is_lost_and_order_is_kept(start, capsys, count):
    broker = start(count)
    load = Load(broker.service_url, TOPICS)
    load.await_more()
    pauses = {}

    def fault(name, act):
        pauses.setdefault(name, []).append(load.pause_with(act))
        load.await_more()

    def kill_all():
        """The one that looks after the others takes them along."""
        broker.kill()
        broker.start()

    for _ in range(KILLS):
        for _ in range(count):
            first = broker.workers()[0]  # The one that began first.
            fault("a process killed", partial(os.kill, first, signal.SIGKILL))
        fault("all killed with the first", kill_all)
    if count == 2:
        for _ in range(max(1, KILLS // 4)):
            stopped = broker.workers()[0]
            fault("a process stopped", partial(os.kill, stopped, signal.SIGSTOP))
            with pytest.raises(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)
    load.end()
    check_kept(broker.service_url, load)
    answered = sum(map(len, load.answered.values()))
    with capsys.disabled():
        print(f"\n{count} processes, {answered} answered")
        for name, each in pauses.items():
            print(f"  {name:26} {len(each):3} times, pause of publishing up to {max(each):.2f} s")
