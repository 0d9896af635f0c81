"""Offloading: what becomes of ledgers by policy, and the processes that do it."""
