from pathlib import Path

import pytest

from magnetar.tools.doctor import service


def test_the_unit_that_we_give_away_says_where_its_data_is():
    unit = Path(service.__file__).parents[1] / "deploy" / "magnetar.service"
    found = service.installed([unit])
    assert found == (unit, Path("/etc/magnetar/standalone.conf"), Path("/var/lib/magnetar"))


@pytest.mark.parametrize(
    ("command", "conf", "data_dir"),
    [
        ("m standalone", None, None),
        ("m broker -c /a.conf", Path("/a.conf"), None),
        ("m standalone --data-dir='/with a space'", None, Path("/with a space")),
        ("m standalone \\\n --conf /a.conf --data-dir /d", Path("/a.conf"), Path("/d")),
    ],
)
def test_what_a_unit_starts_a_broker_with(tmp_path, command, conf, data_dir):
    unit = tmp_path / "magnetar.service"
    unit.write_text(f"[Service]\nExecStart={command}\nRestart=always\n")
    assert service.installed([tmp_path / "none", unit]) == (unit, conf, data_dir)


def test_there_may_be_none(tmp_path):
    (tmp_path / "other").write_text("[Unit]\n")
    assert service.installed([tmp_path / "none", tmp_path / "other"]) is None
