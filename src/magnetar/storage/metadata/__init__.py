"""Small versioned records, watched: one contract (``store.py``), several homes for the bytes."""
