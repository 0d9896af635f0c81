"""A topic and what is attached to it: producers, subscriptions, consumers. Deaf to the protocol."""
