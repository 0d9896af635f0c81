"""A fresh broker of ours, set up as the one of a recorded conversation was."""

from contextlib import asynccontextmanager

from golden.conversation import Conversation
from golden.frames import parse, split

from magnetar.clock import SystemClock
from magnetar.testing.local_broker import LocalBroker
from magnetar.wire.proto import PulsarApi_pb2 as pb

# Waits that the recordings sat through are shortened where nothing but their length is lost.
BY_NAME = {
    "ack-batch-index-off": {"acknowledgmentAtBatchIndexLevelEnabled": False},
    "keepalive": {"keepAliveIntervalSeconds": 1},
    "keyshared-ranges-autosplit": {"subscriptionKeySharedUseConsistentHashing": False},
    "keyshared-hash-autosplit": {"subscriptionKeySharedUseConsistentHashing": False},
    "keyshared-draining-autosplit": {"subscriptionKeySharedUseConsistentHashing": False},
}
LIVENESS = {"connectionLivenessCheckTimeoutMillis": 200}


class RecordingClock(SystemClock):
    """The machine's clock, set back to when a conversation was recorded."""

    def __init__(self, started_ms: int) -> None:
        self._behind_ms = super().wall_ms() - started_ms

    def wall_ms(self) -> int:
        return super().wall_ms() - self._behind_ms


@asynccontextmanager
async def broker_for(recorded: Conversation):
    clock = RecordingClock(started_ms(recorded))
    settings = {**LIVENESS, **BY_NAME.get(recorded.name, {})}
    async with LocalBroker(settings=settings, clock=clock) as broker:
        yield broker


def started_ms(recorded: Conversation) -> int:
    """When it began, by the first publish time that a client wrote; any time if none did."""
    for step in recorded.steps:
        command = parse(step.frame) if step.kind == ">" else None
        if command is not None and command.HasField("send"):
            entry = split(step.frame)[1]
            size = int.from_bytes(entry[6:10], "big")
            return pb.MessageMetadata.FromString(entry[10 : 10 + size]).publish_time - step.ms
    return SystemClock().wall_ms()
