"""Both builds of the inner loops make the same of the same, whatever it is."""

from hypothesis import given, settings
from hypothesis import strategies as st
from properties.test_wire_frames import damaged, streams
from unit.inner.builds import compiled, needs_compiled

from magnetar.inner import plain

pytestmark = needs_compiled

NUMBERS = st.integers(0, 300) | st.integers(0, 2**64 - 1)
SIZES_MAX = st.just(1 << 24) | st.integers(0, 120)


def same(name, *arguments):
    """The result of both, or the kind of exception."""
    results = []
    for build in (plain, compiled):
        try:
            results.append(getattr(build, name)(*arguments))
        except (ValueError, TypeError) as error:
            results.append(type(error))
    assert results[0] == results[1]


@given(streams | damaged(), SIZES_MAX, st.data())
@settings(max_examples=400)
def test_cut_sends(data, size_max, draw):
    same("cut_sends", data, draw.draw(st.integers(-1, len(data) + 1)), size_max)
    same("cut_sends", data, 0, size_max)


@given(NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=30), NUMBERS, st.integers(0, 2**63))
def test_send_receipts(producer_id, sends, ledger_id, first):
    sequences, highest = [send[0] for send in sends], [send[1] for send in sends]
    same("send_receipts", producer_id, sequences, highest, ledger_id, first)


@given(st.binary(max_size=5000))
def test_checksum(data):
    same("checksum", data)
