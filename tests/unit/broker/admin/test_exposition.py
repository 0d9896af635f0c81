import pytest

from magnetar.broker.admin import exposition
from magnetar.broker.admin.exposition import Column, Lines, MetricTable, labels_of, lines


def told(tables, kept=None):
    return b"".join(lines(tables, {} if kept is None else kept)).decode().splitlines()


def test_samples_of_a_name_stand_together_also_from_two_tables(monkeypatch):
    monkeypatch.setattr(exposition, "ROWS_TOGETHER", 2)
    shared = Column("b", "of both")
    first, second = MetricTable((Column("a", "one"), shared)), MetricTable((shared,))
    for number in range(3):
        first.add((labels_of(n=str(number)), (number, number * 10)))
    second.add((labels_of(m="x"), (7.5,)))
    assert told([first, second]) == [
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


@pytest.mark.parametrize("kept_max", [0, 50, 10_000])
def test_lines_are_told_again_where_rows_are_the_same(kept_max, monkeypatch):
    monkeypatch.setattr(exposition, "ROWS_TOGETHER", 2)
    monkeypatch.setattr(exposition, "LINES_KEPT_MAX", kept_max)
    columns, kept = (Column("a", "one"), Column("b", "two")), {}
    rows = [(labels_of(n=str(number)), (number, number * 10)) for number in range(5)]
    made, of = [], Lines.of

    def counted(part, name, index):
        made.append(len(part.rows))
        return of(part, name, index)

    monkeypatch.setattr(Lines, "of", counted)
    for changed, count in ((0, 6), (0, 0), (3, 2), (4, 2)):
        if changed:
            rows[changed] = (rows[changed][0], (7, 70))
        made.clear()
        again = told([MetricTable(columns, list(rows))], kept)
        assert again == told([MetricTable(columns, list(rows))])
        del made[-6:]  # Those of the comparison.
        assert len(made) == count or (kept_max < 10_000 and len(made) > count)
    size = sum(len(text) for part in kept.values() for text in part.by_column.values())
    assert size <= kept_max
    shorter = told([MetricTable(columns, rows[:1])], kept)
    assert (len(shorter), len(kept)) == (6, 1)


def test_what_nobody_has_is_not_named():
    assert told([MetricTable((Column("a", "one"),))]) == []


def test_labels_cannot_break_out():
    assert labels_of(topic='a"b\\c\nd') == '{topic="a\\"b\\\\c\\nd"}'


def test_a_row_has_a_value_for_each_column():
    with pytest.raises(AssertionError):
        MetricTable((Column("a", "one"),)).add(("", (1, 2)))
