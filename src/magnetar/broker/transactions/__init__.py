"""The coordinators of transactions that this broker serves, and how a transaction ends."""
