"""Which broker owns a topic: bundles, ownership, lookup."""
