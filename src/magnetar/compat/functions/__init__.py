"""The interfaces of Pulsar Functions, as ``pulsar.functions``: for programs that use them."""
