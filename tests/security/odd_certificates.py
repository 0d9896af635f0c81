"""Certificates of clients with which something is wrong."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

NOW = datetime.now(UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def names(*common_names):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each) for each in common_names])


class Signer:
    """Signs certificates as an authority does that does not look."""

    def __init__(self, name="authority", signed_by=None):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = names(name)
        by = signed_by or self
        self.certificate = by.sign(self._name, self._key.public_key(), authority=True)

    def sign(
        self,
        subject,
        public_key,
        *,
        authority=False,
        begins=NOW - HOUR,
        ends=NOW + DAY,
        hosts=(),
    ):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            alternative = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(alternative, critical=False)
        return builder.sign(self._key, hashes.SHA256())


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def odd_certificates(folder, signer):
    """A file with certificate and key for each thing that may be wrong, by its name."""
    stranger = Signer("stranger")
    between = Signer("between", signed_by=signer)
    lone = Signer("root")
    usual = ec.generate_private_key(ec.SECP256R1())
    short = rsa.generate_private_key(65537, 1024)
    key = usual.public_key()
    shown = {
        "usual": signer.sign(names("orders"), key),
        "expired": signer.sign(names("root"), key, begins=NOW - DAY, ends=NOW - HOUR),
        "not yet valid": signer.sign(names("root"), key, begins=NOW + HOUR),
        "of another authority": stranger.sign(names("root"), key),
        "self-signed": lone.certificate,
        "of an authority that is not shown": between.sign(names("root"), key),
        "a key too short": signer.sign(names("root"), short.public_key()),
        "no name": signer.sign(x509.Name([]), key),
        "another name only": signer.sign(x509.Name([]), key, hosts=["root"]),
        "an empty name": signer.sign(names(" "), key),
        "two names": signer.sign(names("root", "orders"), key),
        "letters of elsewhere": signer.sign(names("заказы 注文"), key),
        "a line end": signer.sign(names("orders\nconnection.signed_in role=root"), key),
        "a zero": signer.sign(names("root\0orders"), key),
        "writing backwards": signer.sign(names("orders\u202etoor"), key),
    }
    clients_key = ec.generate_private_key(ec.SECP256R1())
    client = signer.sign(names("orders"), clients_key.public_key())
    shown["of a client's certificate"] = _signed_by_a_client(client, clients_key, key)
    keys = {"a key too short": short, "self-signed": lone._key}
    files = {}
    for name, certificate in shown.items():
        files[name] = str(folder / f"{name}.pem")
        secret = keys.get(name, usual).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        chain = pem(client) if name == "of a client's certificate" else b""
        (folder / f"{name}.pem").write_bytes(pem(certificate) + chain + secret)
    return files


def _signed_by_a_client(client, clients_key, key):
    """Who has a certificate makes another."""
    return (
        x509.CertificateBuilder()
        .subject_name(names("root"))
        .issuer_name(client.subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - HOUR)
        .not_valid_after(NOW + DAY)
        .sign(clients_key, hashes.SHA256())
    )
