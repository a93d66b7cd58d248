"""Atomic files: the whole file is written, or nothing is."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` to write to. It replaces the target at the end, or is removed on failure."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(8)}.part")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
