from magnetar.client.connections.backoff import Backoff


def test_delays_double_up_to_a_minute_and_begin_anew_after_success():
    backoff = Backoff(lambda: 0.0, first_s=0.1, max_s=60.0)
    delays = [backoff.next_s() for _ in range(12)]
    assert delays[:4] == [0.1, 0.2, 0.4, 0.8]
    assert delays[-2:] == [60.0, 60.0]
    backoff.reset()
    assert backoff.next_s() == 0.1


def test_chance_shortens_a_delay_by_up_to_a_fifth():
    assert Backoff(lambda: 0.5, first_s=1.0, max_s=60.0).next_s() == 0.9
    assert Backoff(lambda: 0.999, first_s=1.0, max_s=60.0).next_s() > 0.8
