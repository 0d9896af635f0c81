"""Ledgers in local files: one log of segments for all ledgers, one sync for all who wait."""
