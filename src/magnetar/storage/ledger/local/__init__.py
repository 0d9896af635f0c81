"""Ledgers in local files: one interleaved log of segments, which is journal and store in one.

``format`` and ``segment_format`` are the bytes; ``disk`` the only door to files; ``log_thread``
writes and syncs; ``journal`` places appends in the log and answers them; ``index`` knows where each
entry lies, ``segments`` which files exist and what in them is alive; ``scan`` and ``recovery`` read
it all back, ``reading`` serves entries, each through a ``window``; ``upkeep`` seals, prepares and
frees files, ``compaction`` empties them; ``store`` is the contract, ``settings`` what it is told.
"""
