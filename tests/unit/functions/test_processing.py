"""What becomes of messages: failures, retries, dead letters, windows, late inputs."""

import pytest
from support.functions import configured

from magnetar.errors import InvalidValue
from magnetar.functions.in_memory import FunctionTest


def test_a_message_that_fails_leaves_nothing_behind_and_stops_nothing():
    with FunctionTest(configured("Careful")) as function:
        for value in ("12", "13", "14"):
            function.send(value)
        assert function.outputs == [b"12", b"14"]
        assert function.failed == [b"13"]
        assert len(function.sent) == 2
        told = function.metrics
        assert told["numReceived"] == 3
        assert told["numSuccessfullyProcessed"] == 2
        assert told["numUserExceptions"] == 1
        assert "ValueError: thirteen" in told["latestUserExceptions"][0]["exceptionString"]
        assert "Exception while executing user method" in function.logs[0]


@pytest.mark.parametrize(
    "keys", [{"retainOrdering": True}, {"processingGuarantees": "EFFECTIVELY_ONCE"}]
)
def test_where_order_counts_a_message_is_tried_again_at_once_and_then_a_dead_letter(keys):
    with FunctionTest(configured("Careful", **keys)) as function:
        function.send("13", key="k")
        (letter,) = function.sent
        assert letter.topic == "persistent://public/default/careful-DLQ"
        assert (letter.value, letter.key) == (b"13", "k")
        assert function.metrics["numUserExceptions"] == 4
        assert function.failed == []
    with FunctionTest(configured("Hesitant", **keys)) as function:
        function.send("1")
        assert function.outputs == [b"1"]


def test_retries_are_as_many_as_asked_for():
    config = configured("Careful", retainOrdering=True, maxMessageRetries=1, deadLetterTopic="dead")
    with FunctionTest(config) as function:
        function.send("13")
        assert function.metrics["numUserExceptions"] == 2
        assert function.sent[0].topic == "dead"


def test_without_retries_a_message_is_a_dead_letter_at_its_first_failure():
    config = configured("Careful", maxMessageRetries=0, deadLetterTopic="dead")
    with FunctionTest(config) as function:
        function.send("13")
        assert function.sent[0].topic == "dead"
        assert function.failed == []


def test_at_most_once_nothing_is_tried_again():
    config = configured("Careful", processingGuarantees="ATMOST_ONCE", retainOrdering=True)
    with FunctionTest(config) as function:
        function.send("13")
        assert function.metrics["numUserExceptions"] == 1
        assert function.sent == []


def test_what_cannot_be_decoded_or_encoded_is_a_system_exception():
    config = configured("Double", inputs=[], customSchemaInputs={"numbers": "int32"})
    with FunctionTest(config) as function:
        function.send(b"too long")
        assert function.metrics["numSystemExceptions"] == 1
        assert function.failed == [b"too long"]
    with FunctionTest(configured("Double", outputSchemaType="string")) as function:
        function.send("5")
        assert function.metrics["numSystemExceptions"] == 1


def test_windows_by_count():
    with FunctionTest(configured("Sum", windowConfig={"windowLengthCount": 3})) as function:
        for value in range(8):
            function.send(str(value))
        assert function.outputs == [b"3", b"12"]
        assert function.metrics["numSuccessfullyProcessed"] == 6


def test_sliding_windows_by_count():
    config = configured("Sum", windowConfig={"windowLengthCount": 3, "slidingIntervalCount": 1})
    with FunctionTest(config) as function:
        for value in (1, 2, 3, 4):
            function.send(str(value))
        assert function.outputs == [b"1", b"3", b"6", b"9"]


def event_time(**more):
    return configured(
        "SumOfTimed",
        inputs=[],
        customSerdeInputs={"numbers": "user_code.Json"},
        outputSerdeClassName="user_code.Json",
        windowConfig={
            "windowLengthDurationMs": 10,
            "timestampExtractorClassName": "user_code.Time",
            "maxLagMs": 5,
            "watermarkEmitIntervalMs": 100,
            **more,
        },
    )


def test_event_time_with_late_data_to_its_topic():
    with FunctionTest(event_time(lateDataTopic="late")) as function:
        for timed in ("[3, 1]", "[7, 2]", "[12, 4]", "[26, 8]"):
            function.send(timed)
        function.advance(100)  # The watermark is 21.
        assert function.outputs == [b"[10, 3]", b"[20, 4]"]
        function.send("[20, 16]", key="k")
        late = function.sent[-1]
        assert (late.topic, late.value, late.key) == ("late", b"[20, 16]", "k")


def test_late_data_without_a_topic_is_logged():
    with FunctionTest(event_time()) as function:
        function.send("[50, 1]")
        function.advance(100)
        function.send("[3, 1]")
        assert "is late and left out: its time is 3" in function.logs[-1]
        assert function.failed == []


def test_a_window_that_fails_gives_its_inputs_back():
    config = configured("Sum", windowConfig={"windowLengthCount": 2})
    with FunctionTest(config) as function:
        for value in ("1", "text", "3", "4"):
            function.send(value)
        assert function.failed == [b"1", b"text"]
        assert function.outputs == [b"7"]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"windowLengthCount": 2, "slidingIntervalDurationMs": 5}, None),
        ({"windowLengthCount": 2, "lateDataTopic": "late"}, "needs timestampExtractorClassName"),
    ],
)
def test_windows_that_make_no_sense(window, said):
    config = configured("Sum", windowConfig=window)
    if said is None:
        FunctionTest(config).close()  # The slide by count is its default.
        return
    with pytest.raises(InvalidValue, match=said):
        FunctionTest(config)


def test_what_has_no_process_is_refused(tmp_path):
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(InvalidValue, match=r"has no process\(input, context\)"):
        FunctionTest(configured("", py=str(tmp_path / "empty.py"), className="empty"))
