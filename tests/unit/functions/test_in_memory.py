import json

import pytest
from support.functions import configured

from magnetar.errors import InvalidValue
from magnetar.functions.in_memory import FunctionTest, Sent


def test_a_function_and_its_outputs():
    with FunctionTest(configured("Double")) as function:
        assert function.send("21")[0].value == b"42"
        function.send(b"2", key="k", properties={"a": "b"})
        assert function.outputs == [b"42", b"4"]
        assert function.sent[1].key == "k"
        assert function.sent[1].properties["a"] == "b"
        topic = "persistent://public/default/numbers"
        assert function.sent[1].properties["__pfn_input_topic__"] == topic


def test_a_plain_module_is_a_function():
    with FunctionTest(configured("")) as function:
        function.send("4")
        assert function.outputs == [b"8"]


def test_all_that_a_context_does_can_be_looked_at():
    config = configured(
        "Telling", userConfig={"factor": 3}, secrets={"password": "x"}, logTopic="logs"
    )
    with FunctionTest(config) as function:
        function.send("5", key="key", properties={"p": "q"}, event_time_ms=9)
        told = json.loads(function.outputs[0])
        topic = "persistent://public/default/numbers"
        fqfn = "public/default/telling"
        assert told == ["key", {"p": "q"}, 9, topic, fqfn, 0, 3, "x"]
        assert function.sent[0] == Sent(
            "persistent://public/default/elsewhere", b'{"input": 5}', "k", {"a": "b"}
        )
        assert function.logs[0].endswith("got 5")
        assert function.metrics["userMetrics"]["size"]["sum"] == 1
        assert function.state == {"published": b"Ok"}


def test_state_and_counters():
    with FunctionTest(configured("Counting")) as function:
        function.send("5")
        function.send("7")
        assert function.outputs == [b"1", b"2"]
        assert function.state == {"last": b"7"}
        assert function.counters == {"all": 2}


def test_windows_by_time_are_due_when_time_has_passed():
    config = configured("Sum", windowConfig={"windowLengthDurationMs": 1000})
    with FunctionTest(config) as function:
        function.send("5")
        function.send("6")
        assert function.advance(998) == []
        assert function.advance(1) == [Sent("results", b"11")]


def test_a_pattern_needs_a_topic_and_a_stranger_is_refused():
    config = configured("Double", inputs=[], topicsPattern="public/default/n.*")
    with FunctionTest(config) as function:
        with pytest.raises(InvalidValue, match="of which topic"):
            function.send("5")
        with pytest.raises(InvalidValue, match="none of the inputs"):
            function.send("5", topic="words")
        assert function.send("5", topic="n1")[0].value == b"10"
