"""Values: names, positions, hashes, records. Parsed, printed, compared; no I/O, no clock."""
