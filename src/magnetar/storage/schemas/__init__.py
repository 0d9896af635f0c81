"""Where versions of topics' schemas are: one contract (``store.py``), two implementations."""
