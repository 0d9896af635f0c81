"""An endless log made of ledgers, and durable places in it (cursors)."""
