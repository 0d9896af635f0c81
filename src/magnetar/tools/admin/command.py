"""The command ``magnetar admin``: its groups and verbs, made of rows when they are used."""

import importlib
import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from magnetar.errors import MagnetarError, Refused
from magnetar.tools.connection import connection_of, connection_parameters
from magnetar.tools.groups import SuggestingGroup
from magnetar.tools.output import output_parameter, show

from .call import Call
from .kinds import TEXT, Kind
from .table import Group, groups, verbs_of
from .verb import Param, Verb

_ABOUT: Final = """Ask a broker's admin API, with the groups, verbs and options of pulsar-admin.

\b
Examples: magnetar admin topics list public/default
          magnetar admin topics stats public/default/orders -o json
          magnetar admin namespaces set-retention public/default -t 7d -s 10G
          magnetar admin --admin-url http://broker:8080 brokers healthcheck
"""
_CONNECTION: Final = "connection."
GROUPS: Final = groups()
_ALSO: Final = {also: name for name, group in GROUPS.items() for also in group.also}


class AdminGroup(SuggestingGroup):
    """The groups of verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(GROUPS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        group = GROUPS.get(_ALSO.get(cmd_name, cmd_name))
        if group is None:
            return None
        if group.command:
            module, _, name = group.command.partition(":")
            command = getattr(importlib.import_module(module), name)
            assert isinstance(command, click.Command), group
            return command
        if group.refused:
            return _refusing(cmd_name, f"{cmd_name}: {group.refused}", group.about)
        return VerbGroup(cmd_name, group)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Groups"):
            formatter.write_dl([(name, group.about) for name, group in GROUPS.items()])


class VerbGroup(SuggestingGroup):
    """The verbs of a group."""

    def __init__(self, name: str, group: Group) -> None:
        known, about = _ALSO.get(name, name), group.about
        if known != name:
            about += f" {name} is the older name of {known}."
        super().__init__(name, help=about)
        self._verbs = verbs_of(known)

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
    params = [parameter(param) for param in verb.params]
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


def parameter(param: Param) -> click.Parameter:
    """An argument or an option as click has it."""
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
    bare: dict[str, Any] = {}
    if param.value is not None:
        bare = {"is_flag": False, "flag_value": str(param.value).lower()}
    return click.Option(
        names,
        type=_Read(param.kind),
        required=param.required,
        multiple=param.several,
        help=about,
        metavar=param.kind.name.partition("|")[0] if "|" in param.kind.name else param.kind.name,
        **bare,
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
    """Ask before it is done. Raises Refused where the answer is no, or there is none."""
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
    optional = [parameter(replace(one, required=False)) for one in params if not one.argument]
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


@click.group(cls=SuggestingGroup)
def documents() -> None:
    """Write this help as Markdown: magnetar admin documents generate topics"""


@documents.command()
@click.argument("groups", nargs=-1)
def generate(groups: tuple[str, ...]) -> None:
    """Print the verbs and options of GROUPS, or of all groups.

    Example: magnetar admin documents generate tenants topics
    """
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise click.UsageError(f"no group {unknown[0]}: there are {', '.join(GROUPS)}")
    for group in groups or [name for name in GROUPS if verbs_of(name)]:
        click.echo(f"# {group}\n\n{GROUPS[group].about}\n")
        for verb in verbs_of(group):
            if verb.hidden:
                continue
            click.echo(f"## {verb.name}\n\n{verb.about}\n")
            for one in command_of(verb, f"{group} {verb.name}").params:
                if not getattr(one, "hidden", False):
                    about = getattr(one, "help", None) or ""
                    click.echo(f"- `{', '.join(one.opts)}` {about}".rstrip())
            click.echo()
