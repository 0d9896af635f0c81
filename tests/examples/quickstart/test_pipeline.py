"""What needs no Spark; what does is in ``tests/spark/test_pipeline.py``."""

import json

from quickstart import flights, pipeline
from support.flights import first_flights


def test_the_pipeline_asks_for_what_a_message_has():
    names = [column.split()[0] for column in pipeline.FLIGHT.split(", ")]
    assert set(names) <= json.loads(flights.content(first_flights()[0])).keys()
