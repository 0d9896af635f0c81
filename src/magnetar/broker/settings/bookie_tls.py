"""How a broker of a cluster speaks TLS with its bookies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from magnetar.late_dataclass import dataclass

from .setting import refusal_texts, setting

_SWITCH: Final = "bookkeeperTLSClientAuthentication"
_TRUST: Final = "bookkeeperTLSTrustCertsFilePath"
_CERTIFICATE: Final = "bookkeeperTLSCertificateFilePath"
_KEY: Final = "bookkeeperTLSKeyFilePath"


@dataclass(frozen=True, slots=True)
class BookieTlsSettings:
    """The files, all of PEM."""

    on: bool = setting(
        _SWITCH, False, "speak TLS with bookies, and show them a certificate, where one is set"
    )
    trust: Path | None = setting(_TRUST, None, "who signs the certificates of bookies, in PEM")
    certificate: Path | None = setting(
        _CERTIFICATE, None, "the broker's certificate for bookies, in PEM"
    )
    key: Path | None = setting(_KEY, None, "its private key, in PEM")
    key_password: Path | None = setting(
        "bookkeeperTLSKeyStorePasswordPath", None, "file of the password of that key, if it has one"
    )
    verify_hostname: bool = setting(
        "bookkeeper_tlsHostnameVerificationEnabled",
        True,
        "a bookie's certificate must be for the address that it advertises",
    )


def bookie_tls_refusals(
    tls: BookieTlsSettings, sources: Mapping[str, str], *, alone: bool
) -> list[str]:
    """What cannot be meant, each with the remedy; ``alone``: there is no cluster."""
    found = []
    files = {_TRUST: tls.trust, _CERTIFICATE: tls.certificate, _KEY: tls.key}
    if tls.on and alone:
        found.append((_SWITCH, "true", "there are no bookies without metadataStoreUrl: set that"))
    if tls.on and tls.trust is None:
        found.append(
            (_SWITCH, "true", f"nothing would say whose certificate to trust: set {_TRUST}")
        )
    if tls.on and (tls.certificate is None) is not (tls.key is None):
        remedy = f"a certificate is shown with its key: set {_CERTIFICATE} and {_KEY}, or neither"
        found.append((_CERTIFICATE, str(tls.certificate or ""), remedy))
    if not tls.on and _SWITCH not in sources:
        remedy = f"nothing speaks TLS with bookies: set {_SWITCH}=true, too, or take it out"
        found += [(key, str(file), remedy) for key, file in files.items() if file is not None]
    return refusal_texts(found, sources)
