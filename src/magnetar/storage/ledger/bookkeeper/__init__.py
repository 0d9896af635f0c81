"""Ledgers on Apache BookKeeper: our own client of its protocol."""
