"""TLS with a real bookie that lets in who shows a certificate of a role."""

import asyncio
from pathlib import Path

import pulsar
import pytest
import uvloop
from support.bookkeeper import bookkeeper_store, session
from support.certificates import Authority
from support.clusters import cluster_in
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import ConnectionLost, InvalidValue, MagnetarError, StorageError
from magnetar.storage.ledger.bookkeeper.client_tls import TlsSettings
from magnetar.storage.ledger.bookkeeper.inspection import spaces_of_bookies
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.testing.processes import BrokerProcess

ENTRIES = [b"entry %d" % n for n in range(20)]
ONE = {"ensemble_size": 1, "write_quorum": 1, "ack_quorum": 1}
PASSWORD = b"secret"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """An authority, and the certificates of a bookie and of brokers."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority(folder)
    (folder / "password").write_bytes(PASSWORD + b"\n")
    return {
        "trust": authority.file,
        "bookie": authority.issue("bookie", hosts=["127.0.0.1"], unit="0:bookie"),
        "broker": authority.issue("broker", unit="0:broker"),
        "locked": authority.issue("locked", unit="0:broker", password=PASSWORD),
        "nobody": authority.issue("nobody", unit="0:nobody"),
        "others": Authority(folder, "others").file,
        "password": str(folder / "password"),
    }


@pytest.fixture(scope="module")
def secured(files, tmp_path_factory):
    """A bookie that knows the roles of bookies and brokers by their certificates."""
    certificate, key = files["bookie"]
    settings = {
        "tlsProvider": "JDK",
        "tlsProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
        "tlsClientAuthentication": True,
        "tlsKeyStoreType": "PEM",
        "tlsKeyStore": key,
        "tlsCertificatePath": certificate,
        "tlsTrustStoreType": "PEM",
        "tlsTrustStore": files["trust"],
        "bookieAuthProviderFactoryClass": "org.apache.bookkeeper.tls.BookieAuthZFactory",
        "authorizedRoles": "broker,bookie",
    }
    with cluster_in(tmp_path_factory.mktemp("secured"), bookies=1, settings=settings) as cluster:
        yield cluster


def tls(files, shown="broker", trust="trust", **others):
    certificate, key = files[shown] if shown else (None, None)
    return TlsSettings(
        trust=Path(files[trust]),
        certificate=certificate and Path(certificate),
        key=key and Path(key),
        **others,
    )


async def refused(cluster, settings):
    """Why a bookie cannot be read from."""
    async with bookkeeper_store(cluster, tls=settings, **ONE) as store:
        bookie = store._bookies.get(cluster.bookies[0].bookie_id)
        with pytest.raises(MagnetarError) as error:
            await bookie.read(1, 0, 20)
    return error.value


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_ledgers_are_written_and_read_by_mutual_tls(secured, files, loop):
    async def write_and_read():
        async with bookkeeper_store(secured, tls=tls(files), **ONE) as store:
            ledger = await store.create()
            await append(ledger, *run(*ENTRIES))
            await append(ledger, *run(*[bytes(1_000_000)] * 8))
            reader = await store.open(ledger.ledger_id)
            assert await everything(reader) == ENTRIES + [bytes(1_000_000)] * 8
            return ledger.ledger_id

    with asyncio.Runner(loop_factory=loop) as runner:
        ledger_id = runner.run(write_and_read())
    if loop is uvloop.new_event_loop:  # The shell has the bookie's certificate.
        said = secured.shell(
            "readledger", "-ledgerid", str(ledger_id), "-lastentryid", "19", "-msg"
        )
        assert [each for each in ENTRIES if each.decode() not in said] == []


async def test_how_full_a_bookie_is_is_asked_by_tls(secured, files):
    [bookie_id] = [each.bookie_id for each in secured.bookies]
    async with session(secured) as metadata:
        found = await spaces_of_bookies(metadata, BookKeeperSettings(tls=tls(files)))
        assert found[bookie_id].free > 0
        found = await spaces_of_bookies(metadata, BookKeeperSettings())
        assert "EUA" in str(found[bookie_id])


async def test_each_connection_is_by_tls_and_shows_what_the_files_say_then(
    secured, files, tmp_path
):
    shown = [tmp_path / name for name in ("shown.pem", "shown-key.pem")]

    def show(name):
        for file, issued in zip(shown, files[name], strict=True):
            file.write_bytes(Path(issued).read_bytes())

    show("broker")
    settings = TlsSettings(trust=Path(files["trust"]), certificate=shown[0], key=shown[1])
    async with bookkeeper_store(secured, tls=settings, **ONE) as store:
        ledger = await store.create()
        await append(ledger, *run(*ENTRIES))
        reader = await store.open(ledger.ledger_id)
        bookie = store._bookies.get(secured.bookies[0].bookie_id)
        assert await everything(reader) == ENTRIES
        for name in ("broker", "nobody", "broker"):
            show(name)
            bookie.drop(ConnectionLost("it was cut"))
            if name == "broker":
                assert await everything(reader) == ENTRIES
            else:
                with pytest.raises(StorageError):
                    await everything(reader)


async def test_a_key_may_have_a_password(secured, files):
    settings = tls(files, "locked", key_password=Path(files["password"]))
    async with bookkeeper_store(secured, tls=settings, **ONE) as store:
        ledger = await store.create()
        await append(ledger, *run(*ENTRIES))
    with pytest.raises(InvalidValue, match="in PEM"):
        await refused(secured, tls(files, "locked"))


async def test_who_shows_no_certificate_or_another_role_is_not_let_in(secured, files):
    assert isinstance(await refused(secured, tls(files, None)), ConnectionLost)
    said = str(await refused(secured, tls(files, "nobody")))
    assert "answers nobody whom it does not know" in said
    assert "UNAUTHORIZED" in str(await refused(secured, None))
    async with bookkeeper_store(secured, **ONE) as store:
        with pytest.raises(StorageError, match="bookkeeperTLSClientAuthentication"):
            await append(await store.create(), *run("a"))


async def test_a_bookie_that_is_not_trusted_is_told_nothing(secured, files):
    error = await refused(secured, tls(files, trust="others"))
    assert "bookkeeperTLSTrustCertsFilePath" in str(error)


async def test_a_bookie_that_speaks_no_tls_is_told_nothing(cluster, files):
    error = await refused(cluster, tls(files))
    assert "does not speak TLS (EBADREQ): set tlsProviderFactoryClass" in str(error)


def test_a_broker_is_told_by_its_settings(secured, files, tmp_path):
    certificate, key = files["broker"]
    settings = {
        "metadataStoreUrl": f"zk:{secured.zookeeper.address}/{tmp_path.name}",
        "bookkeeperMetadataServiceUri": secured.metadata_service_uri,
        **{
            f"managedLedgerDefault{what}": 1
            for what in ("EnsembleSize", "WriteQuorum", "AckQuorum")
        },
        "bookkeeperTLSClientAuthentication": True,
        "bookkeeperTLSProviderFactoryClass": "org.apache.bookkeeper.tls.TLSContextFactory",
        "bookkeeperTLSTrustCertsFilePath": files["trust"],
        "bookkeeperTLSCertificateFilePath": certificate,
        "bookkeeperTLSKeyFilePath": key,
    }
    with BrokerProcess(tmp_path / "none", settings=settings) as broker:
        client = pulsar.Client(broker.service_url, operation_timeout_seconds=30)
        client.create_producer("t").send(b"by TLS")
        reader = client.create_reader("t", pulsar.MessageId.earliest)
        assert reader.read_next(20_000).data() == b"by TLS"
        client.close()
