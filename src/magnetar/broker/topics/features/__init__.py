"""What few topics have: limits on rates, deduplication, compaction, offloading, transactions."""
