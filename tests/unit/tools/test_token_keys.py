import stat
from datetime import timedelta

import pytest

from magnetar.auth.key_set import read_key_set
from magnetar.errors import InvalidValue
from magnetar.tools.token_keys import (
    key_set,
    new_pair,
    new_secret,
    private_key,
    replace,
    span_of,
    write_new,
)


def test_a_file_with_a_secret_is_new_and_its_owners_only(tmp_path):
    file = tmp_path / "key"
    write_new(file, b"secret")
    assert file.read_bytes() == b"secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(InvalidValue, match="is there already"):
        write_new(file, b"other")
    assert file.read_bytes() == b"secret"
    with pytest.raises(InvalidValue, match="cannot write"):
        write_new(tmp_path / "no" / "key", b"")


def test_a_file_is_replaced_at_once_and_stays_its_owners(tmp_path):
    file = tmp_path / "key"
    file.write_bytes(b"old")
    replace(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidValue, match="cannot write"):
        replace(tmp_path / "folder", b"new")
    assert {each.name for each in tmp_path.iterdir()} == {"key", "folder"}


def test_a_set_of_keys_is_one_that_a_broker_reads():
    publics = {kid: new_pair(kid)[1] for kid in ("RS256", "ES256", "ES512")}
    found = read_key_set(key_set(publics))
    assert [kid for kid, _ in found] == list(publics)
    assert [kid in key.algorithms for kid, key in found] == [True] * 3
    with pytest.raises(InvalidValue, match="the key bad is no public key"):
        key_set({"bad": b"none"})


def test_a_secret_has_the_bytes_of_its_algorithm():
    assert [len(new_secret(each)) for each in ("HS256", "HS384", "HS512")] == [32, 48, 64]


@pytest.mark.parametrize("algorithm", ["RS256", "ES384"])
def test_a_private_key_is_read_back(algorithm):
    private, _ = new_pair(algorithm)
    assert private_key(private).key_size == {"RS256": 2048, "ES384": 384}[algorithm]
    with pytest.raises(InvalidValue):
        private_key(private[1:])


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90", timedelta(seconds=90)),
        ("10m", timedelta(minutes=10)),
        ("12H", timedelta(hours=12)),
        ("30d", timedelta(days=30)),
        ("2w", timedelta(weeks=2)),
        ("1y", timedelta(days=365)),
    ],
)
def test_how_long_a_token_holds(text, span):
    assert span_of(text) == span
    for odd in ("", "d", "-1d", "1.5h", "1 month"):
        with pytest.raises(InvalidValue):
            span_of(odd)
