import pytest

from magnetar.broker.admin import exposition
from magnetar.broker.admin.exposition import Column, MetricTable, labels_of, lines


def test_samples_of_a_name_stand_together_also_from_two_tables(monkeypatch):
    monkeypatch.setattr(exposition, "ROWS_PER_PIECE", 2)
    shared = Column("b", "of both")
    first, second = MetricTable((Column("a", "one"), shared)), MetricTable((shared,))
    for number in range(3):
        first.add(labels_of(n=str(number)), (number, number * 10))
    second.add(labels_of(m="x"), (7.5,))
    assert "".join(lines([first, second])).splitlines() == [
        "# HELP a one",
        "# TYPE a gauge",
        'a{n="0"} 0',
        'a{n="1"} 1',
        'a{n="2"} 2',
        "# HELP b of both",
        "# TYPE b gauge",
        'b{n="0"} 0',
        'b{n="1"} 10',
        'b{n="2"} 20',
        'b{m="x"} 7.5',
    ]


def test_what_nobody_has_is_not_named():
    assert "".join(lines([MetricTable((Column("a", "one"),))])) == ""


def test_labels_cannot_break_out():
    assert labels_of(topic='a"b\\c\nd') == '{topic="a\\"b\\\\c\\nd"}'


def test_a_row_has_a_value_for_each_column():
    with pytest.raises(AssertionError):
        MetricTable((Column("a", "one"),)).add("", (1, 2))
