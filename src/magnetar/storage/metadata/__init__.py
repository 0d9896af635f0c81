"""Small versioned records that can be watched: one contract (``store.py``), several stores."""
