"""Certificates for tests of TLS, and a broker that speaks it."""

import asyncio
import ipaddress
import ssl
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from magnetar.proto.PulsarApi_pb2 import BaseCommand
from magnetar.tasks import Tasks

HOSTS = ("localhost", "127.0.0.1")
LASTS = timedelta(days=90)  # Long enough that no broker warns of it.


class Authority:
    """Issues certificates; ``file`` has its own, for those who are to trust it."""

    def __init__(self, folder, name="authority"):
        self._folder = folder
        self._name = _name(name)
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._build(self._name, self._key.public_key(), [], authority=True)
        self.file = str(folder / f"{name}.pem")
        (folder / f"{name}.pem").write_bytes(certificate)

    def issue(self, name, hosts=HOSTS, lasts=LASTS, unit=None, password=None):
        """The files of a certificate for ``name``, which is valid for these hosts, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, key_file = self._folder / f"{name}.pem", self._folder / f"{name}-key.pem"
        certificate.write_bytes(
            self._build(_name(name, unit), key.public_key(), hosts, authority=False, lasts=lasts)
        )
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.BestAvailableEncryption(password)
                if password
                else serialization.NoEncryption(),
            )
        )
        return str(certificate), str(key_file)

    def _build(self, subject, public_key, hosts, *, authority, lasts=LASTS):
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + lasts)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_general(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _name(name, unit=None):
    names = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if unit:
        names.append(x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit))
    return x509.Name(names)


def _general(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@asynccontextmanager
async def speaking_tls(service_url, certificate, *, clients_of=None, version=None):
    """A broker's TLS address: a proxy that ends TLS in front of it. Gives ``localhost:port``.

    With ``clients_of``, clients show a certificate of that authority. What a lookup answers is
    completed by this address, as it is by a broker that speaks TLS.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=clients_of)
    context.load_cert_chain(*certificate)
    if clients_of:
        context.verify_mode = ssl.CERT_REQUIRED
    if version:
        context.maximum_version = version
    broker = urlsplit(service_url)
    tasks = Tasks("tls")
    address = ""

    async def serve(reader, writer):
        there, back = await asyncio.open_connection(broker.hostname, broker.port)
        tasks.spawn("out", _relay(reader, back))
        tasks.spawn("in", _relay_answers(there, writer, address))

    server = await asyncio.start_server(serve, "127.0.0.1", ssl=context)
    address = f"localhost:{server.sockets[0].getsockname()[1]}"
    try:
        yield address
    finally:
        server.close()
        await tasks.close()


async def _relay(reader, writer):
    with suppress(OSError):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
    writer.close()


async def _relay_answers(reader, writer, address):
    with suppress(OSError, asyncio.IncompleteReadError):
        while True:
            size = await reader.readexactly(4)
            frame = await reader.readexactly(int.from_bytes(size, "big"))
            length = int.from_bytes(frame[:4], "big")
            command = BaseCommand.FromString(frame[4 : 4 + length])
            if command.type == BaseCommand.LOOKUP_RESPONSE:
                command.lookupTopicResponse.brokerServiceUrlTls = f"pulsar+ssl://{address}"
                body = command.SerializeToString()
                frame = len(body).to_bytes(4, "big") + body
            writer.write(len(frame).to_bytes(4, "big") + frame)
    writer.close()
