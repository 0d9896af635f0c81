"""Keys, as bookies know them; digests are in ``test_entry_format.py``."""

from magnetar.storage.ledger.bookkeeper.digest import master_key

KEY = master_key(b"")


def test_keys_are_made_of_passwords():
    assert KEY.hex() == "850bf1071c5e3d8c24235676f8816ae0cbe2f14f"
    assert master_key(b"secret").hex() == "e793cbc379107648537183605cd361d3bb789a39"
