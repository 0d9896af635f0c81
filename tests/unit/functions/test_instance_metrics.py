import pytest

from magnetar.functions.instance_metrics import (
    EXCEPTION_CHARACTERS_MAX,
    EXCEPTIONS_KEPT_MAX,
    USER_METRICS_MAX,
    InstanceMetrics,
)


def test_only_the_latest_exceptions_are_kept_and_their_ends():
    metrics = InstanceMetrics()
    for number in range(EXCEPTIONS_KEPT_MAX + 3):
        metrics.user.add("x" * EXCEPTION_CHARACTERS_MAX + str(number), number)
    told = metrics.to_json()
    assert told["numUserExceptions"] == EXCEPTIONS_KEPT_MAX + 3
    assert [each["timestampMs"] for each in told["latestUserExceptions"]] == list(range(3, 13))
    assert len(told["latestUserExceptions"][0]["exceptionString"]) == EXCEPTION_CHARACTERS_MAX


def test_latency_is_that_of_what_was_processed():
    metrics = InstanceMetrics(processed=4, busy_s=0.02)
    assert metrics.to_json()["averageLatency"] == 5.0
    assert InstanceMetrics().to_json()["averageLatency"] == 0.0


def test_a_recorded_number_is_summed_up():
    metrics = InstanceMetrics()
    for value in (3.0, 1.0, 8.0):
        metrics.record("size", value)
    told = metrics.to_json()["userMetrics"]
    assert told == {"size": {"sum": 12.0, "count": 3, "min": 1.0, "max": 8.0}}


def test_there_are_so_many_names():
    metrics = InstanceMetrics()
    for number in range(USER_METRICS_MAX):
        metrics.record(str(number), 1)
    with pytest.raises(ValueError, match="at most 1000"):
        metrics.record("one more", 1)
