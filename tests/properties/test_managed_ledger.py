"""A managed ledger with cursors against a list: rollovers, trims, crashes, small caches."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from support import loop
from unit.storage.managed_ledger.logs import BYTES_MAX, Logs, acknowledge, append, entries

from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.managed_ledger.cache import EntryCache

NAMES = ("one", "two")
names = st.sampled_from(NAMES)
steps = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 9)),
    st.tuples(st.just("append"), st.integers(1, 9)),
    st.tuples(st.just("read"), names, st.integers(1, 12)),
    st.tuples(st.just("read"), names, st.integers(1, 12)),
    st.tuples(st.just("acknowledge"), names, st.lists(st.integers(0, 99), max_size=8)),
    st.tuples(st.just("cumulative"), names, st.integers(0, 99)),
    st.tuples(st.just("rewind"), names),
    st.tuples(st.just("reset"), names, st.integers(0, 99)),
    st.tuples(st.just("replay"), names, st.lists(st.integers(0, 99), max_size=8)),
    st.tuples(st.just("roll")),
    st.tuples(st.just("trim")),
    st.tuples(st.just("restart"), st.booleans()),
)


@dataclass
class Expected:
    """What a cursor should know."""

    acked: set[int] = field(default_factory=set)
    next: int = 0  # The index of the next entry to be read.


class LedgersOfCursors(PulsarCodec):
    """No position of a cursor is in its record."""

    def fits_record(self, *_, **__):
        return False


class Story:
    """A log and its cursors beside a plain list; entries are their index in it."""

    def __init__(self, ledger_size, cache_size, codec):
        self.logs = Logs(entries_per_ledger_max=ledger_size, ledger_age_min_s=0)
        self.logs.codec = codec
        self.logs.cache = EntryCache(cache_size)
        self.places: list[Position] = []
        self.expected = {name: Expected() for name in NAMES}
        self.ledger = None

    async def begin(self):
        self.ledger = await self.logs.open()
        for name in NAMES:
            await self.ledger.open_cursor(name, EARLIEST)

    async def tell(self, step):
        kind, *rest = step
        await getattr(self, kind)(*rest)
        self.check()

    async def append(self, count):
        start = len(self.places)
        ledger_id, first = await append(self.ledger, entries(count, start=start))
        self.places += [Position(ledger_id, first + index) for index in range(count)]
        assert self.ledger.last_position == self.places[-1]

    async def read(self, name, entries_max):
        expected = self.expected[name]
        runs = await self.ledger.cursors[name].reader.read(entries_max, BYTES_MAX)
        found = [int(entry) for run in runs for entry in run.data]
        due = [
            index for index in range(expected.next, len(self.places)) if index not in expected.acked
        ]
        assert found == due[: len(found)]
        assert len(found) <= entries_max
        assert found or not due
        places = [Position(run.ledger_id, run.first_entry_id + i) for run in runs
                  for i in range(len(run))]  # fmt: skip
        assert places == [self.places[index] for index in found]
        expected.next = found[-1] + 1 if found else len(self.places)

    async def acknowledge(self, name, indexes):
        chosen = self.chosen(indexes)
        acknowledge(self.ledger.cursors[name], [self.places[index] for index in chosen])
        self.expected[name].acked.update(chosen)

    async def cumulative(self, name, index):
        for chosen in self.chosen([index]):
            self.ledger.cursors[name].acknowledge_cumulative(self.places[chosen])
            self.expected[name].acked.update(range(chosen + 1))

    async def rewind(self, name):
        self.ledger.cursors[name].reader.rewind()
        self.expected[name].next = 0

    async def reset(self, name, index):
        for chosen in self.chosen([index]):
            await self.ledger.cursors[name].reset(self.places[chosen])
            first = max(chosen, self.trimmed)  # What was trimmed stays acknowledged.
            self.expected[name] = Expected(set(range(first)), first)

    async def replay(self, name, indexes):
        chosen = sorted(set(self.chosen(indexes)))
        runs = await self.ledger.cursors[name].reader.read_at(
            [self.places[index] for index in chosen]
        )
        found = [int(entry) for run in runs for entry in run.data]
        assert found == [index for index in chosen if index not in self.expected[name].acked]

    async def roll(self):
        await self.logs.roll(self.ledger)

    async def trim(self):
        await self.ledger.trim()

    async def restart(self, clean):
        if clean:
            await self.ledger.close()
        else:
            for cursor in self.ledger.cursors.values():
                await cursor.flush()
        self.ledger = await self.logs.open()
        for expected in self.expected.values():
            expected.next = 0

    def chosen(self, indexes):
        """Some indexes of entries that exist; none when there is no entry."""
        return [index % len(self.places) for index in indexes] if self.places else []

    @property
    def trimmed(self):
        return len(self.places) - self.ledger.entry_count

    def check(self):
        ledger = self.ledger
        first_needed = min(self.mark(name) for name in NAMES)
        assert self.trimmed <= first_needed, "only what all have acknowledged is gone"
        assert ledger.layout.entries_between(EARLIEST, ledger.last_position) == ledger.entry_count
        for name in NAMES:
            expected, cursor = self.expected[name], ledger.cursors[name]
            assert cursor.backlog == len(self.places) - len(expected.acked)
            mark = self.mark(name)
            if mark > self.trimmed:
                assert cursor.mark == self.places[mark - 1]
            if mark < len(self.places):
                assert not cursor.is_acknowledged(self.places[mark])
                assert ledger.next_position(cursor.mark) == self.places[mark]
        assert self.logs.cache.appended.size_bytes <= self.logs.cache.appended.size_bytes_max

    def mark(self, name):
        """How many entries in a row are acknowledged."""
        acked = self.expected[name].acked
        return next(index for index in range(len(self.places) + 1) if index not in acked)


@settings(deadline=None)
@given(
    st.lists(steps, max_size=40),
    st.sampled_from([3, 10, 1000]),
    st.sampled_from([0, 5_000, 1 << 26]),
    st.sampled_from([JsonCodec(), PulsarCodec(), LedgersOfCursors()]),
)
def test_a_log_gives_back_what_was_put_in(story, ledger_size, cache_size, codec):
    async def run():
        told = Story(ledger_size, cache_size, codec)
        await told.begin()
        for step in story:
            await told.tell(step)
        await told.logs.tasks.close()

    loop.run(run())
