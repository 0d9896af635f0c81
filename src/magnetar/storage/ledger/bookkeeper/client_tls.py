"""TLS with bookies: whose certificates are believed, and which one is shown."""

import logging
import ssl
from pathlib import Path
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

log = logging.getLogger(__name__)

_OTHER_NAME: Final = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH and ..._IP_ADDRESS_MISMATCH.


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The files, all of PEM."""

    trust: Path  # bookkeeperTLSTrustCertsFilePath
    certificate: Path | None = None  # bookkeeperTLSCertificateFilePath
    key: Path | None = None  # bookkeeperTLSKeyFilePath
    key_password: Path | None = None  # bookkeeperTLSKeyStorePasswordPath
    verify_hostname: bool = True  # bookkeeper_tlsHostnameVerificationEnabled

    @property
    def files(self) -> list[Path]:
        """Those that are set."""
        named = (self.trust, self.certificate, self.key, self.key_password)
        return [file for file in named if file is not None]


class ClientTls:
    """A context for each connection, made of files that may be renewed meanwhile."""

    def __init__(self, settings: TlsSettings) -> None:
        """Read the files. Raises InvalidValue."""
        self._settings = settings
        try:
            self._marks = self._marks_now()
            self._context = self._load()
        except (OSError, ValueError) as error:  # An ssl.SSLError is one, too.
            names = ", ".join(map(str, settings.files))
            raise InvalidValue(
                f"TLS with bookies cannot be set up with {names}: {error}: bookkeeperTLS... name "
                "a certificate, its key and the authorities, in PEM"
            ) from error

    def context(self) -> ssl.SSLContext:
        """What the files say now; where they cannot be used, what they said before."""
        try:
            marks = self._marks_now()
            if marks != self._marks:
                self._context, self._marks = self._load(), marks
        except (OSError, ValueError) as error:
            log.warning("bookie.tls_files_unusable error=%s, the last ones hold", error)
        return self._context

    def _marks_now(self) -> list[tuple[int, int]]:
        stats = [file.stat() for file in self._settings.files]
        return [(stat.st_mtime_ns, stat.st_size) for stat in stats]

    def _load(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.create_default_context(cafile=str(settings.trust))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = settings.verify_hostname
        if settings.certificate is not None:
            # A key that is encrypted must not ask for its password on the terminal.
            file = settings.key_password
            password = b"" if file is None else file.read_bytes().strip()
            context.load_cert_chain(settings.certificate, settings.key, password=lambda: password)
        return context


def trouble(error: OSError) -> str:
    """Why TLS with a bookie did not come about, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return (
                f"its certificate is for another name ({error.verify_message}): let it advertise "
                "that name, or set bookkeeper_tlsHostnameVerificationEnabled=false"
            )
        return (
            f"its certificate is not trusted ({error.verify_message}): "
            "bookkeeperTLSTrustCertsFilePath names a file with the authorities to trust"
        )
    return f"no TLS with it ({str(error) or 'it hung up'}): does it trust our certificate"
