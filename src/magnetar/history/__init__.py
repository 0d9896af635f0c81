"""Sealed ledgers as Parquet files in a folder or an object store: ``docs/history.md``."""
