"""When the certificates of a broker's settings end, and which end soon."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.auth.certificates import ends

from .settings.tls import TlsSettings

SOON: Final = timedelta(days=30)
"""A certificate that ends within it is warned of."""


class Expiry(NamedTuple):
    """The certificates of a file: ``end`` is when the file is of no more use."""

    setting: str
    file: Path
    end: datetime

    def left(self, now_ms: int) -> timedelta:
        """How long it holds; nothing, or less, where it does not any more."""
        return self.end - datetime.fromtimestamp(now_ms / 1000, UTC)

    def warning(self, now_ms: int) -> str:
        """What is to be said of it now; empty while there is time."""
        left = self.left(now_ms)
        if left > SOON:
            return ""
        when = f"{self.end:%Y-%m-%d %H:%M:%S} UTC"
        said = f"{self.setting}={self.file}"
        if left <= timedelta():
            return f"{said} ended at {when}: nobody believes it any more"
        return f"{said} ends at {when}, in {_shown(left)}"


def expiries(settings: TlsSettings) -> list[Expiry]:
    """Of the files that can be read: what others see of the rest is said where they are used.

    A chain ends with the first of its certificates, and what is trusted with the last.
    """
    wanted = (
        ("tlsCertificateFilePath", settings.certificate, min),
        ("tlsTrustCertsFilePath", settings.trust, max),
        ("brokerClientCertificateFilePath", settings.client_certificate, min),
        ("brokerClientTrustCertsFilePath", settings.client_trust, max),
    )
    found = []
    for setting, file, which in wanted:
        if file is not None:
            with suppress(OSError, ValueError):
                found.append(Expiry(setting, file, which(ends(file.read_bytes()))))
    return found


def _shown(left: timedelta) -> str:
    if left >= timedelta(days=2):
        return f"{left.days} days"
    return f"{max(1, round(left / timedelta(hours=1)))} hours"
