"""The command ``magnetar admin``: its groups and verbs, made of the tables when they are used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from magnetar.errors import MagnetarError, Refused
from magnetar.tools.connection import connection_of, connection_parameters
from magnetar.tools.groups import SuggestingGroup
from magnetar.tools.output import output_parameter, show

from .call import Call
from .kinds import TEXT, Kind
from .verb import Param, Verb


class Table(NamedTuple):
    """Where the verbs of a group are, and what ``--help`` says of it."""

    about: str
    module: str = ""
    name: str = "VERBS"
    also: tuple[str, ...] = ()
    refused: str = ""
    command: str = ""
    """A command that is here by another name: ``module:name``."""


_ABOUT: Final = """Ask a broker's admin API, with the groups, verbs and options of pulsar-admin.

\b
Examples: magnetar admin topics list public/default
          magnetar admin topics stats public/default/orders -o json
          magnetar admin namespaces set-retention public/default -t 7d -s 10G
          magnetar admin --admin-url http://broker:8080 brokers healthcheck
"""
_CONNECTION: Final = "connection."
_IO: Final = (
    "connectors of Pulsar IO are Java: read and write other systems with Spark (docs/spark.md), or "
    "with a function (magnetar functions)"
)
GROUPS: Final = {
    "tenants": Table("Tenants.", "brokers", "TENANTS", also=("properties",)),
    "namespaces": Table("Namespaces and their policies.", "namespaces"),
    "topics": Table(
        "Topics, subscriptions and messages.", "topics", also=("persistent", "non-persistent")
    ),
    "topicPolicies": Table("Policies of single topics.", "topic_policies"),
    "schemas": Table("Schemas of topics.", "schemas", "SCHEMAS"),
    "clusters": Table("Clusters.", "clusters", "CLUSTERS"),
    "ns-isolation-policy": Table("Which brokers take what.", "clusters", "ISOLATION"),
    "brokers": Table("Brokers, their configuration and health.", "brokers", "BROKERS"),
    "broker-stats": Table("What a broker counts.", "brokers", "BROKER_STATS"),
    "bookies": Table("Racks of bookies.", "clusters", "BOOKIES"),
    "resourcegroups": Table("Limits that topics share.", "brokers", "RESOURCE_GROUPS"),
    "resource-quotas": Table("What bundles need.", "brokers", "RESOURCE_QUOTAS"),
    "functions": Table("Functions.", command="magnetar.tools.functions.command:functions"),
    "functions-worker": Table("Workers of functions.", "brokers", "WORKER"),
    "packages": Table("Packages of functions.", "schemas", "PACKAGES"),
    "transactions": Table("Transactions.", "schemas", "TRANSACTIONS"),
    "proxy-stats": Table("What a proxy counts.", "brokers", "PROXY_STATS"),
    "sources": Table("Not done: see --help.", also=("source",), refused=_IO),
    "sinks": Table("Not done: see --help.", also=("sink",), refused=_IO),
    "documents": Table(
        "This help as Markdown.", command="magnetar.tools.admin.documents:documents"
    ),
}
_ALSO: Final = {also: name for name, table in GROUPS.items() for also in table.also}


class AdminGroup(SuggestingGroup):
    """The groups of verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(GROUPS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        table = GROUPS.get(_ALSO.get(cmd_name, cmd_name))
        if table is None:
            return None
        if table.command:
            module, _, name = table.command.partition(":")
            command = getattr(importlib.import_module(module), name)
            assert isinstance(command, click.Command), table
            return command
        if table.refused:
            return _refusing(cmd_name, f"{cmd_name}: {table.refused}", table.about)
        return VerbGroup(cmd_name, table)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Groups"):
            formatter.write_dl([(name, table.about) for name, table in GROUPS.items()])


class VerbGroup(SuggestingGroup):
    """The verbs of a table."""

    def __init__(self, name: str, table: Table) -> None:
        group = _ALSO.get(name, name)
        about = table.about
        if group != name:
            about += f" {name} is the older name of {group}."
        super().__init__(name, help=about)
        self._verbs = verbs_of(group)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb.name for verb in self._verbs if not verb.hidden]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for verb in self._verbs:
            if cmd_name == verb.name or cmd_name in verb.also:
                return command_of(verb, f"{self.name} {cmd_name}")
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(one.name, one.about) for one in self._verbs if not one.hidden])


def verbs_of(group: str) -> tuple[Verb, ...]:
    """The rows of a group, by its own name."""
    table = GROUPS[group]
    if not table.module:
        return ()
    module = importlib.import_module(f"magnetar.tools.admin.{table.module}")
    found: tuple[Verb, ...] = getattr(module, table.name)
    return found


