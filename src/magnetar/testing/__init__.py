"""Brokers for tests, ours and our users'.

``local_broker`` runs a broker in the caller's event loop or in a thread, ``processes`` as a process
that can be killed and started again; ``plugin`` has the pytest fixtures. Neither the broker nor the
client imports anything from here.
"""
