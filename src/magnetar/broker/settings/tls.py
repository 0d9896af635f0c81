"""The settings of a broker that speaks TLS."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from magnetar.late_dataclass import dataclass

from .auth import AuthSettings
from .setting import refusal_texts, setting

_PORT: Final = "brokerServicePortTls"
_WEB_PORT: Final = "webServicePortTls"

TlsProtocol = Literal["TLSv1.2", "TLSv1.3"]


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Where a broker speaks TLS, with which certificate, and whose certificates it trusts."""

    port: int | None = setting(
        "brokerServicePortTls",
        None,
        "port of the binary protocol over TLS, 6651 by custom; 0 picks a free one, empty is none",
        maximum=65535,
    )
    web_port: int | None = setting(
        "webServicePortTls",
        None,
        "port of the admin REST API over HTTPS, 8443 by custom; 0 picks a free one, empty is none",
        maximum=65535,
    )
    enabled: bool = setting(
        "tlsEnabled", False, "says nothing of its own: the two ports above switch TLS on"
    )
    certificate: Path | None = setting(
        "tlsCertificateFilePath", None, "file of the broker's certificate and its chain, in PEM"
    )
    key: Path | None = setting("tlsKeyFilePath", None, "file of its private key, in PEM")
    trust: Path | None = setting(
        "tlsTrustCertsFilePath",
        None,
        "file of the authorities whose certificates of clients are believed, in PEM",
    )
    require_certificate: bool = setting(
        "tlsRequireTrustedClientCertOnConnect",
        False,
        "clients must show a certificate of these; otherwise they may",
    )
    insecure: bool = setting(
        "tlsAllowInsecureConnection", False, "certificates of clients are not asked for at all"
    )
    protocols: tuple[TlsProtocol, ...] = setting(
        "tlsProtocols", ("TLSv1.2", "TLSv1.3"), "versions of TLS that are spoken"
    )
    ciphers: tuple[str, ...] = setting(
        "tlsCiphers",
        (),
        "ciphers of TLSv1.2, by OpenSSL's names or Java's; empty: OpenSSL chooses",
    )
    refresh_check_s: int = setting(
        "tlsCertRefreshCheckDurationSec",
        300,
        "how often it is looked whether these files changed; 0: not while the broker runs",
    )

    client: bool = setting(
        "brokerClientTlsEnabled",
        False,
        "this broker asks others, and its functions worker asks it, by TLS",
    )
    client_trust: Path | None = setting(
        "brokerClientTrustCertsFilePath",
        None,
        "file of the authorities that it trusts, in PEM; empty: those of the system",
    )
    client_certificate: Path | None = setting(
        "brokerClientCertificateFilePath", None, "file of the certificate that it shows, in PEM"
    )
    client_key: Path | None = setting(
        "brokerClientKeyFilePath", None, "file of its private key, in PEM"
    )

    @property
    def client_files(self) -> dict[str, Path]:
        """The files of the broker's own client, by the names of Java's client."""
        files = {
            "tlsTrustCertsFilePath": self.client_trust,
            "tlsCertificateFilePath": self.client_certificate,
            "tlsKeyFilePath": self.client_key,
        }
        return {name: file for name, file in files.items() if file is not None}

    @property
    def on(self) -> bool:
        return self.port is not None or self.web_port is not None


def refusals(tls: TlsSettings, auth: AuthSettings, sources: Mapping[str, str]) -> list[str]:
    """Why a broker must not start with these settings, each with the remedy."""
    found = []
    ports = _ports(_PORT, _WEB_PORT)
    if tls.enabled and not tls.on:
        found.append(("tlsEnabled", "true", f"nothing speaks TLS: set {ports}"))
    if tls.certificate is not None and not tls.on and "tlsEnabled" not in sources:
        found.append(("tlsCertificateFilePath", str(tls.certificate), f"set {ports}, too"))
    found += refused_of_clients(tls, auth, _PORT, _WEB_PORT)
    return refusal_texts(found + _of_client(tls, sources), sources)


def refused_of_clients(
    tls: TlsSettings, auth: AuthSettings, port: str, web_port: str
) -> list[tuple[str, str, str]]:
    """Key, value and remedy of what cannot be with clients; the ports are named by their keys."""
    found = []
    if tls.on and (tls.certificate is None or tls.key is None):
        key = port if tls.port is not None else web_port
        value = str(tls.web_port if tls.port is None else tls.port)
        found.append((key, value, "set tlsCertificateFilePath and tlsKeyFilePath, both of PEM"))
    unchecked = tls.insecure or tls.trust is None or not tls.on
    ports = _ports(port, web_port)
    if tls.require_certificate and unchecked:
        remedy = (
            f"nobody could check them: set tlsTrustCertsFilePath and {ports}, and do without "
            "tlsAllowInsecureConnection"
        )
        found.append(("tlsRequireTrustedClientCertOnConnect", "true", remedy))
    if auth.enabled and "tls" in auth.methods and unchecked:
        remedy = (
            f"who a certificate names is believed only where it is checked: set {ports} and "
            "tlsTrustCertsFilePath, and do without tlsAllowInsecureConnection"
        )
        found.append(("authenticationProviders", ",".join(auth.providers), remedy))
    return found


def _ports(port: str, web_port: str) -> str:
    return f"{port} (6651) or {web_port} (8443)"


def _of_client(tls: TlsSettings, sources: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Key, value and remedy of what the functions worker could not do."""
    found = []
    if tls.client and None in (tls.port, tls.web_port):
        remedy = "there is nothing to connect to: set brokerServicePortTls and webServicePortTls"
        found.append(("brokerClientTlsEnabled", "true", remedy))
    for key, file in (
        ("brokerClientTrustCertsFilePath", tls.client_trust),
        ("brokerClientCertificateFilePath", tls.client_certificate),
        ("brokerClientKeyFilePath", tls.client_key),
    ):
        if file is not None and not tls.client and "brokerClientTlsEnabled" not in sources:
            found.append((key, str(file), "set brokerClientTlsEnabled=true, too, or take it out"))
    if (tls.client_certificate is None) is not (tls.client_key is None):
        remedy = "a certificate is shown with its key: set brokerClientCertificateFilePath and "
        remedy += "brokerClientKeyFilePath both, or neither"
        found.append(("brokerClientCertificateFilePath", str(tls.client_certificate or ""), remedy))
    return found
