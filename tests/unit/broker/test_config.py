import dataclasses
from pathlib import Path

import pytest

from magnetar.broker.config import Config
from magnetar.broker.settings.others import Status
from magnetar.errors import InvalidValue


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "standalone.conf"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_sources_everything_is_at_its_default():
    config = Config.read()
    assert config == Config()
    assert config.server.broker_port == 6650
    assert config.others == ()


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
        "clusterName": f"file {file}, line 3",
    }


def test_variables_of_pulsars_image_are_taken_below_our_own():
    prefix = "PULSAR_PREFIX_"
    given = {f"{prefix}webServicePort": "1", f"{prefix}brokerServicePort": "2", f"{prefix}no": "x"}
    config = Config.read(environment={**given, "MAGNETAR_WEB_SERVICE_PORT": "3"})
    assert (config.server.web_port, config.server.broker_port) == (3, 2)
    assert config.sources["brokerServicePort"] == "environment PULSAR_PREFIX_brokerServicePort"
    assert [one.text for one in config.others] == [
        "no (environment PULSAR_PREFIX_no) is no setting, it is ignored"
    ]


def test_a_key_left_empty_in_a_file_means_its_default(tmp_path):
    config = Config.read(file=write(tmp_path, "advertisedAddress=\nbrokerServicePort=\n"))
    assert config == Config()


def test_of_a_key_that_appears_twice_the_last_value_counts(tmp_path):
    file = write(tmp_path, "clusterName=a\nclusterName=b\nwebServicePort=1\nwebServicePort=\n")
    config = Config.read(file=file)
    assert (config.server.cluster, config.server.web_port) == ("b", 8080)
    assert config.sources["clusterName"] == f"file {file}, line 2"


def test_what_is_no_setting_is_listed_in_order_of_its_name(tmp_path):
    file = write(tmp_path, "loadBalancerDebugModeEnabled=x\nbrokerServicePort=1\nathens=\n")
    config = Config.read(file=file, environment={"MAGNETAR_NO_SUCH": "1", "PATH": "/bin"})
    assert [(one.key, one.status) for one in config.others] == [
        ("MAGNETAR_NO_SUCH", Status.UNKNOWN),
        ("athens", Status.UNKNOWN),
        ("loadBalancerDebugModeEnabled", Status.WITHOUT_EFFECT),
    ]


def test_variables_of_the_spark_connector_are_not_taken_for_settings():
    config = Config.read(environment={"MAGNETAR_SPARK_LOG_FILE": "/tmp/log"})
    assert config == Config()


def test_what_asks_for_what_is_not_done_is_refused_wherever_it_was_said(tmp_path):
    file = write(tmp_path, "\nbrokerServicePort=1\nauthenticationEnabled=true\n")
    with pytest.raises(
        InvalidValue, match=rf"^authenticationEnabled='true' \(file {file}, line 3\)"
    ):
        Config.read(file=file)
    with pytest.raises(
        InvalidValue, match=r"^tlsEnabled='true' \(environment MAGNETAR_TLS_ENABLED\)"
    ):
        Config.read(environment={"MAGNETAR_TLS_ENABLED": "true"})
    with pytest.raises(
        InvalidValue, match=r"^MAGNETAR_MY_TOKEN='\*\*\*' \(environment\): there is no"
    ):
        Config.read(environment={"MAGNETAR_MY_TOKEN": "x"})
    with pytest.raises(InvalidValue, match=r"^httpRequestsLimitEnabled='true' \(flag\)"):
        Config.read(flags={"httpRequestsLimitEnabled": True})


def test_everything_that_is_refused_is_named_at_once(tmp_path):
    file = write(tmp_path, "tlsEnabled=true\nauthenticationEnabled=true\n")
    with pytest.raises(InvalidValue) as refused:
        Config.read(file=file)
    named = [line.partition("=")[0] for line in str(refused.value).splitlines()]
    assert named == ["authenticationEnabled", "tlsEnabled"]


def test_a_later_source_can_take_back_what_would_be_refused(tmp_path):
    file = write(tmp_path, "authenticationEnabled=true\n")
    config = Config.read(file=file, environment={"MAGNETAR_AUTHENTICATION_ENABLED": "false"})
    assert not config.refused


def test_what_is_refused_can_be_shown(tmp_path):
    config = Config.read_to_show(
        file=write(tmp_path, "authenticationEnabled=true\nclusterName=c\n")
    )
    assert len(config.refused) == 1
    assert config.server.cluster == "c"


def test_a_flag_of_no_setting_is_refused_with_its_correction():
    with pytest.raises(
        InvalidValue, match=r"^there is no setting brokerServicePrt: say brokerServ"
    ):
        Config.read(flags={"brokerServicePrt": 1})
    with pytest.raises(InvalidValue, match=r"^there is no setting athens$"):
        Config.read(flags={"athens": 1})


def test_a_bad_value_names_its_file_and_line(tmp_path):
    file = write(tmp_path, "# a comment\nbrokerServicePort=lots\n")
    with pytest.raises(
        InvalidValue, match=r"brokerServicePort='lots' \(file .*standalone.conf, line 2\)"
    ):
        Config.read(file=file)


def test_a_line_that_is_no_setting_names_its_file_and_line(tmp_path):
    file = write(tmp_path, "brokerServicePort=1\nauthenticationEnabled true\n")
    with pytest.raises(
        InvalidValue, match=rf"^configuration file {file}, line 2: 'authenticationEnabled' is not"
    ):
        Config.read(file=file)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path):
    assert Config.read(file=write(tmp_path, "\ufeffclusterName=c\n")).server.cluster == "c"


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


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    file = tmp_path / "broker.conf"
    lines = ["brokerServicePort=many", "durability=maybe", "metadataStoreUrl=etcd:h:2379"]
    lines += ["authenticationEnabled=perhaps", "superUserRoles=*", "brokerServicePortTls=1"]
    file.write_text("\n".join(lines))
    with pytest.raises(InvalidValue) as caught:
        Config.read(file=file, flags={"webServicePort": -2})
    told = [line.partition("=")[0] for line in str(caught.value).splitlines()]
    assert told == [
        *("brokerServicePort", "webServicePort", "authenticationEnabled", "durability"),
        *("superUserRoles", "brokerServicePortTls", "metadataStoreUrl"),
    ]
    shown = {row[0]: row for row in Config.read_to_show(file=file).rows()}
    assert shown["durability"][1:3] == (
        "fsync",
        f"default: what file {file}, line 2 says is refused",
    )


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({}, False),
        ({"bindAddress": "0.0.0.0"}, True),
        ({"bindAddress": "::"}, True),
        ({"bindAddress": "192.0.2.1"}, True),
        ({"bindAddress": "127.0.0.1"}, False),
        ({"bindAddress": "0.0.0.0", "authenticationEnabled": "true"}, False),
    ],
)
def test_a_broker_that_asks_nobody_who_it_is_is_warned_of_where_others_reach_it(given, warned):
    warnings = Config.read_to_show(flags=given).warnings
    assert len(warnings) == warned
    for one in warnings:
        assert one.startswith(f"bindAddress='{given['bindAddress']}' (flag): whoever reaches")
        assert "init-auth" in one
