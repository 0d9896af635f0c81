"""What anybody needs who reads a screen with a keyboard, a screen reader, or poor eyes."""

from pathlib import Path

CHECKS = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")


def flaws(page):
    """What is wrong with the page as it is shown now, a line for each."""
    return page.evaluate(CHECKS)
