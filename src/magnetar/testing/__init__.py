"""For our tests and our users': brokers in the test's own process, broker processes, ports."""
