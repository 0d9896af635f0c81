"""Functions as tables that fit a terminal."""

import io

from rich.console import Console

from magnetar.functions.worker.status import NOTHING, function_status, instance_status
from magnetar.tools.functions.show import config_table, status_table
from magnetar.tools.output import show


def drawn(table) -> str:
    console = Console(width=80, file=io.StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_a_status_fits_a_terminal_and_says_what_is_wrong():
    failed = {**NOTHING, "latestUserExceptions": [{"exceptionString": "Trace\nValueError: x"}]}
    busy = {**NOTHING, "numReceived": 1234567, "lastInvocationTime": 1_700_000_000_000}
    status = function_status(
        [
            instance_status(busy, running=True, error="", restarts=0, worker="w"),
            instance_status(NOTHING, running=False, error="no broker", restarts=3, worker="w"),
            instance_status(failed, running=True, error="", restarts=0, worker="w"),
        ]
    )
    lines = drawn(status_table(status)).splitlines()
    assert len(lines) == 6, lines
    assert "1,234,567" in lines[1]
    assert "14 Nov 22:13:20" in lines[1]
    assert lines[4:] == ["1: no broker", "2: ValueError: x"]


def test_other_forms(capsys):
    show({"a": "ü"}, "json", config_table({}))
    show({"a": "ü"}, "yaml", config_table({}))
    assert capsys.readouterr().out == '{\n  "a": "ü"\n}\na: ü\n'
    assert "inputs" in drawn(config_table({"inputs": ["a"], "name": "[bold]"}))
    assert "[bold]" in drawn(config_table({"name": "[bold]"}))
