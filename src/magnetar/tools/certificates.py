"""An authority of one's own, and the certificate that it gives a broker: files in PEM."""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LASTS: Final = timedelta(days=3650)
_SLOW_CLOCKS: Final = timedelta(hours=1)


def new_authority(name: str) -> tuple[bytes, bytes]:
    """The certificate of a new authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    may = _usages(key_cert_sign=True, crl_sign=True)
    subject = _name(name)
    built = _builder(subject, subject, key, key, AUTHORITY_LASTS)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _signed(built.add_extension(may, critical=True), key), _pem(key)


def issued(
    authority: bytes, authority_key: bytes, hosts: Sequence[str], lasts: timedelta
) -> tuple[bytes, bytes]:
    """A certificate for a broker that is reached by ``hosts``, and its new key."""
    ca = x509.load_pem_x509_certificate(authority)
    ca_key: Any = serialization.load_pem_private_key(authority_key, None)
    key = ec.generate_private_key(ec.SECP256R1())
    built = _builder(_name(hosts[0]), ca.subject, key, ca_key, lasts)
    built = built.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    built = built.add_extension(_usages(digital_signature=True), critical=True)
    server = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    names = x509.SubjectAlternativeName([_general(host) for host in hosts])
    built = built.add_extension(server, critical=False).add_extension(names, critical=False)
    return _signed(built, ca_key), _pem(key)


def hosts_of(certificate: bytes) -> list[str]:
    """The names and addresses that a certificate is for."""
    found = x509.load_pem_x509_certificate(certificate)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(one.value) for one in names]


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    ca_key: ec.EllipticCurvePrivateKey,
    lasts: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SLOW_CLOCKS)
        .not_valid_after(now + lasts)
        .add_extension(own, critical=False)
        .add_extension(of_issuer, critical=False)
    )


def _usages(**given: bool) -> x509.KeyUsage:
    names = (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
        *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    )
    return x509.KeyUsage(**{name: given.get(name, False) for name in names})


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _signed(built: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
