"""What an operator sets: a file for each section, and the text that settings are given as."""
