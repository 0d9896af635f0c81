import threading

import pytest

from magnetar.tools.quickstart.crew import Crew, Stopped


def test_a_crew_is_done_when_all_have_ended():
    crew = Crew()
    ready, ticks = threading.Event(), []
    crew.start("one", ready.wait)

    def tick():
        ticks.append(1)
        ready.set()

    crew.watch(tick)
    crew.join()
    assert ticks
    assert not crew.working


def test_the_first_failure_stops_the_others_and_is_raised():
    crew = Crew()

    def fail():
        raise ValueError("the disk is full")

    crew.start("waits", lambda: crew.wait(threading.Event()))
    crew.start("fails", fail)
    crew.watch(lambda: None)
    with pytest.raises(ValueError, match="the disk is full"):
        crew.join()


def test_a_crew_that_is_asked_to_stop_stops_without_a_failure():
    crew = Crew()
    gave_up = []

    def work():
        with pytest.raises(Stopped):
            crew.wait(threading.Event())
        gave_up.append(True)
        raise OSError("the connection was closed under it")

    crew.start("waits", work)
    assert crew.working
    crew.stopping.set()
    crew.watch(lambda: None)
    crew.join()
    assert gave_up


def test_who_waits_goes_on_when_the_event_is_set():
    event = threading.Event()
    event.set()
    Crew().wait(event)
