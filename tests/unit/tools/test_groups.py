import click
import pytest
from click.testing import CliRunner

from magnetar.tools.groups import Lazy, LazyGroup, with_options


@click.group(
    cls=LazyGroup,
    lazy={
        "show": Lazy("magnetar.tools.config", "config", "Show."),
        "shown": Lazy("no.such.module", "x", "Not imported."),
    },
)
def top():
    pass


def test_commands_are_listed_without_being_imported():
    said = CliRunner().invoke(top, ["--help"])
    assert "show   Show." in said.output
    assert "shown  Not imported." in said.output
    assert "Usage" in CliRunner().invoke(top, ["show", "--help"]).output


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("shwo", "No such command 'shwo'. Did you mean show or shown?"),
        ("delete", "No such command 'delete'.\n"),
        ("--no", "No such option"),
    ],
)
def test_a_misspelt_command_has_its_nearest_named(asked, said):
    ended = CliRunner().invoke(top, [asked])
    assert ended.exit_code == 2
    assert said in ended.output


def test_options_that_commands_share_keep_their_order():
    @click.command()
    @with_options(click.option("--first"), click.option("--second"))
    def both(**given):
        click.echo(given)

    assert [each.name for each in both.params] == ["first", "second"]
    assert "'first': '1'" in CliRunner().invoke(both, ["--first", "1"]).output
