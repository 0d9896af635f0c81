"""Schemas of topics: the registry of their versions, and who may bring which."""
