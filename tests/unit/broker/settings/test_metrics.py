from magnetar.broker.config import Config


def test_the_defaults_are_pulsars():
    metrics = Config.read().metrics
    assert (metrics.topics, metrics.consumers, metrics.producers) == (True, False, False)
    assert (metrics.managed_ledgers, metrics.publishers, metrics.buffer) == (True, True, False)
    assert (metrics.interval_s, metrics.status_file) == (60, "")


def test_pulsars_names_are_known():
    flags = {"statsUpdateFrequencyInSecs": 5, "exposeConsumerLevelMetricsInPrometheus": True}
    metrics = Config.read(flags=flags).metrics
    assert (metrics.interval_s, metrics.consumers) == (5, True)
