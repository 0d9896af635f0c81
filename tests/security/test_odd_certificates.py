"""Certificates with which something is wrong, shown to a real listener over both protocols."""

import asyncio
import logging
import ssl

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from security.odd_certificates import Signer, names, odd_certificates, pem
from support.tokens import PROVIDER
from unit.broker.peer import command

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

IN = {"usual": "orders", "two names": "orders", "letters of elsewhere": "заказы 注文"}
"""Who is let in, and as whom."""
NOT_SEEN = "characters that cannot be seen"
CAUSES = {
    "expired": "certificate has expired",
    "not yet valid": "certificate is not yet valid",
    "of another authority": "unable to get local issuer certificate",
    "self-signed": "self-signed certificate",
    "of an authority that is not shown": "unable to get local issuer certificate",
    "of a client's certificate": "invalid CA certificate",
    "a key too short": "too weak",
    "no name": "no certificate with a common name was shown",
    "another name only": "no certificate with a common name was shown",
    "an empty name": "no certificate with a common name was shown",
    "a line end": NOT_SEEN,
    "a zero": NOT_SEEN,
    "writing backwards": NOT_SEEN,
}
"""What the log says of the others."""


@pytest.fixture
def signer():
    return Signer()


def settings(folder, signer):
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = signer.sign(names("localhost"), key.public_key(), hosts=["localhost"])
    (folder / "broker.pem").write_bytes(pem(certificate))
    (folder / "broker-key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (folder / "trusted.pem").write_bytes(pem(signer.certificate))
    return {
        "brokerServicePortTls": 0,
        "webServicePortTls": 0,
        "advertisedAddress": "localhost",
        "tlsCertificateFilePath": folder / "broker.pem",
        "tlsKeyFilePath": folder / "broker-key.pem",
        "tlsTrustCertsFilePath": folder / "trusted.pem",
        "authenticationEnabled": "true",
        "authenticationProviders": PROVIDER + "Tls",
        "authorizationEnabled": "true",
        "superUserRoles": "root",
    }


def shows(folder, file):
    context = ssl.create_default_context(cafile=folder / "trusted.pem")
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.load_cert_chain(file)
    return context


async def ask(port, context):
    """Connect and say CONNECT. Brings the connection, and the answer."""
    stream = await asyncio.open_connection("localhost", port, ssl=context)
    stream[1].write(command("connect", client_version="t", auth_method_name="tls"))
    try:
        return stream, await answer(stream[0])
    except (OSError, EOFError):
        stream[1].close()
        raise


async def answer(reader):
    frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    return pb.BaseCommand.FromString(frame[4:])


async def let_in_by_commands(port, context):
    try:
        (_, writer), said = await ask(port, context)
    except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
        return False
    writer.close()
    return said.HasField("connected")


async def let_in_by_http(url, context):
    connector = aiohttp.TCPConnector(ssl=context)
    try:
        async with (
            aiohttp.ClientSession(url, connector=connector) as http,
            http.get("/admin/v2/clusters") as answer,
        ):
            return answer.status == 200
    except (aiohttp.ClientError, ssl.SSLError, ConnectionError):
        return False


async def test_each_is_refused_with_its_cause_and_nobody_else_notices(tmp_path, signer, caplog):
    caplog.set_level(logging.INFO)
    files = odd_certificates(tmp_path, signer)
    assert files.keys() == IN.keys() | CAUSES.keys()
    async with LocalBroker(settings=settings(tmp_path, signer)) as broker:
        port, web_port = broker.broker.port_tls, broker.broker.web_port_tls
        (reader, writer), _ = await ask(port, shows(tmp_path, files["usual"]))
        for name, file in files.items():
            caplog.clear()
            context = shows(tmp_path, file)
            found = (
                await let_in_by_commands(port, context),
                await let_in_by_http(f"https://localhost:{web_port}", context),
            )
            assert found == (name in IN, name in IN), name
            said = [record.getMessage() for record in caplog.records]
            assert not any("\n" in line for line in said), said
            if name in IN:
                assert any(f"role={IN[name]} " in line for line in said), said
            else:
                known = (CAUSES[name], "no credentials were shown")
                why = [line for line in said if any(each in line for each in known)]
                assert len(why) >= 2, (name, said)  # One of each protocol.
                assert not any("Traceback" in line or "signed_in" in line for line in said), said
        writer.write(command("ping"))
        assert (await answer(reader)).HasField("pong")
        writer.close()
