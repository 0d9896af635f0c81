"""Who a client is (`authentication.py`, one provider for each method) and what it may do."""
