"""``magnetar perf``: load for brokers, with the options and the lines of ``pulsar-perf``."""
