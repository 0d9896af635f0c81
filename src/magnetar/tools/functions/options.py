"""The options of ``magnetar functions``, by pulsar-admin's names, and what they say."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from magnetar.errors import MagnetarError
from magnetar.functions.config import PUBLIC
from magnetar.tools.admin.command import parameter
from magnetar.tools.admin.steps import read_yaml
from magnetar.tools.admin.table import options
from magnetar.tools.groups import given_as, with_options

F = TypeVar("F", bound=Callable[..., Any])

_COMPLETION_TIMEOUT_S: Final = 1.0


def named(command: F) -> F:
    """Which function: by its full name, or by its parts."""
    return with_options(
        click.option("--fqfn", help="All three: tenant/namespace/name."),
        click.option("--tenant", help="Its tenant. [public]"),
        click.option("--namespace", help="Its namespace. [default]"),
        click.option("--name", help="The function's name.", shell_complete=_complete_name),
    )(command)


def _complete_name(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The functions of the namespace whose names begin so; none where no broker answers."""
    from magnetar.tools.connection import Connection  # noqa: PLC0415 - it asks the API
    from magnetar.tools.functions.api import FunctionsApi  # noqa: PLC0415

    given = ctx.params
    try:
        api = FunctionsApi(Connection(given).api(timeout_s=_COMPLETION_TIMEOUT_S))
        names = api.names(given.get("tenant") or "public", given.get("namespace") or "default")
    except MagnetarError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def fqfn_of(fqfn: str | None, tenant: str | None, namespace: str | None, name: str | None) -> str:
    """The full name of a function that was named. Raises UsageError."""
    if fqfn is not None:
        if tenant or namespace or name:
            raise click.UsageError("say either --fqfn or --tenant, --namespace and --name")
        if fqfn.count("/") != 2:
            raise click.UsageError("--fqfn has to be tenant/namespace/name")
        return fqfn
    if name is None:
        raise click.UsageError("say which function: --name NAME, or --fqfn tenant/namespace/name")
    return f"{tenant or PUBLIC}/{namespace or 'default'}/{name}"


def instance(command: F) -> F:
    """One instance of a function."""
    return click.option("--instance-id", type=int, help="One instance. [all]")(command)


def configured(command: F) -> F:
    """Everything that a function's configuration may say."""
    file = click.option(
        "--function-config-file",
        "--functionConfigFile",
        type=click.Path(path_type=Path),
        help="YAML.",
    )
    taken = [given_as(parameter(param)) for param in options("@function")]
    return named(with_options(file, *taken)(command))


def config_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the file and the options say, the options before the file; by the file's keys.

    Raises UsageError, InvalidValue.
    """
    file = given["function_config_file"]
    whole = {} if file is None else read_yaml(file, "--function-config-file ")
    if given["fqfn"] is not None and (given["tenant"] or given["namespace"] or given["name"]):
        raise click.UsageError("say either --fqfn or --tenant, --namespace and --name")
    said: dict[str, Any] = {key: given[key] for key in ("fqfn", "tenant", "namespace", "name")}
    said |= {param.to: given[param.name] for param in options("@function")}
    for key, value in said.items():
        group, dot, inner = key.partition(".")
        if value is not None:
            whole[group] = {**whole.get(group, {}), inner: value} if dot else value
    if file is not None and isinstance(whole.get("py"), str):
        whole["py"] = _beside(file, whole["py"])
    return whole


def _beside(file: Path, py: str) -> str:
    """The code that a file names: from here, or from where that file is."""
    near = file.parent / py
    return str(near) if "://" not in py and not Path(py).exists() and near.exists() else py
