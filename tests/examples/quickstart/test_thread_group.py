import threading

import pytest
from quickstart.thread_group import Stopped, ThreadGroup


def test_a_group_is_done_when_all_have_ended():
    threads = ThreadGroup()
    ready, ticks = threading.Event(), []
    threads.start("one", ready.wait)

    def tick():
        ticks.append(1)
        ready.set()

    threads.watch(tick)
    threads.join()
    assert ticks
    assert not threads.working


def test_the_first_failure_stops_the_others_and_is_raised():
    threads = ThreadGroup()

    def fail():
        raise ValueError("the disk is full")

    threads.start("waits", lambda: threads.wait(threading.Event()))
    threads.start("fails", fail)
    threads.watch(lambda: None)
    with pytest.raises(ValueError, match="the disk is full"):
        threads.join()


def test_a_group_that_is_asked_to_stop_stops_without_a_failure():
    threads = ThreadGroup()
    gave_up = []

    def work():
        with pytest.raises(Stopped):
            threads.wait(threading.Event())
        gave_up.append(True)
        raise OSError("the connection was closed under it")

    threads.start("waits", work)
    assert threads.working
    threads.stopping.set()
    threads.watch(lambda: None)
    threads.join()
    assert gave_up


def test_who_waits_goes_on_when_the_event_is_set():
    event = threading.Event()
    event.set()
    ThreadGroup().wait(event)
