"""The bytes of records in the metadata store: typed values to bytes and back. The only such place.

On one machine a record is a JSON object: named fields, and a ``version``. A cluster keeps the same
values in Pulsar's own formats: its codec will stand beside this one, and nothing else changes.

How a field is added: give it a name of its own, and a default for records that do not have it. Who
does not know it keeps it and writes it back, so the version stays. A field that nobody may overlook
takes a new version, and the code that reads the version before it.
"""
