"""What a broker's settings say where transactions are to be exactly once."""

SETTINGS = {
    "transactionCoordinatorEnabled": "true",
    "acknowledgmentAtBatchIndexLevelEnabled": "true",
    "brokerDeduplicationEnabled": "true",
}
