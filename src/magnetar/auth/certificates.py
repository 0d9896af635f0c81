"""Whom a client's certificate names, which TLS has verified, and how long one holds. Pure."""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

_PEM: Final = re.compile(rb"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----(.+?)-----END", re.DOTALL)
_VERSION, _UTC_TIME = 0xA0, 0x17  # Tags of DER.


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


def ends(pem: bytes) -> list[datetime]:
    """When each certificate of a file in PEM ends. Raises ValueError for what is none."""
    return [_end(b64decode(found[1])) for found in _PEM.finditer(pem)]


def _end(der: bytes) -> datetime:
    """The second time of ``validity``, behind what precedes it in RFC 5280's TBSCertificate."""
    try:
        _, certificate = next(_values(der))
        _, signed = next(_values(certificate))
        parts = [value for tag, value in _values(signed) if tag != _VERSION]
        _, (tag, text) = _values(parts[3])  # Behind serial number, signature and issuer.
    except (IndexError, StopIteration) as error:
        raise ValueError("it is no certificate in DER") from error
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC)


def _values(der: bytes) -> Iterator[tuple[int, bytes]]:
    """The tags and contents of what lies one behind the other."""
    at = 0
    while at < len(der):
        tag, size, at = der[at], der[at + 1], at + 2
        if size & 0x80:
            long = size & 0x7F
            size, at = int.from_bytes(der[at : at + long]), at + long
        yield tag, der[at : at + size]
        at += size
