import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from support.certificates import Authority
from support.clock import ManualClock

from magnetar.broker.server_tls import Expiry, ServerTls, context_of, expiries, openssl_name
from magnetar.broker.settings.tls import TlsSettings
from magnetar.clock import SystemClock
from magnetar.errors import InvalidValue

END = datetime(2030, 5, 1, 12, tzinfo=UTC)
ONE = Expiry("tlsCertificateFilePath", Path("/b.pem"), END)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def settings(authority):
    certificate, key = authority.issue("broker")

    def make(**more):
        return TlsSettings(port=0, certificate=Path(certificate), key=Path(key), **more)

    return make


def test_certificates_of_clients_are_asked_for_only_where_they_can_be_checked(authority, settings):
    trust = Path(authority.file)
    assert context_of(settings()).verify_mode is ssl.CERT_NONE
    assert context_of(settings(trust=trust)).verify_mode is ssl.CERT_OPTIONAL
    strict = context_of(settings(trust=trust, require_certificate=True))
    assert strict.verify_mode is ssl.CERT_REQUIRED
    assert strict.num_tickets == 0  # Nobody comes back with a certificate that is trusted no more.
    assert context_of(settings(trust=trust, insecure=True)).verify_mode is ssl.CERT_NONE


def test_versions_and_ciphers_are_those_that_are_set(settings):
    context = context_of(settings())
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    context = context_of(settings(protocols=("TLSv1.3",)))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    named = ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES256-GCM-SHA384")
    names = [each["name"] for each in context_of(settings(ciphers=named)).get_ciphers()]
    older = [name for name in names if not name.startswith("TLS_")]
    assert older == ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384"]
    newer = context_of(settings(ciphers=("TLS_AES_128_GCM_SHA256",)))
    assert newer.minimum_version is ssl.TLSVersion.TLSv1_3
    with pytest.raises(InvalidValue, match="there is no cipher NONE-SUCH"):
        context_of(settings(ciphers=(*named, "NONE-SUCH")))


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
        ("AES128-SHA", "AES128-SHA"),
    ],
)
def test_javas_names_of_ciphers_are_known(java, openssl):
    assert openssl_name(java) == openssl


def test_files_that_cannot_be_used_stop_the_start(authority, settings, tmp_path):
    good = settings()
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("rubbish")
    locked = tmp_path / "locked.pem"
    key = serialization.load_pem_private_key(good.key.read_bytes(), None)
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"x"),
        )
    )
    other = Path(authority.issue("other")[1])
    for certificate, key, reason in [
        (Path("/no.pem"), good.key, "tlsCertificateFilePath: cannot read /no.pem"),
        (good.certificate, Path("/no.pem"), "tlsKeyFilePath: cannot read /no.pem"),
        (good.certificate, rubbish, "no certificate and its key"),
        (rubbish, good.key, "no certificate and its key"),
        (good.certificate, other, "MISMATCH"),
        (good.certificate, locked, "without a password"),
    ]:
        with pytest.raises(InvalidValue, match=reason):
            context_of(TlsSettings(port=0, certificate=certificate, key=key))
    for trust in (rubbish, Path("/no.pem")):
        with pytest.raises(InvalidValue, match="tlsTrustCertsFilePath"):
            context_of(settings(trust=trust))


def test_renewed_files_are_for_the_next_connection(tmp_path, caplog):
    authority = Authority(tmp_path)
    certificate, key = map(Path, authority.issue("broker"))
    tls = ServerTls(TlsSettings(port=0, certificate=certificate, key=key), SystemClock())
    first = tls.context.current
    tls.renew()
    assert tls.context.current is first
    key.write_text("half written")
    for _ in range(2):
        tls.renew()
        assert tls.context.current is first
    assert caplog.text.count("tls.not_renewed") == 1
    authority.issue("broker")
    tls.renew()
    assert tls.context.current is not first
    assert "tls.renewed" in caplog.text


async def test_a_certificate_that_ends_soon_is_warned_of_once_for_each_that_is_read(
    tmp_path, caplog
):
    authority, clock = Authority(tmp_path), ManualClock(SystemClock().wall_ms() / 1000)
    certificate, key = map(Path, authority.issue("broker", lasts=timedelta(days=40)))
    settings = TlsSettings(port=0, certificate=certificate, key=key, refresh_check_s=3600)
    tls = ServerTls(settings, clock)
    watch = asyncio.ensure_future(tls.keep_current())
    await clock.until_asleep()
    assert "tls.certificate_expires" not in caplog.text
    await clock.advance(11 * 86_400)
    said = f"tls.certificate_expires tlsCertificateFilePath={certificate} ends at "
    assert caplog.text.count(said) == 1
    assert "in 29 days" in caplog.text
    await clock.advance(30 * 86_400)
    assert caplog.text.count(f"{certificate} ended at ") == 1
    caplog.clear()
    authority.issue("broker", lasts=timedelta(days=1))
    await clock.advance(3600)
    assert "tls.renewed" in caplog.text
    assert caplog.text.count(f"{certificate} ended at ") == 1
    authority.issue("broker", lasts=timedelta(days=99))
    caplog.clear()
    await clock.advance(3600)
    assert "tls.renewed" in caplog.text
    assert "tls.certificate_expires" not in caplog.text
    watch.cancel()


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (timedelta(days=31), ""),
        (timedelta(days=29, hours=1), "ends at 2030-05-01 12:00:00 UTC, in 29 days"),
        (timedelta(hours=5), "ends at 2030-05-01 12:00:00 UTC, in 5 hours"),
        (timedelta(0), "ended at 2030-05-01 12:00:00 UTC: nobody believes it any more"),
        (-timedelta(days=3), "ended at 2030-05-01 12:00:00 UTC: nobody believes it any more"),
    ],
)
def test_it_is_warned_of_within_a_month_and_afterwards(before, said):
    warning = ONE.warning(round((END - before).timestamp() * 1000))
    assert warning == (said and f"tlsCertificateFilePath=/b.pem {said}")


def test_a_chain_ends_with_the_first_and_trust_with_the_last(tmp_path):
    authority = Authority(tmp_path)
    short, _ = authority.issue("short", lasts=timedelta(days=5))
    long, _ = authority.issue("long", lasts=timedelta(days=50))
    both, rubbish = tmp_path / "both.pem", tmp_path / "rubbish.pem"
    both.write_bytes(Path(short).read_bytes() + Path(long).read_bytes())
    rubbish.write_text("none")
    settings = TlsSettings(certificate=both, trust=both, client_certificate=rubbish)
    days = {
        one.setting: round((one.end - datetime.now(UTC)) / timedelta(days=1))
        for one in expiries(settings)
    }
    assert days == {"tlsCertificateFilePath": 5, "tlsTrustCertsFilePath": 50}
