"""Keys of encryption, and what a message says of its own."""

import pytest

from magnetar import compat
from magnetar.client.message import EncryptionContext
from magnetar.compat.crypto import CryptoKeyReader
from magnetar.message.metadata import EncryptedKey


def test_a_key_reader_reads_one_pair_for_every_name(tmp_path):
    (tmp_path / "public").write_bytes(b"shown")
    (tmp_path / "private").write_bytes(b"hidden")
    reader = CryptoKeyReader(str(tmp_path / "public"), str(tmp_path / "private")).cryptoKeyReader
    assert reader.public_key("any").pem == b"shown"
    assert reader.private_key("any", {}).pem == b"hidden"
    with pytest.raises(ValueError, match="private_key_path"):
        CryptoKeyReader("x", None)


def test_a_context_says_how_a_message_was_encrypted():
    ours = EncryptionContext(
        (EncryptedKey("k", b"xyz", {"version": "1"}),), b"iv", "", 1, 77, 0, decrypted=False
    )
    context = compat.EncryptionContext(ours)
    [key] = context.keys()
    assert (key.key, key.value, key.metadata) == ("k", b"xyz", {"version": "1"})
    assert (context.param(), context.algorithm()) == (b"iv", "")
    assert context.compression_type() is compat.CompressionType.LZ4
    assert (context.uncompressed_message_size(), context.batch_size()) == (77, -1)
    assert context.is_decryption_failed()
    assert "keys=[EncryptionKey(key=k, value_len=3, metadata={'version': '1'})]" in repr(context)
