"""The version of Magnetar, which both sides of a connection say. Pure."""

__version__ = "0.1.0"
