import pytest

from magnetar.broker.auth.certificates import common_name


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        (None, None),
        ({}, None),
        ({"subject": ((("countryName", "GB"),),)}, None),
        ({"subject": ((("commonName", ""),),)}, None),
        ({"subject": ((("organizationName", "o"),), (("commonName", "me"),))}, "me"),
        ({"subject": ((("commonName", "group"),), (("commonName", "me"),))}, "me"),
    ],
)
def test_the_most_specific_common_name_counts(certificate, name):
    assert common_name(certificate) == name
