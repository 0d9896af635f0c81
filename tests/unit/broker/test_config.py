import dataclasses
from pathlib import Path

import pytest

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "standalone.conf"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_sources_everything_is_at_its_default():
    config = Config.read()
    assert config == Config()
    assert config.server.broker_port == 6650
    assert config.unknown == ()


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path):
    file = write(tmp_path, "brokerServicePort=1\nwebServicePort=2\nclusterName=c\n")
    config = Config.read(
        file=file,
        environment={"MAGNETAR_BROKER_SERVICE_PORT": "3", "MAGNETAR_WEB_SERVICE_PORT": "4"},
        flags={"brokerServicePort": 5, "webServicePort": None},
    )
    assert (config.server.broker_port, config.server.web_port) == (5, 4)
    assert config.server.cluster == "c"
    assert dict(config.sources) == {
        "brokerServicePort": "flag",
        "webServicePort": "environment MAGNETAR_WEB_SERVICE_PORT",
        "clusterName": f"file {file}",
    }


def test_a_key_left_empty_in_a_file_means_its_default(tmp_path):
    config = Config.read(file=write(tmp_path, "advertisedAddress=\nbrokerServicePort=\n"))
    assert config.server.advertised_address == "localhost"
    assert not config.sources


def test_what_is_no_setting_is_listed_by_name_and_ignored(tmp_path):
    file = write(tmp_path, "zookeeperServers=x\nbrokerServicePort=1\nathenz=\n")
    config = Config.read(file=file, environment={"MAGNETAR_NO_SUCH": "1", "PATH": "/bin"})
    assert config.unknown == ("MAGNETAR_NO_SUCH", "athenz", "zookeeperServers")


def test_a_bad_value_names_its_file(tmp_path):
    file = write(tmp_path, "brokerServicePort=lots\n")
    with pytest.raises(InvalidValue, match=r"brokerServicePort='lots' \(file .*standalone.conf\)"):
        Config.read(file=file)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InvalidValue, match=r"cannot read the configuration file .*missing\.conf"):
        Config.read(file=tmp_path / "missing.conf")


def test_a_config_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().server.broker_port = 1  # type: ignore[misc]  # That it cannot be set is the point.


def test_rows_show_value_and_source_of_every_setting():
    rows = Config.read(flags={"durability": "none"}).rows()
    shown = {key: (value, source) for key, value, source, _ in rows}
    assert shown["durability"] == ("none", "flag")
    assert shown["brokerServicePort"] == ("6650", "default")
    assert shown["allowAutoTopicCreation"] == ("true", "default")
    assert len(shown) == len(rows)
    assert all(about for *_, about in rows)
