import ssl
from datetime import timedelta

import pytest

from magnetar.tools.certificates import hosts_of, issued, new_authority


def handshake(server, client, name):
    """Both sides of a handshake in memory, to its end."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(6):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert sides[0].version() is not None


@pytest.mark.parametrize("name", ["broker.example.com", "127.0.0.1", "::1"])
def test_who_trusts_the_authority_believes_the_broker_strictly(tmp_path, name):
    authority, authority_key = new_authority("ours")
    hosts = ["broker.example.com", "127.0.0.1", "::1"]
    certificate, key = issued(authority, authority_key, hosts, timedelta(days=1))
    assert hosts_of(certificate) == hosts
    for file, content in (("cert", certificate), ("key", key)):
        (tmp_path / file).write_bytes(content)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    client = ssl.create_default_context(cadata=authority.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    handshake(server, client, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client, "elsewhere.example.com")
    stranger = ssl.create_default_context(cadata=new_authority("theirs")[0].decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, stranger, name)
