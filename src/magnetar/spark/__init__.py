"""Pulsar in Spark: the ``pulsar`` format for batch and streams, through PySpark's data source API."""
