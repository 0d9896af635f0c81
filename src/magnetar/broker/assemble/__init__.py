"""A broker made of its parts (`broker.py`); `stores.py` alone names implementations."""
