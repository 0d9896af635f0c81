import os

from magnetar.spark import connections


def test_a_process_has_one_client_per_broker(magnetar_broker):
    url = magnetar_broker.service_url
    first = connections.client_for(url, 5.0)
    assert connections.client_for(url, 5.0) is first
    assert connections.client_for(url, 6.0) is not first


def test_a_forked_process_gets_a_client_of_its_own(magnetar_broker, monkeypatch):
    first = connections.client_for(magnetar_broker.service_url, 5.0)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert connections.client_for(magnetar_broker.service_url, 5.0) is not first
