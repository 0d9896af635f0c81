"""What comes into a topic: its producers, which of them it may have together, and its writer."""
