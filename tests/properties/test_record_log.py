"""A record log against a list: rollovers, trims, crashes while appends are under way."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support import loop
from unit.storage.managed_ledger.logs import Logs

from magnetar.storage.record_log import open_record_log

steps = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 7)),
    st.tuples(st.just("append"), st.integers(1, 7)),
    st.tuples(st.just("hold"), st.sampled_from(["appends", "answers", "creates"])),
    st.tuples(st.just("let_go")),
    st.tuples(st.just("trim"), st.integers(0, 99)),
    st.tuples(st.just("crash")),
    st.tuples(st.just("restart")),
)


class Story:
    """A log beside the list of its records; each is its index in that."""

    def __init__(self, ledger_size):
        self.logs = Logs(entries_per_ledger_max=ledger_size, ledger_age_min_s=0)
        self.count = 0  # Of records that were appended since the beginning, or came back.
        self.trimmed = 0
        self.positions = {}  # Of those that were answered, by index.
        self.log = None

    async def begin(self):
        self.log = await open_record_log(self.logs.factory(), "records", cursor_name="mine")
        self.answers = []

    async def tell(self, step):
        kind, *rest = step
        await getattr(self, kind)(*rest)

    async def append(self, count):
        records = [b"%d" % (self.count + index) for index in range(count)]
        self.count += count
        self.answers.append((self.count - 1, self.log.append(records)))
        await loop.until_idle()
        self.note_answers()

    async def hold(self, gate):
        getattr(self.logs.ledgers, gate).close()

    async def let_go(self):
        for gate in (
            self.logs.ledgers.creates,
            self.logs.ledgers.appends,
            self.logs.ledgers.answers,
        ):
            gate.open()
        await loop.until_idle()
        self.note_answers()

    async def trim(self, index):
        if self.positions:
            known = sorted(self.positions)
            chosen = known[index % len(known)]
            self.log.trim(self.positions[chosen])
            self.trimmed = max(self.trimmed, chosen + 1)

    async def crash(self):
        """Another process opens the log; whatever was under way reaches the store or does not."""
        self.note_answers()
        old, known = self.answers, max(self.positions, default=-1)
        for gate in (self.logs.ledgers.creates, self.logs.ledgers.answers):
            gate.open()
        await self.begin()
        await self.check(known)
        self.logs.ledgers.appends.open()
        await loop.until_idle()
        for _, answer in old:
            assert answer.done()
            answer.exception()
        found = await self.check(known)
        self.trimmed = found[0] if found else self.trimmed  # What was trimmed last may be back.

    async def restart(self):
        await self.let_go()
        known = max(self.positions, default=-1)
        assert known == self.count - 1 or not self.answers
        await self.log.close()
        await self.begin()
        found = await self.check(known)
        assert not found or found[0] == self.trimmed

    async def check(self, known):
        """No answered record is missing, none is there twice, and all are in order."""
        runs = [run async for run in self.log.replay()]
        found = [int(record) for run in runs for record in run.data]
        first = found[0] if found else known + 1
        assert first <= self.trimmed or (not found and self.trimmed > known)
        assert found == list(range(first, first + len(found)))
        assert first + len(found) > known
        self.count = first + len(found)
        self.positions = {k: p for k, p in self.positions.items() if k < self.count}
        return found

    def note_answers(self):
        for index, answer in self.answers:
            if answer.done() and answer.exception() is None:
                self.positions[index] = answer.result()


@settings(deadline=None)
@given(st.lists(steps, max_size=30), st.sampled_from([3, 10, 1000]))
def test_no_answered_record_is_lost(story, ledger_size):
    async def run():
        told = Story(ledger_size)
        await told.begin()
        for step in story:
            await told.tell(step)
        await told.crash()
        await told.logs.tasks.close()

    loop.run(run())
