from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.client.consumers.acknowledgements import (
    SENT_PERIOD_S,
    AckBatch,
    Acknowledgements,
    bits,
    words,
)
from magnetar.model.position import Position

P = Position


def drained(state):
    """What the broker is told: entries, their bit sets, and the mark with its own."""
    single, marks = AckBatch([]), []
    for batch in state.drain(0.0):
        if batch.cumulative:
            marks.append(batch)
        else:
            single = batch
    [mark] = marks or [AckBatch([None], cumulative=True)]
    left = mark.sets[0] if mark.sets else []
    return SimpleNamespace(
        positions=single.positions,
        sets=single.sets,
        cumulative=mark.positions[0],
        cumulative_set=left,
    )


def acks(*, group_max=1000, batch_index=False, **bounds):
    return Acknowledgements(group_max=group_max, batch_index=batch_index, **bounds)


def test_whole_entries_are_sent_once():
    state = acks()
    state.entry(P(1, 1))
    state.entry(P(1, 2))
    state.entry(P(1, 1))
    assert state.count == 2
    batch = drained(state)
    assert batch.positions == [P(1, 1), P(1, 2)]
    assert batch.sets is None
    assert batch.cumulative is None
    assert state.count == 0


@pytest.mark.parametrize("batch_index", [True, False])
def test_an_entry_that_came_in_part_is_told_as_a_set_and_then_forgotten(batch_index):
    state = acks(batch_index=batch_index)
    state.delivered(P(1, 1), left=0b111, missing=0b010, whole=0b111)
    assert state.count == 0
    assert state.some(P(1, 1), [0], 3) is batch_index
    assert state.some(P(1, 1), [2], 3)
    [told] = state.drain(0.0)
    assert (told.positions, told.sets) == ([P(1, 1)], [[0b010]])
    assert state.remaining(P(1, 1)) is None
    state.send_again(told)
    [again] = state.drain(0.0)
    assert (again.positions, again.sets) == ([P(1, 1)], [[0b010]])


def test_an_entry_is_acknowledged_with_its_last_message():
    state = acks()
    state.indexes(P(1, 1), [0, 2], 4)
    state.indexes(P(1, 1), [2, 3], 4)
    assert state.count == 0
    assert state.remaining(P(1, 1)) == 0b0010
    state.indexes(P(1, 1), [1], 4)
    assert drained(state).positions == [P(1, 1)]
    assert state.remaining(P(1, 1)) is None


def test_with_batch_index_every_step_is_told_as_the_set_of_what_is_left():
    state = acks(batch_index=True)
    state.entry(P(1, 0))
    state.indexes(P(1, 1), [0], 70)
    batch = drained(state)
    assert batch.positions == [P(1, 0), P(1, 1)]
    assert batch.sets is not None
    assert batch.sets[0] == []
    assert bits(batch.sets[1]) == (1 << 70) - 2
    assert drained(state).positions == []
    state.indexes(P(1, 1), range(1, 70), 70)
    batch = drained(state)
    assert (batch.positions, batch.sets) == ([P(1, 1)], None)


def test_cumulative_takes_in_everything_before_it():
    state = acks()
    state.entry(P(1, 1))
    state.entry(P(1, 9))
    state.indexes(P(1, 3), [0], 2)
    state.cumulative(P(1, 5), -1, 0)
    batch = drained(state)
    assert batch.positions == [P(1, 9)]
    assert (batch.cumulative, batch.cumulative_set) == (P(1, 5), [])
    assert state.remaining(P(1, 3)) is None
    assert state.covers(P(1, 4))
    assert not state.covers(P(1, 6))


def test_a_lower_cumulative_acknowledgement_changes_nothing():
    state = acks()
    state.cumulative(P(2, 5), -1, 0)
    drained(state)
    state.cumulative(P(2, 4), -1, 0)
    assert state.count == 0


def test_cumulative_inside_a_batch_acknowledges_the_entry_before_and_the_batch_message_by_message():
    state = acks()
    state.cumulative(P(1, 5), 1, 3)
    batch = drained(state)
    assert (batch.cumulative, batch.cumulative_set) == (P(1, 4), [])
    assert state.remaining(P(1, 5)) == 0b100
    state.indexes(P(1, 5), [2], 3)
    assert drained(state).positions == [P(1, 5)]


