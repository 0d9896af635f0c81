"""Authorization where a broker asks for it: its providers, its permissions, what is revoked."""
