"""What may differ between two runs of one conversation, and is therefore not compared.

Ledger ids and generated producer names are learned as they appear: the same on one side must be
the same on the other. The rest is masked: addresses, times, and texts that name them.
"""

import re
from typing import Any

from golden.frames import Decoded, join, parse, split

from magnetar.proto import PulsarApi_pb2 as pb

LONG_MAX = 2**63 - 1
GENERATED_NAME = re.compile(r"standalone-\d+-\d+")
JAVA_EXCEPTION = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*: ")
CONSUMER_ADDRESS = re.compile(r"address=.*\}$")
BROKER_URL = re.compile(r"(pulsar|http)://[^/,]+$")
BUNDLE_SERVED = re.compile(r"not served by this instance:[^ ]+ ")
POSITION = re.compile(r"\b(\d+):(\d+)")
MASKED = {
    ("CONNECTED", "server_version"),
    ("CONSUMER_STATS_RESPONSE", "address"),
    ("CONSUMER_STATS_RESPONSE", "connectedSince"),
}
SPECIAL_LEDGERS = (-1, LONG_MAX)


class Names:
    """Which of our ledgers and generated names stands for which of theirs."""

    def __init__(self) -> None:
        self.ledgers: dict[int, int] = {}
        self.producers: dict[str, str] = {}

    def learn(self, theirs: Any, ours: Any) -> None:
        """Take from two answers to the same request what stands for what."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            ledger, own = theirs.get("ledgerId"), ours.get("ledgerId")
            if (
                ledger is not None
                and own is not None
                and ledger not in SPECIAL_LEDGERS
                and own not in SPECIAL_LEDGERS
            ):
                self.ledgers.setdefault(ledger, own)
            for key in theirs.keys() & ours.keys():
                self.learn(theirs[key], ours[key])
        elif isinstance(theirs, list) and isinstance(ours, list):
            for one, other in zip(theirs, ours, strict=False):
                self.learn(one, other)
        elif all(isinstance(one, str) and GENERATED_NAME.fullmatch(one) for one in (theirs, ours)):
            self.producers.setdefault(theirs, ours)

    def ledger(self, theirs: int) -> int:
        """Ours; for one that never came up, as far from a known one as theirs is."""
        if theirs in SPECIAL_LEDGERS or theirs - (1 << 64) in SPECIAL_LEDGERS or not self.ledgers:
            return theirs
        if theirs in self.ledgers:
            return self.ledgers[theirs]
        near = min(self.ledgers, key=lambda known: abs(known - theirs))
        return max(0, self.ledgers[near] + theirs - near)

    def translated(self, decoded: Decoded) -> Decoded:
        """Their answer as it should read on our side, masked where runs may differ."""
        return Decoded(decoded.command, self._translate(decoded.command, "", decoded.fields))

    def masked(self, decoded: Decoded) -> Decoded:
        """Our answer, masked the same way."""
        return Decoded(decoded.command, _mask(decoded.command, "", decoded.fields))

    def _translate(self, command: str, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: self._translate(command, k, v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._translate(command, key, item) for item in value]
        if key == "ledgerId":
            return self.ledgers.get(value, value)
        if isinstance(value, str) and value in self.producers:
            return self.producers[value]
        if isinstance(value, str) and command == "ACK_RESPONSE":
            value = POSITION.sub(lambda at: f"{self.ledger(int(at[1]))}:{at[2]}", value)
        return _mask(command, key, value)

    def rewritten(self, frame: bytes) -> bytes:
        """A client's frame with our ledger ids and names in place of theirs."""
        command = parse(frame)
        if command is None:
            return frame
        before = command.SerializeToString()
        for message_id in _message_ids(command):
            message_id.ledgerId = self.ledger(message_id.ledgerId) % (1 << 64)
        if command.HasField("producer"):
            name = command.producer.producer_name
            if name in self.producers:
                command.producer.producer_name = self.producers[name]
        after = command.SerializeToString()
        return frame if before == after else join(after, split(frame)[1])


def _message_ids(command: pb.BaseCommand) -> list[Any]:
    if command.HasField("ack"):
        return list(command.ack.message_id)
    if command.HasField("redeliverUnacknowledgedMessages"):
        return list(command.redeliverUnacknowledgedMessages.message_ids)
    if command.HasField("seek") and command.seek.HasField("message_id"):
        return [command.seek.message_id]
    if command.HasField("subscribe") and command.subscribe.HasField("start_message_id"):
        return [command.subscribe.start_message_id]
    return []


def _mask(command: str, key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _mask(command, k, v) for k, v in value.items() if _kept(command, k, v, value)}
    if isinstance(value, list):
        return [_mask(command, key, item) for item in value]
    if (command, key) in MASKED:
        return "<masked>" if value else value
    if isinstance(value, str):
        value = JAVA_EXCEPTION.sub("", value)
        value = CONSUMER_ADDRESS.sub("address=<masked>}", value)
        value = BUNDLE_SERVED.sub("not served by this instance:<masked> ", value)
        return BROKER_URL.sub(r"\1://<broker>", value)
    return value


def _kept(command: str, key: str, value: Any, fields: dict[str, Any]) -> bool:
    # What stands in a receipt's highest_sequence_id of a plain message is left over from before.
    return not (
        command == "SEND_RECEIPT"
        and key == "highest_sequence_id"
        and value <= fields["sequence_id"]
    )
