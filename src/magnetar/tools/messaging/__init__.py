"""Commands that send, receive and look at messages: as Pulsar's ``pulsar-client``."""
