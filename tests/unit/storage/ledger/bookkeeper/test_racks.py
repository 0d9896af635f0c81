"""The record of racks, as Pulsar writes it; groups are in ``test_placement.py``."""

import pytest

from magnetar.errors import InvalidValue
from magnetar.storage.ledger.bookkeeper.racks import Racks, decode_racks


def test_racks_are_read_by_bookie():
    record = (
        b'{"default": {"b:1": {"rack": "/r1", "hostname": "one"}, "b:2": {"rack": "r2"}},'
        b' "other": {"b:3": {"rack": "/east/r1/"}, "b:4": {"rack": "/"}, "b:5": {"rack": null}}}'
    )
    found = decode_racks(record)
    assert found.by_bookie == {"b:1": "/r1", "b:2": "/r2", "b:3": "/east/r1"}
    assert found.groups == {"default": {"b:1", "b:2"}, "other": {"b:3", "b:4", "b:5"}}
    assert found.among(["b:1", "b:4", "b:5", "b:6"]) == {"/r1", ""}


@pytest.mark.parametrize("record", [b"", b"{}"])
def test_there_may_be_none(record):
    assert decode_racks(record) == Racks({}, {})


@pytest.mark.parametrize(
    "record", [b"{", b"[]", b'{"a": 5}', b'{"a": {"b": 5}}', b'{"a": {"b": {"rack": 5}}}', b"\xff"]
)
def test_what_is_no_such_record_is_refused(record):
    with pytest.raises(InvalidValue, match="racks of bookies"):
        decode_racks(record)
