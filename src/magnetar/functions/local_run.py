"""A function in this process, without Spark: all its instances in threads, beside a broker.

The same instances as in a Spark session, in a second less; for trying out and for small machines.
"""

import threading
from collections.abc import Mapping
from typing import Any, Self

from magnetar.client import blocking
from magnetar.client.config import ClientOptions
from magnetar.clock import SystemClock
from magnetar.compat.stand_in import stand_in
from magnetar.errors import MagnetarError
from magnetar.functions.config import FunctionConfig
from magnetar.functions.instance import Instance
from magnetar.spark.client_settings import GivenOptions

_STOP_TIMEOUT_S = 10.0


class LocalRun:
    """The running instances of one function. Stop it."""

    def __init__(
        self,
        client: blocking.Client,
        config: FunctionConfig,
        *,
        admin_url: str | None = None,
        options: ClientOptions | None = None,
        redelivery_delay_s: float = 60.0,
    ) -> None:
        """``options`` are those of ``client``: the admin API is asked with its credentials and TLS.

        Raises InvalidValue for what the code does not have, or cannot be done.
        """
        stand_in()
        self.config = config
        self._instances = [
            Instance(
                client,
                config,
                index,
                clock=SystemClock(),
                admin_url=admin_url,
                client_settings=GivenOptions(options or {}),
                redelivery_delay_s=redelivery_delay_s,
            )
            for index in range(config.parallelism)
        ]
        self.error: str | None = None
        self._threads = [
            threading.Thread(target=self._run, args=(each,), name=config.fqfn, daemon=True)
            for each in self._instances
        ]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def status(self) -> list[Mapping[str, Any]]:
        """As ``FunctionJob.status``."""
        return [
            {"running": thread.is_alive(), "instanceId": index, **instance.metrics.to_json()}
            for index, (instance, thread) in enumerate(
                zip(self._instances, self._threads, strict=True)
            )
        ]

    def wait(self, timeout_s: float | None = None) -> bool:
        """Return when it has ended; False when the time is up first."""
        for thread in self._threads:
            thread.join(timeout_s)
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Have the instances finish what they are at. May be called again.

        One that does not within ten seconds is left behind: it hangs in the user's code.
        """
        for instance in self._instances:
            instance.stop()
        self.wait(_STOP_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _run(self, instance: Instance) -> None:
        try:
            instance.run()
        except MagnetarError as error:
            self.error = str(error)
        for other in self._instances:
            other.stop()
