"""Spans of what the broker does, for OpenTelemetry: where the time of a slow publish went.

Where traces are off nothing of this is imported. Where they are on, connections have a
``TracedSession``, which sees every run that comes in and goes out; ``sampling.py`` says which
entries are traced, and ``spans.py``, alone, knows OpenTelemetry.
"""
