"""A client of a real broker, in memory, in this process; and a topic of the test's own."""

import re

import pytest

from magnetar.client import blocking


@pytest.fixture
def client(magnetar_broker):
    with blocking.Client(magnetar_broker.service_url) as connected:
        yield connected


@pytest.fixture
def topic(request):
    return f"persistent://public/default/{re.sub(r'[^a-z0-9-]', '-', request.node.name)}"
