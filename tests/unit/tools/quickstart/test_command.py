import tempfile

import pytest
from click.testing import CliRunner

from magnetar.tools.quickstart.command import quickstart


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # Logs of a failed run stay.
    return lambda *arguments: CliRunner().invoke(quickstart, arguments)


def test_help_names_what_can_be_set(invoke):
    found = invoke("--help")
    assert found.exit_code == 0
    for option in ("--flights", "--report", "--serve", "--service-url"):
        assert option in found.output


def test_no_broker_is_said_in_a_sentence(invoke, unused_tcp_port):
    found = invoke("--service-url", f"pulsar://127.0.0.1:{unused_tcp_port}", "--flights", "10")
    assert found.exit_code == 1
    assert "Error: no admin API answers" in found.output
    assert "Logs are in" in found.output


@pytest.mark.parametrize("arguments", [("--flights", "0"), ("--partitions", "1000")])
def test_numbers_that_make_no_sense_are_refused(invoke, arguments):
    assert invoke(*arguments).exit_code == 2
