"""The quickstart's first flights. The whole file is read for them, which takes a second: once."""

from functools import cache

from quickstart import flights
from quickstart.flights import Flight


@cache
def first_flights() -> list[Flight]:
    return flights.load(6000).flights
