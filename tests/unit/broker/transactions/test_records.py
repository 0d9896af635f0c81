import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.transactions import records
from magnetar.broker.transactions.transaction import Transaction, TxnStatus, TxnSubscription
from magnetar.errors import CorruptEntry
from magnetar.model.txn_id import TxnId

LOG = 3


def replayed(written):
    found = records.Replayed(LOG)
    for record in written:
        found.add(record)
    return found


class Writer:
    """Transactions, and the records that a coordinator writes of them."""

    def __init__(self):
        self.transactions = {}
        self.ended = {}
        self.written = []
        self.next = 0
        self.shortened = 0  # Records before that may be trimmed.

    def begin(self, _):
        one = Transaction(TxnId(LOG, self.next), 1000 + self.next, 5, f"role {self.next}")
        self.transactions[self.next] = one
        self.next += 1
        self.written.append(records.opened(one))

    def add(self, one):
        topics = [f"persistent://public/default/{len(self.written)}"]
        one.topics.update(dict.fromkeys(topics))
        self.written.append(records.topics_added(one.txn_id, topics))

    def acknowledge(self, one):
        added = [TxnSubscription("persistent://public/default/ä", f"{len(self.written)}")]
        one.subscriptions.update(dict.fromkeys(added))
        self.written.append(records.subscriptions_added(one.txn_id, added))

    def commit(self, one):
        one.status = TxnStatus.COMMITTING
        self.written.append(records.status_changed(one))

    def end(self, one):
        one.status = TxnStatus.COMMITTED if one.commits else TxnStatus.ABORTED
        del self.transactions[one.txn_id.least_bits]
        self.ended[one.txn_id.least_bits] = records.Ending(one.commits, one.owner)
        self.written.append(records.status_changed(one))

    def shorten(self, _):
        self.shortened = len(self.written)
        self.written.append(records.next_number(self.next))
        self.written.append(records.all_ended(self.ended))
        self.written += map(records.all_of, self.transactions.values())


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["begin", "begin", "add", "acknowledge", "commit", "end", "shorten"]),
            st.integers(0, 100),
        ),
        max_size=40,
    ),
    data=st.data(),
)
def test_records_add_up_to_what_was_written_whatever_a_crash_left_of_a_shortening(steps, data):
    writer = Writer()
    for step, which in steps:
        open_ones = list(writer.transactions.values())
        if step in ("begin", "shorten") or open_ones:
            getattr(writer, step)(open_ones[which % len(open_ones)] if open_ones else None)
    # Of those that may be trimmed, any number of the oldest are gone.
    gone = data.draw(st.integers(0, writer.shortened))
    found = replayed(writer.written[gone:])
    assert found.transactions == writer.transactions
    assert found.next == writer.next
    assert found.ended == writer.ended


def test_a_log_that_an_earlier_version_shortened_is_read():
    """It kept nothing of what had ended; what it wrote since is known."""
    written = [records.next_number(5), *([b'{"txn":3,"status":"COMMITTED"}'] * 2)]
    found = replayed([*written, b'{"txn":5,"timeoutMs":1,"openedAtMs":2,"status":"ABORTED"}'])
    assert (found.next, found.transactions) == (6, {})
    assert found.ended == {5: records.Ending(commit=False, owner=None)}


def test_endings_are_remembered_in_the_order_in_which_they_ended():
    endings = {
        number: records.Ending(number % 3 > 0, owner)
        for number, owner in zip((4, 2, 9, 7, 1), ("a", "a", None, "a", "a"), strict=True)
    }
    found = replayed([records.all_ended(endings)])
    assert list(found.ended.items()) == list(endings.items())


def test_what_is_said_twice_changes_nothing():
    writer = Writer()
    for step in (writer.begin, writer.begin):
        step(None)
    for one in list(writer.transactions.values()):
        writer.add(one)
        writer.acknowledge(one)
    before = copy.deepcopy(writer.transactions)
    found = replayed([*writer.written, *map(records.all_of, writer.transactions.values())])
    assert found.transactions == before


@pytest.mark.parametrize(
    "record", [b"", b"\xff", b"[]", b'{"txn":1,"timeoutMs":2}', b'{"txn":"a"}']
)
def test_bytes_that_are_no_record_are_named(record):
    with pytest.raises(CorruptEntry, match="coordinator 3"):
        replayed([record])
