"""What stands in for a callback that is no longer called."""


def unheard(*_: object) -> None:
    """Do nothing: whoever listened has closed, and let go of itself.

    With its method in the place of this, the two would be a cycle of objects, which stays in memory
    until a garbage collection looks at it, and that may be never.
    """
