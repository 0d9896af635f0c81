"""The numbers of instances, as Pulsar shows them."""

from magnetar.functions.instance_metrics import EXCEPTIONS_KEPT_MAX
from magnetar.functions.worker.status import (
    NOTHING,
    added,
    function_stats,
    function_status,
    instance_stats,
    instance_status,
    since,
)

ONE = {
    **NOTHING,
    "numReceived": 4,
    "numSuccessfullyProcessed": 3,
    "numUserExceptions": 1,
    "latestUserExceptions": [{"exceptionString": "oh", "timestampMs": 5}],
    "averageLatency": 2.0,
    "lastInvocationTime": 9,
    "userMetrics": {"size": {"sum": 6.0, "count": 3, "min": 1.0, "max": 3.0}},
}

# What Apache Pulsar 4.0.7 answered for a function that has not run.
STATUS = {
    "running": False,
    "error": "UNAVAILABLE: io exception",
    "numRestarts": 0,
    "numReceived": 0,
    "numSuccessfullyProcessed": 0,
    "numUserExceptions": 0,
    "latestUserExceptions": [],
    "numSystemExceptions": 0,
    "latestSystemExceptions": [],
    "averageLatency": 0.0,
    "lastInvocationTime": 0,
    "workerId": "w",
}
TOTALS = {
    "receivedTotal": 0,
    "processedSuccessfullyTotal": 0,
    "systemExceptionsTotal": 0,
    "userExceptionsTotal": 0,
    "avgProcessLatency": None,
}
STATS = {**TOTALS, "1min": TOTALS, "lastInvocation": None}


def test_a_status_is_pulsars():
    shown = instance_status(
        NOTHING, running=False, error="UNAVAILABLE: io exception", restarts=0, worker="w"
    )
    assert shown == STATUS
    assert list(shown) == list(STATUS)
    assert function_status([STATUS]) == {
        "numInstances": 1,
        "numRunning": 0,
        "instances": [{"instanceId": 0, "status": STATUS}],
    }


def test_stats_are_pulsars():
    assert instance_stats(NOTHING, NOTHING) == {**STATS, "userMetrics": {}}
    instances = [{"instanceId": 0, "metrics": {**STATS, "userMetrics": {}}}]
    assert function_stats([NOTHING], [NOTHING]) == {**STATS, "instances": instances}


def test_the_stats_of_a_function_are_those_of_its_instances():
    whole = function_stats([ONE, ONE], [NOTHING, ONE])
    assert (whole["receivedTotal"], whole["1min"]["receivedTotal"]) == (8, 4)
    assert (whole["avgProcessLatency"], whole["lastInvocation"]) == (2.0, 9)
    metrics = whole["instances"][1]["metrics"]["userMetrics"]
    assert metrics == {"size_sum": 6.0, "size_count": 3, "size_min": 1.0, "size_max": 3.0}


def test_numbers_go_on_over_a_restart():
    slow = {**ONE, "numSuccessfullyProcessed": 1, "averageLatency": 6.0, "lastInvocationTime": 3}
    both = added(ONE, slow)
    assert (both["numReceived"], both["averageLatency"], both["lastInvocationTime"]) == (8, 3.0, 9)
    assert len(both["latestUserExceptions"]) == 2
    many = ONE
    for _ in range(20):
        many = added(many, ONE)
    assert len(many["latestUserExceptions"]) == EXCEPTIONS_KEPT_MAX
    assert added(NOTHING, NOTHING) == NOTHING


def test_what_happened_in_between():
    later = {**ONE, "numReceived": 10, "numSuccessfullyProcessed": 5, "averageLatency": 4.0}
    passed = since(ONE, later)
    assert (passed["numReceived"], passed["numSuccessfullyProcessed"]) == (6, 2)
    assert passed["averageLatency"] == 7.0
    assert since(ONE, ONE)["averageLatency"] == 0.0
