import asyncio
import weakref

import pytest
from support.loop import iterations

from magnetar.broker.outbox import (
    BACKED_UP_BYTES_MAX,
    COUNTS_PER_BUDGET,
    HIGH_WATER_BYTES,
    LOW_WATER_BYTES,
    RESTRICTED_BYTES_MAX,
    Outbox,
    OutboxBudget,
)
from magnetar.broker.read_pause import ReadPause
from magnetar.loop_iteration import LoopIteration

BUDGET = 8_000
STEP = BUDGET // COUNTS_PER_BUDGET


class Wire(asyncio.WriteTransport):
    """A transport that takes everything, and holds as much as the test says."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.held_bytes = 0
        self.limits: list[tuple[int, int]] = []

    def set_write_buffer_limits(self, high=None, low=None):
        self.limits.append((high, low))

    def get_write_buffer_size(self):
        return self.held_bytes

    def write(self, data):
        self.writes.append(bytes(data))

    def writelines(self, list_of_data):
        self.writes.append(b"lines:" + b"".join(list_of_data))


class Side:
    """A client's end of an outbox."""

    def __init__(self) -> None:
        self.wire = Wire()
        self.turns: list[str] = []
        self.woken: list[str] = []
        loop = asyncio.get_running_loop()
        self.outbox = Outbox(
            self.wire, loop, ReadPause(self), LoopIteration(loop), OutboxBudget(1 << 30)
        )

    def pause_reading(self) -> None:
        self.turns.append("pause")

    def resume_reading(self) -> None:
        self.turns.append("resume")

    def wake_a(self) -> None:
        self.woken.append("a")

    def wake_b(self) -> None:
        self.woken.append("b")


@pytest.fixture
async def side() -> Side:
    return Side()


async def test_small_pieces_of_a_turn_are_written_once(side):
    side.outbox.put(b"one ")
    side.outbox.put_all([b"two ", b"three"])
    assert side.wire.writes == []
    await iterations()
    assert side.wire.writes == [b"one two three"]
    side.outbox.put(b"four")
    await iterations()
    assert side.wire.writes == [b"one two three", b"four"]


async def test_big_pieces_are_not_copied_together(side):
    side.outbox.put_all([b"x" * 10_000, b"y" * 10_000])
    await iterations()
    assert side.wire.writes == [b"lines:" + b"x" * 10_000 + b"y" * 10_000]


async def test_a_turn_with_too_much_to_write_is_not_writable_until_it_ends(side):
    side.outbox.put(b"x" * HIGH_WATER_BYTES)
    assert not side.outbox.writable
    side.outbox.when_writable(side.wake_a)
    assert side.woken == []
    await iterations()
    assert side.outbox.writable
    assert side.woken == ["a"]


async def test_a_slow_client_wakes_each_waiter_once_when_it_reads_again(side):
    side.outbox.congested()
    side.outbox.when_writable(side.wake_a)
    side.outbox.when_writable(side.wake_b)
    side.outbox.when_writable(side.wake_a)
    side.outbox.put(b"answer")
    await iterations()
    assert (side.outbox.writable, side.woken) == (False, [])
    assert side.wire.writes == [b"answer"]
    side.outbox.drained()
    assert (side.outbox.writable, side.woken) == (True, ["a", "b"])
    side.outbox.drained()
    assert side.woken == ["a", "b"]


async def test_who_asks_while_it_is_writable_is_woken_in_the_next_turn(side):
    side.outbox.when_writable(side.wake_a)
    assert side.woken == []
    await iterations()
    assert side.woken == ["a"]


async def test_who_does_not_read_answers_is_not_listened_to(side):
    side.wire.held_bytes = HIGH_WATER_BYTES
    side.outbox.congested()
    assert side.turns == []
    side.wire.held_bytes = BACKED_UP_BYTES_MAX
    for _ in range(3):
        side.outbox.put(b"answer")
        await iterations()
    assert side.turns == ["pause"]
    side.outbox.drained()
    assert side.turns == ["pause", "resume"]


async def test_who_has_more_than_its_share_gets_answers_only_and_few_until_it_has_read(side):
    side.wire.held_bytes = 1_000
    side.outbox.restrict(400)
    side.outbox.congested()  # As the transport says at once, with its new limits.
    side.wire.held_bytes += RESTRICTED_BYTES_MAX - 1
    side.outbox.put(b"answer")
    await iterations()
    assert (side.outbox.writable, side.turns) == (False, [])
    side.wire.held_bytes += 1
    side.outbox.put(b"answer")
    await iterations()
    assert side.turns == ["pause"]
    side.outbox.drained()
    assert (side.outbox.writable, side.turns) == (True, ["pause", "resume"])
    usual = (HIGH_WATER_BYTES, LOW_WATER_BYTES)
    assert side.wire.limits == [usual, (400, 100), usual]


async def test_who_has_less_than_its_share_is_left_alone(side):
    side.wire.held_bytes = 400
    side.outbox.restrict(400)
    assert side.wire.limits == [(HIGH_WATER_BYTES, LOW_WATER_BYTES)]


async def test_closing_writes_what_is_there_and_takes_no_more(side):
    side.outbox.put(b"last")
    side.outbox.close()
    side.outbox.put(b"late")
    side.outbox.put_all([b"later"])
    side.outbox.flush()
    await iterations()
    assert side.wire.writes == [b"last"]
    assert not side.outbox.writable


async def test_a_lost_connection_is_written_to_no_more(side):
    side.outbox.put(b"too late")
    side.outbox.when_writable(side.wake_a)
    side.outbox.drop()
    side.outbox.drained()
    await iterations()
    assert side.wire.writes == []


class Sleeper:
    """A waiter for writability."""

    def wake(self) -> None: ...


async def test_a_connection_that_is_gone_remembers_nobody_who_asks_later(side: Side) -> None:
    sleeper = Sleeper()
    seen = weakref.ref(sleeper)
    side.outbox.drop()
    side.outbox.when_writable(sleeper.wake)
    del sleeper
    assert seen() is None


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
