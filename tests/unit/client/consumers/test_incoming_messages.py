"""The messages of one topic alone: frames are given by hand, and what is written is kept."""

import pytest
from support.clock import LoopClock

from magnetar.client.consumers.ack_sender import AckSender
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.consumers.incoming_messages import SETTLED_PARTS, IncomingMessages
from magnetar.client.consumers.read_position import Start
from magnetar.client.consumers.redeliveries import Redeliveries
from magnetar.client.consumers.subscribing import Subscribing
from magnetar.message.entry import checksum, join
from magnetar.message.metadata import build
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE, MessageId, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import FrameDecoder


class Desk:
    """Stands in for the connection: keeps what is written, as commands."""

    def __init__(self, *, start=None, epochs=True, **options):
        self.sends_consumer_epochs = epochs
        self.commands, self.arrived, self.asked = [], 0, []
        config, clock = ConsumerConfig(ack_group_time_s=60.0, **options), LoopClock()
        reads_only = start is not None
        self.redeliveries = Redeliveries(
            config, clock, self.asked.append, acknowledges=not reads_only
        )
        self.acks = AckSender(5, config, clock, topic="t", timeout_s=5.0)
        self.incoming = IncomingMessages(
            Subscribing(TopicName.parse("t"), "s", "me", config.receiver_queue_size, start),
            5,
            config,
            acks=self.acks,
            redeliveries=self.redeliveries,
            clock=clock,
            schemas=None,
            reads_only=reads_only,
            arrived=self.note_arrival,
            ask_again=self.asked.append,
        )
        self.incoming.start()
        self.acks.attached(self)
        self.incoming.attached(self)

    def note_arrival(self):
        self.arrived += 1

    def write(self, data):
        self.commands += [frame.command for frame in FrameDecoder().feed(data)]

    def deliver(self, *entry_ids, epoch=None):
        for n in entry_ids:
            entry = join(build("p", n, 0), b"%d" % n)
            pieces = replies.message(
                5,
                Position(7, n),
                partition=-1,
                entry=entry,
                checksum=checksum(entry),
                consumer_epoch=epoch,
            )
            [frame] = FrameDecoder().feed(b"".join(pieces))
            self.incoming.on_message(frame)

    def taken(self, count_max=100):
        return [int(message.data) for message in self.incoming.take(count_max)]

    @property
    def permits(self):
        flows = [c.flow for c in self.commands if c.type == BaseCommand.FLOW]
        return [flow.messagePermits for flow in flows]


async def test_permits_follow_what_is_taken():
    desk = Desk(receiver_queue_size=4)
    desk.deliver(0, 1, 2)
    assert (desk.arrived, desk.incoming.queued, desk.permits) == (1, 3, [4])
    assert desk.taken(2) == [0, 1]
    assert desk.permits == [4, 2]
    assert desk.taken() == [2]
    assert not desk.incoming.waiting
    assert desk.incoming.settled_every == 1
    assert Desk(receiver_queue_size=80).incoming.settled_every == 80 // SETTLED_PARTS


async def test_while_paused_no_permits_are_given():
    desk = Desk(receiver_queue_size=2)
    desk.incoming.pause(paused=True)
    desk.deliver(0, 1)
    assert desk.taken() == [0, 1]
    assert desk.permits == [2]
    desk.incoming.pause(paused=False)
    assert desk.permits == [2, 2]


async def test_without_a_queue_one_permit_is_given_to_who_waits():
    desk = Desk(receiver_queue_size=0)
    assert desk.incoming.on_demand
    assert desk.permits == []
    for _ in range(2):
        desk.incoming.want()
    assert desk.permits == [1]


async def test_from_before_a_redelivery_nothing_is_taken():
    desk = Desk(receiver_queue_size=2)
    desk.deliver(0, 1)
    desk.incoming.epoch = 1
    desk.incoming.drop()
    desk.deliver(1, epoch=0)
    desk.deliver(0, epoch=1)
    assert desk.taken() == [0]
    assert sum(desk.permits) == 2 + 4, "each that came has its permit back"


@pytest.mark.parametrize(
    ("epochs", "compacted", "taken"),
    [(True, False, [0]), (False, False, [1, 0]), (True, True, [1, 0])],
)
async def test_what_has_no_epoch_came_before_the_first_redelivery(epochs, compacted, taken):
    desk = Desk(epochs=epochs, read_compacted=compacted, type=SubscriptionType.EXCLUSIVE)
    desk.incoming.epoch = 1
    desk.deliver(1)
    desk.deliver(0, epoch=1)
    assert desk.taken() == taken


async def test_between_two_connections_nothing_is_received_nor_what_is_acknowledged_again():
    desk = Desk(type=SubscriptionType.EXCLUSIVE)
    desk.deliver(0, 1)
    [message] = desk.incoming.take(1)
    desk.acks.acknowledge_one(message)
    desk.incoming.detached()
    desk.deliver(1)
    assert desk.taken() == []
    desk.incoming.attached(desk)
    desk.deliver(0, 1)
    assert desk.taken() == [1]


async def test_after_a_seek_messages_from_before_it_are_gone():
    desk = Desk()
    desk.deliver(0, 1)
    assert desk.taken(1) == [0]
    desk.incoming.begin_at(Start(EARLIEST_MESSAGE, inclusive=True), None)
    assert desk.taken() == []
    desk.deliver(0)
    assert desk.taken() == [0]


async def test_a_reader_acknowledges_what_was_taken_and_goes_on_behind_it():
    desk = Desk(start=Start(EARLIEST_MESSAGE, inclusive=True))
    desk.deliver(0, 1)
    assert desk.incoming.is_behind(MessageId(7, 0), Position(-1, -1))
    [entry] = desk.incoming.take_entries(1)
    assert entry.last_id.position == (7, 0)
    assert not desk.incoming.is_behind(MessageId(7, 0), Position(-1, -1))
    desk.acks.send()
    [ack] = [c.ack for c in desk.commands if c.type == BaseCommand.ACK]
    assert ack.message_id[0].entryId == 0
    desk.incoming.detached()
    assert desk.incoming.start() == Start(MessageId(7, 0), inclusive=False)


@pytest.mark.parametrize("end", ["end", "detached"])
async def test_at_the_end_all_is_dropped(end):
    desk = Desk()
    desk.deliver(0)
    getattr(desk.incoming, end)()
    desk.deliver(1)
    assert desk.taken() == []
    await desk.incoming.close()
