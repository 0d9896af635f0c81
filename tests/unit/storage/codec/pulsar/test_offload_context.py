import pytest

from magnetar.proto.ManagedLedger_pb2 import OffloadContext as Message
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.codec.pulsar.offload_context import is_ours, read_context, write_context


@pytest.mark.parametrize("uid", ["0" * 32, "f" * 32, "0123456789abcdeffedcba9876543210"])
def test_a_context_comes_back_in_pulsars_fields(uid):
    context = OffloadContext(uid, "filesystem", {"url": "file:///srv", "name": "7"}, True, False, 9)
    message = Message()
    message.driverMetadata.properties.add(key="left", value="over")
    write_context(message, context)
    assert is_ours(message)
    assert read_context(message) == context
    assert message.driverMetadata.name == "filesystem"


def test_a_uid_is_two_signed_halves_as_in_java():
    message = Message()
    write_context(message, OffloadContext("8000000000000000" + "0000000000000001", "s3"))
    assert (message.uidMsb, message.uidLsb) == (-(2**63), 1)


def test_a_copy_without_a_url_is_none_of_ours():
    assert not is_ours(Message())
