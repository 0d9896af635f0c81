"""The comparison of clients: every way that it names exists, and its rows are ratios of pairs."""

from bench import client_ways, clients
from bench.clients import COMPARISONS, LABELS, Comparison, Look, rows


def test_every_way_of_every_comparison_exists_and_has_a_label():
    for case in COMPARISONS:
        for ours, theirs in case.rows:
            for way in (*ours, theirs):
                assert callable(getattr(client_ways, way))
                assert way in LABELS


def test_a_row_shows_medians_and_the_median_of_the_ratios_within_each_round():
    case = Comparison("x", (100,), ((("send_many",), "official_send_async"),), sends=True)
    ours = [Look(400.0, 1.0, 0.5), Look(900.0, 2.0, 0.5), Look(100.0, 3.0, 0.5)]
    theirs = [Look(100.0, 4.0, 0.5), Look(100.0, 4.0, 0.5), Look(100.0, 4.0, 0.5)]
    found = list(rows(case, {"send_many": ours, "official_send_async": theirs}))
    assert found[0] == [LABELS["send_many"], "400", "4.00", "2.00", "2.00", "50 %"]
    assert not found[1][2], "theirs has no ratio to itself"


def test_a_stretch_counts_from_the_end_of_the_warm_up_and_ends_with_what_there_is():
    stretch = client_ways.Stretch(0.0, client_ways.ROUND * 3)
    assert not stretch.goes_on(7), "the time is up at once"
    assert stretch.outcome().messages == 0, "what was done before is the warm-up"
    longer = client_ways.Stretch(1000.0, client_ways.ROUND * 3)
    assert longer.goes_on(client_ways.ROUND)
    assert longer.goes_on(client_ways.ROUND), "one whole round is left"
    assert not longer.goes_on(1)
    assert clients.BACKLOG[100] > client_ways.ROUND
