import pytest

from magnetar.client.service_url import ServiceUrl, host_and_port, without_secrets
from magnetar.errors import InvalidValue


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("pulsar://host", ["host:6650"]),
        ("pulsar://host:7000/", ["host:7000"]),
        ("pulsar://a:1,b,c:3", ["a:1", "b:6650", "c:3"]),
        ("pulsar://a,a:6650", ["a:6650"]),
        ("pulsar://[::1]:7000", ["[::1]:7000"]),
        ("pulsar://[::1]", ["[::1]:6650"]),
        ("pulsar+ssl://host", ["host:6651"]),
        ("http://host:8080", ["host:8080"]),
        ("https://host", ["host:443"]),
    ],
)
def test_service_urls_are_read(url, expected):
    read = ServiceUrl.parse(url)
    assert list(read.addresses) == expected
    assert read.tls == url.startswith(("pulsar+ssl", "https"))
    assert read.http == url.startswith("http")
    assert ServiceUrl.parse(str(read)) == read


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6650",
        "ftp://h",
        "pulsar://",
        "pulsar://h:x",
        "pulsar://h:70000",
        "pulsar://::1",
        "pulsar://a b",
        "pulsar://h:6650/path",
        "pulsar://h,,g",
        "pulsar://[h:1",
        "pulsar://:6650",
    ],
)
def test_what_is_no_service_url_is_refused(url):
    with pytest.raises(InvalidValue, match="service URL"):
        ServiceUrl.parse(url)


@pytest.mark.parametrize(
    "url",
    [
        "pulsar://me:s3cret@host:6650",
        "pulsar://host,me:s3cret@other",
        "pulsar://host?token=s3cret",
        "pulsar://host/#s3cret",
        "redis://me:s3cret@host",
        "me:s3cret@host",
    ],
)
def test_secrets_are_refused_and_never_repeated(url):
    with pytest.raises(InvalidValue, match="service URL") as raised:
        ServiceUrl.parse(url)
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in without_secrets(url)


def test_an_address_comes_apart():
    assert host_and_port("host:6650") == ("host", 6650)
    assert host_and_port("[::1]:6651") == ("::1", 6651)
