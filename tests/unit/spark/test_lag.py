import json

from magnetar.spark.lag import Lag, lag


def progress(*latest):
    return {"sources": [{"latestOffset": one} for one in latest]}


def test_the_lag_is_what_sources_of_ours_say():
    first = {"a": "7:4:0", "messagesBehind": {"a": 4, "b": 0}, "subscriptionBacklog": {"a": 2}}
    second = {"c": "9:0:-1", "messagesBehind": {"c": 5}}
    found = lag(progress(json.dumps(first), second, "12", None))
    assert found == Lag({"a": 4, "b": 0, "c": 5}, {"a": 2})
    assert (found.min, found.avg, found.max) == (0, 3.0, 5)


def test_who_reads_nothing_is_not_behind():
    found = lag(progress(None))
    assert (found.min, found.avg, found.max) == (0, 0.0, 0)
