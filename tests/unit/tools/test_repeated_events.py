import io
import logging

import pytest

from magnetar.tools import repeated_events
from magnetar.tools.repeated_events import AGAIN_S, RepeatedEvents


class Log:
    """What is written, and when."""

    def __init__(self):
        self.text = io.StringIO()
        self.handler = logging.StreamHandler(self.text)
        self.handler.addFilter(RepeatedEvents())
        self.now = 1000.0

    def say(self, message, *args):
        record = logging.LogRecord("m", logging.ERROR, "", 1, message, args, None)
        record.created = self.now
        self.handler.handle(record)

    @property
    def lines(self):
        return self.text.getvalue().splitlines()


@pytest.fixture
def log():
    return Log()


def test_an_event_is_logged_once_a_minute_and_says_how_often_it_came(log):
    for number in range(5):
        log.say("storage.write_failed path=%s error=%s", f"segment-{number}", "full")
    assert log.lines == ["storage.write_failed path=segment-0 error=full"]
    log.now += AGAIN_S
    log.say("storage.write_failed path=%s error=%s", "segment-9", "full")
    assert log.lines[1:] == ["storage.write_failed path=segment-9 error=full repeated=4"]
    log.now += AGAIN_S
    log.say("storage.write_failed path=%s error=%s", "segment-10", "full")
    assert log.lines[2:] == ["storage.write_failed path=segment-10 error=full"]


def test_each_topic_has_its_own_line(log):
    for topic in ("a", "b", "a"):
        log.say("topic.write_failed topic=%s error=%s", topic, "full")
    assert log.lines == [f"topic.write_failed topic={topic} error=full" for topic in ("a", "b")]


def test_what_happens_anew_each_time_is_logged_each_time(log):
    for _ in range(3):
        log.say("tls.renewed certificate=%s", "c.pem")
    assert len(log.lines) == 3


def test_it_remembers_no_more_than_its_bound(log, monkeypatch):
    monkeypatch.setattr(repeated_events, "KEYS_MAX", 2)
    for topic in ("a", "b", "c", "a"):
        log.say("topic.write_failed topic=%s error=%s", topic, "full")
    assert len(log.lines) == 4
