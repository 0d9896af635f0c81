import pytest

from magnetar.rest.server import is_own_page


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://localhost:8080", "localhost:8080"),
        ("http://LOCALHOST:8080", "localhost:8080"),
        ("http://127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://[::1]:8080", "[::1]:8080"),
        ("http://10.1.2.3:8080", "10.1.2.3:8080"),
        ("https://broker.example:8443", "broker.example:8443"),
        ("http://broker.example", "broker.example"),
    ],
)
def test_a_page_of_ours_has_the_name_that_it_asks(origin, host):
    assert is_own_page(origin, host, "broker.example")


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://elsewhere", "localhost:8080"),
        ("http://localhost:3000", "localhost:8080"),
        ("http://localhost", "localhost:8080"),
        ("null", "localhost:8080"),
        ("", ""),
        ("http://", ""),
        ("file://", ""),
        ("ftp://localhost:8080", "localhost:8080"),
        ("http://[::1", "[::1"),
    ],
)
def test_a_page_from_elsewhere_has_another(origin, host):
    assert not is_own_page(origin, host, "broker.example")


def test_a_name_that_was_made_to_point_here_is_not_ours():
    assert not is_own_page("http://evil.example:8080", "evil.example:8080", "broker.example")
    assert not is_own_page("http://evil.example:8080", "evil.example:8080", "")
