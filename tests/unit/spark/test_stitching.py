from hypothesis import given
from hypothesis import strategies as st

from magnetar.spark.offsets import NOTHING_READ, WHOLE_ENTRY, Offset
from magnetar.spark.planning import Range
from magnetar.spark.stitching import LedgerCopy, StoredLedger, stitched

TOPIC = "persistent://public/default/sales"


def ledger(ledger_id, count=10, *, copied=True, whole=True):
    copy = LedgerCopy("file:///srv", f"{ledger_id}.parquet", {}, whole=whole)
    return StoredLedger(ledger_id, count, copy if copied else None)


END = Offset(9, 3)


def wanted(after=NOTHING_READ, upto=END):
    return Range(TOPIC, after, upto)


def names(found):
    return [copy.name for copy in found.files]


def spans(found):
    return [(str(each.after), str(each.upto)) for each in found.rest]


def test_files_come_first_and_the_broker_has_the_rest():
    found = stitched(wanted(), [ledger(5), ledger(7), ledger(9, 0, copied=False)])
    assert names(found) == ["5.parquet", "7.parquet"]
    assert spans(found) == [(f"7:9:{WHOLE_ENTRY}", "9:3:-1")]


def test_a_ledger_that_is_partly_wanted_is_read_through_the_broker():
    found = stitched(wanted(Offset(5, 4, 2), Offset(8, 1)), [ledger(n) for n in (5, 6, 7, 8)])
    assert names(found) == ["6.parquet", "7.parquet"]
    assert spans(found) == [("5:4:2", f"5:9:{WHOLE_ENTRY}"), (f"7:9:{WHOLE_ENTRY}", "8:1:-1")]


def test_a_file_that_is_not_whole_is_not_read():
    found = stitched(wanted(), [ledger(5), ledger(6, whole=False), ledger(7), ledger(9)])
    assert names(found) == ["5.parquet", "7.parquet"]
    end = f"9:{WHOLE_ENTRY}"
    assert spans(found) == [(f"5:{end}", f"6:{end}"), (f"7:{end}", "9:3:-1")]


def test_where_something_may_be_lost_the_broker_is_asked():
    start = wanted(Offset(4, 2))
    assert stitched(start, [ledger(5), ledger(9)]).rest == (start,)


def test_without_files_a_range_stays_whole():
    assert spans(stitched(wanted(), [ledger(5, copied=False), ledger(9, 0)])) == [
        ("-1:-1:-1", "9:3:-1")
    ]


@st.composite
def logs(draw):
    ids = sorted(draw(st.sets(st.integers(1, 20), min_size=1, max_size=6)))
    kinds = st.builds(
        ledger, st.none(), st.integers(1, 4), copied=st.booleans(), whole=st.booleans()
    )
    return [
        StoredLedger(
            number, kind.entry_count, kind.copy and ledger(number, whole=kind.copy.whole).copy
        )
        for number, kind in zip(ids, draw(st.tuples(*[kinds] * len(ids))), strict=True)
    ]


@given(logs(), st.data())
def test_each_entry_is_in_one_file_or_in_one_range(ledgers, data):
    entries = [Offset(each.ledger_id, n) for each in ledgers for n in range(each.entry_count)]
    after = data.draw(st.sampled_from([NOTHING_READ, *entries]))
    upto = data.draw(st.sampled_from([each for each in entries if each > after] or [entries[-1]]))
    if not after < upto:
        return
    found = stitched(wanted(after, upto), ledgers)
    of_files = {int(name.partition(".")[0]) for name in names(found)}
    for entry in entries:
        times = (entry.ledger_id in of_files) + sum(
            each.after < entry <= each.upto for each in found.rest
        )
        assert times == (after < entry <= upto)
