"""Pulsar in Spark: the ``pulsar`` format for batch and streams, as a Python data source."""
