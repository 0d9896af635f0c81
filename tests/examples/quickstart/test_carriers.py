import io

import pytest
from quickstart.carriers import (
    TABLE_LINES_MIN,
    CarrierTotal,
    by_carrier,
    carriers_table,
)
from quickstart.figures import CarrierDay, Figures
from quickstart.reconcile import Window
from rich.console import Console

AIRLINES = {
    "UA": "United Air Lines Inc.",
    "EV": "ExpressJet Airlines Inc.",
    "FL": "AirTran Airways Corporation",
    "WN": "Southwest Airlines Co.",
    "B6": "JetBlue Airways",
}
WHOLE_YEAR = [
    CarrierTotal(carrier, 365, 58_665, 10_001, 100.5, 1_301, "2013-12-31") for carrier in AIRLINES
]


def window(flights, mean, worst):
    return Window(Figures(flights, mean, worst, None, None), [])


def test_a_carriers_days_are_added_up_by_their_flights():
    windows = {
        CarrierDay("UA", "2013-01-01"): window(10, 2.0, 50),
        CarrierDay("UA", "2013-01-02"): window(30, 6.0, 70),
        CarrierDay("DL", "2013-01-01"): window(50, 1.0, 5),
    }
    assert by_carrier(windows, [("UA", 1), ("UA", 2), ("HA", 3)]) == [
        CarrierTotal("DL", 1, 50, 0, 1.0, 5, "2013-01-01"),
        CarrierTotal("UA", 2, 40, 2, 5.0, 70, "2013-01-02"),
    ]


def test_nothing_yet_is_no_rows():
    assert by_carrier({}, []) == []


def shown(width, height=None):
    """The lines of the table on a terminal so wide."""
    screen = Console(file=io.StringIO(), width=width)
    screen.print(carriers_table(WHOLE_YEAR, AIRLINES, width, height))
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_each_carrier_has_one_line_with_nothing_cut_off(width):
    lines = shown(width)
    assert len(lines) == 5 + len(WHOLE_YEAR)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert lines[0] == "Departures from New York, 2013 (delays in minutes)"
    assert "EV ExpressJet Airlines " in lines[4]
    assert lines[-1].split() == ["all", "293,325", "50,005"]
    assert ("days" in lines[1], "2013-12-31" in lines[4]) == (width >= 80, width >= 80)


def test_a_low_terminal_shows_the_busiest_carriers_and_the_sum_of_the_others():
    lines = shown(80, height=TABLE_LINES_MIN + 1)
    assert len(lines) == TABLE_LINES_MIN + 1
    assert [line[:2] for line in lines[3:]] == ["UA", "EV", "3 ", "", "al"]
    assert lines[5].split() == ["3", "more", "175,995", "30,003"]
