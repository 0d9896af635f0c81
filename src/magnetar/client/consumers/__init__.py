"""Receiving: permits, entries to messages, acknowledgements, and what is asked for again."""
