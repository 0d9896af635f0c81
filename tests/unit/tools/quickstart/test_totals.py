from magnetar.tools.quickstart.figures import CarrierDay, Figures
from magnetar.tools.quickstart.reconcile import Window
from magnetar.tools.quickstart.totals import CarrierTotal, by_carrier


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
