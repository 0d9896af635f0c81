"""Who a client is and what it may do. Nothing is checked yet, so credentials are refused."""
