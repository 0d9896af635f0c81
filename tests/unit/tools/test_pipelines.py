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
