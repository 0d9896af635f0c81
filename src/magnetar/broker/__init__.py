"""Publish and subscribe: connections, topics, subscriptions, and the way between them."""
