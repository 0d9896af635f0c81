"""The examples for Spark on a slice of their data, against plain Python over the same messages."""

import importlib.util
import json
import threading
from collections import Counter, defaultdict

import pytest
from documents.snippets import ROOT

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.pipelines.run import check
from magnetar.pipelines.supervision import Supervision

FOLDER = ROOT / "examples" / "spark"
FLIGHTS = 900


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


publishing = example("publish")


@pytest.fixture(scope="module")
def flights():
    return publishing.flight_messages(FLIGHTS)


@pytest.fixture(autouse=True)
def one_store_of_state(spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def received(client, topic):
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        found = []
        while reader.has_message_available():
            found += [json.loads(one.data) for one in reader.receive_many(1000, 10.0)]
        return found


def test_delays_come_with_the_weather_of_their_hour(spark, broker, client, flights, tmp_path):
    weather = publishing.weather_messages(flights[-1].event_time_ms)
    publishing.publish(broker.service_url, {"w-flights": flights, "w-weather": weather})
    environment = {
        "SERVICE_URL": broker.service_url,
        "TOPICS": "w-",
        "CHECKPOINTS": str(tmp_path / "checkpoints"),
    }
    checked = check(FOLDER / "weather.yaml", environment, spark, until_caught_up=True)
    Supervision().run(checked.queries, lambda: threading.Event().wait(0.1))
    reports = {(one.key, one.event_time_ms): json.loads(one.value) for one in weather}
    expected = {}
    for one in flights:
        flight = json.loads(one.value)
        hour_ms = one.event_time_ms // 3_600_000 * 3_600_000
        report = reports.get((flight["origin"], hour_ms))
        if flight["departure_delay"] is not None and report is not None:
            expected[flight["id"]] = (flight["departure_delay"], report["wind_speed"])
    found = received(client, "w-delays-with-weather")
    assert len(found) == len(expected) > FLIGHTS / 2
    assert {one["id"]: (one["departure_delay"], one.get("wind_speed")) for one in found} == expected


def test_a_rotation_is_told_once_it_is_over(spark, broker, client, flights, tmp_path):
    rotations = example("rotations")
    some = [one for one in flights if one.key is not None and one.key < "N4"]
    late = OutgoingMessage(
        b'{"departed": "1"}', key="last", event_time_ms=flights[-1].event_time_ms
    )
    for name, value in rotations.SETTINGS.items():
        spark.conf.set(name, value)
    publishing.publish(broker.service_url, {"r-flights": [*some, late]})
    rotations.run(spark, broker.service_url, str(tmp_path), "r-")
    for name in rotations.SETTINGS:
        spark.conf.unset(name)
    seen = defaultdict(list)
    for one in some:
        if json.loads(one.value)["departed"] is not None:
            seen[one.key].append(one.event_time_ms)
    over_ms = flights[-1].event_time_ms - 3_600_000 - rotations.PAUSE_MS
    expected = Counter()
    for plane, times in seen.items():
        began = last = count = None
        for time_ms in sorted(times):
            if last is not None and time_ms - last < rotations.PAUSE_MS:
                count += 1
            else:
                if last is not None:
                    expected[plane, began, last, count] += 1
                began, count = time_ms, 1
            last = time_ms
        if last <= over_ms:
            expected[plane, began, last, count] += 1
    found = Counter(
        (one["plane"], one["began_ms"], one["ended_ms"], one["flights"])
        for one in received(client, "r-rotations")
    )
    assert found == expected
    assert len(expected) > 30


def test_a_table_holds_the_last_change_of_each_key(spark, broker, flights, tmp_path):
    whereabouts = example("whereabouts")
    expected = {}
    for half in (flights[: FLIGHTS // 2], flights[FLIGHTS // 2 :]):
        publishing.publish(broker.service_url, {"t-flights": half})
        table = whereabouts.run(spark, broker.service_url, tmp_path / "table", "t-")
        for one in half:
            flight = json.loads(one.value)
            if one.key is not None and flight["departed"] is not None:
                diverted = flight["arrival_delay"] is None
                expected[one.key] = None if diverted else flight["destination"]
        held = {row.plane: row.place for row in table.read(spark).collect()}
        assert held == {plane: place for plane, place in expected.items() if place is not None}
    assert None in expected.values()
    table.merge(None, 1)  # The micro-batch that was merged last, once more: nothing changes.
    assert {row.plane: row.place for row in table.read(spark).collect()} == held
