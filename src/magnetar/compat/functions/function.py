"""The interface of a function."""

from .context import Context


class Function:
    """The base class of functions."""

    def process(self, input: object, context: Context) -> object:
        """Process a message; what is returned goes to the output topic."""
