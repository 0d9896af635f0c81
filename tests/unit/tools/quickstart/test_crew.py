import threading

import pytest

from magnetar.tools.quickstart.crew import Crew, Interrupted


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


def test_the_first_failure_stops_the_others_and_is_raised():
    crew = Crew()

    def fail():
        raise ValueError("the disk is full")

    crew.start("waits", lambda: crew.wait_for(threading.Event()))
    crew.start("fails", fail)
    crew.watch(lambda: None)
    with pytest.raises(ValueError, match="the disk is full"):
        crew.join()


def test_an_interrupted_crew_stops_and_says_so():
    crew = Crew()
    gave_up = []
    crew.start("waits", lambda: gave_up.append(not crew.wait_for(threading.Event())))
    crew.interrupt()
    crew.watch(lambda: None)
    with pytest.raises(Interrupted):
        crew.join()
    assert gave_up == [True]


def test_who_waits_goes_on_when_the_event_is_set():
    crew = Crew()
    event = threading.Event()
    event.set()
    assert crew.wait_for(event)
