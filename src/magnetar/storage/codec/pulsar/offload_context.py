"""Where the copy of an offloaded ledger is, in Pulsar's OffloadContext. Pure.

A copy of ours says in its driver's properties at which ``url`` it is. One that a broker of
Pulsar's made has another format: it is kept in the record, and not read. Its ledger is read where
it is, as long as it is at the bookies; nobody deletes the copy.
"""

from typing import Final
from uuid import UUID

from magnetar.proto.ManagedLedger_pb2 import OffloadContext as Message
from magnetar.storage.codec.offload_context import OffloadContext

_URL: Final = "url"
_HALF: Final = 2**64


def is_ours(message: Message) -> bool:
    """Whether our offloader made the copy."""
    return any(each.key == _URL for each in message.driverMetadata.properties)


def write_context(message: Message, context: OffloadContext) -> None:
    """Write where a copy of ours is."""
    message.Clear()
    uid = UUID(context.uid).int
    message.uidMsb, message.uidLsb = _signed(uid // _HALF), _signed(uid % _HALF)
    message.complete = context.complete
    message.bookkeeperDeleted = context.local_deleted
    message.timestamp = context.timestamp_ms
    message.driverMetadata.name = context.driver
    for key, value in context.properties.items():
        message.driverMetadata.properties.add(key=key, value=value)


def read_context(message: Message) -> OffloadContext:
    """Read where a copy of ours is."""
    driver = message.driverMetadata
    return OffloadContext(
        UUID(int=message.uidMsb % _HALF * _HALF + message.uidLsb % _HALF).hex,
        driver.name,
        {each.key: each.value for each in driver.properties},
        message.complete,
        message.bookkeeperDeleted,
        message.timestamp,
    )


def _signed(half: int) -> int:
    return half - _HALF if half >= _HALF // 2 else half
