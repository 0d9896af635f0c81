"""Makes ``format("pulsar")`` known to Spark, which imports every module named ``pyspark_*``.

Spark does so in the first query of any Python data source, whichever it is for; a module that
fails to import breaks them all. So this one, and what it imports, needs nothing but pyspark.
"""

from magnetar.spark.source import PulsarDataSource as DefaultSource

__all__ = ["DefaultSource"]
