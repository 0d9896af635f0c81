from magnetar.client.connections.failover_watch import ClusterChoice


def told(choice, *steps):
    """What is chosen after each step: the time, and who answers then."""
    return [choice.probed(now, up) for now, up in steps]


def test_the_primary_is_used_while_it_answers():
    choice = ClusterChoice(failover_delay_s=10, switch_back_delay_s=30)
    assert told(choice, (0, [True, True]), (5, [True, False])) == [0, 0]


def test_the_first_that_answers_is_used_when_the_current_one_is_down_for_long_enough():
    choice = ClusterChoice(failover_delay_s=10, switch_back_delay_s=30)
    down = [False, False, True]
    assert told(choice, (0, down), (5, down), (9.9, down), (10, down)) == [0, 0, 0, 2]
    # It is not down for long enough: there was an answer in between.
    choice = ClusterChoice(failover_delay_s=10, switch_back_delay_s=30)
    assert told(choice, (0, down), (5, [True, True, True]), (10, down), (15, down)) == [0] * 4


def test_with_nobody_there_it_stays_where_it_is():
    choice = ClusterChoice(failover_delay_s=0, switch_back_delay_s=30)
    assert told(choice, (0, [False, False]), (5, [False, False]), (6, [False, True])) == [0, 0, 1]


def test_it_goes_back_when_the_primary_answers_for_long_enough():
    choice = ClusterChoice(failover_delay_s=0, switch_back_delay_s=30)
    away, back = [False, True], [True, True]
    assert told(choice, (0, away), (10, back), (39, back)) == [1, 1, 1]
    assert told(choice, (39.5, away), (40, back), (69, back), (70, back)) == [1, 1, 1, 0]


def test_when_the_second_fails_too_the_primary_is_taken_without_waiting_for_it():
    choice = ClusterChoice(failover_delay_s=5, switch_back_delay_s=600)
    choice.probed(0, [False, True])
    assert told(choice, (5, [False, True]), (10, [True, False]), (15, [True, False])) == [1, 1, 0]
