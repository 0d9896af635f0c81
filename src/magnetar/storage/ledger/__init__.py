"""Append-only ledgers with one writer each: one contract (``store.py``), several implementations."""
