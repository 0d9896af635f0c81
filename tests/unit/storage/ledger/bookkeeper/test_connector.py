"""Bookies that do not go on by TLS; those that do are in ``tests/contract/test_bookie_tls.py``."""

import asyncio
from pathlib import Path

import pytest
from support.certificates import Authority

from magnetar.errors import ConnectionLost, CorruptEntry
from magnetar.storage.ledger.bookkeeper import v3
from magnetar.storage.ledger.bookkeeper.addresses import Address
from magnetar.storage.ledger.bookkeeper.client_tls import ClientTls, TlsSettings
from magnetar.storage.ledger.bookkeeper.connector import Connector

STARTED = bytes.fromhex("0000000a0a060803100918011000")


@pytest.fixture
def connect(tmp_path):
    """Connects to a bookie that answers with some pieces, and hangs up."""
    tls = ClientTls(TlsSettings(trust=Path(Authority(tmp_path).file)))

    async def connect(*pieces):
        async def answer(reader, writer):
            await reader.readexactly(len(v3.start_tls_frame()))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        try:
            address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
            await Connector(tls).connect(address, asyncio.Protocol())
        finally:
            server.close()

    return connect


async def test_one_that_hangs_up_is_lost(connect):
    with pytest.raises(ConnectionLost, match="closed the connection"):
        await connect()
    with pytest.raises(ConnectionLost, match="closed the connection"):
        await connect(STARTED[:5])
    with pytest.raises(ConnectionLost, match="no TLS with it"):
        await connect(STARTED[:5], STARTED[5:])


async def test_one_that_goes_on_otherwise_is_told(connect):
    with pytest.raises(ConnectionLost, match="no TLS with it"):
        await connect(STARTED, b"0123456789")
    with pytest.raises(CorruptEntry, match="began an answer"):
        await connect(b"HTTP/1.1")
