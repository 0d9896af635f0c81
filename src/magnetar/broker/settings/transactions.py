"""Whether clients may use transactions, and how many."""

from magnetar.late_dataclass import dataclass

from .setting import setting


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Transactions over topics and subscriptions, and their coordinators."""

    enabled: bool = setting(
        "transactionCoordinatorEnabled",
        False,
        "clients publish and acknowledge in transactions",
    )
    coordinators: int = setting(
        "transactionCoordinators",
        1,
        "coordinators that the first broker of a cluster makes; Pulsar makes 16, and 1 where there "
        "is one broker. `magnetar admin transactions scale-transactionCoordinators` makes more",
        minimum=1,
        maximum=10_000,
    )
    active_max: int = setting(
        "maxActiveTransactionsPerCoordinator",
        0,
        "transactions of a coordinator that have not ended; 0: any number",
    )
