"""The bytes of records in the metadata store. Only this room turns typed values into them and back.

``codec.py`` is the contract. Whoever reads or writes records is given one, which
``broker/assemble/stores.py`` names beside the stores. On one machine it is ``json_codec.py``: a
record is a JSON object, with named fields and a ``version``. A cluster keeps the same values in
Pulsar's own formats: its codec will stand beside this one, and nothing else changes.

How a field is added: give it a name of its own, and a default for records that do not have it. A
Magnetar that does not know it keeps it and writes it back, so the version stays. A field that must
not be overlooked takes a new version, and the code that reads the version before it.
"""