def test_cumulative_inside_a_batch_with_batch_index_names_what_is_left():
    state = acks(batch_index=True)
    state.cumulative(P(1, 5), 1, 3)
    batch = drained(state)
    assert (batch.cumulative, batch.cumulative_set) == (P(1, 5), [0b100])
    assert not state.covers(P(1, 5))
    assert state.remaining(P(1, 5)) == 0b100
    state.cumulative(P(1, 5), 2, 3)
    batch = drained(state)
    assert (batch.cumulative, batch.cumulative_set) == (P(1, 5), [])
    assert state.covers(P(1, 5))


def test_cumulative_at_the_last_message_of_a_batch_is_the_whole_entry():
    state = acks()
    state.cumulative(P(1, 5), 2, 3)
    assert drained(state).cumulative == P(1, 5)


def test_cumulative_does_not_pass_over_a_chunked_message_that_is_not_acknowledged():
    state = acks()
    state.chunked(P(1, 3))
    state.cumulative(P(1, 5), -1, 0)
    assert drained(state).cumulative == P(1, 2)
    state.chunked(P(1, 3), P(1, 7))
    state.cumulative(P(1, 6), -1, 0)
    state.cumulative(P(1, 4), -1, 0)
    assert drained(state).cumulative is None
    for place in (P(1, 3), P(1, 7)):
        state.entry(place)
    state.chunked_done(P(1, 3))
    assert drained(state).cumulative == P(1, 6)
    state.chunked_done(P(1, 3))
    assert drained(state).cumulative is None


def test_cumulative_passes_over_a_chunked_message_that_ends_before_it():
    state = acks(batch_index=True)
    state.chunked(P(1, 3))
    state.chunked(P(1, 4))
    state.chunked(P(1, 3), P(1, 7))
    state.cumulative(P(1, 8), 0, 2)
    assert drained(state).cumulative == P(1, 3), "the first message is acknowledged"
    state.chunked(P(1, 4), P(1, 6))
    state.cumulative(P(1, 8), 0, 2)
    batch = drained(state)
    assert (batch.cumulative, batch.cumulative_set) == (P(1, 8), [0b10])


def test_what_comes_again_holds_up_no_mark():
    state = acks()
    state.chunked(P(1, 3))
    state.cumulative(P(1, 5), -1, 0)
    state.chunks_come_again()
    state.chunked_done(P(1, 3))
    assert drained(state).cumulative == P(1, 2), "what lies behind it comes again as well"
    state.chunked(P(1, 3))
    state.clear()
    state.cumulative(P(1, 5), -1, 0)
    assert drained(state).cumulative == P(1, 5)


def test_it_is_due_at_the_size_of_a_group():
    state = acks(group_max=2)
    state.entry(P(1, 1))
    assert not state.due
    state.cumulative(P(1, 0), -1, 0)
    assert state.due


def test_what_was_sent_lately_is_known_for_a_while():
    state = acks()
    state.entry(P(1, 1))
    state.drain(100.0)
    state.entry(P(1, 2))
    state.drain(100.0 + SENT_PERIOD_S)
    assert state.covers(P(1, 1))
    state.entry(P(1, 3))
    state.drain(100.0 + 2 * SENT_PERIOD_S)
    assert not state.covers(P(1, 1))
    assert state.covers(P(1, 2))


def test_a_lost_connection_sends_the_mark_again_and_keeps_what_was_sent_in_mind():
    state = acks()
    state.entry(P(1, 8))
    state.cumulative(P(1, 5), -1, 0)
    drained(state)
    state.connection_lost()
    assert state.covers(P(1, 8))
    assert drained(state).cumulative == P(1, 5)


def test_a_lost_connection_sends_bit_sets_again():
    state = acks(batch_index=True)
    state.indexes(P(1, 1), [0], 2)
    drained(state)
    state.connection_lost()
    assert drained(state).sets == [[0b10]]


def test_a_broker_that_lets_go_may_send_everything_again():
    state = acks()
    state.entry(P(1, 8))
    state.cumulative(P(1, 5), -1, 0)
    drained(state)
    state.entry(P(1, 9))
    state.forget_sent()
    assert not state.covers(P(1, 8))
    assert not state.covers(P(1, 5))
    assert drained(state).positions == [P(1, 9)]


def test_clear_forgets_all():
    state = acks(batch_index=True)
    state.entry(P(1, 1))
    state.indexes(P(1, 2), [0], 2)
    state.cumulative(P(1, 0), -1, 0)
    state.clear()
    assert state.count == 0
    assert not state.covers(P(1, 0))
    assert state.remaining(P(1, 2)) is None


@pytest.mark.parametrize("batch_index", [False, True])
def test_half_acknowledged_entries_are_bounded(batch_index):
    state = acks(batch_index=batch_index, partial_max=2)
    for entry in range(3):
        state.indexes(P(1, entry), [0], 2)
    assert state.remaining(P(1, 0)) is None
    assert state.remaining(P(1, 1)) == 0b10
    assert drained(state).positions == ([P(1, 1), P(1, 2)] if batch_index else [])


