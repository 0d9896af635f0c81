"""A cluster in one process and one event loop, whose every moment follows from a seed.

Time, the network, disks, processes and chance are simulated; brokers and clients are the real ones,
and speak to models of ZooKeeper and of bookies, which the contract suites hold to the real servers.
``docs/simulation.md`` says how to run one and how to read its story.
"""
