"""Whom a client's certificate names, which TLS has verified. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any


def common_name(certificate: Mapping[str, Any] | None) -> str | None:
    """The common name of a certificate, as Python's ssl decodes it; None where there is none.

    Of several it is the last, the most specific, which is the first that Pulsar sees.
    """
    if not certificate:
        return None
    subject: Iterable[Iterable[tuple[str, str]]] = certificate.get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    names = [name for name in names if name.strip()]
    return names[-1] if names else None
