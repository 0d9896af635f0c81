import pytest
from support.tokens import PROVIDER, TAKES_TOKENS

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue

FILES = {"tlsCertificateFilePath": "/c.pem", "tlsKeyFilePath": "/k.pem"}
TLS = {"brokerServicePortTls": 6651, **FILES}
CHECKS = {"authenticationEnabled": "true", "authenticationProviders": PROVIDER + "Tls"}
TRUSTS = {**TLS, "tlsTrustCertsFilePath": "/t.pem"}


@pytest.mark.parametrize(
    "settings",
    [
        TLS,
        {"webServicePortTls": 8443, "tlsEnabled": "true", **FILES},
        {**TRUSTS, "tlsRequireTrustedClientCertOnConnect": "true"},
        {**TRUSTS, **CHECKS},
        {"tlsEnabled": "false", **FILES},
        {**TLS, "webServicePortTls": 8443, "brokerClientTlsEnabled": "true"},
        {"brokerClientTlsEnabled": "false", "brokerClientTrustCertsFilePath": "/t.pem"},
    ],
    ids=str,
)
def test_what_fits_together_starts(settings):
    Config.read(flags=settings)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"tlsEnabled": "true"}, "tlsEnabled='true' .*nothing speaks TLS: set brokerServicePortT"),
        (FILES, "tlsCertificateFilePath='/c.pem' .*set brokerServicePortTls"),
        ({"webServicePortTls": 0}, "webServicePortTls='0' .*set tlsCertificateFilePath and"),
        ({**TLS, "tlsKeyFilePath": None}, "brokerServicePortTls='6651' .*both of PEM"),
        ({**TLS, "tlsRequireTrustedClientCertOnConnect": "true"}, "set tlsTrustCertsFilePath"),
        (
            {
                **TRUSTS,
                "tlsRequireTrustedClientCertOnConnect": "true",
                "tlsAllowInsecureConnection": "true",
            },
            "do without tlsAllowInsecureConnection",
        ),
        (CHECKS, "who a certificate names is believed only where it is checked"),
        ({**TLS, **CHECKS}, "who a certificate names is believed only where it is checked"),
        ({**TRUSTS, **CHECKS, "tlsAllowInsecureConnection": "true"}, "believed only where"),
        ({**TLS, "tlsProtocols": "TLSv1.1"}, "use some of TLSv1.2,TLSv1.3"),
        ({**TLS, "brokerClientTlsEnabled": "true"}, "nothing to connect to: set brokerServ"),
        ({"brokerClientTrustCertsFilePath": "/t"}, "set brokerClientTlsEnabled=true, too"),
        ({"brokerClientKeyFilePath": "/k"}, "and brokerClientKeyFilePath both, or neither"),
        ({"tlsEnabledWithKeyStore": "true"}, "files in PEM .*of a Java keystore"),
    ],
    ids=str,
)
def test_what_is_half_set_up_stops_the_start(settings, reason):
    with pytest.raises(InvalidValue, match=reason):
        Config.read(flags=settings)


def test_an_empty_port_beside_one_for_tls_is_none(tmp_path):
    file = tmp_path / "broker.conf"
    names = "\n".join(f"{key}={value}" for key, value in FILES.items())
    file.write_text(f"brokerServicePort=\nbrokerServicePortTls=6651\nwebServicePort=\n{names}\n")
    server = Config.read(file=file).server
    assert (server.broker_port, server.web_port) == (-1, 8080)


def test_tokens_need_no_tls():
    Config.read(flags=TAKES_TOKENS)
