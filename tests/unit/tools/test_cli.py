import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from magnetar import __version__, inner
from magnetar.tools import cli


def test_help_lists_every_command():
    result = CliRunner().invoke(cli.magnetar, ["--help"])
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    for name, lazy in cli.COMMANDS.items():
        assert f"{name} {lazy.about}" in said


def test_help_imports_no_command():
    code = (
        "import sys\n"
        "from magnetar.tools.cli import magnetar\n"
        "magnetar(['--help'], standalone_mode=False)\n"
        "heavy = {'asyncio', 'aiohttp', 'google.protobuf', 'pyspark', 'magnetar.broker'}\n"
        "sys.exit(f'imported {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_can_be_imported_and_helps(name):
    result = CliRunner().invoke(cli.magnetar, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage" in result.output


def test_the_version_is_told():
    result = CliRunner().invoke(cli.magnetar, ["--version"])
    assert __version__ in result.output
    assert f"inner loops {inner.BUILD}" in result.output


def test_an_unknown_command_is_a_usage_error_that_names_the_nearest():
    assert CliRunner().invoke(cli.magnetar, ["no-such"]).exit_code == 2
    said = CliRunner().invoke(cli.magnetar, ["pipeline"]).output
    assert "No such command 'pipeline'. Did you mean pipelines?" in said


def test_what_a_user_can_mend_is_said_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["magnetar", "config", "show", "--conf", "/no/such/standalone.conf"]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("magnetar: cannot read the configuration file /no/such/standalone.conf")
    assert said.count("\n") == 1


def commands(command, words):
    """Every command that does something; the verbs of ``admin`` are in tests/golden/cli."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if name != "admin":
                yield from commands(command.get_command(context, name), [*words, name])
    else:
        yield command, words


def test_the_help_of_every_command_stands_by_itself():
    found = list(commands(cli.magnetar, ["magnetar"]))
    assert len(found) > 30
    for command, words in found:
        assert f"Example: {' '.join(words)} " in f"{command.help} ", words
        options = [one for one in command.params if isinstance(one, click.Option)]
        assert [one.opts for one in options if not one.help and not one.hidden] == [], words


def test_nobody_who_reads_is_no_traceback():
    code = "import sys; from magnetar.tools.cli import main; sys.argv[1:] = ['admin', 'documents'"
    command = [sys.executable, "-c", f"{code}, 'generate', 'topics']; main()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as printing:
        printing.stdout.close()
        said = printing.stderr.read()
    assert (printing.returncode, said) == (cli.PIPE_CLOSED, b"")
