"""``magnetar admin``: pulsar-admin's groups, verbs and options, as tables of what each asks."""
