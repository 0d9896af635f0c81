"""Append-only ledgers, one writer each: one contract (``store.py``), several implementations."""
