"""What ``import magnetar`` offers, and what it costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import magnetar


@pytest.mark.parametrize("name", magnetar.__all__)
def test_every_name_is_there(name):
    assert getattr(magnetar, name) is getattr(magnetar, name)
    assert name in dir(magnetar)


def test_types_and_values_come_from_the_same_places():
    """What a type checker reads is what is imported."""
    source = ast.parse(Path(magnetar.__file__).read_text())
    checked = next(node for node in source.body if isinstance(node, ast.If))
    read = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert read == {**magnetar._HOMES, "errors": "magnetar"}
    assert set(read) == set(magnetar.__all__)


def test_another_name_is_missing_as_from_any_module():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = magnetar.Nonsense


def test_the_errors_alone_do_not_bring_the_client():
    program = (
        "import sys, magnetar.errors; "
        "print([n for n in ('asyncio', 'google.protobuf', 'magnetar.client') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
