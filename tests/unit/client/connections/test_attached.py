from magnetar.client.connections.attached import Attached
from magnetar.errors import ConnectionLost, NotReady
from magnetar.wire import replies
from magnetar.wire.frames import FrameDecoder

CONNECTION = object()


class Side:
    """A producer, consumer or watcher that remembers what it is told."""

    def __init__(self):
        self.told = []

    def __getattr__(self, name):
        return lambda *arguments: self.told.append((name, *arguments))


def world():
    attached, side = Attached(CONNECTION), Side()
    for sides in (attached.producers, attached.consumers, attached.watchers):
        sides[1] = side
    return attached, side


def tell(attached, command):
    for frame in FrameDecoder().feed(command):
        attached.commands[frame.command.type](frame)


def commands_of(owner_id):
    return [
        replies.send_error(owner_id, 8, NotReady("x")),
        replies.active_consumer_change(owner_id, active=True),
        replies.reached_end_of_topic(owner_id),
        replies.close_producer(owner_id),
        replies.close_consumer(owner_id),
    ]


def test_a_command_reaches_whom_it_concerns():
    attached, side = world()
    for command in commands_of(1):
        tell(attached, command)
    assert [name for name, *_ in side.told] == [
        "on_send_error",
        "on_active_change",
        "on_end_of_topic",
        "on_detached",
        "on_detached",
    ]
    assert side.told[-1] == ("on_detached", CONNECTION, None)
    assert not attached.producers
    assert not attached.consumers
    assert attached, "the watcher is still there"


def test_a_command_for_one_that_is_gone_is_ignored():
    attached, side = world()
    for command in commands_of(2):
        tell(attached, command)
    assert side.told == []


def test_the_end_of_the_connection_is_told_once():
    attached, side = world()
    lost = ConnectionLost("gone")
    for _ in range(2):
        attached.lost(lost)
    assert side.told == [("on_detached", CONNECTION, lost)] * 3
    assert not attached
