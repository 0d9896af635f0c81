"""Pulsar Functions: code of users between topics, run as Structured Streaming jobs."""
