"""The broker's side of TLS: its certificate, and what it believes of those of clients."""

import logging
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from magnetar.auth.certificates import ends
from magnetar.auth.watched_file import Mark, mark_of
from magnetar.clock import Clock
from magnetar.errors import InvalidValue

from .settings.tls import TlsSettings

log = logging.getLogger(__name__)
HANDSHAKE_TIMEOUT_S: Final = 10.0
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
SOON: Final = timedelta(days=30)
"""A certificate that ends within it is warned of."""


class ServerTls:
    """A context for every new connection, made of files that may be renewed while it runs."""

    def __init__(self, settings: TlsSettings, clock: Clock) -> None:
        """Read the files. Raises InvalidValue, which names the file and the remedy."""
        self._settings = settings
        self._clock = clock
        self._mark = self._mark_now()
        self.context = RenewedContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = context_of(settings)
        self.expiries = expiries(settings)
        self._warned: set[tuple[Expiry, bool]] = set()  # And whether it had ended.
        self._warn()

    def renew(self) -> None:
        """Read the files again if they changed; what cannot be used changes nothing."""
        mark = self._mark_now()
        if mark == self._mark:
            return
        self._mark = mark
        try:
            self.context.current = context_of(self._settings)
        except InvalidValue as error:
            log.warning("tls.not_renewed what was read before goes on: %s", error)
        else:
            log.warning("tls.renewed certificate=%s", self._settings.certificate)
            self.expiries = expiries(self._settings)
            self._warned.clear()
            self._warn()

    async def keep_current(self) -> None:
        """Look for changed files, and for certificates that end soon, for ever."""
        while self._settings.refresh_check_s:
            await self._clock.sleep(self._settings.refresh_check_s)
            self.renew()
            self._warn()

    def _warn(self) -> None:
        """Log once which certificates end soon, and once which have ended."""
        now_ms = self._clock.wall_ms()
        for one in self.expiries:
            said, told = one.warning(now_ms), (one, one.remaining(now_ms) <= timedelta())
            if said and told not in self._warned:
                self._warned.add(told)
                log.warning("tls.certificate_expires %s: renew it (docs/security.md)", said)

    def _mark_now(self) -> tuple[Mark | None, ...]:
        one = self._settings
        files = (one.certificate, one.key, one.trust, one.client_certificate, one.client_trust)
        return tuple(map(mark_of, files))


class RenewedContext(ssl.SSLContext):
    """Hands every new connection to the context that is current then."""

    current: ssl.SSLContext

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return self.current.wrap_bio(*args, **kwargs)


class _LoggedHandshake(ssl.SSLObject):
    """Says why a client is not let in: asyncio does not, and the client may not hear it either."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            log.info("tls.refused error=%s", _why_not(error))
            raise


def _why_not(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not believed: {error.verify_message}"
    return _why(error)


def context_of(settings: TlsSettings) -> ssl.SSLContext:
    """The files and settings as they are now. Raises InvalidValue."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = _LoggedHandshake
    versions = sorted(_VERSIONS[each] for each in settings.protocols)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    if settings.ciphers:
        _choose_ciphers(context, settings.ciphers)
    assert settings.certificate is not None
    assert settings.key is not None
    _readable("tlsCertificateFilePath", settings.certificate)
    _readable("tlsKeyFilePath", settings.key)
    try:
        context.load_cert_chain(settings.certificate, settings.key, password=_no_password)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise InvalidValue(
            f"tlsCertificateFilePath={settings.certificate} and tlsKeyFilePath={settings.key} are "
            f"no certificate and its key, both in PEM and without a password: {_why(error)}"
        ) from None
    context.verify_mode = ssl.CERT_NONE
    if settings.trust is not None and not settings.insecure:
        _trust(context, settings.trust)
        required = settings.require_certificate
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
        # Who comes back must show a certificate that is trusted then.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def _trust(context: ssl.SSLContext, file: Path) -> None:
    _readable("tlsTrustCertsFilePath", file)
    try:
        context.load_verify_locations(file)
    except (ssl.SSLError, OSError) as error:
        raise InvalidValue(
            f"tlsTrustCertsFilePath={file} has no certificates in PEM: {_why(error)}"
        ) from None


def _readable(setting: str, file: Path) -> None:
    try:
        file.read_bytes()
    except OSError as error:
        raise InvalidValue(f"{setting}: cannot read {file}: {error.strerror}") from None


def _choose_ciphers(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Allow these of TLSv1.2; those of TLSv1.3 are always OpenSSL's, and stand for that version."""
    older = [openssl_name(name) for name in names if not _NEWER.match(name)]
    if not older:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return
    for name in older:
        try:
            context.set_ciphers(name)
        except ssl.SSLError:
            raise InvalidValue(
                f"tlsCiphers: there is no cipher {name}: `openssl ciphers` lists their names"
            ) from None
    context.set_ciphers(":".join(older))


_NEWER: Final = re.compile("TLS_(AES|CHACHA20)_")


def openssl_name(name: str) -> str:
    """``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` as OpenSSL calls it; its own names as they are."""
    if not name.startswith("TLS_"):
        return name
    name = name.removeprefix("TLS_").removeprefix("RSA_WITH_").replace("_WITH_", "_")
    name = re.sub(r"AES_(128|256)", r"AES\1", name).replace("POLY1305_SHA256", "POLY1305")
    return re.sub(r"AES(128|256)_CBC_", r"AES\1_", name).replace("_", "-")


def _no_password() -> NoReturn:
    """OpenSSL would ask at the terminal."""
    raise ValueError("the key has a password")


def _why(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)


class Expiry(NamedTuple):
    """The certificates of a file: ``end`` is when the file is of no more use."""

    setting: str
    file: Path
    end: datetime

    def remaining(self, now_ms: int) -> timedelta:
        """How long it holds; nothing, or less, where it does not any more."""
        return self.end - datetime.fromtimestamp(now_ms / 1000, UTC)

    def warning(self, now_ms: int) -> str:
        """What is to be said of it now; empty while there is time."""
        left = self.remaining(now_ms)
        if left > SOON:
            return ""
        when = f"{self.end:%Y-%m-%d %H:%M:%S} UTC"
        said = f"{self.setting}={self.file}"
        if left <= timedelta():
            return f"{said} ended at {when}: nobody believes it any more"
        return f"{said} ends at {when}, in {_time_left(left)}"


def expiries(settings: TlsSettings) -> list[Expiry]:
    """Those of a broker's own TLS."""
    shown = {
        "tlsCertificateFilePath": settings.certificate,
        "brokerClientCertificateFilePath": settings.client_certificate,
    }
    trusted = {
        "tlsTrustCertsFilePath": settings.trust,
        "brokerClientTrustCertsFilePath": settings.client_trust,
    }
    return expiries_of(shown, trusted)


def expiries_of(
    shown: Mapping[str, Path | None], trusted: Mapping[str, Path | None]
) -> list[Expiry]:
    """Of the files, by setting, that can be read: what others see of the rest is said elsewhere.

    What is shown ends with the first of its certificates, and what is trusted with the last.
    """
    found = []
    for files, which in ((shown, min), (trusted, max)):
        for setting, file in files.items():
            if file is not None:
                with suppress(OSError, ValueError):
                    found.append(Expiry(setting, file, which(ends(file.read_bytes()))))
    return found


def _time_left(left: timedelta) -> str:
    if left >= timedelta(days=2):
        return f"{left.days} days"
    return f"{max(1, round(left / timedelta(hours=1)))} hours"
