"""Pytest fixtures: a broker for tests of whatever speaks Pulsar's protocol.

In a project of yours: ``pytest_plugins = ["magnetar.testing.plugin"]`` in the top conftest.py,
then ask for a fixture by name and connect any Pulsar client to its ``service_url``.
"""

from collections.abc import Iterator

import pytest

from .local_broker import BrokerThread


@pytest.fixture(scope="module")
def magnetar_broker() -> Iterator[BrokerThread]:
    """A broker in this process, in memory, shared by the tests of a module."""
    with BrokerThread() as broker:
        yield broker


@pytest.fixture
def fresh_magnetar_broker() -> Iterator[BrokerThread]:
    """A broker in this process, in memory, for one test alone."""
    with BrokerThread() as broker:
        yield broker
