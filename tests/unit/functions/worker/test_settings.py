"""What a worker is started with."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.worker.settings import WorkerSettings


def test_settings_of_the_client_have_the_names_of_javas():
    settings = WorkerSettings(client={"connectionsPerBroker": "2"})
    assert settings.client_options()["connections_per_broker"] == 2
    with pytest.raises(InvalidValue, match="nonsense"):
        WorkerSettings(client={"nonsense": "2"}).client_options()
