"""Pulsar's admin REST API and HTTP lookup, on port 8080."""
