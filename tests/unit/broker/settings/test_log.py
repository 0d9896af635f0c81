import pytest

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue


def test_the_environment_says_how_to_log():
    log = Config.read(
        environment={"MAGNETAR_LOG_FORMAT": "json", "MAGNETAR_LOG_LEVEL": "debug"}
    ).log
    assert (log.format, log.level) == ("json", "debug")
    with pytest.raises(InvalidValue, match="one of text, json"):
        Config.read(flags={"logFormat": "xml"})
