from magnetar.model.position import Position
from magnetar.proto.ManagedLedger_pb2 import ManagedCursorInfo, ManagedLedgerInfo
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.ledger_list import LedgerListRecord
from magnetar.storage.codec.pulsar_codec import PulsarCodec


def test_logs_and_cursors_are_pulsars_messages():
    codec = PulsarCodec()
    value = codec.encode_ledger_list(LedgerListRecord(open_id=4))
    assert ManagedLedgerInfo.FromString(value).ledgerInfo[0].ledgerId == 4
    value = codec.encode_cursor(CursorState(Position(4, 7)), name="s")
    assert ManagedCursorInfo.FromString(value).markDeleteEntryId == 7
