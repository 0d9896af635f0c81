"""Several logs in one data folder, each written by one process, and their ledgers as one store's.

A ledger is in the log of the process that created it, and stays there. What a process does with
ledgers of its own is what it does alone; for those in another's log it asks that process, over a
Unix socket. ``docs/decisions/0060-a-log-for-each-process.md`` says why.
"""
