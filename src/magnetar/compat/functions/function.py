"""The interface of a function."""

from .context import Context


class Function:
    """What a function inherits from."""

    def process(self, input: object, context: Context) -> object:
        """Process a message; what is returned goes to the output topic."""
