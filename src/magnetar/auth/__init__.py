"""Who asks, and what a role may do. Nothing here knows brokers, topics or sessions."""
