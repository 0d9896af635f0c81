from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.pending_publishes import PendingPublishes, PublishBuffer
from magnetar.broker.read_pause import ReadPause


class Client:
    """A connection that sends, and whether it is held up."""

    def __init__(self, buffer: PublishBuffer) -> None:
        self.held = False
        self.sends = PendingPublishes(buffer, ReadPause(self), count_max=4, bytes_max=400)

    def pause_reading(self) -> None:
        assert not self.held
        self.held = True

    def resume_reading(self) -> None:
        assert self.held
        self.held = False


def test_a_client_waits_at_the_count_and_goes_on_at_half():
    client = Client(PublishBuffer(10_000))
    client.sends.add(3, 30)
    assert not client.held
    client.sends.add(1, 10)
    assert client.held
    client.sends.settle(1, 10)
    assert client.held
    client.sends.settle(1, 10)
    assert not client.held
    assert len(client.sends) == 2


def test_a_client_waits_at_the_bytes_too():
    client = Client(PublishBuffer(10_000))
    client.sends.add(1, 399)
    assert not client.held
    client.sends.add(1, 1)
    assert client.held
    client.sends.settle(1, 399)
    assert not client.held


def test_all_clients_together_keep_to_the_buffer():
    buffer = PublishBuffer(100)
    first, second = Client(buffer), Client(buffer)
    first.sends.add(1, 60)
    second.sends.add(1, 60)
    assert (first.held, second.held) == (False, True)
    first.sends.settle(1, 60)
    assert second.held
    second.sends.settle(1, 60)
    assert not second.held


def test_who_has_nothing_pending_goes_on_when_others_free_the_buffer():
    buffer = PublishBuffer(100)
    first, second = Client(buffer), Client(buffer)
    first.sends.add(1, 90)
    second.sends.add(1, 20)
    second.sends.settle(1, 20)
    assert second.held
    first.sends.settle(1, 90)
    assert not second.held


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(1, 5), st.integers(1, 200)))))
def test_the_sums_are_those_of_what_is_pending_whatever_happens(steps):
    buffer = PublishBuffer(600)
    client = Client(buffer)
    pending: list[tuple[int, int]] = []
    for added in steps:
        if added is not None:
            client.sends.add(*added)
            pending.append(added)
        elif pending:
            client.sends.settle(*pending.pop(0))
        assert len(client.sends) == sum(count for count, _ in pending)
        assert client.sends.size_bytes == buffer.used_bytes == sum(size for _, size in pending)
        too_many = len(client.sends) >= 4 or client.sends.size_bytes >= 400
        assert client.held or not too_many
    for each in pending:
        client.sends.settle(*each)
    assert buffer.used_bytes == 0
    assert not client.held
