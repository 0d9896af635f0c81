"""Messages for an operator: looked at, searched, published, and sent where they came from."""
