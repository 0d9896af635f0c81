import pytest
from support.certificates import Authority

from magnetar.broker.assemble.broker import running_broker
from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import config_for

QUIET = {"webServicePort": -1}


async def test_functions_need_the_ports_without_tls():
    config = config_for(None, {**QUIET, "functionsWorkerEnabled": True})
    with pytest.raises(
        InvalidValue, match="functionsWorkerEnabled=true needs the ports without TLS"
    ):
        async with running_broker(config):
            pass


async def test_files_of_its_client_that_cannot_be_read_stop_the_start(tmp_path):
    certificate, key = Authority(tmp_path).issue("broker")
    settings = {
        "functionsWorkerEnabled": True,
        "brokerServicePortTls": 0,
        "webServicePortTls": 0,
        "tlsCertificateFilePath": certificate,
        "tlsKeyFilePath": key,
        "brokerClientTlsEnabled": True,
        "brokerClientTrustCertsFilePath": "/no/such.pem",
    }
    with pytest.raises(InvalidValue, match="worker's tlsTrustCertsFilePath: cannot read /no/such"):
        async with running_broker(config_for(None, settings)):
            pass
