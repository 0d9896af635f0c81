"""Groups of commands: imported when they are run, and with a word for who misspells one."""

import difflib
import gc
import importlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def with_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Gives a command several options, in this order."""

    def given(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return given


def given_as(parameter: click.Parameter) -> Callable[[F], F]:
    """Gives a command an option that is made already."""

    def given(command: F) -> F:
        vars(command).setdefault("__click_params__", []).append(parameter)  # As click.option does.
        return command

    return given


class Lazy(NamedTuple):
    """Where a command is, and what ``--help`` says of it without importing it."""

    module: str
    name: str
    about: str


class SuggestingGroup(click.Group):
    """Names the nearest of its commands when there is none of a name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        asked = args[0] if args else ""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(asked, self.list_commands(ctx), n=3, cutoff=0.6)
            if not near or asked not in error.message:
                raise
            hint = f"{error.message} Did you mean {' or '.join(near)}?"
            raise click.UsageError(hint, ctx) from None


class LazyGroup(SuggestingGroup):
    """A group whose commands are named in a table."""

    def __init__(self, *arguments: Any, lazy: Mapping[str, Lazy], **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self._lazy.get(cmd_name)
        if lazy is None:
            return None
        gc.disable()  # Modules make none; to look for it was a sixth of a broker's start.
        try:
            command = getattr(importlib.import_module(lazy.module), lazy.name)
            gc.freeze()
        finally:
            gc.enable()
        assert isinstance(command, click.Command), lazy
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.about) for name, lazy in self._lazy.items()])
