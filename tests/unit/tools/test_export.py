import configparser
import json

import yaml
from click.testing import CliRunner

from magnetar.errors import InvalidValue
from magnetar.tools.export import export


def run(*arguments):
    return CliRunner().invoke(export, list(map(str, arguments)))


def test_dashboards_are_written_with_what_leads_to_them(tmp_path):
    result = run("dashboards", tmp_path / "new")
    assert result.exit_code == 0
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert len(result.output.splitlines()) == len(written)
    for name in written:
        text = (tmp_path / "new" / name).read_text()
        assert json.loads(text) if name.endswith(".json") else yaml.safe_load(text)


def test_the_service_is_a_unit_and_its_settings(tmp_path):
    assert run("service", tmp_path).exit_code == 0
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read_string((tmp_path / "magnetar.service").read_text())
    assert unit["Service"]["ExecStart"]
    assert (tmp_path / "standalone.conf").exists()


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").touch()
    result = run("service", tmp_path / "file")
    assert isinstance(result.exception, InvalidValue)
    assert str(tmp_path / "file") in str(result.exception)
