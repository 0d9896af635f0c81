import os
import signal
import sys

import pytest

from magnetar.errors import NotReady
from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.crew import Crew
from magnetar.tools.quickstart.run import ElsewhereBroker, Plan, Run, interruptible
from magnetar.tools.quickstart.topics import QuickstartTopics

unix_only = pytest.mark.skipif(sys.platform == "win32", reason="no such signals")


@unix_only
def test_ctrl_c_asks_the_crew_to_stop():
    crew, before = Crew(), signal.getsignal(signal.SIGINT)
    with interruptible(crew):
        os.kill(os.getpid(), signal.SIGINT)
        assert crew.interrupted
    assert signal.getsignal(signal.SIGINT) is before


@unix_only
def test_a_second_ctrl_c_does_not_wait():
    crew = Crew()
    with interruptible(crew):
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_run_needs_an_admin_api(magnetar_broker, tmp_path, unused_tcp_port):
    crew = Crew()
    plan = Plan(topics=QuickstartTopics.named("run"), partitions=2, flights_max=10, folder=tmp_path)
    nowhere = ElsewhereBroker(magnetar_broker.service_url, f"http://127.0.0.1:{unused_tcp_port}")
    run = Run(plan, nowhere, Board(), crew)
    with pytest.raises(NotReady, match="no admin API"):
        run.start()
    crew.join()
    run.close()
