"""For our tests and our users': brokers in the test's own process, broker processes, bad networks.

``local_broker`` runs a broker in the caller's event loop or in a thread, ``processes`` as a process
that can be killed and started again, ``network`` has a raw connection and a proxy that breaks
things, ``plugin`` the pytest fixtures. Nothing here is imported by the broker or the client.
"""
