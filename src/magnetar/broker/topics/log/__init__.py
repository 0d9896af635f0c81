"""What a topic has stored: where things are in it, what is not acknowledged, and how it ends."""
