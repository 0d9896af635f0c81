"""TLS as the client's settings want it: which certificates to trust, and which to show."""

import logging
import ssl
from pathlib import Path
from typing import Final

from magnetar.client.config import ClientConfig
from magnetar.errors import InvalidValue

log = logging.getLogger(__name__)

# What a broker says of a client whose certificate it does not take.
_CERTIFICATE_ALERTS: Final = ("CERTIFICATE_REQUIRED", "ALERT_BAD_CERTIFICATE", "ALERT_UNKNOWN_CA")
_OTHER_NAME: Final = {62, 64}  # X509_V_ERR_HOSTNAME_MISMATCH and ..._IP_ADDRESS_MISMATCH.


class Tls:
    """The settings, and the files that they name: read again when they have changed."""

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        named = (config.tls_trust_certs_file, *config.certificate)
        self._files = [Path(file) for file in named if file]
        self._context: ssl.SSLContext | None = None
        self._read: list[tuple[int, int]] = []

    def context(self) -> ssl.SSLContext:
        """Raises InvalidValue when a file cannot be used; later on the last good ones hold."""
        try:
            read = [(stat.st_mtime_ns, stat.st_size) for stat in map(Path.stat, self._files)]
            if self._context is None or read != self._read:
                self._context = self._load()
                self._read = read
        except OSError as error:  # An ssl.SSLError is one, too.
            if self._context is None:
                names = ", ".join(map(str, self._files))
                raise InvalidValue(f"TLS cannot be set up with {names}: {error}") from error
            log.warning("client.tls_files_unusable error=%s, the last ones hold", error)
        return self._context

    @property
    def hint(self) -> str:
        """What to ask oneself when the broker hangs up. Not every broker says what it misses."""
        shown = self._config.certificate[0]
        return f"does it trust {shown}" if shown else "does it want a client certificate"

    def _load(self) -> ssl.SSLContext:
        config = self._config
        context = ssl.create_default_context(cafile=config.tls_trust_certs_file)
        context.minimum_version = ssl.TLSVersion[config.tls_minimum_version.replace(".", "_")]
        context.check_hostname = config.tls_verify_hostname and not config.tls_allow_insecure
        if config.tls_allow_insecure:
            context.verify_mode = ssl.CERT_NONE
        certificate_file, key_file = config.certificate
        if certificate_file:
            # An encrypted key must not ask for its password on the terminal.
            context.load_cert_chain(certificate_file, key_file, password=_no_password)
        return context


def _no_password() -> bytes:
    return b""


def trouble(error: OSError, plain: str = "pulsar://") -> str:
    """Why TLS with a broker did not come about, and what to do; ``plain`` is the other scheme."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return (
                f"its certificate is for another name ({error.verify_message}): connect under that "
                "name, or set tls_verify_hostname=False"
            )
        return (
            f"its certificate is not trusted ({error.verify_message}): tls_trust_certs_file names "
            "a file with the certificates to trust"
        )
    why = str(error) or "it hung up"
    return f"no TLS with it ({why}): is its port for {plain}, or its version too old?"


def refuses_certificate(error: Exception | None) -> bool:
    """Whether the broker hung up because of the client's certificate, or for want of one."""
    reason = str(getattr(error, "reason", "")) if isinstance(error, ssl.SSLError) else ""
    return any(alert in reason for alert in _CERTIFICATE_ALERTS)
