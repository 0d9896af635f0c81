"""A proxy: clients reach the brokers of a cluster by one address, and no broker by its own."""
