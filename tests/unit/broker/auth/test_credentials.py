"""Which CONNECT shows credentials."""

import pytest

from magnetar.broker.auth.credentials import shows_credentials
from magnetar.proto import PulsarApi_pb2 as pb


@pytest.mark.parametrize("shown", [{}, {"auth_method_name": "none"}, {"auth_method_name": ""}])
def test_who_names_no_method_and_sends_nothing_shows_none(shown):
    assert not shows_credentials(pb.CommandConnect(client_version="c", **shown))


@pytest.mark.parametrize(
    "shown",
    [
        {"auth_method_name": "token"},
        {"auth_data": b"a.b.c"},
        {"auth_method": pb.AuthMethodYcaV1},
        {"original_auth_data": "a.b.c"},
        {"original_auth_method": "basic"},
    ],
)
def test_a_method_or_data_are_credentials_also_those_a_proxy_passes_on(shown):
    assert shows_credentials(pb.CommandConnect(client_version="c", **shown))
