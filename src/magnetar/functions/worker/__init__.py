"""The functions worker: holds functions, runs them in one Spark session, answers Pulsar's API."""
