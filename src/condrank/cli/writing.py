"""Files that commands write: checked before the work, and an error that says what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from condrank.base.files import atomic_open
from condrank.cli.terminal import fail

NO_ROOM = "free some space, or choose another place"
NOT_ALLOWED = "change its permissions, or choose another place"
ADVICE = {
    errno.ENOSPC: NO_ROOM,
    getattr(errno, "EDQUOT", errno.ENOSPC): NO_ROOM,
    errno.EFBIG: NO_ROOM,
    errno.EACCES: NOT_ALLOWED,
    errno.EPERM: NOT_ALLOWED,
    errno.EROFS: "choose a place that can be written",
    errno.EISDIR: "give the name of a file",
    errno.ENAMETOOLONG: "give a shorter name",
}


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """End the command with one line if an OSError says that ``target`` cannot be written. A closed pipe is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        file = Path(os.fsdecode(error.filename or target))
        hint = ADVICE.get(error.errno or 0, "")
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            hint = f"make the folder {file.parent} first, or choose another place"
        fail(f"cannot write {file}: {error.strerror or error}{hint and f'; {hint}'}")


def check_writable(target: Path | None) -> None:
    """End the command before its work if the folder of a file is missing or must not be written. Writes nothing."""
    if target is None:
        return
    with writing(target):
        real = Path(os.path.realpath(target))
        if real.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not real.parent.is_dir():
            number = errno.ENOTDIR if real.parent.exists() else errno.ENOENT
            raise OSError(number, os.strerror(number), str(target))
        # A pipe or a device is written in its place, a file is replaced by a new one in its folder.
        written = real if real.exists() and not real.is_file() else real.parent
        if not os.access(written, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def write_whole(target: Path, content: bytes) -> None:
    """Write a file whole or not at all; if that fails, end the command with one line."""
    with writing(target), atomic_open(target, "wb") as file:
        file.write(content)
