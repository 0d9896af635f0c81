"""The commands: ``magnetar standalone``, ``magnetar quickstart`` and the rest."""
