import base64
from pathlib import Path

import pytest
from cryptography import x509
from support.certificates import Authority

from magnetar.auth.certificates import common_name, ends


@pytest.mark.parametrize(
    ("certificate", "name"),
    [
        (None, None),
        ({}, None),
        ({"subject": ((("countryName", "GB"),),)}, None),
        ({"subject": ((("commonName", ""),),)}, None),
        ({"subject": ((("organizationName", "o"),), (("commonName", "me"),))}, "me"),
        ({"subject": ((("commonName", "group"),), (("commonName", "me"),))}, "me"),
    ],
)
def test_the_most_specific_common_name_counts(certificate, name):
    assert common_name(certificate) == name


def test_the_end_of_each_certificate_of_a_file(tmp_path):
    authority = Authority(tmp_path)
    certificate, _ = authority.issue("a")
    pem = b"between them\n".join(Path(file).read_bytes() for file in (certificate, authority.file))
    known = [one.not_valid_after_utc for one in x509.load_pem_x509_certificates(pem)]
    assert ends(pem) == known
    assert ends(b"nothing") == []


@pytest.mark.parametrize("der", [b"", b"\x30", b"\x30\x05abc", b"\x30\x02\x30\x00", b"\x30\x80"])
def test_what_is_no_certificate_is_refused(der):
    pem = b"-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n"
    with pytest.raises(ValueError, match=r"certificate|certificate in DER"):
        ends(pem % (base64.b64encode(der) or b"AAAA"))
