"""Damaged contents of a file: any error that they cause becomes a ValueError that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Errors that unexpected contents of a manifest may cause.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def damage_named(file: Path, what: str) -> Iterator[None]:
    """Turn any error that unexpected contents cause into a ValueError that names the file."""
    try:
        yield
    except MALFORMED as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise ValueError(f"{file} is not a complete condrank {what}: {why}") from None
