"""The commands: ``magnetar standalone``, ``magnetar admin`` and the rest."""
