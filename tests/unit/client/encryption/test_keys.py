import pytest

from magnetar.client.encryption.keys import EncryptionKey, FileKeyReader
from magnetar.errors import InvalidValue


def test_a_key_is_read_from_the_file_of_its_name(tmp_path):
    (tmp_path / "a.pub").write_bytes(b"public")
    (tmp_path / "key").write_bytes(b"private")
    reader = FileKeyReader(public=tmp_path / "{name}.pub", private=tmp_path / "key")
    assert reader.public_key("a") == EncryptionKey(b"public")
    assert reader.private_key("a", {"version": "1"}) == EncryptionKey(b"private", {"version": "1"})
    with pytest.raises(FileNotFoundError, match=r"b\.pub"):
        reader.public_key("b")


@pytest.mark.parametrize("name", ["../a", "/etc/a", "", ".", "..", "a/b", "a\0"])
def test_a_name_that_came_with_a_message_leads_nowhere_else(tmp_path, name):
    reader = FileKeyReader(private=tmp_path / "{name}")
    with pytest.raises(InvalidValue, match="no name of a key"):
        reader.private_key(name, {})


def test_who_knows_no_keys_of_a_kind_says_so():
    with pytest.raises(InvalidValue, match="knows no private keys"):
        FileKeyReader(public="x").private_key("a", {})
    with pytest.raises(InvalidValue, match="knows no public keys"):
        FileKeyReader(private="x").public_key("a")
