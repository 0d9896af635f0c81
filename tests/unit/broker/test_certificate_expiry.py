from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.certificates import Authority

from magnetar.broker.certificate_expiry import Expiry, expiries
from magnetar.broker.settings.tls import TlsSettings

END = datetime(2030, 5, 1, 12, tzinfo=UTC)
ONE = Expiry("tlsCertificateFilePath", Path("/b.pem"), END)


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
