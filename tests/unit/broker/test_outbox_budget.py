from magnetar.broker.outbox_budget import COUNTS_PER_BUDGET, OutboxBudget

BUDGET = 8_000
STEP = BUDGET // COUNTS_PER_BUDGET


class Client:
    """An outbox whose client reads when the test says so."""

    def __init__(self, budget: OutboxBudget) -> None:
        self.budget = budget
        self.unwritten_bytes = 0
        self.restricted: list[int] = []

    def restrict(self, bytes_max: int) -> None:
        self.restricted.append(bytes_max)

    def wrote(self, size: int) -> None:
        self.unwritten_bytes += size
        self.budget.wrote(self, size)


def test_nobody_is_restricted_while_half_of_the_budget_is_free():
    budget = OutboxBudget(BUDGET)
    clients = [Client(budget) for _ in range(4)]
    for client in clients:
        client.wrote(STEP)
    assert [client.restricted for client in clients] == [[]] * 4


def test_who_has_more_than_a_share_of_what_is_left_is_restricted_to_it():
    budget = OutboxBudget(BUDGET)
    large, small, newest = Client(budget), Client(budget), Client(budget)
    small.wrote(100)
    large.wrote(3_900)
    newest.wrote(STEP)
    left = BUDGET - 5_000
    assert (large.restricted, small.restricted, newest.restricted) == ([left // 3], [], [])


def test_with_nothing_left_only_who_has_nothing_unwritten_goes_on():
    budget = OutboxBudget(BUDGET)
    reads, slow, slower = Client(budget), Client(budget), Client(budget)
    slow.wrote(10)
    slower.wrote(10 * BUDGET)
    reads.wrote(STEP)
    reads.unwritten_bytes = 0
    slower.wrote(STEP)
    assert (slow.restricted[-1], slower.restricted[-1]) == (0, 0)
    assert len(reads.restricted) == 1, "only at the count before it had read"


def test_what_was_read_or_is_gone_does_not_count():
    budget = OutboxBudget(BUDGET)
    reads, gone, other = Client(budget), Client(budget), Client(budget)
    for _ in range(100):
        reads.wrote(STEP - 1)
        reads.unwritten_bytes = 0
    gone.unwritten_bytes = 10 * BUDGET
    budget.wrote(gone, 0)
    budget.forget(gone)
    other.wrote(STEP)
    assert (reads.restricted, other.restricted) == ([], [])


def test_it_knows_what_is_unwritten():
    budget = OutboxBudget(BUDGET)
    one, other, gone = Client(budget), Client(budget), Client(budget)
    for client, size in ((one, 3), (other, 40), (gone, 500)):
        client.wrote(size)
    budget.forget(gone)
    one.unwritten_bytes = 1
    assert budget.unwritten_bytes == 41
