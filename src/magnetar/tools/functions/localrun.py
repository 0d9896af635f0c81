"""``magnetar functions localrun``: one function in this process, beside a broker."""

import contextlib
import signal
from collections.abc import Mapping
from typing import Any, Final

import click

from magnetar.errors import InvalidValue
from magnetar.tools.connection import NAMES, Connection, connection_of, connection_parameters
from magnetar.tools.functions.options import configured
from magnetar.tools.functions.run import checked
from magnetar.tools.groups import given_as, with_options

_NAMES_HERE: Final[Mapping[str, str]] = {
    "service_url": "--broker-service-url --brokerServiceUrl",
    "admin_url": "--web-service-url",
    "auth_plugin": "--client-auth-plugin --clientAuthPlugin",
    "auth_params": "--client-auth-params --clientAuthParams",
    "tls_allow_insecure": "--tls_allow_insecure",
    "tls_verify_hostname": "--hostname-verification-enabled --hostname_verification_enabled",
    "tls_trust_cert_path": "--tls_trust_cert_path",
}
"""What pulsar-admin calls here the options of a connection, which keep their other names."""
_REFUSED: Final[Mapping[str, str]] = {
    "--instance-id-offset": "instances are numbered from 0",
    "--runtime": "instances are threads of this process",
    "--metrics-port-start": "it has no port for metrics; a created one has `functions stats`",
    "--state-storage-service-url": "its state is in a topic of the broker",
    "--secrets-provider-classname": "secrets are {env: NAME} or {path: FILE} (docs/functions.md)",
    "--secrets-provider-config": "secrets are {env: NAME} or {path: FILE} (docs/functions.md)",
}
_OLDER: Final = {
    "--instance-id-offset": "--instanceIdOffset",
    "--state-storage-service-url": "--stateStorageServiceUrl",
}


def _named_as_here(option: click.Parameter) -> click.Parameter:
    option.opts = [*_NAMES_HERE.get(str(option.name), "").split(), *option.opts]
    return option


_connected = with_options(
    *(given_as(_named_as_here(option)) for option in connection_parameters(broker=True)),
    click.option(
        "--use-tls", "--use_tls", is_flag=True, help="Connect over TLS; pulsar+ssl:// says so, too."
    ),
    *(
        click.option(name, *filter(None, [_OLDER.get(name)]), help=f"Not done: {why}.")
        for name, why in _REFUSED.items()
    ),
)


@click.command()
@_connected
@configured
def localrun(*, use_tls: bool, **given: Any) -> None:
    r"""Run one function in this process, until Ctrl-C; nothing is stored of it.

    It connects as the role that the options say, or the environment (PULSAR_TOKEN) or a
    client.conf, and may do what that role may.

    \b
    Example: magnetar functions localrun --py doubling.py --classname doubling.Doubling
             --inputs numbers --output doubled --broker-service-url pulsar+ssl://host:6651
             --tls-trust-cert-path ca.pem --client-auth-plugin token
             --client-auth-params file:///run/secrets/token
    """
    from magnetar.client import blocking  # noqa: PLC0415 - what a shell's completion does without
    from magnetar.functions.local_run import LocalRun  # noqa: PLC0415 - as above

    for name, why in _REFUSED.items():
        if given.pop(name.removeprefix("--").replace("-", "_")) is not None:
            raise InvalidValue(f"{name} is not done: {why}")
    connection = _connection(given, use_tls=use_tls)
    config = checked(given)
    options = connection.options
    error = None
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(blocking.Client(**connection.client))
        before = signal.signal(signal.SIGTERM, _interrupted)
        stack.callback(signal.signal, signal.SIGTERM, before)
        try:  # From here on it may have messages.
            running = stack.enter_context(
                LocalRun(client, config, admin_url=connection.admin_url, options=options)
            )
            inputs = ", ".join(config.input_specs)
            click.echo(f"{config.fqfn} runs, from {inputs} to {config.output}. Ctrl-C stops it.")
            while not running.wait(1.0):
                pass
            error = running.error
        except KeyboardInterrupt:
            click.echo("Stopping: it finishes what it is at.")
    if error is not None:
        raise InvalidValue(f"{config.fqfn} has ended: {error}")


def _connection(given: dict[str, Any], *, use_tls: bool) -> Connection:
    """Take the options about it out of ``given``."""
    connection = connection_of({name: given.pop(name) for name in list(given) if name in NAMES})
    if not use_tls:
        return connection
    scheme, separator, address = connection.service_url.partition("://")
    if scheme != "pulsar":
        return connection
    return Connection({"service_url": f"pulsar+ssl{separator}{address}"}).over(connection)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt
