"""What an entry contains: metadata, body, batches, chunks, compression. No I/O, no clock."""
