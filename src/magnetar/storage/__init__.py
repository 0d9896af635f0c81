"""Bytes at rest: metadata records, ledgers, endless logs made of them. Blind to messages."""
