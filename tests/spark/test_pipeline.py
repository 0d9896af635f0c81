"""The quickstart's transformations on rows without a broker, as a batch."""

import json
from datetime import UTC, datetime

import pytest
from quickstart import flights as data_set
from quickstart.figures import by_carrier_and_day
from quickstart.pipeline import cancelled, carrier_days, to_results
from quickstart.reconcile import Counts, reconcile
from quickstart.results import parse_window
from support.flights import first_flights


def two_thousand():
    return first_flights()[:2000]


@pytest.fixture(scope="module")
def messages(spark):
    flights = two_thousand()
    rows = [
        (one.carrier.encode(), data_set.content(one), datetime.fromtimestamp(ms / 1000, UTC))
        for one, ms in zip(flights, data_set.event_times_ms(flights), strict=True)
    ]
    return spark.createDataFrame(rows, "key binary, value binary, event_time timestamp")


def test_the_figures_are_those_of_plain_python(messages):
    rows = to_results(carrier_days(messages)).collect()
    windows = dict(parse_window(row.value.encode()) for row in rows)
    ids = [json.loads(bytes(row.value))["id"] for row in cancelled(messages).collect()]
    flights = two_thousand()
    counts = Counts(len(flights), len(flights), len(flights))
    outcome = reconcile(flights, by_carrier_and_day(flights), counts, windows, ids)
    assert outcome.adds_up, outcome.examples
    assert outcome.in_cancelled == sum(one.cancelled for one in flights) > 0


def test_a_result_is_named_by_its_window(messages):
    rows = to_results(carrier_days(messages)).where("key = 'UA 2013-01-02'").collect()
    assert len(rows) == 1
    assert rows[0].event_time == datetime(2013, 1, 2)  # noqa: DTZ001 - Spark's own, without a zone


def test_messages_of_cancelled_flights_stay_as_they_are(messages):
    passed_on = cancelled(messages)
    assert passed_on.schema == messages.schema
    assert passed_on.subtract(messages).count() == 0
