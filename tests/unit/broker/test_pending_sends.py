from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.listening import Listening
from magnetar.broker.pending_sends import PendingSends, SendBudget


class Client:
    """A connection that sends, and whether it is held up."""

    def __init__(self, budget: SendBudget) -> None:
        self.held = False
        self.sends = PendingSends(budget, Listening(self), count_max=4, bytes_max=400)

    def pause_reading(self) -> None:
        assert not self.held
        self.held = True

    def resume_reading(self) -> None:
        assert self.held
        self.held = False


def test_a_client_waits_at_the_count_and_goes_on_at_half():
    client = Client(SendBudget(10_000))
    client.sends.add(1, 3, 30)
    assert not client.held
    client.sends.add(2, 1, 10)
    assert client.held
    client.sends.settle(1, 1, 10)
    assert client.held
    client.sends.settle(2, 1, 10)
    assert not client.held
    assert len(client.sends) == 2


def test_a_client_waits_at_the_bytes_too():
    client = Client(SendBudget(10_000))
    client.sends.add(1, 1, 400)
    assert client.held
    client.sends.settle(1, 1, 400)
    assert not client.held


def test_what_will_not_be_answered_is_forgotten():
    budget = SendBudget(10_000)
    client = Client(budget)
    client.sends.add(1, 3, 30)
    client.sends.add(2, 1, 10)
    client.sends.forget(1)
    client.sends.forget(1)
    assert (len(client.sends), client.sends.size_bytes, budget.used_bytes) == (1, 10, 10)
    assert not client.held
    client.sends.settle(1, 3, 30)  # An answer that comes late.
    assert (len(client.sends), budget.used_bytes) == (1, 10)
    client.sends.forget_all()
    assert (len(client.sends), budget.used_bytes) == (0, 0)


def test_all_clients_together_keep_to_the_budget():
    budget = SendBudget(100)
    first, second = Client(budget), Client(budget)
    first.sends.add(1, 1, 60)
    second.sends.add(1, 1, 60)
    assert (first.held, second.held) == (False, True)
    first.sends.settle(1, 1, 60)
    assert second.held
    second.sends.settle(1, 1, 60)
    assert not second.held


def test_who_has_nothing_pending_goes_on_when_others_free_the_budget():
    budget = SendBudget(100)
    first, second = Client(budget), Client(budget)
    first.sends.add(1, 1, 90)
    second.sends.add(1, 1, 20)
    second.sends.settle(1, 1, 20)
    assert second.held
    first.sends.forget_all()
    assert not second.held


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 2), st.integers(1, 5), st.integers(1, 200)),
        max_size=60,
    )
)
def test_the_sums_are_those_of_the_producers_whatever_happens(steps):
    budget = SendBudget(600)
    client = Client(budget)
    model: dict[int, list[int]] = {}
    for came, producer, count, size in steps:
        if came:
            client.sends.add(producer, count, size)
            held = model.setdefault(producer, [0, 0])
            held[0] += count
            held[1] += size
        else:
            client.sends.settle(producer, count, size)
            held = model.pop(producer, [0, 0])
            if count < held[0]:
                model[producer] = [held[0] - count, held[1] - min(size, held[1])]
        assert len(client.sends) == sum(counted for counted, _ in model.values())
        assert client.sends.size_bytes == sum(sized for _, sized in model.values())
        assert budget.used_bytes == client.sends.size_bytes
    client.sends.forget_all()
    assert budget.used_bytes == 0
    assert not client.held
