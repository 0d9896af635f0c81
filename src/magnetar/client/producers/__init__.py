"""Sending: routing, batches, and the sends that wait for their receipts."""
