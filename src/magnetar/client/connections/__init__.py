"""How the client reaches brokers: lookup, connections, and what keeps an owner attached."""
