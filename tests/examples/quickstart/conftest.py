import pytest
from quickstart import flights
from quickstart.board import Board
from support.clock import ManualClock

from magnetar.client import blocking


@pytest.fixture(scope="session")
def year():
    return flights.load()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def board(clock):
    return Board(clock)


@pytest.fixture
def client(magnetar_broker):
    with blocking.Client(magnetar_broker.service_url) as connected:
        yield connected
