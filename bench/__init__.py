"""Measurements: not installed, run from a checkout. docs/performance.md says how to read them."""