class _Read(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A kind of value as click has it."""

    def __init__(self, kind: Kind) -> None:
        self.name = kind.name
        self._kind = kind

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._kind.read(value)
        except ValueError as error:
            self.fail(f"{value!r} has to be {error}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from .completion import complete  # noqa: PLC0415 - it asks the API

        return [
            click.shell_completion.CompletionItem(one) for one in complete(ctx, param, incomplete)
        ]


def command_of(verb: Verb, words: str) -> click.Command:
    """The command of a row; ``words`` are those that stand before its options."""
    if verb.refused:
        return _refusing(verb.name, f"{words}: {verb.refused}", verb.about, verb.params)
    params = [_parameter(param) for param in verb.params]
    taken = {name for param in params for name in param.opts}
    output = output_parameter()
    output.opts = [name for name in output.opts if name not in taken]
    hidden = [_behind(one, taken) for one in connection_parameters()]
    return click.Command(
        verb.name,
        params=[*params, output, *(one for one in hidden if one is not None)],
        callback=_callback(verb),
        help=_help(verb, words),
        short_help=verb.about,
    )


def _behind(option: click.Parameter, taken: set[str]) -> click.Parameter | None:
    """An option of ``magnetar admin`` that may stand behind a verb too, where it has none such."""
    assert isinstance(option, click.Option)
    if taken & {*option.opts, *option.secondary_opts}:
        return None
    found = copy(option)
    found.hidden = True
    found.name = f"{_CONNECTION}{option.name}"
    return found


def _help(verb: Verb, words: str) -> str:
    example = verb.example or _example(verb)
    line = " ".join(f"magnetar admin {words} {example}".split())
    asks = f"Asks {verb.method} {verb.path}." if verb.path else ""
    older = "\n\nAn older name: `magnetar admin topicPolicies` has it." if verb.hidden else ""
    return f"{verb.about}{older}\n\n\b\nExample: {line}\n{asks}"


_SAMPLES: Final = {
    "NAMESPACE": "public/default",
    "TOPIC": "public/default/orders",
    "NUMBER": "10",
    "TIME": "3h",
    "SIZE": "10M",
    "A,B": "a,b",
    "KEY=VALUE": "a=b",
    "ID": "5:0",
    "FILE": "file.json",
    "PACKAGE": "function://public/default/f@v1",
    "DATETIME": "2026-06-28T16:53:08Z",
}


def _example(verb: Verb) -> str:
    """Made of what has to be given."""
    words = []
    for param in verb.params:
        if param.argument:
            words.append(_SAMPLES.get(param.kind.name, f"my-{param.names[0]}"))
        elif param.required or param.name in verb.one_of[:1]:
            words.append(param.names[0])
            if param.kind.name:
                about = param.kind.name.split("|")[0]
                words.append(
                    _SAMPLES.get(param.kind.name, about if "|" in param.kind.name else "x")
                )
    return " ".join(words)


def _parameter(param: Param) -> click.Parameter:
    about = param.about
    if param.argument:
        name = param.names[0]
        kind = name.upper() if param.kind is TEXT else param.kind.name
        return click.Argument([name], type=_Read(param.kind), metavar=kind or name)
    names = [*param.names, *([] if param.name in param.names else [param.name])]
    if not param.kind.name:
        return click.Option(names, is_flag=True, help=about)
    if param.default is not None and not isinstance(param.default, dict | list):
        about += f" [{param.default}]"
    return click.Option(
        names,
        type=_Read(param.kind),
        required=param.required,
        multiple=param.several,
        help=about,
        metavar=param.kind.name.partition("|")[0] if "|" in param.kind.name else param.kind.name,
    )


def _callback(verb: Verb) -> Callable[..., None]:
    def run(form: str = "table", **given: Any) -> None:
        names = [name for name in given if name.startswith(_CONNECTION)]
        connection = connection_of({name[len(_CONNECTION) :]: given.pop(name) for name in names})
        values = {param.name: _joined(param, given.get(param.name)) for param in verb.params}
        _check_one_of(verb, values)
        if verb.ask and not values.get("force"):
            _ask(verb.ask)
        call = Call(verb, values, connection.api())
        try:
            found = _step(verb.run)(call) if verb.run else call.send()
        except MagnetarError as error:
            from .advice import advised  # noqa: PLC0415 - most verbs are not refused

            raise advised(call, error) from error
        if found is None and verb.method == "GET":
            if form == "table":
                click.echo("not set", err=True)
            else:
                show(None, form)
        elif found is not None and found != "":
            show(found, form)

    return run


def _ask(question: str) -> None:
    """Raises Refused where the answer is no, or nobody answers."""
    try:
        agreed = click.confirm(question)
    except click.Abort:
        if sys.stdin.isatty():  # It was Ctrl-C.
            raise
        raise Refused(f"{question} Nobody answers: say so with --force") from None
    if not agreed:
        raise Refused("nothing was done")


def _step(name: str) -> Callable[[Call], Any]:
    module = "messages" if name in {"peek", "one_message"} else "steps"
    found = getattr(importlib.import_module(f"magnetar.tools.admin.{module}"), name)
    assert callable(found), name
    return found  # type: ignore[no-any-return]


def _joined(param: Param, value: Any) -> Any:
    """The values of an option that may be given several times, as one."""
    if not param.several:
        return value
    if not value:
        return None
    if isinstance(value[0], Mapping):
        return {key: each for one in value for key, each in one.items()}
    return [each for one in value for each in one]


def _check_one_of(verb: Verb, values: Mapping[str, Any]) -> None:
    given = [name for name in verb.one_of if values.get(name) not in (None, False)]
    if verb.one_of and len(given) != 1:
        names = " or ".join(f"--{name.replace('_', '-')}" for name in verb.one_of)
        raise click.UsageError(f"give either {names}")


def _refusing(name: str, why: str, about: str, params: tuple[Param, ...] = ()) -> click.Command:
    """A command that says why it does nothing, whatever it is given."""

    def refuse(**_: Any) -> None:
        raise Refused(why)

    rest = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    optional = [_parameter(replace(one, required=False)) for one in params if not one.argument]
    return click.Command(
        name,
        params=[rest, *optional],
        callback=refuse,
        help=f"Not done: {why}.",
        short_help=about,
        context_settings=settings,
    )


@click.group(
    cls=AdminGroup,
    params=[*connection_parameters()],
    context_settings={"help_option_names": ["-h", "--help"]},
    help=_ABOUT,
)
def admin(**given: Any) -> None:
    """Keep the options for the verb that follows."""
    connection_of(given)
