"""Damaged contents of a file: whatever they raise becomes a ValueError that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What reading a manifest with unexpected contents may raise.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def whole(file: Path, what: str) -> Iterator[None]:
    """Turn any error of unexpected contents into a ValueError that names the file."""
    try:
        yield
    except MALFORMED as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        raise ValueError(f"{file} is not a whole {what} of condrank: {why}") from None
