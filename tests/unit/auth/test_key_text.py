import base64

import pytest

from magnetar.auth.key_text import file_of, read_key
from magnetar.errors import InvalidValue

KEY = b"\x00\x01 some key \xff"
BASE64 = base64.b64encode(KEY).decode()


def test_a_key_is_written_in_all_of_pulsars_ways(tmp_path):
    file = tmp_path / "a key"
    file.write_bytes(KEY)
    assert read_key("k", f"file://{tmp_path}/a%20key") == KEY
    assert read_key("k", str(file)) == KEY
    assert read_key("k", f"data:;base64,{BASE64}") == KEY
    assert read_key("k", f"data:application/octet-stream;base64,{BASE64}") == KEY
    assert read_key("k", "data:,%00x") == b"\x00x"
    assert read_key("k", BASE64) == KEY


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("file:///no/such", "cannot read /no/such"),
        ("/abc/abcdefg", "cannot read /abc/abcdefg"),
        ("data:;base64", "comma"),
        ("data:;base64,s3cret!", "no base64"),
        ("s3cret!", "neither a file"),
        ("s3cretä", "neither a file"),
    ],
)
def test_what_is_none_of_them_is_refused_and_not_shown(text, reason):
    with pytest.raises(InvalidValue, match=f"^k.*{reason}") as refused:
        read_key("k", text)
    assert "s3cret" not in str(refused.value)


def test_an_empty_file_is_no_key(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(InvalidValue, match="is empty"):
        read_key("k", str(tmp_path / "x"))


def test_content_is_no_file():
    assert file_of("data:,x") is None
    assert file_of("x" * 5000) is None
