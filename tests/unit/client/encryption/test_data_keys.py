import pytest
from support.keys import write_keys

from magnetar.client.encryption import data_keys
from magnetar.client.encryption.data_keys import RENEWAL_S, Decryptor, Encryptor, open_encryptor
from magnetar.client.encryption.keys import EncryptionKey, FileKeyReader
from magnetar.errors import CryptoFailed
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse


class Keys(FileKeyReader):
    """Counts how often it is asked, and may fail."""

    def __init__(self, folder):
        super().__init__(public=folder / "{name}.public.pem", private=folder / "{name}.private.pem")
        self.asked = 0
        self.lost = False

    def public_key(self, name):
        self.asked += 1
        if self.lost:
            raise OSError("the key server is gone")
        return EncryptionKey(super().public_key(name).pem, {"version": str(self.asked)})

    def private_key(self, name, metadata):
        self.asked += 1
        return super().private_key(name, metadata)


class Desk:
    def __init__(self, keys, *names):
        self.now = 0.0
        self.encryptor = Encryptor(names, keys, lambda: self.now)

    def encrypted(self, payload=b"payload"):
        """The encryption that an entry tells of, and the encrypted payload."""
        sealed, secret = self.encryptor.encrypt(payload)
        head = build("p", 0, 0)
        entry = join(head + secret, sealed)
        assert len(entry) == len(join(head, payload)) + self.encryptor.overhead
        assert len(sealed) == len(payload) + self.encryptor.tag_size
        return parse(entry).encryption, sealed


@pytest.fixture
def keys(tmp_path):
    write_keys(tmp_path, "a", "b", curve=True)
    return Keys(tmp_path)


def test_no_two_entries_have_the_same_initialisation_vector(keys):
    desk = Desk(keys, "a")
    (first, sealed), (second, again) = desk.encrypted(), desk.encrypted()
    assert first.keys == second.keys
    assert first.param != second.param
    assert sealed != again
    assert keys.asked == 1


def test_every_four_hours_there_is_another_data_key_for_the_public_keys_of_then(keys, caplog):
    desk = Desk(keys, "a")
    first, _ = desk.encrypted()
    desk.now = RENEWAL_S
    second, sealed = desk.encrypted()
    assert first.keys[0].value != second.keys[0].value
    assert second.keys[0].metadata == {"version": "2"}
    assert Decryptor(keys).decrypt(second, sealed) == b"payload"
    keys.lost = True
    desk.now = 2 * RENEWAL_S
    third, _ = desk.encrypted()
    assert third.keys == second.keys
    assert "producer.data_key_not_renewed" in caplog.text
    desk.encrypted()
    assert keys.asked == 4


def test_a_receiver_asks_once_for_each_data_key(keys, monkeypatch):
    monkeypatch.setattr(data_keys, "DATA_KEYS_MAX", 1)
    decryptor = Decryptor(keys)
    encryption, sealed = Desk(keys, "a").encrypted()
    keys.asked = 0
    for _ in range(3):
        assert decryptor.decrypt(encryption, sealed) == b"payload"
    assert keys.asked == 1
    assert decryptor.decrypt(*Desk(keys, "b").encrypted()) == b"payload"
    keys.asked = 0
    assert decryptor.decrypt(encryption, sealed) == b"payload"
    assert keys.asked == 1  # There was room for one.


def test_one_key_of_several_is_enough(keys, tmp_path):
    (tmp_path / "a.private.pem").unlink()
    assert Decryptor(keys).decrypt(*Desk(keys, "a", "b").encrypted()) == b"payload"


def test_what_does_not_fit_is_said_of_each_key(keys, tmp_path):
    encryption, sealed = Desk(keys, "a", "b").encrypted()
    (tmp_path / "a.private.pem").unlink()
    changed = bytes([sealed[0] ^ 1]) + sealed[1:]
    with pytest.raises(CryptoFailed, match=r"no private key of 'a'.*; 'b' does not fit"):
        Decryptor(keys).decrypt(encryption, changed)


def test_without_its_key_a_producer_is_refused_or_sends_in_clear(keys, caplog):
    def made(**options):
        return open_encryptor(("nobody",), keys, lambda: 0.0, **options)

    with pytest.raises(CryptoFailed, match="no public key of 'nobody'"):
        made(required=True)
    assert made(required=False) is None
    assert "producer.sends_in_clear" in caplog.text
    assert open_encryptor((), None, lambda: 0.0, required=True) is None
