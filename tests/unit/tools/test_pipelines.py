import subprocess
import sys

import pytest
from click.testing import CliRunner

from magnetar.errors import InvalidValue
from magnetar.tools.pipelines import pipelines


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_mistake_in_the_file_is_said_before_spark_is_started(tmp_path, command):
    file = tmp_path / "orders.yaml"
    file.write_text("name: orders\nsource: {}\n")
    done = CliRunner().invoke(pipelines, [command, str(file)])
    assert isinstance(done.exception, InvalidValue)
    assert "source is not known: did you mean sources?" in str(done.exception)


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path):
    done = CliRunner().invoke(pipelines, ["check", str(tmp_path / "gone.yaml")])
    assert done.exit_code == 2


def test_what_py4j_logs_of_a_stop_is_not_shown():
    program = "import logging; from magnetar.tools import pipelines; pipelines._quiet_py4j(); "
    program += "logging.error('of py4j'); logging.getLogger('magnetar').error('of ours')"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.strip().endswith("of ours")
    assert "of py4j" not in done.stderr
