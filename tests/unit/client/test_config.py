from dataclasses import fields

import pytest

from magnetar.client.config import ClientConfig, ClientOptions
from magnetar.errors import InvalidValue


def test_the_keyword_arguments_are_the_settings():
    settings = {field.name: field.type for field in fields(ClientConfig)}
    del settings["service_url"]
    assert settings == ClientOptions.__annotations__


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("lookup_redirects_max", -1),
        ("partitions_refresh_s", "often"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    with pytest.raises(InvalidValue, match=setting if value != "" else "name"):
        ClientConfig(service_url="pulsar://h", **{setting: value})
