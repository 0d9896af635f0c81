"""What is confirmed, against the plainest way to say it."""

from hypothesis import given
from hypothesis import strategies as st
from unit.storage.ledger.bookkeeper.sizes import sizes

from magnetar.storage.ledger.bookkeeper.acks import Acks
from magnetar.storage.ledger.bookkeeper.distribution import write_set

ENTRIES = 12


@given(sizes, st.randoms(use_true_random=False), st.integers(0, ENTRIES))
def test_an_entry_is_confirmed_when_enough_have_it_and_all_before_it(size, chance, replaced_from):
    ensemble, write, ack = size
    acks = Acks(ensemble, write, ack)
    has = {(e, p) for e in range(ENTRIES) for p in write_set(e, ensemble, write)}
    order = sorted(has)
    chance.shuffle(order)
    told = set()

    def contiguous(position):
        """What a position has without a gap."""
        found = set()
        for entry in range(ENTRIES):
            if (entry, position) not in has:
                continue
            if (entry, position) not in told:
                break
            found.add(entry)
        return found

    def expected():
        count = 0
        there = [contiguous(position) for position in range(ensemble)]
        while count < ENTRIES and sum(count in each for each in there) >= ack:
            count += 1
        return count - 1

    for number, (entry, position) in enumerate(order):
        acks.note(position, entry, entry)
        told.add((entry, position))
        assert min(acks.confirmed, ENTRIES - 1) == expected()
        if number == len(order) // 2:
            first = min(replaced_from, acks.confirmed + 1)
            acks.forget(position, first)
            kept = {each for each in told if each[1] != position}
            before = {each for each in has if each[1] == position and each[0] < first}
            told = kept | before  # What is confirmed is not the new one's affair.
            assert min(acks.confirmed, ENTRIES - 1) == expected()
