from magnetar.message.entry_traits import traits_of
from magnetar.message.markers import MarkerType, end_of_transaction
from magnetar.message.metadata import peek


def test_a_marker_says_which_transaction_ended_and_how():
    seen = peek(end_of_transaction((3, 2**40), 1234, commit=True))
    assert (seen.marker_type, seen.transaction) == (MarkerType.TXN_COMMIT, (3, 2**40))
    assert (seen.publish_time_ms, seen.is_marker) == (1234, True)
    assert peek(end_of_transaction((0, 0), 1, commit=False)).marker_type == MarkerType.TXN_ABORT


def test_a_marker_is_seen_among_other_entries():
    assert traits_of([end_of_transaction((0, 1), 1, commit=True)], [1]).unusual[0].is_marker
