"""What the extras ``broker`` and ``cluster`` bring: the client alone is installed without them."""

from importlib.util import find_spec
from typing import Final

from magnetar.errors import NotReady

BROKER: Final = ("avro", "bcrypt", "click", "jwt", "passlib", "prometheus_client", "rich", "yaml")
"""The modules that the broker, the commands and the fixtures for tests import, and no client."""


def check_broker() -> None:
    """Raise NotReady, which says what to install, where one of them is missing."""
    missing = [name for name in BROKER if find_spec(name) is None]
    if missing:
        raise NotReady(
            f"the broker and the commands need {', '.join(missing)}: "
            "pip install 'magnetar[broker]', in a checkout pip install '.[broker]'"
        )


def check_cluster() -> None:
    """Raise NotReady where what speaks with ZooKeeper is missing."""
    if find_spec("kazoo") is None:
        raise NotReady("metadataStoreUrl needs kazoo: pip install 'magnetar[cluster]'")
