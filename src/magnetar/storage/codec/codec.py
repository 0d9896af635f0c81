"""The contract of a codec: records of the metadata store to bytes and back, for one scale.

Whoever reads or writes a record is given the codec of its scale, and calls no other function for
the bytes. Bytes that cannot be read raise CorruptEntry, which names the ``source`` they come from.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.json_object import Json
from magnetar.storage.codec.ledger_list import LedgerListRecord


class Codec(Protocol):
    """How records look at one scale. It keeps nothing."""

    def encode_ledger_list(self, record: LedgerListRecord) -> bytes: ...

    def decode_ledger_list(self, value: bytes, *, source: str) -> LedgerListRecord:
        """Decode the ledgers of a log; no bytes are a log without ledgers."""

    def encode_cursor(self, state: CursorState, *, name: str) -> bytes:
        """Encode the record of the cursor ``name``, without its position if that is elsewhere."""

    def decode_cursor(self, value: bytes, *, source: str) -> CursorState: ...

    def fits_record(self, state: CursorState, *, name: str) -> bool:
        """Whether a cursor's position may be in its record; else it is kept in a ledger."""

    def encode_position(self, state: CursorState, *, name: str) -> bytes:
        """Encode the position of a cursor, with all that is acknowledged, for its ledger."""

    def decode_position(self, entry: bytes, state: CursorState, *, source: str) -> CursorState:
        """Decode the position in a ledger; ``state`` is what the record of the cursor says."""

    def ranges_size(self, state: CursorState) -> int:
        """Return how many bytes of a cursor's record are its acknowledged ranges."""

    def encode_compacted(self, entry: CompactedEntry) -> tuple[bytes, int]:
        """Encode an entry of a compacted ledger: the bytes to be stored, and their checksum."""

    def decode_compacted(self, stored: bytes) -> CompactedEntry:
        """Decode an entry of a compacted ledger. Raises CorruptEntry."""

    def encode_owner(self, broker: BrokerAddress) -> bytes:
        """Encode the owner of a bundle. All brokers of a cluster write the same bytes for one."""

    def decode_owner(self, value: bytes) -> BrokerAddress:
        """Decode the owner of a bundle. Raises InvalidValue."""

    def encode_deletion(self, topic: TopicName) -> bytes:
        """Encode the note that a topic is being deleted. Its path says which, and is decoded."""

    def encode_object(self, fields: Mapping[str, Any]) -> bytes:
        """Encode what administrators keep: tenants, namespaces, policies."""

    def decode_object(self, value: bytes) -> Json:
        """Decode what administrators keep. Raises InvalidValue."""
