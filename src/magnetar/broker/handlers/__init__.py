"""Commands to calls, by family; each handler is given only the rooms it uses."""
