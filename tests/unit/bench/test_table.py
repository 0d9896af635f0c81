"""Tables and numbers."""

from bench.table import amount, percent, ratio, table


def test_numbers_have_three_digits():
    shown = [amount(value) for value in (4.214, 42.14, 421.4, 4214, 42_140, 421_400, 4_214_000)]
    assert shown == ["4.21", "42.1", "421", "4,214", "42.1 k", "421 k", "4.21 M"]


def test_ratios_and_shares():
    assert ratio(3, 2) == "1.50"
    assert ratio(3, 0) == "-"
    assert percent(0.256) == "26 %"


def test_columns_are_aligned():
    assert table(["case", "n"], [["a", "100"], ["long", "2"]]).splitlines() == [
        "case    n",
        "----  ---",
        "a     100",
        "long    2",
    ]
