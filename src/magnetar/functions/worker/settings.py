"""Where a functions worker finds its broker, keeps its files and listens. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from magnetar.spark.client_settings import PREFIX, ClientSettings

if TYPE_CHECKING:
    from magnetar.client.config import ClientOptions

PORT: Final = 6750
"""That of Pulsar's worker."""

MASTER: Final = "local[64]"
"""Each instance of a function takes a slot as long as it runs, and mostly waits."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings that a worker is started with."""

    service_url: str = "pulsar://localhost:6650"
    admin_url: str = "http://localhost:8080"
    folder: Path = Path("data/functions")
    host: str = "127.0.0.1"
    port: int = PORT
    master: str = MASTER
    spark: Mapping[str, str] = field(default_factory=dict)  # Settings of the session.
    # By the names of Java's client; some are secret.
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""  # Where other workers, and clients that are sent here, reach it; "": its own.
    secret: str = field(default="", repr=False)  # What the broker shows that asks; "": anybody may.

    @property
    def client_settings(self) -> ClientSettings:
        """Raises InvalidValue for settings that there are not."""
        return ClientSettings.parse({f"{PREFIX}{key}": value for key, value in self.client.items()})

    def client_options(self) -> "ClientOptions":
        """The keyword arguments of a client. Raises InvalidValue."""
        return self.client_settings.options()
