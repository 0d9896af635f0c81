import json
import logging
import sys

from magnetar.json_logs import JsonLines


def line_of(text, *args, exc_info=None):
    record = logging.LogRecord("magnetar.x", logging.WARNING, "f", 1, text, args, exc_info)
    return json.loads(JsonLines().format(record))


def test_an_event_and_its_fields():
    line = line_of("topic.closed topic=%s after_s=%g %d%% count=%d", "t\n{", 1.5, 7, 3)
    assert line["event"] == "topic.closed"
    assert (line["topic"], line["after_s"], line["count"]) == ("t\n{", 1.5, 3)
    assert line["message"] == "topic.closed topic=t\n{ after_s=1.5 7% count=3"
    assert (line["level"], line["logger"]) == ("WARNING", "magnetar.x")
    assert line["time"].endswith("Z")


def test_a_field_does_not_hide_what_every_line_has():
    line = line_of("a.b event=%s time=%r", "x", ("y",))
    assert (line["event"], line["event_"], line["time_"]) == ("a.b", "x", "('y',)")


def test_what_is_no_event_is_a_line_too():
    assert line_of("Magnetar is ready")["message"] == "Magnetar is ready"
    try:
        int("bad")
    except ValueError:
        line = line_of("a.b", exc_info=sys.exc_info())
    assert "ValueError: invalid" in line["traceback"]
