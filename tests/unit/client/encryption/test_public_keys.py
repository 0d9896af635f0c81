"""Data keys, also those that Pulsar's Java client encrypted (``tests/golden/encryption``)."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st

from magnetar.client.encryption.data_keys import Decryptor
from magnetar.client.encryption.keys import FileKeyReader
from magnetar.client.encryption.public_keys import decrypt_with, encrypt_for
from magnetar.errors import CryptoFailed
from magnetar.message.metadata import parse

GOLDEN = Path(__file__).parents[3] / "golden" / "encryption"


def pems(key):
    return (
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )


PRIVATE, PUBLIC = pems(ec.generate_private_key(ec.SECP256R1()))
OTHER, _ = pems(ec.generate_private_key(ec.SECP256R1()))


@pytest.mark.parametrize("kind", ["rsa", "curve"])
def test_what_javas_client_encrypted_is_read(kind):
    entry = (GOLDEN / f"{kind}.entry").read_bytes()
    metadata = parse(entry)
    [key] = metadata.encryption.keys
    assert key.metadata == {"version": "1"}
    decryptor = Decryptor(FileKeyReader(private=GOLDEN / f"{kind}.pem"))
    body = entry[metadata.payload_start :]
    assert decryptor.decrypt(metadata.encryption, body) == b"hello from java"


@pytest.mark.parametrize("curve", [ec.SECP256R1, ec.SECP384R1, ec.SECP521R1])
def test_a_data_key_comes_back_whole(curve):
    private, public = pems(ec.generate_private_key(curve()))
    assert decrypt_with(private, encrypt_for(public, bytes(range(32)))) == bytes(range(32))


def test_a_data_key_is_for_one_receiver():
    with pytest.raises(CryptoFailed, match="encrypted for another key"):
        decrypt_with(OTHER, encrypt_for(PUBLIC, bytes(32)))
    rsa = (GOLDEN / "rsa.pem").read_bytes()
    with pytest.raises(CryptoFailed, match="encrypted for another key"):
        decrypt_with(rsa, encrypt_for(PUBLIC, bytes(32)))


@given(data=st.binary(max_size=200))
def test_nothing_that_may_come_does_more_harm(data):
    with pytest.raises(CryptoFailed):
        decrypt_with(PRIVATE, data)


@given(at=st.integers(0, 116), bit=st.integers(0, 7))
def test_a_changed_data_key_is_noticed(at, bit):
    encrypted = bytearray(encrypt_for(PUBLIC, bytes(32)))
    encrypted[at] ^= 1 << bit
    with pytest.raises(CryptoFailed):
        decrypt_with(PRIVATE, bytes(encrypted))


def test_what_is_no_key_is_refused():
    with pytest.raises(CryptoFailed, match="not a public key"):
        encrypt_for(PRIVATE, bytes(32))
    with pytest.raises(CryptoFailed, match="not a private key"):
        decrypt_with(b"", b"")
    private, public = pems(ed25519.Ed25519PrivateKey.generate())
    with pytest.raises(CryptoFailed, match="Ed25519PublicKey is neither an RSA key nor"):
        encrypt_for(public, bytes(32))
    with pytest.raises(CryptoFailed, match="Ed25519PrivateKey is neither an RSA key nor"):
        decrypt_with(private, b"")
