import json

import click
import pytest
from click.testing import CliRunner

from magnetar.tools.output import output_format, show

STATS = {"msgIn": 1.5, "subscriptions": {"s": {"backlog": 3}, "[b]": {}}, "on": True, "no": None}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (["b", "a"], ["b", "a"]),
        ([], []),
        (None, []),
        ("ok", ["ok"]),
        (True, ["true"]),
        (
            STATS,
            [
                "key                      value",
                "msgIn                    1.5",
                "subscriptions.s.backlog  3",
                "subscriptions.[b]        {}",
                "on                       true",
                "no",
            ],
        ),
        (
            {"name": "a\u202eb\x9b", "of": ["\u2066"]},
            ["key   value", "name  a\\u202eb\\x9b", 'of    ["\\u2066"]'],
        ),
        ([{"a": 1}, {"a": "long" * 60, "b": [2]}], ["a", "1", f"{'long' * 60}  [2]"]),
    ],
)
def test_each_shape_has_its_table(value, said, capsys):
    show(value, "table")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        lines[0] = lines[0].split()[0]
    assert lines == said


def test_other_forms_are_whole(capsys):
    show(STATS, "json")
    assert json.loads(capsys.readouterr().out) == STATS
    show({"b": 1, "a": "ü"}, "yaml")
    assert capsys.readouterr().out == "b: 1\na: ü\n"


def test_a_command_takes_its_form():
    @click.command()
    @output_format
    def command(form):
        click.echo(form)

    assert CliRunner().invoke(command, ["-o", "yaml"]).output == "yaml\n"
    assert CliRunner().invoke(command, []).output == "table\n"
    assert CliRunner().invoke(command, ["--output", "xml"]).exit_code == 2
