"""``make soak``: minutes of everything at once, with kills; docs/soak.md says what it is about."""
