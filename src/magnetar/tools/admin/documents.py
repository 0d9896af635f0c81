"""``magnetar admin documents generate``: the help of every verb, as Markdown."""

import click

from magnetar.tools.groups import SuggestingGroup


@click.group(cls=SuggestingGroup)
def documents() -> None:
    """Write this help as Markdown: magnetar admin documents generate topics"""


@documents.command()
@click.argument("groups", nargs=-1)
def generate(groups: tuple[str, ...]) -> None:
    """Print the verbs and options of GROUPS, or of all groups.

    Example: magnetar admin documents generate tenants topics
    """
    from .command import GROUPS, command_of, verbs_of  # noqa: PLC0415 - it is the other way round

    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise click.UsageError(f"no group {unknown[0]}: there are {', '.join(GROUPS)}")
    for group in groups or [name for name in GROUPS if verbs_of(name)]:
        click.echo(f"# {group}\n\n{GROUPS[group].about}\n")
        for verb in verbs_of(group):
            if verb.hidden:
                continue
            click.echo(f"## {verb.name}\n\n{verb.about}\n")
            command = command_of(verb, f"{group} {verb.name}")
            rows = [one for one in command.params if not getattr(one, "hidden", False)]
            for one in rows:
                about = getattr(one, "help", None) or ""
                click.echo(f"- `{', '.join(one.opts)}` {about}".rstrip())
            click.echo()
