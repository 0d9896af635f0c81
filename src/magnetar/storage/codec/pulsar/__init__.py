"""Records of logs and their cursors as Pulsar writes them: protobuf, a file for each kind.

A message has all of Pulsar's fields. What is behind a field that nobody here knows is kept with
the record, as bytes, and written back with it.
"""
