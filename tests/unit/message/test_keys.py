import pytest

from magnetar.message.keys import decoded_key


@pytest.mark.parametrize(("key", "read"), [(b"aw==", b"k"), (b"AP8=", b"\x00\xff"), (b"", b"")])
def test_a_key_is_read_from_base64(key, read):
    assert decoded_key(key) == read


@pytest.mark.parametrize("key", [b"abc", b"a", b"key!", b"aw==\n", "k\u00e9y=".encode()])
def test_one_that_is_not_base64_stays_as_it_came(key):
    assert decoded_key(key) == key
