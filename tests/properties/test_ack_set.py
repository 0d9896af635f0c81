"""AckSet against a naive set of positions."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from magnetar.model.position import Position
from magnetar.storage.codec.cursor import decode_cursor, encode_cursor
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.cursor_store import state_of
from magnetar.storage.managed_ledger.layout import Layout

LEDGERS = ((2, 11), (3, 0), (7, 19))
EVERY = [Position(ledger_id, entry) for ledger_id, last in LEDGERS for entry in range(last + 1)]


def log():
    layout = Layout()
    for ledger_id, last in LEDGERS[:-1]:
        layout.begin(ledger_id)
        layout.seal(last, 1, 0)
    layout.begin(LEDGERS[-1][0])
    layout.grow(LEDGERS[-1][1], 1)
    return layout


positions = st.builds(Position, st.sampled_from([1, 2, 3, 5, 7, 8]), st.integers(-2, 21))
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(positions, max_size=12)),
    st.tuples(st.just("add"), st.permutations(EVERY).map(lambda every: every[:9])),
    st.tuples(st.just("entries"), positions, st.lists(st.integers(-2, 21), max_size=12)),
    st.tuples(st.just("range"), positions, st.integers(-2, 21)),
    st.tuples(st.just("advance"), positions),
    st.tuples(st.just("batch"), positions, st.lists(st.integers(0, 7), max_size=2)),
    st.tuples(st.just("again"), positions, st.lists(st.integers(-2, 21), unique=True).map(sorted)),
    st.tuples(st.just("back"), st.lists(positions, max_size=6).map(sorted)),
    st.tuples(st.just("reset"), st.sampled_from([Position(2, -1), Position(2, 5), Position(7, 3)])),
)


class NaiveAcks:
    """The same, by looking at every entry there is."""

    def __init__(self):
        self.acked = set()
        self.bits = {}
        self.counts = {}

    def apply(self, step):
        match step:
            case ("add", asked):
                self.acked |= set(asked) & set(EVERY)
            case ("entries", place, entry_ids):
                self.acked |= {Position(place.ledger_id, entry) for entry in entry_ids} & set(EVERY)
            case ("range", place, last):
                entry_ids = range(place.entry_id, last + 1)
                self.acked |= {Position(place.ledger_id, entry) for entry in entry_ids} & set(EVERY)
            case ("advance", upto):
                if upto in EVERY or upto in [(ledger_id, -1) for ledger_id, _ in LEDGERS]:
                    self.acked |= {each for each in EVERY if each <= upto}
            case ("batch", place, words):
                if place in EVERY and place not in self.acked:
                    self._batch(place, words)
            case ("again", place, entry_ids):
                asked = {Position(place.ledger_id, entry) for entry in entry_ids} & set(EVERY)
                self.counts.update({each: self.counts.get(each, 0) + 1 for each in asked})
            case ("back", asked):
                self.acked -= set(asked)
            case ("reset", mark):
                self.acked = {each for each in EVERY if each <= mark}
                self.bits.clear()
                self.counts.clear()
        for known in (self.bits, self.counts):
            for place in self.acked.intersection(known):
                del known[place]

    def _batch(self, place, words):
        bits = {(word, bit) for word, value in enumerate(words) for bit in range(3)
                if value >> bit & 1}  # fmt: skip
        left = self.bits.get(place, bits) & bits
        if left:
            self.bits[place] = left
        else:
            self.acked.add(place)

    @property
    def pending(self):
        return [each for each in EVERY if each not in self.acked]


def apply(acks, step, layout):
    match step:
        case ("add", asked):
            for place in asked:
                acks.add_entries(place.ledger_id, [place.entry_id], layout)
        case ("entries", place, entry_ids):
            acks.add_entries(place.ledger_id, entry_ids, layout)
        case ("range", place, last):
            acks.add_range(place.ledger_id, place.entry_id, last, layout)
        case ("advance", upto):
            acks.advance(upto, layout)
        case ("batch", place, words):
            acks.add_batch(place, words, layout)
        case ("again", place, entry_ids):
            acks.add_redeliveries(place.ledger_id, entry_ids, layout)
        case ("back", asked):
            acks.unacknowledge(asked, layout)
        case ("reset", mark):
            acks.reset(mark)


def bits_of(words):
    return {(word, bit) for word, value in enumerate(words) for bit in range(3) if value >> bit & 1}


def check_same(acks, naive, layout):
    assert [each for each in EVERY if not acks.covers(each)] == naive.pending
    found = [
        Position(ledger_id, entry)
        for ledger_id, last in LEDGERS
        for start, stop in acks.gaps(ledger_id, 0, last)
        for entry in range(start, stop + 1)
    ]
    assert found == naive.pending
    for ledger_id, last in LEDGERS:
        assert list(acks.missing(ledger_id, range(last + 1))) == [
            place.entry_id for place in naive.pending if place.ledger_id == ledger_id
        ]
    backlog = layout.entries_between(acks.mark, layout.last) - acks.beyond
    assert backlog == len(naive.pending)
    assert acks.beyond == sum(
        end - start + 1
        for here in acks.ranges.values()
        for start, end in zip(here.starts, here.ends, strict=True)
    )
    stored = {
        Position(ledger_id, entry): bits_of(words)
        for ledger_id, here in acks.batches.items()
        for entry, words in here.items()
    }
    assert stored == naive.bits
    assert naive.counts == {
        Position(ledger_id, entry): count
        for ledger_id, here in acks.redeliveries.items()
        for entry, count in here.items()
    }


def check_invariants(acks, layout):
    following = layout.next_position(acks.mark)
    assert not acks.covers(following), "the mark goes as far as it can"
    for ledger_id, here in acks.ranges.items():
        assert here, "no empty ranges"
        assert Position(ledger_id, here.starts[0]) > following
        ends = list(zip(here.starts, here.ends, strict=True))
        assert all(start <= end for start, end in ends)
        assert all(left[1] + 1 < right[0] for left, right in pairwise(ends))
    assert all(acks.batches.values()), "no empty batches"
    assert all(acks.redeliveries.values()), "no ledger without counts"


@given(st.lists(steps, max_size=25))
def test_an_ack_set_knows_what_a_naive_set_knows(todo):
    layout, naive = log(), NaiveAcks()
    acks = AckSet(Position(2, -1))
    for step in todo:
        mark = acks.mark
        apply(acks, step, layout)
        naive.apply(step)
        assert step[0] in ("reset", "back") or acks.mark >= mark, "marks never move back"
        check_same(acks, naive, layout)
        check_invariants(acks, layout)


@given(st.lists(steps, max_size=12))
def test_a_stored_ack_set_comes_back_the_same(todo):
    layout, naive = log(), NaiveAcks()
    acks = AckSet(Position(2, -1))
    for step in todo:
        apply(acks, step, layout)
        naive.apply(step)
    stored = encode_cursor(state_of(acks, {"a": "b"}, ranges_max=1000), name="s")
    state = decode_cursor(stored, source="/here")
    back = AckSet(state.mark)
    for ledger_id, (firsts, lasts) in state.ranges.items():
        for first, last in zip(firsts, lasts, strict=True):
            back.add_range(ledger_id, first, last, layout)
    for place, words in state.batches:
        back.add_batch(place, words, layout)
    for ledger_id, (entry_ids, counts) in state.redeliveries.items():
        back.add_redeliveries(ledger_id, entry_ids, layout, counts=counts)
    check_same(back, naive, layout)
    assert back.mark == acks.mark
    assert state.properties == {"a": "b"}
