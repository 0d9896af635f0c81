"""Schemas: application values to bytes and back, and what the broker is told of them."""
