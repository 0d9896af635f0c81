"""Values of messages as columns of their types, by the schemas of topics, in both directions."""
