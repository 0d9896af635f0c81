"""Who the client says it is: one class for each of Pulsar's methods, and a protocol for others."""
