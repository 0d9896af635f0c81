"""The table of Pulsar's settings, held against Pulsar's own files.

``tests/golden/conf`` has the keys and values of Apache Pulsar 4.0's ``standalone.conf`` and
``broker.conf``, without their comments.
"""

import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from magnetar.broker.config import Config
from magnetar.broker.settings.others import Status, is_about_security
from magnetar.broker.settings.properties import parse_properties
from magnetar.broker.settings.pulsar import group_of, groups, pulsar_keys

FILES = [
    Path(__file__).parents[3] / "golden" / "conf" / name
    for name in ("standalone.conf", "broker.conf")
]
OWN = {key for key, *_ in Config.read().rows()}
PASSED = {Status.AS_SHIPPED, Status.NOT_DONE}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_setting_of_pulsars_files_is_honoured_or_known(file):
    keys = {pair.key for pair in parse_properties(file.read_text())}
    assert len(keys) > 300
    assert not keys - OWN - pulsar_keys(), "put them into broker/settings/pulsar.toml"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_value_of_pulsars_files_is_refused_or_taken_for_somebodys_choice(file):
    config = Config.read(file=file)
    assert [one.text for one in config.others if one.status not in PASSED] == []


def test_a_setting_has_one_place():
    keys = list(chain.from_iterable(group.settings for group in groups()))
    assert sorted(keys) == sorted(pulsar_keys()), "it is in two groups"
    assert not OWN & set(keys), "Magnetar has it now: take it out of the table"


def test_a_setting_knows_its_group():
    assert group_of("tlsKeyStore").refuses
    assert group_of("noSuchSetting") is None


def test_what_concerns_security_is_in_a_group_that_refuses():
    secure = [key for key in pulsar_keys() if is_about_security(key)]
    assert len(secure) > 50
    assert [key for key in secure if not group_of(key).refuses] == []


def test_what_switches_on_what_is_not_done_can_also_be_switched_off():
    for group in groups():
        assert group.refuses or not group.not_done
        assert [key for key in group.not_done if not group.settings[key]] == []


def test_the_table_is_read_only_when_a_setting_is_met_that_is_none_of_magnetars():
    script = """
import sys
from magnetar.broker.config import Config
Config.read(environment={"MAGNETAR_BROKER_SERVICE_PORT": "1"}, flags={"durability": "none"})
assert "tomllib" not in sys.modules
assert Config.read(flags={"loadBalancerTransferEnabled": "true"}).others
assert "tomllib" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
