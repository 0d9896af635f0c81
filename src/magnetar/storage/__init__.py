"""Bytes at rest: metadata records, ledgers, and the endless logs made of them. Blind to messages."""
