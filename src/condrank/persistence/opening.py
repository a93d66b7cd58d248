"""Opening a file to be read: once, and only a regular file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

# A pipe is not waited for. O_BINARY exists on Windows only, O_NONBLOCK elsewhere.
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


@contextmanager
def opened(file: Path) -> Iterator[tuple[BufferedReader, int]]:
    """An open file and its size in bytes. All that is read from it belongs to one file, even if its name is replaced.

    Raises a ValueError for what is not a regular file. A ValueError that is raised inside becomes one that says so if
    the file was changed meanwhile.
    """
    _check_regular(os.stat(file), file)  # first by name, as opening a device can have effects
    with os.fdopen(os.open(file, FLAGS), "rb") as stream:
        before = os.fstat(stream.fileno())
        _check_regular(before, file)
        try:
            yield stream, before.st_size
        except ValueError as error:
            after = os.fstat(stream.fileno())
            if (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size):
                raise
            raise ValueError(
                f"{file} was changed while it was read. Write a new file and rename it, instead of overwriting this one"
            ) from error


def _check_regular(found: os.stat_result, file: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "a device")
        raise ValueError(f"{file} must be a regular file, got {kind}")
