import json
from datetime import UTC, datetime

from quickstart import flights


def test_the_year_has_every_flight_once(year):
    assert len(year.flights) == 336_776
    assert {one.flight_id for one in year.flights} == set(range(336_776))
    assert sum(one.cancelled for one in year.flights) == 8_255


def test_flights_come_in_the_order_of_their_scheduled_departure(year):
    times = flights.event_times_ms(year.flights)
    assert times == sorted(times)
    assert datetime.fromtimestamp(times[0] / 1000, UTC) == datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
    assert datetime.fromtimestamp(times[-1] / 1000, UTC).date().isoformat() == "2013-12-31"


def test_a_part_of_the_year_is_its_beginning(year):
    assert flights.load(10).flights == year.flights[:10]


def test_airlines_have_names(year):
    assert year.airlines["UA"] == "United Air Lines Inc."
    assert {one.carrier for one in year.flights} <= year.airlines.keys()


def test_a_flight_is_cancelled_just_when_it_never_departed(year):
    assert all(one.cancelled == (one.departure_delay is None) for one in year.flights)


def test_a_message_says_what_the_pipeline_asks(year):
    first = next(one for one in year.flights if one.flight_id == 0)
    assert json.loads(flights.content(first)) == {
        "id": 0,
        "carrier": "UA",
        "number": 1545,
        "tail": "N14228",
        "origin": "EWR",
        "destination": "IAH",
        "departed": "517",
        "departure_delay": 2,
        "arrival_delay": 11,
    }
