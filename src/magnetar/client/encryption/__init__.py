"""Encrypted messages, as Pulsar's clients write them: keys, and what is encrypted with them."""
