"""The records of a coordinator's log, as bytes and back, and what they add up to. Pure.

A record is an object of JSON that names a transaction and says what is new about it:

    {"txn": 12, "timeoutMs": 60000, "openedAtMs": 1795226523663, "owner": "app"}    it is opened
    {"txn": 12, "topics": ["persistent://t/n/a"]}                                   they take part
    {"txn": 12, "subscriptions": [["persistent://t/n/b", "s"]]}
    {"txn": 12, "status": "COMMITTING"}
    {"txn": 12, "status": "COMMITTED"}                                              it is forgotten

or below which number all are reserved, so that another process begins there: ``{"next": 1000}``.
One record may say all of this, and saying again what is known changes nothing: so the log is
shortened by appending a record of each transaction that is left, and trimming what is before those.
How those ended that are remembered goes into one record, in the order in which they ended:

    {"ended": [["COMMITTED", "app", [12, 14]], ["ABORTED", "app", [13]]]}

A broker of an earlier version passes over that one.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

from magnetar.errors import CorruptEntry
from magnetar.model.txn_id import TxnId

from .transaction import Transaction, TxnStatus, TxnSubscription

_ENDED: Final = {True: TxnStatus.COMMITTED, False: TxnStatus.ABORTED}
_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Ending(NamedTuple):
    """How a transaction has ended."""

    commit: bool
    owner: str | None  # As of a ``Transaction``.


class Replayed:
    """What the records of a coordinator add up to."""

    def __init__(self, coordinator: int) -> None:
        self.transactions: dict[int, Transaction] = {}  # Those that have not ended, by number.
        self.next = 0  # The number of the next transaction.
        self.ended: dict[int, Ending] = {}  # Those that the log still knows, the oldest first.
        self._coordinator = coordinator

    def add(self, record: bytes) -> None:
        """Take the next record. Raises CorruptEntry for bytes that are none."""
        try:
            self._add(json.loads(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptEntry(
                f"a record of the coordinator {self._coordinator} that cannot be read: "
                f"{record[:200]!r}"
            ) from error

    def _add(self, record: dict[str, Any]) -> None:
        self.next = max(self.next, record.get("next", 0))
        for status, owner, numbers in record.get("ended", ()):
            ending = Ending(TxnStatus(status) is TxnStatus.COMMITTED, owner)
            for number in numbers:
                self._end(number, ending)
        if "txn" not in record:
            return
        number = record["txn"]
        self.next = max(self.next, number + 1)
        if "timeoutMs" in record and number not in self.transactions:
            self.transactions[number] = Transaction(
                TxnId(self._coordinator, number),
                record["timeoutMs"],
                record["openedAtMs"],
                record.get("owner"),
            )
        transaction = self.transactions.get(number)
        if transaction is None:
            return  # It had ended when the log was shortened.
        transaction.topics.update(dict.fromkeys(record.get("topics", ())))
        for topic, subscription in record.get("subscriptions", ()):
            transaction.subscriptions[TxnSubscription(topic, subscription)] = None
        if "status" in record:
            transaction.status = TxnStatus(record["status"])
            if transaction.status.ended:
                self._end(number, Ending(transaction.commits, transaction.owner))

    def _end(self, number: int, ending: Ending) -> None:
        self.ended[number] = ending
        self.transactions.pop(number, None)


def opened(transaction: Transaction) -> bytes:
    return _record(_opened(transaction))


def topics_added(txn_id: TxnId, topics: Iterable[str]) -> bytes:
    return _record({"txn": txn_id.least_bits, "topics": list(topics)})


def subscriptions_added(txn_id: TxnId, subscriptions: Iterable[TxnSubscription]) -> bytes:
    return _record({"txn": txn_id.least_bits, "subscriptions": list(subscriptions)})


def status_changed(transaction: Transaction) -> bytes:
    return _record({"txn": transaction.txn_id.least_bits, "status": transaction.status.value})


def all_of(transaction: Transaction) -> bytes:
    """Everything that is known of a transaction, in one record."""
    record = _opened(transaction)
    if transaction.topics:
        record["topics"] = list(transaction.topics)
    if transaction.subscriptions:
        record["subscriptions"] = list(transaction.subscriptions)
    record["status"] = transaction.status.value
    return _record(record)


def all_ended(endings: Mapping[int, Ending]) -> bytes:
    """How transactions have ended, by number, in one record."""
    alike = groupby(endings.items(), key=lambda each: each[1])
    return _record(
        {
            "ended": [
                (_ENDED[ending.commit].value, ending.owner, [number for number, _ in some])
                for ending, some in alike
            ]
        }
    )


def next_number(number: int) -> bytes:
    return _record({"next": number})


def _opened(transaction: Transaction) -> dict[str, Any]:
    record: dict[str, Any] = {
        "txn": transaction.txn_id.least_bits,
        "timeoutMs": transaction.timeout_ms,
        "openedAtMs": transaction.opened_at_ms,
    }
    if transaction.owner is not None:
        record["owner"] = transaction.owner
    return record


def _record(record: dict[str, Any]) -> bytes:
    return _encode(record).encode()