@pytest.mark.parametrize("batch_index", [False, True])
def test_what_was_not_answered_waits_again(batch_index):
    state = acks(batch_index=batch_index)
    state.entry(P(1, 1))
    state.indexes(P(1, 2), [0], 2)
    state.cumulative(P(1, 0), -1, 0)
    sent = state.drain(0.0)
    state.indexes(P(1, 2), [1], 2)  # Complete by now.
    for batch in sent:
        state.send_again(batch)
    again = drained(state)
    assert (sorted(again.positions), again.sets, again.cumulative) == (
        [P(1, 1), P(1, 2)],
        None,
        P(1, 0),
    )


def test_a_batch_is_cut_into_parts_with_their_bit_sets():
    places = [P(1, entry) for entry in range(5)]
    whole = AckBatch(places, [[], [], [1], [2], [3]])
    assert list(whole.parts(2)) == [
        AckBatch(places[:2], [[], []]),
        AckBatch(places[2:4], [[1], [2]]),
        AckBatch(places[4:], [[3]]),
    ]
    assert list(AckBatch(places, cumulative=True).parts(5)) == [AckBatch(places, cumulative=True)]


@given(st.integers(0, 1 << 200))
def test_bit_sets_survive_the_wire(number):
    found = words(number)
    assert all(-(1 << 63) <= word < 1 << 63 for word in found)
    assert bits(found) == number


SIZES = {P(1, entry): (entry % 3) + 1 for entry in range(6)}
STEP = st.one_of(
    st.tuples(st.just("index"), st.integers(0, 5), st.integers(0, 2)),
    st.tuples(st.just("upto"), st.integers(0, 5), st.integers(0, 2)),
    st.tuples(st.sampled_from(["send", "answer", "lose"]), st.just(0), st.just(0)),
)


@given(st.lists(STEP, max_size=40))
def test_exactly_the_entries_that_are_complete_are_acknowledged(steps):
    """Against a plain set of acknowledged messages."""
    state = acks()
    done: set[tuple[Position, int]] = set()
    told: set[Position] = set()
    unanswered = []

    def lose():
        for batch in unanswered:
            state.send_again(batch)
        unanswered.clear()

    def answer():
        for batch in unanswered:
            upto = batch.positions[0] if batch.cumulative else P(-1, -1)
            told.update(p for p in SIZES if p <= upto)
            told.update([] if batch.cumulative else batch.positions)
        unanswered.clear()

    for kind, entry, index in steps:
        position = P(1, entry)
        size = SIZES[position]
        at = min(index, size - 1)
        if kind == "index":
            state.indexes(position, [at], size)
            done.add((position, at))
        elif kind == "upto":
            state.cumulative(position, at if size > 1 else -1, size if size > 1 else 0)
            done |= {(p, i) for p in SIZES for i in range(SIZES[p]) if (p, i) <= (position, at)}
        elif kind == "send":
            unanswered += state.drain(0.0)
        elif kind == "lose":
            lose()
        else:
            answer()
    lose()
    unanswered += state.drain(0.0)
    answer()
    assert told == {p for p in SIZES if all((p, i) in done for i in range(SIZES[p]))}


ENTRIES = [P(1, n) for n in range(3)]
STEPS = st.tuples(
    st.sampled_from(
        [
            "one",
            "one",
            "one",
            "one",
            "entry",
            "cumulative",
            "acknowledge_all_but",
            "drain",
            "covers",
        ]
    ),
    st.sampled_from(ENTRIES),
    st.integers(0, 3),
)


@given(st.lists(STEPS, max_size=40), st.booleans())
def test_messages_acknowledged_one_by_one_are_those_acknowledged_by_index(steps, batch_index):
    together, apart = acks(batch_index=batch_index), acks(batch_index=batch_index)
    for step, position, index in steps:
        if step == "one":
            before = apart.count
            apart.indexes(position, [index], 4)
            if not together.some(position, [index], 4):
                assert apart.count == before, "there is something to send"
        elif step == "drain":
            assert drained(together) == drained(apart)
        elif step == "covers":
            assert together.covers(position) == apart.covers(position)
            assert together.remaining(position) == apart.remaining(position)
        else:
            given = {"entry": (), "cumulative": (index, 4), "acknowledge_all_but": (0b0110,)}[step]
            for state in (together, apart):
                getattr(state, step)(position, *given)
    assert drained(together) == drained(apart)
