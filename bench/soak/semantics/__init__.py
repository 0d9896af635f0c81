"""``make soak-semantics``: every feature of Pulsar's messaging in use at once, with faults."""
