"""Generated from proto/PulsarApi.proto by `make proto`; never edited."""
