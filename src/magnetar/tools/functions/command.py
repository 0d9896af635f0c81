"""The command ``magnetar functions``: pulsar-admin's commands and options, and a worker."""

import base64
import json
import sys
from pathlib import Path
from typing import Any, Final

import click

from magnetar.errors import InvalidValue, MagnetarError
from magnetar.functions.config import FunctionConfig
from magnetar.functions.config_checks import check
from magnetar.tools.admin.steps import read_file
from magnetar.tools.connection import Connection, admin_options
from magnetar.tools.functions.api import FunctionsApi
from magnetar.tools.functions.localrun import localrun
from magnetar.tools.functions.options import (
    config_from,
    configured,
    fqfn_of,
    instance,
    named,
)
from magnetar.tools.functions.run import test, worker
from magnetar.tools.functions.show import (
    config_table,
    names_table,
    stats_table,
    status_table,
)
from magnetar.tools.output import output_format, show


@click.group()
def functions() -> None:
    """Create functions, look at them, and run them (docs/functions.md)."""


functions.add_command(localrun)
functions.add_command(test)
functions.add_command(worker)


@functions.command()
@admin_options
@configured
def create(connection: Connection, **given: Any) -> None:
    r"""Store a function and start it.

    \b
    Example: magnetar functions create --py doubling.py --classname doubling.Doubling
             --inputs numbers --output doubled --name doubling
    """
    config = config_from(given)
    parsed = FunctionConfig.parse(config)
    check(parsed)
    if not parsed.py:
        raise InvalidValue("py is missing: give the file, wheel or zip with the code, or its URL")
    FunctionsApi(connection.api()).create(parsed.fqfn, config)
    click.echo(f"Created {parsed.fqfn}; it is being started: magnetar functions status")


@functions.command()
@admin_options
@click.option(
    "--update-auth-data", is_flag=True, expose_value=False, help="No effect: there are none."
)
@configured
def update(connection: Connection, **given: Any) -> None:
    """Change a function. It goes on where it is.

    Example: magnetar functions update --name doubling --parallelism 2
    """
    config = config_from(given)
    fqfn = FunctionConfig.parse(config).fqfn
    if fqfn.endswith("/"):
        raise click.UsageError("say which function: --name NAME, or --fqfn tenant/namespace/name")
    FunctionsApi(connection.api()).update(fqfn, config)
    click.echo(f"Updated {fqfn}; instances that run are replaced: magnetar functions status")


@functions.command("list")
@admin_options
@click.option("--tenant", default="public", show_default=True, help="Its tenant.")
@click.option("--namespace", default="default", show_default=True, help="Its name.")
@output_format
def list_functions(connection: Connection, tenant: str, namespace: str, form: str) -> None:
    """The functions of a namespace.

    Example: magnetar functions list --tenant public --namespace default
    """
    names = FunctionsApi(connection.api()).names(tenant, namespace)
    show(names, form, names_table(names))


@functions.command()
@admin_options
@named
@output_format
def get(connection: Connection, form: str, **name: Any) -> None:
    """How a function is configured.

    Example: magnetar functions get --name doubling -o yaml
    """
    found = FunctionsApi(connection.api()).get(fqfn_of(**name))
    show(found, form, config_table(found))


@functions.command()
@admin_options
@named
@instance
@output_format
def status(connection: Connection, instance_id: int | None, form: str, **name: Any) -> None:
    """Whether a function runs, and how it does. Ends with 1 when an instance does not run.

    Example: magnetar functions status --name doubling
    """
    fqfn = fqfn_of(**name)
    found = FunctionsApi(connection.api()).status(fqfn, instance_id)
    whole = found
    if instance_id is not None:
        whole = {"instances": [{"instanceId": instance_id, "status": found}]}
    show(found, form, status_table(whole))
    if not all(one["status"]["running"] for one in whole["instances"]):
        sys.exit(1)


@functions.command()
@admin_options
@named
@instance
@output_format
def stats(connection: Connection, instance_id: int | None, form: str, **name: Any) -> None:
    """What a function has done.

    Example: magnetar functions stats --name doubling -o json
    """
    fqfn = fqfn_of(**name)
    found = FunctionsApi(connection.api()).stats(fqfn, instance_id)
    whole = found
    if instance_id is not None:
        whole = {**found, "instances": [{"instanceId": instance_id, "metrics": found}]}
    show(found, form, stats_table(whole))


@functions.command()
@admin_options
@named
@click.option("--trigger-value", "--triggerValue", help="The message.")
@click.option(
    "--trigger-file",
    "--triggerFile",
    type=click.Path(path_type=Path),
    help="A file with the message.",
)
@click.option("--topic", help="The input, of several.")
def trigger(
    connection: Connection,
    trigger_value: str | None,
    trigger_file: Path | None,
    topic: str | None,
    **name: Any,
) -> None:
    """Have a function process one message, and print what it writes for it.

    Example: magnetar functions trigger --name doubling --trigger-value 21
    """
    if (trigger_value is None) == (trigger_file is None):
        raise click.UsageError("give either --trigger-value or --trigger-file")
    data = (trigger_value or "").encode() if trigger_file is None else read_file(trigger_file)
    _write(FunctionsApi(connection.api()).trigger(fqfn_of(**name), data, topic))


