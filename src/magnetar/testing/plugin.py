"""Pytest fixtures: a broker for tests of whatever speaks Pulsar's protocol.

In a project of yours: ``pytest_plugins = ["magnetar.testing.plugin"]`` in the top conftest.py,
then ask for a fixture by name and connect any Pulsar client to its ``service_url``.

The broker is imported when a fixture first needs it: a test run without one pays nothing.
"""

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .local_broker import BrokerThread


@pytest.fixture(scope="module")
def magnetar_broker() -> "Iterator[BrokerThread]":
    """A broker in this process, in memory, shared by the tests of a module."""
    with _new_broker() as broker:
        yield broker


@pytest.fixture
def fresh_magnetar_broker() -> "Iterator[BrokerThread]":
    """A broker in this process, in memory, for one test alone."""
    with _new_broker() as broker:
        yield broker


def _new_broker() -> "BrokerThread":
    room = importlib.import_module("magnetar.testing.local_broker")
    broker: BrokerThread = room.BrokerThread()
    return broker
