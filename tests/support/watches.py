"""What a watch of the metadata told."""

from support.loop import until


class Heard:
    """Paths in the order they were told: ``all`` of them, and those since ``until`` returned."""

    def __init__(self) -> None:
        self.paths: list[str | None] = []
        self.all: list[str | None] = []

    def __call__(self, path: str | None) -> None:
        self.paths.append(path)
        self.all.append(path)

    async def until(self, *paths: str | None) -> None:
        """Return when all of these were told."""
        await until(lambda: set(paths) <= set(self.paths))
        self.paths.clear()