@functions.command()
@admin_options
@named
def delete(connection: Connection, **name: Any) -> None:
    """End a function, and remove what it had.

    Example: magnetar functions delete --name doubling
    """
    fqfn = fqfn_of(**name)
    FunctionsApi(connection.api()).delete(fqfn)
    click.echo(f"Deleted {fqfn}")


def _turn(action: str, said: str, about: str) -> click.Command:
    @click.command(action, help=f"{about}\n\nExample: magnetar functions {action} --name doubling")
    @admin_options
    @named
    @instance
    def command(connection: Connection, instance_id: int | None, **name: Any) -> None:
        fqfn = fqfn_of(**name)
        api = FunctionsApi(connection.api())
        api.turn(fqfn, instance_id, action)
        click.echo(said.format(fqfn))
        if action == "stop" and _runs(api, fqfn):
            click.echo("It still finishes what it is at: magnetar functions status", err=True)

    return command


def _runs(api: FunctionsApi, fqfn: str) -> bool:
    try:
        return any(one["status"]["running"] for one in api.status(fqfn)["instances"])
    except MagnetarError:  # What was asked for is done.
        return False


_COMING: Final = "its instances come up: magnetar functions status"
functions.add_command(
    _turn("start", f"Starting {{}}; {_COMING}", "Start a function that was stopped.")
)
functions.add_command(_turn("stop", "Stopped {}", "Stop a function. It keeps its place."))
functions.add_command(
    _turn("restart", f"Restarting {{}}; {_COMING}", "Stop a function and start it again.")
)


@functions.command()
@admin_options
@named
@click.option("-k", "--key", required=True, help="The key of the state.")
def querystate(connection: Connection, key: str, **name: Any) -> None:
    """A value of a function's state, as JSON.

    Example: magnetar functions querystate --name doubling --key numbers
    """
    click.echo(json.dumps(FunctionsApi(connection.api()).state(fqfn_of(**name), key), indent=2))


@functions.command()
@admin_options
@named
@click.option("-s", "--state", "text", help='As JSON: {"key": "k", "stringValue": "v"}.')
@click.option("-k", "--key", help="The key, with --value.")
@click.option("--value", help="The value, as text.")
@click.option("--value-file", type=click.Path(path_type=Path), help="A file with the value.")
def putstate(
    connection: Connection,
    text: str | None,
    key: str | None,
    value: str | None,
    value_file: Path | None,
    **name: Any,
) -> None:
    """Set a value of a function's state.

    Example: magnetar functions putstate --name doubling --key numbers --value 3
    """
    if text is not None:
        state = _state(text)
    elif key is not None and value is not None:
        state = {"key": key, "stringValue": value}
    elif key is not None and value_file is not None:
        state = {"key": key, "byteValue": base64.b64encode(read_file(value_file)).decode()}
    else:
        raise click.UsageError("give --state, or --key and --value or --value-file")
    FunctionsApi(connection.api()).put_state(fqfn_of(**name), state)
    click.echo(f"Set {state['key']}")


@functions.command()
@admin_options
@click.option(
    "--source-file",
    "--sourceFile",
    type=click.Path(path_type=Path),
    required=True,
    help="The file.",
)
@click.option("--path", required=True, help="Its name at the worker.")
def upload(connection: Connection, source_file: Path, path: str) -> None:
    """Store a file at the worker.

    Example: magnetar functions upload --source-file doubling.py --path doubling.py
    """
    FunctionsApi(connection.api()).upload(source_file, path)
    click.echo(f"Uploaded {path}")


@functions.command()
@admin_options
@named
@click.option(
    "--destination-file",
    "--destinationFile",
    type=click.Path(path_type=Path),
    required=True,
    help="Where to write it.",
)
@click.option("--path", help="What was uploaded, instead of a function's code.")
def download(connection: Connection, destination_file: Path, path: str | None, **name: Any) -> None:
    """Fetch a function's code, or a file that was uploaded.

    Example: magnetar functions download --name doubling --destination-file doubling.py
    """
    api = FunctionsApi(connection.api())
    data = api.download(path) if path is not None else api.code(fqfn_of(**name))
    try:
        destination_file.write_bytes(data)
    except OSError as error:
        raise InvalidValue(f"cannot write {destination_file}: {error.strerror}") from error
    click.echo(f"Downloaded {destination_file}")


def _state(text: str) -> dict[str, Any]:
    try:
        state = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--state is no JSON: {error}") from error
    if not isinstance(state, dict) or not isinstance(state.get("key"), str):
        raise click.UsageError("--state has no key")
    return state


def _write(data: bytes) -> None:
    """Bytes as they are, on a line of their own."""
    if data:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.flush()
