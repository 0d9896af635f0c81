"""The functions worker of a broker that has one."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from magnetar.auth.key_text import read_file
from magnetar.broker.config import Config
from magnetar.errors import InvalidValue
from magnetar.model.names import TopicName

from .build_context import BuildContext
from .services import Services

if TYPE_CHECKING:  # It imports an HTTP client.
    from magnetar.broker.admin.functions_worker import FunctionsWorkerProcess

FUNCTIONS_METADATA: Final = TopicName("persistent", "public", "functions", "metadata")
"""The topic in which the functions worker keeps its functions."""


def check_client(config: Config) -> None:
    """Raises InvalidValue where the worker could not reach its broker."""
    server, tls = config.server, config.tls
    if not server.functions_worker:
        return
    if tls.client:
        for name, file in tls.client_files.items():
            read_file(f"the functions worker's {name}", file)
    elif min(server.web_port, server.broker_port) < 0:
        raise InvalidValue(
            "functionsWorkerEnabled=true needs the ports without TLS, and brokerServicePort=-1 "
            "or webServicePort=-1 switches one off: set brokerClientTlsEnabled=true and "
            "brokerClientTrustCertsFilePath, choose ports for them (bindAddress keeps others "
            "away), or take functionsWorkerEnabled out"
        )


async def functions_worker(context: BuildContext, services: Services) -> "FunctionsWorkerProcess":
    """What starts a functions worker when it is asked for; at once where there are functions."""
    storage = context.config.storage
    if storage.in_memory:
        from tempfile import TemporaryDirectory  # noqa: PLC0415 - few have functions

        folder = Path(context.stack.enter_context(TemporaryDirectory(prefix="magnetar-")))
    else:
        folder = storage.data_directory
    kind = import_module("magnetar.broker.admin.functions_worker").FunctionsWorkerProcess
    address, tls = services.address, context.config.tls
    files = {name: str(file) for name, file in tls.client_files.items() if tls.client}
    worker: FunctionsWorkerProcess = kind(
        address.service_url_tls if tls.client else address.service_url,
        address.web_url_tls if tls.client else address.web_url,
        folder / "functions",
        context.clock,
        client=context.config.auth.client_settings | files,
    )
    context.stack.push_async_callback(worker.close)
    # The worker of a cluster's broker is there for functions of others whose workers die.
    if context.config.metadata.in_cluster or await services.resources.topic_exists(
        FUNCTIONS_METADATA
    ):
        worker.start()
    return worker
