"""The handler of consumers' commands where traces are on: a delivery ends with what is said of it.

Sessions are ``TracedSession``s there.
"""

from collections.abc import Coroutine

from magnetar.broker.session import Session
from magnetar.broker.tracing.traced_session import TracedSession
from magnetar.model.position import Position
from magnetar.wire.acks import AckRun
from magnetar.wire.commands import (
    CommandAck,
    CommandCloseConsumer,
    CommandRedeliverUnacknowledgedMessages,
)

from .consume import CUMULATIVE, ConsumeHandler


class TracedConsumeHandler(ConsumeHandler):
    """Tells the session what its client says of what it was sent."""

    def on_acks(self, session: Session, acks: AckRun) -> None:
        super().on_acks(session, acks)
        for ledger_id, entry_ids in acks.entry_ids.items():
            _traced(session).acknowledged(acks.consumer_id, ledger_id, entry_ids)

    def on_ack(self, session: Session, command: CommandAck) -> Coroutine[None, None, None] | None:
        answer = super().on_ack(session, command)
        for one in command.message_id:
            if any(one.ack_set):
                continue  # Messages of the batch are left.
            if command.ack_type == CUMULATIVE:
                position = Position(one.ledgerId, one.entryId)
                _traced(session).acknowledged_up_to(command.consumer_id, position)
            else:
                _traced(session).acknowledged(command.consumer_id, one.ledgerId, [one.entryId])
        return answer

    def on_redeliver(
        self, session: Session, command: CommandRedeliverUnacknowledgedMessages
    ) -> Coroutine[None, None, None] | None:
        positions = [Position(one.ledgerId, one.entryId) for one in command.message_ids]
        _traced(session).given_back(command.consumer_id, positions or None)
        return super().on_redeliver(session, command)

    def on_close_consumer(
        self, session: Session, command: CommandCloseConsumer
    ) -> Coroutine[None, None, None] | None:
        _traced(session).given_back(command.consumer_id, None)
        return super().on_close_consumer(session, command)


def _traced(session: Session) -> TracedSession:
    assert isinstance(session, TracedSession), "traces are on"
    return session
